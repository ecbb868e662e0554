// The list that is typed: completions and mistakes come from the server's own parser.

const PATIENCE = 60; // milliseconds without a key before the server is asked
const PAUSE = 900; // milliseconds without a key before a mistake is shown

export class Editor extends EventTarget {
  #text = document.getElementById("list");
  #mirror = document.getElementById("mirror");
  #frame = document.getElementById("editor");
  #message = document.getElementById("list-message");
  #words = document.getElementById("words");
  #ask;
  #remark;
  #complaint = 0; // the timer of a mistake that is shown after a pause
  #number = 0; // of the last question; answers to older ones are ignored
  #timer = 0;
  #typing = false; // words are offered while somebody types, not when a list is put there
  #chosen = -1;

  /** `ask` sends a question to the server; `remark` says what there is to say about a list. */
  constructor(ask, remark) {
    super();
    this.#ask = ask;
    this.#remark = remark;
    this.#text.addEventListener("input", () => { this.#typing = this.edited = true; this.#later(); });
    this.#text.addEventListener("keydown", (event) => this.#key(event));
    this.#text.addEventListener("blur", () => this.#close());
    this.#text.addEventListener("click", () => this.#close());
    this.#words.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the text keeps the focus
      if (event.target.matches("li")) this.#take(event.target.textContent);
    });
  }

  get text() { return this.#text.value; }

  edited = false; // whether a person has changed the text since it was put there

  set text(value) {
    this.#text.value = value;
    this.#typing = this.edited = false;
    this.#close();
    this.check();
  }

  check() {
    clearTimeout(this.#timer);
    this.#mirror.textContent = `${this.text}\n`;
    const before = this.text.slice(0, this.#text.selectionStart);
    this.#ask({ text: this.text, cursor: [...before].length, number: ++this.#number });
  }

  /** Show what is wrong, now. */
  complain(message) {
    this.#typing = false;
    this.#close();
    this.#message.classList.add("wrong");
    this.#message.textContent = message;
    this.check();
  }

  #later() {
    clearTimeout(this.#complaint);
    this.#mirror.textContent = `${this.text}\n`;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.check(), PATIENCE);
  }

  /** What the parser says of the text. */
  checked(answer) {
    if (answer.number !== this.#number) return;
    clearTimeout(this.#complaint);
    const { items, mistake, completions, reading } = answer;
    // Somebody who is typing is not interrupted: a mistake is shown after a pause, and an
    // instruction that only lacks its end is none.
    const unfinished = mistake && completions.length > 0 && mistake.end >= [...this.text].length;
    if (mistake && this.#typing && !unfinished) this.#complaint = setTimeout(() => this.#judge(mistake), PAUSE);
    this.#judge(this.#typing ? null : mistake);
    if (mistake === null) {
      const unseen = items.filter((item) => !item.seen).length;
      const count = items.length === 1 ? "1 instruction" : `${items.length} instructions`;
      const news = unseen ? `${unseen} never trained` : "trained";
      this.#message.textContent = items.length ? `${count}, ${news}` : "";
    }
    document.getElementById("list-reading").textContent = reading ? `Understood as: ${reading}` : "";
    document.getElementById("list-warning").textContent = this.#remark(items);
    if (this.#typing) this.#offer(completions);
  }

  /** Mark a mistake, or that there is none. */
  #judge(mistake) {
    const letters = [...this.text]; // Python counts characters, not halves of them
    const wrong = mistake !== null;
    this.#frame.classList.toggle("wrong", wrong);
    this.#message.classList.toggle("wrong", wrong);
    this.#text.setAttribute("aria-invalid", wrong);
    this.#mirror.textContent = "";
    if (wrong && this.text.trim()) {
      const mark = document.createElement("mark");
      mark.textContent = letters.slice(mistake.start, mistake.end).join("");
      this.#mirror.append(letters.slice(0, mistake.start).join(""), mark, letters.slice(mistake.end).join(""));
    } else this.#mirror.append(this.text);
    this.#mirror.append("\n");
    this.#message.textContent = wrong ? mistake.message : "";
  }

  #begun() {
    const before = this.text.slice(0, this.#text.selectionStart);
    return before.match(/[^\s,;:.!?&>]*$/)[0];
  }

  #offer(completions) {
    const begun = this.#begun().toLowerCase();
    const finished = completions.length === 1 && completions[0].toLowerCase() === begun;
    if (!completions.length || finished || document.activeElement !== this.#text) return this.#close();
    this.#words.replaceChildren(...completions.map((word, k) => {
      const option = document.createElement("li");
      option.role = "option";
      option.id = `word-${k}`;
      option.textContent = word;
      return option;
    }));
    this.#words.hidden = false;
    this.#text.setAttribute("aria-expanded", true);
    this.#choose(begun ? 0 : -1);
  }

  #choose(k) {
    const options = [...this.#words.children];
    this.#chosen = options.length ? (k + options.length) % options.length : -1;
    if (k === -1) this.#chosen = -1;
    options.forEach((option, n) => option.setAttribute("aria-selected", n === this.#chosen));
    if (this.#chosen >= 0) this.#text.setAttribute("aria-activedescendant", `word-${this.#chosen}`);
    else this.#text.removeAttribute("aria-activedescendant");
  }

  #close() {
    this.#words.hidden = true;
    this.#choose(-1);
    this.#text.setAttribute("aria-expanded", false);
  }

  #take(word) {
    const end = this.#text.selectionStart, start = end - this.#begun().length;
    const after = this.text.slice(end);
    this.#text.setRangeText(after.startsWith(" ") ? word : `${word} `, start, end, "end");
    this.#typing = this.edited = true;
    this.check();
  }

  #key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.#close();
      this.dispatchEvent(new Event("run"));
      return;
    }
    if (event.key === "Escape") this.#typing = false; // nor words that are still on their way
    if (this.#words.hidden || event.ctrlKey || event.altKey || event.metaKey) return;
    const options = this.#words.children.length;
    if (event.key === "ArrowDown") this.#choose(this.#chosen < 0 ? 0 : this.#chosen + 1);
    else if (event.key === "ArrowUp") this.#choose(this.#chosen < 0 ? options - 1 : this.#chosen - 1 + options);
    else if (event.key === "Escape") this.#close();
    else if ((event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) && this.#chosen >= 0) {
      this.#take(this.#words.children[this.#chosen].textContent);
    } else return;
    event.preventDefault();
  }
}
