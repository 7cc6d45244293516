// Emitters: a table, and the life of the one that is chosen.

import { archiveColour, areaColour, faint } from "./colours.js";
import { Chart } from "./charts.js";
import { change, view } from "./state.js";
import { byId, count, make, number, put } from "./words.js";

const ROWS = 12;
const COLUMNS = [
  ["id", "emitter"], ["kind", "kind"], ["reward_area", "area"], ["born", "born after"], ["ancestor", "from policy"], ["generations", "generations"],
  ["evaluations", "evaluations"], ["first_reward", "first reward"], ["best_reward", "best reward"], ["ended_by", "end"],
];
const ending = (run, why) => (why ? `ended by ${why}` : run.status === "finished" ? "ended with the budget" : "still running");
const order = { column: "best_reward", down: true };
let page = 0;

export function showEmitters(run) {
  const section = byId("emitters");
  section.hidden = !run.has_emitters;
  if (section.hidden) return;
  if (!run.emitters.length) {
    put(section, make("h2", {}, "Emitters"), make("p", { class: "note" }, "No emitter was made: no policy was rewarded, or the budget ended before."));
    return;
  }
  const several = new Set(run.emitters.map(({ kind }) => kind)).size > 1;
  const columns = COLUMNS.filter(([name]) => name !== "kind" || several);
  const sorted = run.emitters.toSorted((one, other) => compare(one[order.column], other[order.column]) * (order.down ? -1 : 1) || one.id - other.id);
  const pages = Math.ceil(sorted.length / ROWS);
  page = Math.min(page, pages - 1);
  const rows = sorted.slice(page * ROWS, (page + 1) * ROWS);
  put(section, make("h2", {}, "Emitters"), make("p", { class: "hint" }, about(run)), make("div", { class: "beside" },
    make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...columns.map((column) => head(run, column)))),
      make("tbody", {}, ...rows.map((emitter) => tableRow(run, emitter, columns)))),
    pages > 1 ? make("div", { class: "buttons" },
      make("button", { type: "button", disabled: page === 0, onclick: () => turn(run, -1) }, "Before"), make("span", { class: "faint" }, `${page + 1} of ${pages}`),
      make("button", { type: "button", disabled: page === pages - 1, onclick: () => turn(run, 1) }, "Next")) : null),
    life(run)));
}

const compare = (one, other) => (typeof one === "string" ? one.localeCompare(other) : (one ?? -Infinity) - (other ?? -Infinity));

function turn(run, by) {
  page += by;
  showEmitters(run);
}

function about(run) {
  const reasons = new Map();
  for (const { ended_by: why } of run.emitters) reasons.set(why, (reasons.get(why) ?? 0) + 1);
  const words = [...reasons].map(([why, many]) => `${count(many)} ${ending(run, why)}`).join(", ");
  return `${count(run.emitters.length)} small ${run.emitters.length === 1 ? "search" : "searches"} around rewarding policies: ${words}. Choose one to see its policies alone on the maps.`;
}

function head(run, [name, words]) {
  const sorted = order.column === name ? (order.down ? "descending" : "ascending") : null;
  const sort = () => {
    Object.assign(order, { down: order.column === name ? !order.down : true, column: name });
    page = 0;
    showEmitters(run);
  };
  return make("th", { "aria-sort": sorted, scope: "col" }, make("button", { class: "plain", type: "button", onclick: sort }, words));
}

