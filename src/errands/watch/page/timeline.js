// What happened, step by step: the newest at the right, older steps scroll out to the left. A click
// goes to a step.

const ROW = 34; // pixels, as in the style sheet
const STEP = 7;
const GAP = 5; // above and below each row's bars

const ROWS = {
  update: "looks at list",
  shift: "moves pointer",
  termination: "finished",
  reward: "reward",
};

export class Timeline {
  #canvas = document.getElementById("timeline-canvas");
  #labels = document.getElementById("timeline-labels");
  #rows = [];
  #steps = [];
  #at = 0; // the step that is shown
  #first = 0; // index of the first step in sight

  /** `onChoose` is called with the step that is clicked. */
  constructor(onChoose) {
    this.#canvas.addEventListener("click", (event) => {
      const k = this.#first + Math.floor(event.offsetX / STEP);
      if (this.#steps[k]) onChoose(this.#steps[k].step);
    });
    new ResizeObserver(() => this.draw()).observe(this.#canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** Forget everything; agents that do not tell what they think have a single row. */
  clear(traced, event) {
    document.getElementById("timeline-note").textContent =
      `Green lines: an instruction was done.${event ? ` Shaded: the ${event} is there.` : ""} Click a step to go there.`;
    this.#steps = [];
    this.#at = this.#first = 0;
    this.#rows = traced ? Object.keys(ROWS) : ["reward"];
    this.#labels.replaceChildren(
      ...this.#rows.map((row) => Object.assign(document.createElement("li"), { textContent: ROWS[row] })),
    );
    this.#canvas.style.height = `${ROW * this.#rows.length + 14}px`;
    this.draw();
  }

  add(frame) {
    const last = this.#steps.at(-1);
    if (frame.step === 0 || (last && last.step >= frame.step)) return;
    const done = frame.progress > (last?.progress ?? 0);
    this.#steps.push({ ...frame.thought, step: frame.step, reward: frame.reward, progress: frame.progress,
      done, event: frame.event > 0 });
    const words = `Step ${frame.step}, reward ${frame.reward}${done ? ", an instruction is done" : ""}`;
    this.#canvas.setAttribute("aria-label", `What happened, step by step. ${words}.`);
  }

  /** Mark the step that is shown. */
  mark(step) {
    this.#at = step;
    this.draw();
  }

  draw() {
    const canvas = this.#canvas, ratio = devicePixelRatio || 1;
    const width = canvas.clientWidth, height = ROW * this.#rows.length + 14;
    if (!width) return;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const colours = getComputedStyle(canvas);
    const colour = (name) => colours.getPropertyValue(`--${name}`);
    const room = Math.floor(width / STEP);
    const latest = Math.max(0, this.#steps.length - room);
    this.#first = Math.max(0, Math.min(latest, this.#at - Math.ceil(room / 2)));
    const shown = this.#steps.slice(this.#first, this.#first + room);
    const left = (k) => k * STEP;

    pen.fillStyle = colour("line");
    this.#rows.forEach((row, r) => {
      const base = row === "shift" || row === "reward" ? r * ROW + ROW / 2 : (r + 1) * ROW - GAP;
      pen.fillRect(0, base - 0.5, width, 1);
    });
    shown.forEach((step, k) => {
      if (step.event) {
        pen.fillStyle = colour("new-wash");
        pen.fillRect(left(k), 0, STEP, ROW * this.#rows.length);
      }
      if (step.done) {
        pen.fillStyle = colour("good");
        pen.fillRect(left(k) + STEP - 1.5, 0, 1.5, ROW * this.#rows.length);
      }
    });
    this.#rows.forEach((row, r) => shown.forEach((step, k) => this.#bar(pen, colour, row, r * ROW, left(k), step)));
    const marked = this.#at - 1 - this.#first;
    if (this.#at > 0 && this.#at < this.#steps.length) {
      pen.fillStyle = colour("ink");
      pen.fillRect(left(marked) - 1.5, 0, 1, ROW * this.#rows.length);
      pen.fillRect(left(marked) + STEP - 1.5, 0, 1, ROW * this.#rows.length);
    }
    pen.fillStyle = colour("soft");
    pen.font = "10px system-ui, sans-serif";
    shown.forEach((step, k) => {
      if (step.step % 10 === 0) pen.fillText(step.step, Math.min(left(k), width - 16), height - 2);
    });
  }

  #bar(pen, colour, row, top, x, step) {
    const tall = ROW - 2 * GAP, base = top + ROW - GAP, middle = top + ROW / 2, thin = STEP - 2;
    const bar = (name, from, to) => {
      pen.fillStyle = colour(name);
      if (Math.abs(to - from) >= 0.5) pen.fillRect(x, Math.min(from, to), thin, Math.abs(to - from));
    };
    if (row === "update" && step.update !== undefined) bar("accent", base, base - step.update * tall);
    if (row === "termination" && step.termination !== undefined) bar("good", base, base - step.termination * tall);
    if (row === "shift" && step.shift) {
      bar("pointer", middle, middle - step.shift[2] * (tall / 2));
      bar("bad", middle, middle + step.shift[0] * (tall / 2));
    }
    if (row === "reward") {
      const size = Math.max(-1, Math.min(1, step.reward)) * (tall / 2);
      const usual = step.reward <= 0 && step.reward > -0.2;
      bar(usual ? "soft" : step.reward > 0 ? "good" : "bad", middle, middle - size);
    }
  }
}
