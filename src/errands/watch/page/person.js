// "Me": the keys and buttons with which a person acts, the same as those of `errands play`.

const WAYS = { up: "north", down: "south", left: "west", right: "east" };
const ARROWS = {
  ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right",
  w: "up", s: "down", a: "left", d: "right",
};
const DEEDS = { p: "pick up", t: "transform" };
const BLOCK = {
  up: "move forward", down: "move backward", left: "look left", right: "look right",
  u: "look up", j: "look down", p: "pick up", t: "transform", n: "no op",
};
const SIGNS = { up: "↑", down: "↓", left: "←", right: "→" };

export class Person {
  #pad = document.getElementById("pad");
  #kind = "grid";
  #deed = ""; // asked for, and still without a direction
  #act;

  constructor(act) {
    this.#act = act;
  }

  /** Offer the actions of a world, or none. */
  show(kind) {
    this.#pad.hidden = !kind;
    this.#deed = "";
    if (!kind) return;
    this.#kind = kind;
    const keys = kind === "grid"
      ? { up: "↑", down: "↓", left: "←", right: "→", p: "Pick up", t: "Transform", n: "Wait" }
      : { up: "Forward", left: "↶ Left", right: "Right ↷", down: "Back", u: "Look up", j: "Look down", p: "Pick up", t: "Transform", n: "Wait" };
    this.#pad.replaceChildren(...Object.entries(keys).map(([key, words]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = words;
      button.dataset.key = key;
      if (key in SIGNS && kind === "grid") button.setAttribute("aria-label", `Go ${WAYS[key]}`);
      button.addEventListener("click", () => this.press(key));
      return button;
    }));
  }

  /** A key of the keyboard; true if it means an action. */
  key(key) {
    const name = ARROWS[key] ?? ARROWS[key.toLowerCase()] ?? key.toLowerCase();
    if (!(name in (this.#kind === "block" ? BLOCK : { ...WAYS, ...DEEDS, n: "" }))) return false;
    this.press(name);
    return true;
  }

  press(key) {
    if (this.#kind === "block") this.#act(BLOCK[key]);
    else if (key in WAYS) this.#act(`${this.#deed || "move"} ${WAYS[key]}`);
    else if (key === "n") this.#act("no op");
    this.#deed = this.#kind === "grid" && DEEDS[key] !== this.#deed ? (DEEDS[key] ?? "") : "";
    for (const button of this.#pad.children) {
      const waits = this.#deed !== "" && DEEDS[button.dataset.key] === this.#deed;
      if (button.dataset.key in DEEDS && this.#kind === "grid") button.setAttribute("aria-pressed", waits);
    }
  }
}
