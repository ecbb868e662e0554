// The page: what is chosen becomes an episode, and an episode becomes a link.

import { fromLink, offerAgents, offerFilms, offerWorlds, remark, setFilming, showLink } from "./choices.js";
import { Editor } from "./editor.js";
import { Lane } from "./lane.js";
import { Mind } from "./mind.js";
import { notice } from "./notice.js";
import { Person } from "./person.js";
import { Recording } from "./recording.js";
import { Talk } from "./talk.js";
import { Timeline } from "./timeline.js";

const SPEEDS = [1, 2, 4, 6, 10, 20, 40, 60]; // steps a second
const SEEDS = 1_000_000; // that "another" draws from
const ME = "me";
const byId = (id) => document.getElementById(id);

const talk = new Talk();
const mind = new Mind();
const recording = new Recording();
const timeline = new Timeline((step) => goTo(step));
const lanes = ["lane-0", "lane-1"].map((id) => new Lane(byId(id), (cell) => drop(cell)));
const person = new Person((action) => act(action));
const editor = new Editor(
  (question) => talk.send("check", { world: form().world, ...question }),
  (items) => remark(hello?.worlds[form().world], [form().agent, form().rival], items),
);

let hello = null;
let chosen = { world: "", agent: "", rival: "", list: "", seed: 0, drops: "", keys: "" }; // what the link carries
let wanted = chosen; // what was asked for, and becomes what is chosen when it has begun
let playsNext = false; // whether the next episode starts by itself
let beginning = 0; // episodes that were asked for and have not begun: until then, frames are old
let going = false; // whether the server's clock runs
let follows = true; // whether the step that comes next is shown when it comes
let replaying = 0; // the timer that shows recorded steps

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
    offerWorlds(hello.worlds, changeWorld);
    offerFilms(hello.formats, (format) => {
      setFilming(true);
      talk.send("save", { format, rate: rate() });
    });
    wanted = fromLink(hello.worlds);
  }
  setSpeed();
  beginning = 0;
  begin(wanted, { plays: false, keepsText: !first && editor.edited });
});

talk.addEventListener("begun", ({ detail }) => {
  if (detail.lane === 0) beginning -= 1;
  if (beginning > 0) return;
  const world = hello.worlds[detail.world];
  const agent = agentNamed(detail.world, detail.agent);
  if (detail.lane === 0) beginMain(detail, world, agent);
  lanes[detail.lane].begin(detail, world, agent);
  if (detail.lane < recording.lanes - 1) return;
  showLink(chosen);
  if (playsNext && !isWaiting()) talk.send("play");
});

function beginMain(detail, world, agent) {
  chosen = wanted;
  stopReplay();
  going = false;
  const beside = chosen.rival !== "";
  recording.clear(beside ? 2 : 1);
  lanes[1].hidden = !beside;
  byId("pictures").dataset.lanes = recording.lanes;
  document.body.classList.toggle("compare", beside);
  const { story } = world;
  const told = story && ["agent", "rival", "list", "seed"].every((name) => chosen[name] === story[name]);
  byId("story").hidden = !told;
  byId("story").textContent = told ? story.words : "";
  mind.begin(detail, agent, beside);
  timeline.clear(detail.traced, world.event);
  person.show(myLane() >= 0 ? world : null, beside);
  byId("count-step").dataset.limit = detail.step_limit;
  byId("count-reward").parentElement.title = world.rewards;
  byId("keep-note").textContent = "";
}

talk.addEventListener("frame", ({ detail }) => {
  if (beginning > 0) return;
  const before = recording.last(detail.lane);
  if (detail.lane === 0) follows = recording.isLive;
  recording.add(detail);
  if (detail.lane === myLane() && detail.step > (before?.step ?? 0) && detail.step > chosen.keys.length) {
    chosen.keys += detail.code.toString(36);
    showLink(chosen);
  }
  if (detail.lane === 0) {
    timeline.add(detail);
    if (detail.deed && detail.step !== before?.step) announce(`Step ${detail.step}: ${detail.deed}`);
    if (detail.outcome && before && !before.outcome) announce(`${outcomeOf(detail)} ${detail.why}`);
  }
  if (detail.lane < recording.lanes - 1) return; // the other's follows at once
  going = detail.going;
  if (follows) recording.at = recording.end;
  render();
});

talk.addEventListener("dropped", ({ detail }) => {
  const { step, row, column, object } = detail;
  chosen.drops += `${chosen.drops ? "," : ""}${step}:${row}:${column}:${object}`;
  showLink(chosen);
  announce(`${object} dropped`);
});

talk.addEventListener("checked", ({ detail }) => editor.checked(detail));

