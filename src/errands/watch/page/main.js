// The page: what is chosen becomes an episode, and an episode becomes a link.

import { Editor } from "./editor.js";
import { Mind } from "./mind.js";
import { Person } from "./person.js";
import { Stage } from "./stage.js";
import { Talk } from "./talk.js";
import { Timeline } from "./timeline.js";

const SPEEDS = [1, 2, 4, 6, 10, 20, 40, 60]; // steps a second
const SEEDS = 1_000_000; // that "another" draws from
const byId = (id) => document.getElementById(id);

const talk = new Talk();
const mind = new Mind();
const timeline = new Timeline();
const stage = new Stage((cell) => drop(cell));
const person = new Person((action) => talk.send("act", { action }));
const editor = new Editor((question) => talk.send("check", { world: wanted.world, ...question }));

let hello = null;
let chosen = { world: "", agent: "", list: "", seed: 0, drops: "", keys: "" }; // what the link carries
let wanted = chosen; // what was asked for, and becomes what is chosen when it has begun
let frame = null; // the last one
let playsNext = true; // whether the next episode starts by itself
let beginning = 0; // episodes that were asked for and have not begun: until then, frames are old

// What the server says

talk.addEventListener("connection", ({ detail }) => {
  const place = byId("connection");
  place.dataset.state = detail.state;
  place.textContent = detail.words;
  if (detail.state === "closed") {
    const again = Object.assign(document.createElement("button"), { type: "button", textContent: "Go on" });
    again.addEventListener("click", () => talk.connect());
    place.append(again);
  }
});

talk.addEventListener("hello", ({ detail }) => {
  const first = hello === null;
  hello = detail;
  byId("version").textContent = `errands ${hello.version}`;
  if (first) {
    offerWorlds();
    offerFilms();
    wanted = fromLink();
  }
  setSpeed();
  beginning = 0;
  begin(wanted, first);
});

talk.addEventListener("begun", ({ detail }) => {
  beginning -= 1;
  if (beginning > 0) return;
  chosen = wanted;
  frame = null;
  const world = hello.worlds[detail.world];
  const agent = world.agents.find(({ name }) => name === detail.agent);
  stage.show(detail.world, world);
  mind.begin(detail, agent);
  timeline.clear(detail.traced, world.event);
  person.show(agent.sort === "person" ? world : null);
  byId("count-step").dataset.limit = detail.step_limit;
  markInput(world.first_person, agent.sort);
  byId("keep-note").textContent = "";
  byId("drop-note").textContent = "";
  showLink();
  const replays = agent.sort === "person" && chosen.keys !== "";
  if (playsNext && (agent.sort !== "person" || replays)) talk.send("play");
});

talk.addEventListener("frame", ({ detail }) => {
  if (beginning > 0) return;
  if (chosen.agent === "me" && detail.step > (frame?.step ?? 0) && detail.step > chosen.keys.length) {
    chosen.keys += detail.code.toString(36);
    showLink();
  }
  if (detail.deed && detail.step !== frame?.step) announce(`Step ${detail.step}: ${detail.deed}`);
  frame = detail;
  stage.update(frame, SPEEDS[byId("speed").value]);
  mind.update(frame);
  timeline.add(frame);
  byId("count-step").textContent = `${frame.step} / ${byId("count-step").dataset.limit}`;
  byId("count-reward").textContent = frame.total.toFixed(1);
  byId("count-action").textContent = frame.action || "none";
  showPlaying();
});

talk.addEventListener("dropped", ({ detail }) => {
  const { step, row, column, object } = detail;
  chosen.drops += `${chosen.drops ? "," : ""}${step}:${row}:${column}:${object}`;
  byId("drop-note").textContent = "";
  showLink();
  announce(`${object} dropped`);
});

talk.addEventListener("checked", ({ detail }) => editor.checked(detail));

talk.addEventListener("sampled", ({ detail }) => {
  editor.text = detail.list;
  begin({ ...chosen, list: detail.list, seed: detail.seed, drops: "", keys: "" });
});

talk.addEventListener("film", ({ detail }) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(detail.content);
  link.download = detail.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  byId("keep-note").textContent = `Saved ${detail.name} (${Math.ceil(detail.content.size / 1024)} kB).`;
  setFilming(false);
});