function tableRow(run, emitter, columns) {
  const chosen = view.emitter === emitter.id;
  const cells = columns.map(([name]) => {
    const value = emitter[name];
    if (name === "id") {
      return make("th", { scope: "row" }, make("button", { class: "chip", type: "button", "aria-pressed": chosen, onclick: () => change({ emitter: chosen ? null : value }) }, String(value)));
    }
    if (name === "reward_area") return make("td", {}, dot(areaColour(value)), run.areaName(value));
    if (name === "ancestor" && run.rowOf.has(value)) {
      return make("td", { class: "number" }, make("button", { class: "plain link", type: "button", onclick: () => change({ policy: value, place: null }) }, count(value)));
    }
    if (name === "ended_by") return make("td", {}, ending(run, value));
    return make("td", { class: typeof value === "number" ? "number" : "", "data-column": name }, typeof value === "number" ? number(value) : value ?? "–");
  });
  return make("tr", { class: chosen ? "chosen" : null, "data-emitter": emitter.id }, ...cells);
}

function dot(colour) {
  const element = make("i", { class: "dot" });
  element.style.background = colour;
  return element;
}

/** After how many of its evaluations each generation of an emitter ended: the first is its population, the others are of one size. */
function generationEnds(run, emitter, evaluations) {
  const first = Math.min(run.emitter_population, evaluations);
  const size = Math.max(1, Math.round((evaluations - first) / Math.max(emitter.generations - 1, 1)));
  const ends = first ? [first] : [];
  while (ends.at(-1) < evaluations) ends.push(Math.min(ends.at(-1) + size, evaluations));
  return ends;
}

/** The rewards of an emitter over its generations, as the ledger has them. */
export function generations(run, emitter) {
  const rewards = [];
  for (let row = 0; row < run.rows; row++) if (run.ledger.emitter[row] === emitter.id) rewards.push(run.ledger.reward[row]);
  const found = { best: [], mean: [], so_far: [] };
  let first = 0;
  for (const end of generationEnds(run, emitter, rewards.length)) {
    const some = rewards.slice(first, end);
    first = end;
    found.best.push(Math.max(...some));
    found.mean.push(some.reduce((sum, reward) => sum + reward, 0) / some.length);
    found.so_far.push(Math.max(found.so_far.at(-1) ?? emitter.first_reward, found.best.at(-1)));
  }
  return found;
}

function life(run) {
  const emitter = run.emitters.find(({ id }) => id === view.emitter);
  if (!emitter) return null;
  const found = generations(run, emitter);
  const x = found.best.map((_, generation) => generation + 1);
  const chart = new Chart({ title: `Emitter ${emitter.id}: reward over its generations`, until: Math.max(x.length, 1), lines: [
    { name: "best so far", x, y: found.so_far, colour: archiveColour("reward"), step: true },
    { name: "best", x, y: found.best, colour: archiveColour("novelty") },
    { name: "mean", x, y: found.mean, colour: faint(), dash: true }] });
  const [first, last] = [number(emitter.first_reward), number(emitter.best_reward)];
  chart.element.classList.add("life");
  return make("div", { id: "life" }, chart.element,
    make("p", {}, `Born after ${count(emitter.born)} evaluations from policy ${count(emitter.ancestor)} in ${run.areaName(emitter.reward_area)}; `
      + `reward ${first} to ${last} in ${count(emitter.evaluations)} evaluations; `
      + `${ending(run, emitter.ended_by)}.`),
    make("button", { type: "button", onclick: () => change({ emitter: null }) }, "Show all policies again"));
}

/** The ids along an emitter's path: its best policy, those that were its best before, and its ancestor. */
export function emitterPath(run, id) {
  const emitter = run.emitters.find((one) => one.id === id);
  if (!emitter || run.stride > 1) return [];
  const rows = [];
  for (let row = 0; row < run.rows; row++) if (run.ledger.emitter[row] === id) rows.push(row);
  const path = [emitter.ancestor];
  let [best, seen, highest] = [-1, 0, emitter.first_reward ?? 0];
  for (const end of generationEnds(run, emitter, rows.length)) {
    for (; seen < end; seen++) if (run.ledger.reward[rows[seen]] > highest) [best, highest] = [rows[seen], run.ledger.reward[rows[seen]]];
    if (best >= 0 && path.at(-1) !== best) path.push(best);
  }
  return path.reverse();
}
