// "Me": the keys and buttons with which a person acts, the same as those of `errands play`.

const NAMES = {
  ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right",
  w: "up", s: "down", a: "left", d: "right",
  n: "space", // the space bar plays and pauses here
};

export class Person {
  #pad = document.getElementById("pad");
  #keys = {}; // actions by key; "p up" is p, then up
  #first = ""; // a key that was pressed and waits for a second one
  #act;

  constructor(act) {
    this.#act = act;
  }

  /** Offer the actions of a world, or none. */
  show(world) {
    this.#pad.hidden = !world;
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
