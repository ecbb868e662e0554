// Every frame of an episode, so that people can go back to any step; `at` is the step that is shown.

export class Recording {
  #lanes = [];
  at = 0;

  clear(lanes) {
    this.#lanes = Array.from({ length: lanes }, () => []);
    this.at = 0;
  }

  /** A step's frame; a later frame of the same step takes its place. */
  add(frame) {
    this.#lanes[frame.lane][frame.step] = frame;
  }

  get lanes() { return this.#lanes.length; }

  /** The last step that anybody has taken. */
  get end() { return Math.max(0, ...this.#lanes.map((frames) => frames.length - 1)); }

  get isLive() { return this.at >= this.end; }

  /** What is shown in a lane; one that has ended stays at its end. */
  shown(lane) { return this.#lanes[lane][Math.min(this.at, this.#lanes[lane].length - 1)]; }

  last(lane) { return this.#lanes[lane]?.at(-1); }

  get isOver() { return this.#lanes.every((frames) => frames.at(-1)?.outcome); }
}
