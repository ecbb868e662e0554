// What an agent does and thinks: its list with the pointer over it, its subtask, its gates.

const LEAST = 0.005; // a pointer below this is not drawn
const byId = (id) => document.getElementById(id);
const percent = (value) => `${Math.round(100 * value)}%`;

/** A list of instructions with ticks, and the agent's pointer over it. */
export class ItemList {
  #place;
  #rows = [];
  #now = -1;

  constructor(place) {
    this.#place = place;
  }

  begin(items) {
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
    this.#place.replaceChildren(...this.#rows.map(({ row }) => row));
    this.#place.scrollTop = 0;
  }

  update({ progress, achieved, thought }) {
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
    this.#follow(thought ? argmax(thought.pointer) : Math.min(progress, this.#rows.length - 1));
  }

  /** Keep the current instruction in sight, without moving the page. */
  #follow(k) {
    if (k === this.#now || !this.#rows[k]) return;
    this.#now = k;
    const list = this.#place, row = this.#rows[k].row;
    const top = row.offsetTop - list.offsetTop;
    if (top < list.scrollTop + row.offsetHeight || top > list.scrollTop + list.clientHeight - 2 * row.offsetHeight) {
      list.scrollTop = top - list.clientHeight / 2;
    }
  }
}

export class Mind {
  #list = new ItemList(byId("items"));
  #length = 0;

  /** `beside`: whether another agent acts beside this one. */
  begin({ items, traced }, agent, beside) {
    this.#list.begin(items);
    this.#length = items.length;
    byId("meters").hidden = !traced;
    const unseen = items.some((item) => !item.seen);
    const pointer = traced ? "Amber: where the agent's pointer is. " : "";
    byId("errand-note").textContent = pointer + (unseen ? "Unseen: not among the instructions of training." : "");
    byId("errand-note").hidden = !pointer && !unseen;
    byId("mind-title").textContent = (traced ? `What ${beside ? agent.title : "it"} thinks` : "Step by step");
    byId("mind-note").textContent = agent.sort === "planner"
      ? "A planner sees the whole world and has no pointer or gates: there are no thoughts to show."
      : "";
  }

  update(frame) {
    this.#list.update(frame);
    byId("errand-count").textContent = `${frame.progress} of ${this.#length} done`;
    this.#subtask(frame);
    if (frame.thought) this.#gates(frame.thought);
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