talk.addEventListener("notice", ({ detail }) => {
  const places = { drop: "drop-note", save: "keep-note", begin: "list-message" };
  const place = byId(places[detail.about] ?? "keep-note");
  if (detail.about === "begin") {
    beginning -= 1;
    wanted = chosen;
    if (frame) showPlaying(); // what went on before goes on
  }
  if (detail.about === "save") setFilming(false);
  if (!["idle", "server"].includes(detail.about)) place.textContent = detail.message;
});

// Choosing

function fromLink() {
  const link = new URLSearchParams(location.search);
  const world = link.get("world") in hello.worlds ? link.get("world") : Object.keys(hello.worlds)[0];
  const { agents, example, seed } = hello.worlds[world];
  const agent = agents.find(({ name }) => name === link.get("agent")) ?? agents[0];
  const given = link.has("list");
  return {
    world,
    agent: agent.name,
    list: given ? link.get("list") : example,
    seed: Number.parseInt(link.get("seed") ?? (given ? 0 : seed), 10) || 0,
    drops: link.get("drops") ?? "",
    keys: link.get("keys") ?? "",
  };
}

function showLink() {
  const link = new URL(location.href);
  link.search = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value !== ""));
  history.replaceState(null, "", link);
}

function begin(recipe, plays = true) {
  wanted = { ...recipe };
  playsNext = plays;
  beginning += 1;
  byId("outcome").hidden = byId("why").hidden = true;
  const { world, agent, list, seed } = wanted;
  document.querySelector(`#worlds input[value="${world}"]`).checked = true;
  offerAgents(hello.worlds[world].agents, agent);
  offerObjects(hello.worlds[world]);
  byId("seed").value = seed;
  if (editor.text !== list) editor.text = list;
  else editor.check();
  talk.send("begin", wanted);
}

/** The same again, without what a person did to it. */
function restart(changes = {}) {
  begin({ ...chosen, drops: "", keys: "", ...changes });
}

function offerWorlds() {
  byId("worlds").replaceChildren(...Object.keys(hello.worlds).map((name) => {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "world", value: name });
    input.addEventListener("change", () => {
      const { agents, example, seed } = hello.worlds[name];
      const agent = (agents.find((one) => one.name === chosen.agent) ?? agents[0]).name;
      restart({ world: name, agent, list: example, seed });
    });
    label.append(input, { grid: "Grid", block: "Block world" }[name] ?? name);
    return label;
  }));
}

function offerAgents(agents, current) {
  const groups = { trained: "Trained", planner: "Planners", person: "You" };
  byId("agent").replaceChildren(...Object.entries(groups).map(([sort, label]) => {
    const group = Object.assign(document.createElement("optgroup"), { label });
    group.append(...agents.filter((agent) => agent.sort === sort)
      .map(({ name, title }) => new Option(title, name, false, name === current)));
    return group;
  }).filter((group) => group.children.length));
  byId("agent-note").textContent = agents.find(({ name }) => name === current).note;
}

function offerObjects({ objects, event }) {
  const select = byId("drop-object");
  if (select.dataset.objects !== objects.join()) {
    select.dataset.objects = objects.join();
    select.replaceChildren(...objects.map((name) => new Option(name, name, false, name === event)));
  }
  stage.object = select.value;
}

function offerFilms() {
  const button = (words, use) => {
    const made = Object.assign(document.createElement("button"), { type: "button", textContent: words });
    made.addEventListener("click", use);
    return made;
  };
  byId("formats").replaceChildren(
    button("Copy link", copyLink),
    ...hello.formats.map((format) => {
      const made = button(`Save ${format.toUpperCase()}`, () => {
        setFilming(true);
        talk.send("save", { format, rate: SPEEDS[byId("speed").value] });
      });
      made.dataset.format = format;
      return made;
    }),
  );
}

