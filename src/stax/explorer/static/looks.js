// How dots look: which are shown, and in what colours; with the legend that says so.

import { archiveColour, areaColour, numberColour, ramp, SHADES } from "./colours.js";
import { view } from "./state.js";
import { make, number, put } from "./words.js";

export const COLOURS = [
  ["archive", "archive"], ["reward", "reward"], ["area", "reward area"], ["novelty", "novelty"], ["surprise", "surprise"],
  ["origin", "origin"], ["emitter", "emitter"], ["evaluation", "age"],
];

/** The last evaluation that is looked at. */
export const now = (run) => (view.time === null ? run.evaluations : Math.min(view.time, run.evaluations));

/** Colours and the number of a colour for each kept policy, and the entries of the legend. */
export function tones(run) {
  const { policy, count } = run;
  const shade = new Uint8Array(count);
  const entries = (names, colours, of) => {
    const used = new Set();
    for (let row = 0; row < count; row++) used.add(shade[row] = of(row));
    return { colours, shade, legend: names.map((name, place) => [name, colours[place]]).filter((_, place) => used.has(place)) };
  };
  if (view.colour === "archive") {
    const colours = [archiveColour("novelty"), archiveColour("reward")];
    return entries(["novelty archive", "reward archive"], colours, (row) => (policy.archive[row] & 2 ? 1 : 0));
  }
  if (view.colour === "area") {
    const names = ["not rewarded", ...run.areas.map(({ name }) => name)];
    const colours = names.map((_, place) => areaColour(place - 1));
    return entries(names, colours, (row) => Math.max(policy.area[row], -1) + 1);
  }
  if (view.colour === "origin") {
    const colours = [areaColour(-1), archiveColour("novelty"), areaColour(1), archiveColour("reward"), areaColour(3)];
    return entries(run.origins, colours, (row) => policy.origin[row]);
  }
  if (view.colour === "emitter") {
    // Neighbours in the order of emitters get colours that are far apart.
    const colours = [archiveColour("other"), ...Array.from({ length: 40 }, (_, hue) => numberColour(hue))];
    const found = entries([], colours, (row) => (policy.emitter[row] < 0 ? 0 : 1 + (policy.emitter[row] % 40)));
    return { ...found, legend: [["no emitter", colours[0]], ["a colour per emitter", colours[1]]] };
  }
  return graded(run, shade);
}

function graded(run, shade) {
  const values = run.column(view.colour);
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (view.colour === "reward") low = 0;
  // Those without a value come first, since later colours are drawn over earlier ones.
  const colours = [archiveColour("other"), ...Array.from({ length: SHADES }, (_, place) => ramp(place / (SHADES - 1)))];
  let unknown = false;
  for (let row = 0; row < values.length; row++) {
    const known = Number.isFinite(values[row]) && !(view.colour === "reward" && values[row] === 0);
    unknown ||= !known;
    shade[row] = known ? 1 + Math.round(((values[row] - low) / (high - low || 1)) * (SHADES - 1)) : 0;
  }
  const words = view.colour === "reward" ? "not rewarded" : "not measured";
  return { colours, shade, range: [low, high], legend: unknown ? [[words, colours[0]]] : [] };
}

/** Which kept policies are shown. */
export function shown(run) {
  const { policy, count } = run;
  const visible = new Uint8Array(count);
  const until = now(run);
  const wanted = { all: 3, novelty: 1, reward: 2 }[view.archive] ?? 3;
  for (let row = 0; row < count; row++) {
    visible[row] = policy.id[row] < until && policy.archive[row] & wanted
      && passes(policy.area[row], policy.origin[row], policy.reward[row], policy.emitter[row]) ? 1 : 0;
  }
  return visible;
}

function passes(area, origin, reward, emitter) {
  return (view.area === "all" || area === Number(view.area)) && (view.origin === "all" || origin === Number(view.origin))
    && reward >= view.least && (view.emitter === null || emitter === view.emitter);
}

/** Which evaluations of the ledger count for the density: null for all up to now. */
export function counted(run) {
  if (view.area === "all" && view.origin === "all" && !view.least && view.emitter === null) return null;
  const { area, origin, reward, emitter } = run.ledger;
  const mask = new Uint8Array(run.rows);
  for (let row = 0; row < run.rows; row++) mask[row] = passes(area[row], origin[row], reward[row], emitter[row]) ? 1 : 0;
  return mask;
}

export function drawLegend(element, { legend, range, colours }) {
  const parts = [];
  if (range) {
    const bar = make("canvas", { width: 96, height: 10, class: "ramp" });
    const pen = bar.getContext("2d");
    for (let place = 0; place < SHADES; place++) {
      pen.fillStyle = colours[place + 1];
      pen.fillRect((place * 96) / SHADES, 0, 96 / SHADES + 1, 10);
    }
    const digits = view.colour === "evaluation" ? 0 : 3;
    parts.push(make("span", {}, number(range[0], digits), bar, number(range[1], digits)));
  }
  for (const [name, colour] of legend) {
    const dot = make("i", { class: "dot" });
    dot.style.background = colour;
    parts.push(make("span", {}, dot, name));
  }
  put(element, ...parts);
}
