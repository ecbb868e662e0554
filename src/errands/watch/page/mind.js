// What the agent does and thinks: its list with the pointer over it, its subtask, its gates.

const LEAST = 0.005; // a pointer below this is not drawn
const byId = (id) => document.getElementById(id);
const percent = (value) => `${Math.round(100 * value)}%`;

export class Mind {
  #rows = [];
  #now = -1;

  begin({ items, traced }, agent) {
    this.#now = -1;
    this.#rows = items.map((item) => {
      const row = document.createElement("li");
      const bar = Object.assign(document.createElement("span"), { className: "pointer" });
      const words = Object.assign(document.createElement("span"), { className: "words", textContent: item.words });
      const tag = Object.assign(document.createElement("span"), { className: "tag new", textContent: item.seen ? "" : "unseen" });
      tag.title = "No agent was trained on this instruction";
      const number = Object.assign(document.createElement("span"), { className: "number" });
      bar.dataset.none = "";
      row.append(bar, words, tag, number);
      return { row, bar, words, number, text: item.words };
    });
    byId("items").replaceChildren(...this.#rows.map(({ row }) => row));
    byId("items").scrollTop = 0;
    byId("meters").hidden = !traced;
    const unseen = items.some((item) => !item.seen);
    const pointer = traced ? "Amber: where the agent's pointer is. " : "";
    byId("errand-note").textContent = pointer + (unseen ? "Unseen: not among the instructions of training." : "");
    byId("errand-note").hidden = !pointer && !unseen;
    byId("mind-title").textContent = traced ? "What it thinks" : "Step by step";
    byId("mind-note").textContent = agent.sort === "planner"
      ? "A planner sees the whole world and has no pointer or gates: there are no thoughts to show."
      : "";
  }

  update(frame) {
    const { progress, achieved, thought } = frame;
    this.#rows.forEach(({ row, bar, words, number, text }, k) => {
      row.dataset.state = k < progress ? "done" : k === progress ? "now" : "later";
      if (k === progress) row.setAttribute("aria-current", "step");
      else row.removeAttribute("aria-current");
      const count = k === progress && achieved > 0 ? ` (${achieved} so far)` : "";
      words.textContent = text + count;
      const share = thought?.pointer[k] ?? 0;
      bar.style.width = percent(share);
      bar.toggleAttribute("data-none", share < LEAST);
      number.textContent = share >= LEAST ? share.toFixed(2) : "";
    });
    byId("errand-count").textContent = `${progress} of ${this.#rows.length} done`;
    this.#follow(thought ? argmax(thought.pointer) : Math.min(progress, this.#rows.length - 1));
    this.#subtask(frame);
    if (thought) this.#gates(thought);
  }

  /** Keep the current instruction in sight, without moving the page. */
  #follow(k) {
    if (k === this.#now || !this.#rows[k]) return;
    this.#now = k;
    const list = byId("items"), row = this.#rows[k].row;
    const top = row.offsetTop - list.offsetTop;
    if (top < list.scrollTop + row.offsetHeight || top > list.scrollTop + list.clientHeight - 2 * row.offsetHeight) {
      list.scrollTop = top - list.clientHeight / 2;
    }
  }

  #subtask({ subtask, subtask_seen: seen, outcome }) {
    byId("subtask-words").textContent = outcome ? { done: "everything is done" }[outcome] ?? outcome : subtask || "acts without subtasks";
    const tag = byId("subtask-tag");
    tag.textContent = outcome || !subtask ? "" : seen ? "trained subtask" : "never trained";
    tag.title = seen ? "Skills are trained on this subtask" : "No skill was trained on this subtask";
    tag.className = `tag ${seen ? "good" : "new"}`;
  }

  #gates({ update, termination, shift }) {
    byId("update").value = update;
    byId("update-value").textContent = percent(update);
    byId("termination").value = termination;
    byId("termination-value").textContent = percent(termination);
    const likely = argmax(shift);
    [...byId("shift").children].forEach((part, k) => {
      part.lastElementChild.textContent = percent(shift[k]);
      part.toggleAttribute("data-likely", k === likely);
    });
  }
}

function argmax(values) {
  return values.indexOf(Math.max(...values));
}
