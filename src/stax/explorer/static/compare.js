// Several runs: their names as buttons, and the cells that one has reached and the others have not.

import { isDark, runColour } from "./colours.js";
import { now } from "./looks.js";
import { painted } from "./map.js";
import { change, view } from "./state.js";
import { byId, count, make, number, put, share } from "./words.js";

export function showRuns(runs) {
  const bar = byId("runs");
  bar.hidden = runs.length < 2;
  if (bar.hidden) return;
  const buttons = runs.map((run, place) => {
    const dot = make("i", { class: "dot" });
    dot.style.background = runColour(place);
    return make("button", { class: "chip", type: "button", "aria-pressed": view.run === place, disabled: !run, onclick: () => change({ run: place }) }, dot, run?.label ?? "…");
  });
  const box = make("input", { type: "checkbox", onchange: () => change({ compared: box.checked }) });
  box.checked = view.compared;
  put(bar, make("span", { class: "faint" }, "Runs"), ...buttons, make("label", {}, box, " compare with the others"));
}

/** Whether the map of the ground truth can show cells of several runs. */
const comparable = (run, others) => run.truths === 2 && others.length
  && others.every((one) => one.grid_cells === run.grid_cells && JSON.stringify(one.bounds) === JSON.stringify(run.bounds));

function reached(run) {
  const cells = new Uint8Array(run.grid_cells ** 2);
  const { cell } = run.ledger;
  const until = Math.ceil(now(run) / run.stride);
  for (let row = 0; row < until; row++) if (cell[row] >= 0) cells[cell[row]] = 1;
  return cells;
}

const channels = (colour) => [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));

/** A picture of cells: reached by this run only, by others only, or by both; null if runs cannot be compared. */
export function comparedCells(run, runs) {
  const others = runs.filter((one) => one && one !== run);
  if (!view.compared || !comparable(run, others)) return null;
  const own = reached(run);
  const theirs = new Uint8Array(own.length);
  const whose = new Uint8Array(own.length);
  for (const other of others) reached(other).forEach((there, cell) => { if (there) { theirs[cell] = 1; whose[cell] = other.number; } });
  const tally = { own: 0, theirs: 0, both: 0 };
  own.forEach((there, cell) => { if (there && theirs[cell]) tally.both++; else if (there) tally.own++; else if (theirs[cell]) tally.theirs++; });
  const size = run.grid_cells;
  const grey = isDark() ? [120, 130, 145, 90] : [120, 130, 145, 70];
  // Cells are numbered along the second number of the ground truth; pictures along the first.
  const picture = painted(size, size, (place) => {
    const cell = (place % size) * size + Math.floor(place / size);
    if (own[cell] && theirs[cell]) return grey;
    if (own[cell]) return [...channels(runColour(run.number)), 165];
    return theirs[cell] ? [...channels(runColour(others.length === 1 ? others[0].number : whose[cell])), 120] : null;
  });
  return { picture, tally, others };
}

export function showComparison(run, runs, compared) {
  const section = byId("comparison");
  section.hidden = runs.length < 2 || !view.compared;
  if (section.hidden) return;
  const known = runs.filter(Boolean);
  const rows = known.map((one) => make("tr", { "data-run": one.number, class: one === run ? "chosen" : null },
    make("th", { scope: "row" }, one.label), make("td", {}, one.task), make("td", { class: "number" }, count(one.evaluations)), make("td", { class: "number" }, share(one.coverage)),
    make("td", { class: "number" }, count(one.novelty_size)), make("td", { class: "number" }, count(one.reward_size)),
    make("td", {}, one.areas.map((area, place) => `${area.name} ${number(one.max_reward[place] ?? 0)}`).join(", "))));
  const heads = ["run", "task", "evaluations", "coverage", "novelty archive", "reward archive", "best rewards"];
  put(section, make("h2", {}, "Comparison"),
    compared ? make("p", { id: "cells" }, cellWords(run, compared)) : make("p", { class: "note" }, "Cells can be compared on tasks with the same two-number ground truth."),
    make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, ...rows))));
}

function cellWords(run, { tally, others }) {
  const names = others.length === 1 ? others[0].label : "another run";
  return `Of ${count(run.grid_cells ** 2)} cells of the ground truth, ${count(tally.both)} were reached by both, ${count(tally.own)} by ${run.label} alone, `
    + `and ${count(tally.theirs)} by ${names} alone. The map shows the latter two in the runs' colours.`;
}
