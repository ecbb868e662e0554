// "Me": the keys and buttons with which a person acts, the same as those of `errands play`.

const NAMES = {
  ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right",
  w: "up", s: "down", a: "left", d: "right",
  n: "space", // the space bar plays and pauses here
};

const stacked = matchMedia("(max-width: 450px)"); // there the map is below the view, not beside it

export class Person {
  #pad = document.getElementById("pad");
  #looks = false; // whether the person sees through the agent's eyes, with nobody beside
  #keys = {}; // actions by key; "p up" is p, then up
  #first = ""; // a key that was pressed and waits for a second one
  #act;

  constructor(act) {
    this.#act = act;
    stacked.addEventListener("change", () => this.#place());
  }

  /** Offer the actions of a world, or none. `beside`: whether an agent acts beside the person. */
  show(world, beside) {
    this.#pad.hidden = !world;
    this.#looks = Boolean(world?.first_person) && !beside;
    this.#place();
    this.#first = "";
    if (!world) return;
    this.#keys = world.keys;
    this.#pad.replaceChildren(...Object.entries(world.buttons).map(([key, words]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = words;
      button.dataset.key = key;
      if (!/[a-z]/i.test(words)) button.setAttribute("aria-label", this.#keys[key]);
      button.addEventListener("click", () => this.press(key));
      return button;
    }));
  }

  /** The buttons are next to what the person looks at. */
  #place() {
    const view = this.#looks && stacked.matches;
    document.querySelector(view ? "#lane-0 .view-figure" : "#pictures").after(this.#pad);
  }

  /** A key of the keyboard; true if it means an action. */
  key(key) {
    const name = NAMES[key] ?? NAMES[key.toLowerCase()] ?? key.toLowerCase();
    if (!(name in this.#keys) && !this.#waits(name)) return false;
    this.press(name);
    return true;
  }

  press(key) {
    const action = this.#keys[`${this.#first} ${key}`] ?? this.#keys[key];
    if (action) this.#act(action);
    this.#first = this.#waits(key) && key !== this.#first ? key : "";
    for (const button of this.#pad.children) {
      const name = button.dataset.key;
      if (this.#waits(name)) button.setAttribute("aria-pressed", name === this.#first);
    }
  }

  /** Whether a key needs a second one to mean an action. */
  #waits(key) {
    return Object.keys(this.#keys).some((keys) => keys.startsWith(`${key} `));
  }
}
