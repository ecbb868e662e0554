// One agent at work: its pictures, and beside another agent also its own list and outcome.

import { ItemList } from "./mind.js";
import { Stage } from "./stage.js";

export class Lane {
  #root;
  #list;
  #title;
  #count;
  #length = 0;
  stage;

  constructor(root, onDrop) {
    this.#root = root;
    this.#list = new ItemList(root.querySelector(".items"));
    this.#title = root.querySelector(".lane-title strong");
    this.#count = root.querySelector(".lane-title span");
    this.stage = new Stage(root, onDrop);
  }

  set hidden(hidden) { this.#root.hidden = hidden; }

  begin({ world: name, items }, world, agent) {
    this.#length = items.length;
    this.#title.textContent = agent.title;
    this.#list.begin(items);
    for (const name of ["outcome", "why"]) this.#root.querySelector(`.${name}`).hidden = true; // the last episode's
    this.#markInput(world.first_person, agent.sort);
    this.stage.show(name, world);
  }

  update(frame, stepsPerSecond) {
    this.stage.update(frame, stepsPerSecond);
    this.#list.update(frame);
    this.#count.textContent = `${frame.progress} of ${this.#length} done, reward\u00a0${frame.total.toFixed(1)}`;
    const outcome = this.#root.querySelector(".outcome"), why = this.#root.querySelector(".why");
    const words = frame.outcome === "done" ? "Done" : "Out of steps";
    outcome.textContent = `${words}: ${frame.step} steps, reward\u00a0${frame.total.toFixed(1)}`;
    outcome.dataset.outcome = frame.outcome;
    outcome.hidden = !frame.outcome;
    why.textContent = frame.why;
    why.hidden = !frame.why;
  }

  /** Which picture the agent really gets. */
  #markInput(view, sort) {
    const words = { planner: "a planner sees all of it", person: "yours to use" };
    const tag = (name, text, input) => {
      const place = this.#root.querySelector(`.${name}`);
      place.textContent = text;
      place.className = `tag ${name}${input ? "" : " quiet"}`;
      place.closest("figure").classList.toggle("input", input && view);
    };
    tag("view-tag", sort === "trained" ? "the agent's input, 64 × 64" : "64 × 64", sort === "trained");
    if (sort === "trained") tag("map-tag", view ? "for you; the agent never sees it" : "the agent's input", !view);
    else tag("map-tag", words[sort], sort === "planner");
  }
}
