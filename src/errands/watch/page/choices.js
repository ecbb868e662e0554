// What there is to choose from, and what a link has chosen.

import { notice } from "./notice.js";

const byId = (id) => document.getElementById(id);

/** What a link asks for; a newcomer, who has none, gets a story. */
export function fromLink(worlds) {
  const link = new URLSearchParams(location.search);
  const unknown = [];
  const known = (name, choices, otherwise) => {
    if (!link.has(name) || choices.includes(link.get(name))) return link.get(name) ?? otherwise;
    unknown.push(`there is no ${name === "rival" ? "agent" : name} '${link.get(name).slice(0, 40)}' here`);
    return otherwise;
  };
  const world = known("world", Object.keys(worlds), Object.keys(worlds)[0]);
  const { agents, example, seed, story } = worlds[world];
  if (story && ![...link.keys()].some((name) => name !== "world")) {
    const { agent, rival, list } = story;
    if (unknown.length) notice(unknown.join(", and "));
    return { world, agent, rival, list, seed: story.seed, drops: "", keys: "" };
  }
  const names = agents.map(({ name }) => name);
  const agent = known("agent", names, names[0]);
  const rival = known("rival", names, "");
  if (unknown.length) notice(unknown.join(", and "));
  const given = link.has("list");
  return {
    world,
    agent,
    rival: rival === agent ? "" : rival,
    list: given ? link.get("list") : example,
    seed: Number.parseInt(link.get("seed") ?? (given ? 0 : seed), 10) || 0,
    drops: link.get("drops") ?? "",
    keys: link.get("keys") ?? "",
  };
}

export function showLink(chosen) {
  const link = new URL(location.href);
  link.search = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value !== ""));
  history.replaceState(null, "", link);
}

export function offerWorlds(worlds, change) {
  byId("worlds").replaceChildren(...Object.keys(worlds).map((name) => {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "world", value: name });
    input.addEventListener("change", () => change(name));
    label.append(input, { grid: "Grid", block: "Block world" }[name] ?? name);
    return label;
  }));
}

export function offerAgents(agents, agent, rival) {
  const groups = { trained: "Trained", planner: "Planners", person: "You" };
  const offered = (current, without) => Object.entries(groups).map(([sort, label]) => {
    const group = Object.assign(document.createElement("optgroup"), { label });
    group.append(...agents.filter((one) => one.sort === sort && one.name !== without)
      .map(({ name, title }) => new Option(title, name, false, name === current)));
    return group;
  }).filter((group) => group.children.length);
  byId("agent").replaceChildren(...offered(agent, null));
  byId("rival").replaceChildren(new Option("no other agent", "", false, rival === ""), ...offered(rival, agent));
  byId("agent-note").textContent = agents.find(({ name }) => name === agent).note;
  byId("rival-note").textContent = agents.find(({ name }) => name === rival)?.note ?? "";
}

/** What an agent that is chosen cannot be expected to do with a list. */
export function remark(known, names, items) {
  const untrained = (known?.untrained_verbs ?? []).filter((verb) =>
    items.some(({ words }) => words.startsWith(`${verb} `)));
  const trained = (known?.agents ?? []).filter(({ name, sort }) => sort === "trained" && names.includes(name));
  if (!untrained.length || !trained.length) return "";
  const titles = trained.map(({ title }) => title).join(" and ");
  return `${titles} never learned “${untrained.join("” and “")}”, so expect this to fail; planners can do it.`;
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    byId("keep-note").textContent = "Copied: this link shows the same episode.";
  } catch {
    byId("keep-note").textContent = location.href; // not allowed to copy: the person can
  }
}

export function offerFilms(formats, save) {
  const button = (words, use) => {
    const made = Object.assign(document.createElement("button"), { type: "button", textContent: words });
    made.addEventListener("click", use);
    return made;
  };
  byId("formats").replaceChildren(
    button("Copy link", copyLink),
    ...formats.map((format) => {
      const made = button(`Save ${format.toUpperCase()}`, () => save(format));
      made.dataset.format = format;
      return made;
    }),
  );
}

export function setFilming(filming) {
  for (const button of byId("formats").querySelectorAll("[data-format]")) button.disabled = filming;
  byId("keep-note").textContent = filming ? "Making the film." : byId("keep-note").textContent.replace(/^Making.*/, "");
}