talk.addEventListener("sampled", ({ detail }) => {
  editor.text = detail.list;
  run({ list: detail.list, seed: detail.seed });
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

talk.addEventListener("notice", ({ detail: { about, message } }) => {
  if (about === "save") setFilming(false);
  if (about === "begin") refused(message);
  else if (!["idle", "server"].includes(about)) notice(message);
});

/** Nothing has begun: what went on before goes on, and what was typed stays. */
function refused(message) {
  beginning -= 1;
  const { world } = wanted;
  wanted = chosen;
  if (world !== chosen.world && hello.worlds[world]) { // words of the world before
    const { example, seed } = hello.worlds[world];
    begin({ ...form(), list: example, seed, drops: "", keys: "" }, { keepsText: true });
    notice(`Your list has words that this world does not know: its example runs until you change them`);
    return;
  }
  editor.complain(message);
  if (recording.lanes) render();
}

// Choosing

function agentNamed(world, name) {
  return hello.worlds[world].agents.find((agent) => agent.name === name);
}

/** What the form shows. */
function form() {
  return {
    world: document.querySelector("#worlds input:checked")?.value ?? wanted.world,
    agent: byId("agent").value,
    rival: byId("rival").value,
    list: editor.text,
    seed: byId("seed").valueAsNumber,
  };
}

/** Start the episode that the form shows, without what a person did to the one before. */
function run(changes = {}) {
  if (!("seed" in changes) && (!byId("seed").value || !byId("seed").checkValidity())) {
    notice("the seed is a whole number from 0 to 4294967295");
    return;
  }
  begin({ ...form(), ...changes, drops: "", keys: "" }, { plays: true });
}

function begin(recipe, { plays = false, keepsText = false } = {}) {
  wanted = { ...recipe };
  playsNext = plays;
  beginning += 1;
  const { world, agent, rival, list, seed } = wanted;
  document.querySelector(`#worlds input[value="${world}"]`).checked = true;
  offerAgents(hello.worlds[world].agents, agent, rival);
  offerObjects(hello.worlds[world]);
  byId("seed").value = seed;
  if (editor.text !== list && !keepsText) editor.text = list;
  else editor.check();
  talk.send("begin", wanted);
}

/** The same agents where they are there, and what was typed; an example in place of an example. */
function changeWorld(name) {
  const { agents, example, seed } = hello.worlds[name];
  const there = (agent) => agents.some((one) => one.name === agent);
  const { agent, rival } = form();
  const acting = there(agent) ? agent : agents[0].name;
  const changes = { world: name, agent: acting, rival: there(rival) && rival !== acting ? rival : "" };
  run(editor.edited ? changes : { ...changes, list: example, seed });
}

function offerObjects({ objects, event }) {
  const select = byId("drop-object");
  if (select.dataset.objects !== objects.join()) {
    select.dataset.objects = objects.join();
    select.replaceChildren(...objects.map((name) => new Option(name, name, false, name === event)));
  }
  for (const lane of lanes) lane.stage.object = select.value;
}

// Playing

/** The lane in which a person acts, or -1. */
function myLane() {
  return [chosen.agent, chosen.rival].indexOf(ME);
}

/** Whether nothing goes on until a person acts. */
function isWaiting() {
  const mine = myLane() < 0 ? null : recording.last(myLane());
  return myLane() >= 0 && !mine?.outcome && chosen.keys.length <= (mine?.step ?? 0);
}

/** Show the step that was chosen, or the last one. */
function render() {
  for (let k = 0; k < recording.lanes; k++) lanes[k].update(recording.shown(k), rate());
  const frame = recording.shown(0);
  mind.update(frame);
  timeline.mark(recording.at);
  byId("count-step").textContent = `${Math.max(...lanes.slice(0, recording.lanes).map((_, k) => recording.shown(k).step))} / ${byId("count-step").dataset.limit}`;
  byId("count-reward").textContent = frame.total.toFixed(1);
  byId("count-action").textContent = frame.action || "none";
  byId("reward-note").textContent = frame.outcome && frame.total < 0 ? hello.worlds[chosen.world].rewards : "";
  showPlaying();
}

function showPlaying() {
  const playing = going || replaying > 0;
  const waits = isWaiting() && recording.isLive;
  const ended = recording.isOver && recording.isLive;
  const play = byId("play"), scrub = byId("scrub");
  play.toggleAttribute("data-going", playing);
  play.setAttribute("aria-label", playing ? "Pause" : ended ? "Play again" : "Play");
  play.disabled = waits;
  byId("restart").disabled = false;
  byId("step").disabled = ended || waits;
  byId("back").disabled = recording.at === 0;
  byId("big-play").hidden = playing || waits || recording.at > 0;
  scrub.max = recording.end;
  scrub.value = recording.at;
  scrub.disabled = recording.end === 0;
  scrub.setAttribute("aria-valuetext", `step ${recording.at} of ${recording.end}`);
}

function outcomeOf(frame) {
  return `${frame.outcome === "done" ? "Done" : "Out of steps"}: ${frame.step} steps, reward ${frame.total.toFixed(1)}.`;
}

function toggle() {
  if (!recording.last(0)) return; // nothing to play yet
  if (going || replaying) stop();
  else if (!recording.isLive) replay();
  else if (recording.isOver) { recording.at = 0; replay(); } // once more, exactly as it was
  else if (!byId("play").disabled) talk.send("play");
}

/** Show what is recorded, step by step; then go on. */
function replay() {
  replaying = setInterval(() => {
    if (!recording.isLive) recording.at += 1;
    if (recording.isLive) {
      stopReplay();
      if (!recording.isOver && !isWaiting()) talk.send("play");
    }
    render();
  }, 1000 / rate());
  render();
}

function stopReplay() {
  clearInterval(replaying);
  replaying = 0;
}

function stop() {
  stopReplay();
  if (going) talk.send("pause");
  going = false;
}

function goTo(step) {
  if (!recording.last(0)) return;
  stop();
  recording.at = Math.min(Math.max(step, 0), recording.end);
  render();
}

function stepOn() {
  if (byId("step").disabled) return;
  if (!recording.isLive) return goTo(recording.at + 1);
  stop();
  talk.send("step");
}

function rate() {
  return SPEEDS[byId("speed").value];
}

function setSpeed() {
  byId("speed-value").textContent = rate() === 1 ? "1 step/s" : `${rate()} steps/s`;
  talk.send("speed", { rate: rate() });
  if (replaying) { stopReplay(); replay(); }
}

function act(action) {
  if (!recording.isLive) goTo(recording.end);
  talk.send("act", { action });
}

function drop(cell) {
  const object = byId("drop-object").value, { event } = hello.worlds[chosen.world];
  if (!recording.isLive) return notice("this is an earlier step: go to the last one to drop something");
  if (object === event && recording.last(0).event > 0) notice(`there is one ${event} at a time: this one takes the other's place`);
  talk.send("drop", { ...cell, object });
}

function announce(words) {
  byId("announce").textContent = words;
}

// Hands

byId("play").addEventListener("click", toggle);
byId("big-play").addEventListener("click", toggle);
byId("step").addEventListener("click", stepOn);
byId("back").addEventListener("click", () => goTo(recording.at - 1));
byId("scrub").addEventListener("input", (event) => goTo(event.target.valueAsNumber));
byId("restart").addEventListener("click", () => run());
byId("speed").addEventListener("input", setSpeed);
byId("agent").addEventListener("change", ({ target }) => run({ rival: byId("rival").value === target.value ? "" : byId("rival").value }));
byId("rival").addEventListener("change", () => run());
byId("run").addEventListener("click", () => run());
byId("drop-object").addEventListener("change", ({ target }) => { for (const lane of lanes) lane.stage.object = target.value; });
byId("seed").addEventListener("keydown", ({ key }) => { if (key === "Enter") run(); });
byId("dice").addEventListener("click", () => run({ seed: Math.floor(Math.random() * SEEDS) }));
for (const button of document.querySelectorAll("[data-sort]")) {
  button.addEventListener("click", () => talk.send("sample", { world: form().world, sort: button.dataset.sort }));
}
editor.addEventListener("run", () => run());

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const onMap = lanes.findIndex((_, k) => event.target === document.querySelector(`#lane-${k} .map`));
  const elsewhere = event.target.closest("input, select, textarea, summary, button");
  if (elsewhere && !(elsewhere.matches("button") && event.key !== " " && event.key !== "Enter")) return;
  if (handled(event, lanes[onMap]?.stage)) event.preventDefault();
});

/** `map` is where the keys point to a cell, if the focus is there. */
function handled(event, map) {
  const arrow = event.key.match(/^Arrow(Up|Down|Left|Right)$/)?.[1].toLowerCase();
  const acts = myLane() >= 0;
  if (map && arrow && (!acts || event.shiftKey)) {
    const words = map.moveCursor(arrow);
    if (words) announce(words);
    return true;
  }
  if (map && event.key === "Enter") {
    if (map.cursor) drop(map.cursor);
    return true;
  }
  if (acts && person.key(event.key)) return true;
  const shortcut = { " ": toggle, ".": stepOn, ",": () => goTo(recording.at - 1), r: () => run() }[event.key];
  shortcut?.();
  return Boolean(shortcut);
}

talk.connect();
