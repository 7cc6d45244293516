// The panel beside the maps: a policy, an empty place of the learned space, or a picture that was asked about.

import { blob, frozen, message } from "./data.js";
import { observationRow, Player, playAll, clock, restartAll } from "./film.js";
import { change, view } from "./state.js";
import { byId, copyButton, count, download, make, number, put } from "./words.js";

const NEIGHBOURS = 6;
const MOST_PINS = 9;
let asked = 0;

const note = (words) => make("p", { class: "note" }, words);

/** A button that shows a policy. */
function chip(run, row, words) {
  const id = run.policy.id[row];
  return make("button", {
    class: "chip", type: "button", title: words ?? `reward ${number(run.policy.reward[row])}`,
    onclick: () => change({ policy: id, place: null }),
    onpointerenter: () => change({ hover: row }), onpointerleave: () => change({ hover: null }),
    onfocus: () => change({ hover: row }), onblur: () => change({ hover: null }),
  }, words ?? String(id));
}

const chips = (run, rows) => make("div", { class: "chips" }, ...rows.map((row) => chip(run, row)));

export function showPanel(run) {
  if (view.place) return;
  const row = run.rowOf.get(view.policy);
  if (row === undefined) showNothing(run);
  else showPolicy(run, row);
}

function showNothing(run) {
  const best = run.best();
  put(byId("panel"),
    make("h2", {}, "A policy"),
    run.count ? make("p", {}, "Click a dot to watch what the policy does.") : note("No policy has been kept yet."),
    best.length ? make("p", { class: "faint" }, "The best of each reward area:") : note(run.count ? "No policy was rewarded." : ""),
    make("div", { class: "chips" }, ...best.map((one) => chip(run, one, `${run.areaName(run.policy.area[one])}: ${number(run.policy.reward[one])}`))));
}

function showPolicy(run, row) {
  const { policy } = run;
  const id = policy.id[row];
  const turn = ++asked;
  const player = new Player(run, id);
  const pinned = view.pins.includes(id);
  const play = make("button", { type: "button", onclick: () => { playAll(!clock.playing); play.textContent = clock.playing ? "Pause" : "Play"; } },
    clock.playing ? "Pause" : "Play");
  player.element.append(make("div", { class: "buttons" }, play, make("button", { type: "button", title: "Play from the start", onclick: () => { restartAll(); play.textContent = "Pause"; } }, "↺")));
  const seen = make("div", { class: "seen" });
  const truth = Array.from({ length: run.truths }, (_, place) => number(policy.truth[place * run.count + row]));
  const facts = [
    ["reward", policy.area[row] < 0 ? "none" : `${number(policy.reward[row], 4)}, ${run.areaName(policy.area[row])}`],
    policy.spread ? ["spread", `${number(policy.spread[row], 4)} (standard deviation of its rewards)`] : null,
    ["evaluation", `${count(id)}, ${run.origins[policy.origin[row]]}`],
    ["archive", ["", "novelty", "reward", "novelty and reward"][policy.archive[row]]],
    truth.length ? ["ground truth", truth.join(", ")] : null,
    ["novelty", number(policy.novelty[row], 4)],
    Number.isFinite(policy.surprise[row]) ? ["surprise", number(policy.surprise[row], 4)] : null,
    ["steps", count(policy.steps[row])],
  ].filter(Boolean);
  const line = run.ancestors(id);
  const emitter = policy.emitter[row];
  put(byId("panel"),
    make("div", { class: "head" }, make("h2", { "data-policy": id }, `Policy ${count(id)}`),
      make("button", { type: "button", class: "pin", "aria-pressed": pinned, onclick: () => pin(id) }, pinned ? "Unpin" : "Pin")),
    player.element,
    make("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", { "data-fact": name }, value)])),
    emitter < 0 ? null : make("p", {}, "Found by ", make("button", { class: "chip", type: "button", onclick: () => change({ emitter }) }, `emitter ${emitter}`)),
    seen,
    make("h3", {}, "Nearest neighbours"),
    ...neighbours(run, row),
    make("h3", {}, "Ancestors"), ancestors(run, id, line),
    make("h3", {}, "Commands"), copyButton(`${run.replay} ${id} --out policy-${id}.gif`), run.export ? copyButton(`${run.export} ${id}`) : null);
  player.ready.then((film) => {
    if (turn !== asked) return;
    if (film?.differences.length) player.element.append(note(`The replay differs from the recording: ${film.differences.join(", ")}.`));
    setTimeout(() => turn === asked && showSeen(run, id, seen, turn), 30);
  });
}

export function pin(id) {
  const pins = view.pins.includes(id) ? view.pins.filter((one) => one !== id) : [...view.pins, id].slice(-MOST_PINS);
  change({ pins });
}

async function showSeen(run, id, element, turn) {
  try {
    const told = await message(`api/runs/${run.number}/seen/${id}`);
    if (turn !== asked) return;
    const { seen, made } = told.arrays;
    put(element, make("h3", {}, "What the autoencoder sees"), observationRow(seen, made ? "seen" : ""), made ? observationRow(made, "made of it") : null,
      made && told.used.length < seen.shape[0] ? note(`Only observation ${told.used.map((sample) => sample + 1).join(", ")} is used.`) : null);
    if (!made) element.querySelector("h3").textContent = "Observations";
  } catch (error) {
    if (turn === asked && !frozen) put(element, note(error.message));
  }
}