/** Which picture the agent really gets. */
function markInput(view, sort) {
  const words = { planner: "a planner sees all of it", person: "yours to use" };
  const tag = (id, text, input) => {
    byId(id).textContent = text;
    byId(id).className = input ? "tag" : "tag quiet";
    byId(id).closest("figure").classList.toggle("input", input && view);
  };
  tag("view-tag", sort === "trained" ? "the agent's input, 64 × 64" : "64 × 64", sort === "trained");
  if (sort === "trained") tag("map-tag", view ? "for you; the agent never sees it" : "the agent's input", !view);
  else tag("map-tag", words[sort], sort === "planner");
}

// Playing

function showPlaying() {
  const play = byId("play");
  const waits = chosen.agent === "me" && !frame.going && !frame.outcome;
  play.toggleAttribute("data-going", frame.going);
  play.setAttribute("aria-label", frame.going ? "Pause" : frame.outcome ? "Play again" : "Play");
  play.disabled = waits;
  byId("step").disabled = Boolean(frame.outcome) || waits;
  const outcome = byId("outcome");
  if (frame.outcome && outcome.hidden) {
    const words = frame.outcome === "done" ? "Done" : "Out of steps";
    outcome.textContent = `${words}: ${frame.step} steps, reward ${frame.total.toFixed(1)}`;
    announce(`${outcome.textContent}. ${frame.why}`);
  }
  byId("why").textContent = frame.why;
  byId("why").hidden = !frame.why;
  outcome.dataset.outcome = frame.outcome;
  outcome.hidden = !frame.outcome;
}

function toggle() {
  if (frame?.outcome) begin(chosen); // once more, exactly as it was
  else if (!byId("play").disabled) talk.send(frame?.going ? "pause" : "play");
}

function setSpeed() {
  const rate = SPEEDS[byId("speed").value];
  byId("speed-value").textContent = rate === 1 ? "1 step/s" : `${rate} steps/s`;
  talk.send("speed", { rate });
}

function drop(cell) {
  talk.send("drop", { ...cell, object: byId("drop-object").value });
}

function announce(words) {
  byId("announce").textContent = words;
}

function setFilming(filming) {
  for (const button of byId("formats").querySelectorAll("[data-format]")) button.disabled = filming;
  if (filming) byId("keep-note").textContent = "Making the film.";
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    byId("keep-note").textContent = "Copied: this link shows the same episode.";
  } catch {
    byId("keep-note").textContent = location.href; // not allowed to copy: the person can
  }
}

// Hands

byId("play").addEventListener("click", toggle);
byId("step").addEventListener("click", () => talk.send("step"));
byId("restart").addEventListener("click", () => restart());
byId("speed").addEventListener("input", setSpeed);
byId("agent").addEventListener("change", (event) => restart({ agent: event.target.value }));
byId("run").addEventListener("click", () => restart({ list: editor.text }));
byId("drop-object").addEventListener("change", (event) => { stage.object = event.target.value; });
byId("seed").addEventListener("change", (event) => {
  if (event.target.checkValidity() && event.target.value) restart({ seed: event.target.valueAsNumber });
});
byId("dice").addEventListener("click", () => restart({ seed: Math.floor(Math.random() * SEEDS) }));
for (const button of document.querySelectorAll("[data-sort]")) {
  button.addEventListener("click", () => talk.send("sample", { world: chosen.world, sort: button.dataset.sort }));
}
editor.addEventListener("run", () => restart({ list: editor.text }));

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const onMap = event.target === byId("map");
  const elsewhere = event.target.closest("input, select, textarea, summary, button");
  if (elsewhere && !(elsewhere.matches("button") && event.key !== " " && event.key !== "Enter")) return;
  if (handled(event, onMap)) event.preventDefault();
});

function handled(event, onMap) {
  const arrow = event.key.match(/^Arrow(Up|Down|Left|Right)$/)?.[1].toLowerCase();
  const acts = chosen.agent === "me";
  if (onMap && arrow && (!acts || event.shiftKey)) {
    const words = stage.moveCursor(arrow);
    if (words) announce(words);
    return true;
  }
  if (onMap && event.key === "Enter") {
    if (stage.cursor) drop(stage.cursor);
    return true;
  }
  if (acts && person.key(event.key)) return true;
  const shortcut = { " ": toggle, ".": () => byId("step").click(), r: () => restart() }[event.key];
  shortcut?.();
  return Boolean(shortcut);
}

talk.connect();