function neighbours(run, row) {
  const rows = [];
  if (run.truths) {
    const truth = (one, place) => run.policy.truth[place * run.count + one] - run.policy.truth[place * run.count + row];
    const distance = (one) => Array.from({ length: run.truths }, (_, place) => truth(one, place) ** 2).reduce((sum, part) => sum + part, 0);
    rows.push(["by ground truth", run.nearest(distance, NEIGHBOURS, row)]);
  }
  if (run.codes && run.descriptor !== "ground-truth") {
    const from = run.policy.descriptor.subarray(row * run.codes, (row + 1) * run.codes);
    rows.push([run.learns ? "in the learned space" : "as compared", run.nearest(run.descriptorDistance(from), NEIGHBOURS, row)]);
  }
  return rows.map(([words, found]) => make("div", { class: "near", "data-near": words }, make("span", { class: "faint" }, words), chips(run, found)));
}

function ancestors(run, id, line) {
  if (run.stride > 1) return note("The run is too large for the page to know every parent.");
  if (!line.length) return note("None: it was drawn at random.");
  const kept = line.filter((one) => run.rowOf.has(one));
  return make("div", {}, make("p", {}, `${count(line.length)} ${line.length === 1 ? "generation" : "generations"} back to policy ${count(line[line.length - 1])}: the line on the maps.`),
    kept.length ? make("div", { class: "near" }, make("span", { class: "faint" }, "kept in the archives"), chips(run, kept.slice(0, 12).map((one) => run.rowOf.get(one)))) : null);
}

// An empty place

export async function showPlace(run, codes, words) {
  const turn = ++asked;
  const rows = run.nearest(run.descriptorDistance(codes), 9);
  change({ near: rows });
  const made = make("div", { class: "seen" }, note("decoding…"));
  put(byId("panel"), make("h2", {}, "An empty place"), make("p", {}, words),
    make("h3", {}, "What the decoder makes of it"), made, make("h3", {}, "The nearest policies"), chips(run, rows));
  try {
    const told = await message(`api/runs/${run.number}/decode`, JSON.stringify(codes));
    if (turn === asked) put(made, observationRow(told.arrays.made, "imagined"));
  } catch (error) {
    if (turn === asked) put(made, note(error.message));
  }
}

// A picture as a question

export async function askPicture(run, file) {
  const turn = ++asked;
  put(byId("panel"), make("h2", {}, "Your picture"), note("looking it up…"));
  try {
    const told = await message(`api/runs/${run.number}/encode`, file);
    if (turn !== asked) return;
    const { seen, made, near } = told.arrays;
    const rows = [...near];
    change({ place: { picture: true }, near: rows });
    put(byId("panel"), make("h2", {}, "Your picture"), observationRow(seen, "as the autoencoder sees it"), observationRow(made, "what it makes of it"),
      make("h3", {}, "The policies that end most like it"), chips(run, rows),
      make("button", { type: "button", onclick: () => change({ pins: rows.map((row) => run.policy.id[row]) }) }, "Watch all nine"));
  } catch (error) {
    if (turn === asked) put(byId("panel"), make("h2", {}, "Your picture"), note(error.message));
  }
}

// What is selected

export function showSelection(run) {
  const bar = byId("selection");
  const rows = view.selection ? [...view.selection] : [];
  bar.hidden = !rows.length;
  if (!rows.length) return;
  const ids = rows.map((row) => run.policy.id[row]);
  const said = make("span", { class: "note", role: "status" });
  const take = (name, path, most) => async () => {
    if (ids.length > most) {
      said.textContent = `Select at most ${most} policies for that.`;
      return;
    }
    said.textContent = "working…";
    try {
      download(await blob(`api/runs/${run.number}/${path}`, JSON.stringify(ids)), `${run.name}-${name}`);
      said.textContent = "";
    } catch (error) {
      said.textContent = error.message;
    }
  };
  const best = rows.toSorted((one, other) => run.policy.reward[other] - run.policy.reward[one]).slice(0, MOST_PINS);
  const rewarded = rows.filter((row) => run.policy.reward[row] > 0).length;
  put(bar, make("strong", { id: "selected" }, `${count(rows.length)} selected`), make("span", { class: "faint" }, rewarded ? `${count(rewarded)} of them rewarded` : "none of them rewarded"),
    make("span", { class: "spring" }),
    make("button", { type: "button", onclick: () => change({ pins: best.map((row) => run.policy.id[row]) }) }, `Watch the best ${best.length}`),
    frozen ? null : make("button", { type: "button", onclick: take("selection.parquet", "selection.parquet", 1e7) }, "Save as Parquet"),
    frozen ? null : make("button", { type: "button", onclick: take("films.gif", "films.gif", 36) }, "Save films (GIF)"),
    make("button", { type: "button", onclick: () => change({ selection: null, lasso: "" }) }, "Clear"), said);
}

// What is pinned

const shownPins = new Map();
export function showPins(run) {
  byId("pinned").hidden = !view.pins.length;
  for (const id of [...shownPins.keys()]) if (!view.pins.includes(id)) shownPins.delete(id);
  for (const id of view.pins) {
    if (shownPins.has(id)) continue;
    const row = run.rowOf.get(id);
    const words = row === undefined ? "not in the archives" : run.policy.area[row] < 0 ? "not rewarded" : `${number(run.policy.reward[row])}, ${run.areaName(run.policy.area[row])}`;
    const { element } = new Player(run, id);
    shownPins.set(id, make("figure", { "data-pin": id },
      make("button", { class: "unpin", type: "button", "aria-label": `Unpin policy ${id}`, onclick: () => pin(id) }, "×"), element,
      make("figcaption", {}, make("button", { class: "chip", type: "button", onclick: () => change({ policy: id, place: null }) }, String(id)), make("div", {}, words))));
  }
  put(byId("pins"), ...view.pins.map((id, place) => {
    const figure = shownPins.get(id);
    figure.dataset.place = place + 1;
    return figure;
  }));
}

export const forgetPins = () => shownPins.clear();
