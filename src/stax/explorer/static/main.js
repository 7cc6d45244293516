// The page: reads runs, keeps maps, panel, slider and charts in step with the view.

import { whenThemeChanges } from "./colours.js";
import { comparedCells, showComparison, showRuns } from "./compare.js";
import { knownAt, moveCursors, showCourse } from "./course.js";
import { frozen, json, message, Run } from "./data.js";
import { emitterPath, showEmitters } from "./emitters.js";
import { COLOURS, counted, drawLegend, now, shown, tones } from "./looks.js";
import { ScatterMap, within } from "./map.js";
import { askPicture, forgetPins, pin, showPanel, showPins, showPlace, showSelection } from "./panel.js";
import { axes, chosenAxes, kinds, loadScene, places, usualKind } from "./places.js";
import { change, listen, recall, view } from "./state.js";
import { byId, count, fill, make, number, put, share } from "./words.js";

const SIDES = ["left", "right"];
const maps = window.staxMaps = {};
let runs = [];
let run = null;
let look = null;

// Reading

async function start() {
  recall();
  buildMaps();
  const told = await json("api/runs");
  runs = told.runs.map(() => null);
  await load(view.run in runs ? view.run : 0);
  await Promise.all(runs.map((_, place) => (runs[place] ? null : read(place).catch(fail))));
  showRuns(runs);
  if (runs.length > 1) refresh();
  document.documentElement.dataset.ready = "all";
  if (!frozen) follow();
}

async function read(place) {
  const found = new Run(await message(`api/runs/${place}/data`));
  found.scene = runs[place]?.scene ?? null;
  found.label = runs.length > 1 ? `${found.name}` : found.name;
  found.version = (runs[place]?.version ?? 0) + 1;
  runs[place] = found;
  return found;
}

async function load(place) {
  view.run = place;
  try {
    run = runs[place] ?? await read(place);
  } catch (error) {
    fail(error);
    return;
  }
  byId("failure").hidden = true;
  byId("main").hidden = false;
  if (view.policy === null && run.count) view.policy = firstPolicy();
  forgetPins();
  describe();
  refresh();
  document.documentElement.dataset.ready = "first";
  if (!run.scene) {
    try {
      run.scene = await loadScene(run);
      if (run.scene && runs[view.run] === run) placeAll({ keepZoom: true });
    } catch (error) {
      byId("source").title = error.message;
    }
  }
  document.documentElement.dataset.scene = run.scene ? "yes" : "no";
}

function firstPolicy() {
  const best = run.best().toSorted((one, other) => run.policy.reward[other] - run.policy.reward[one]);
  return run.policy.id[best[0] ?? 0];
}

function fail(error) {
  const place = byId("failure");
  place.hidden = false;
  place.textContent = error.message;
  if (!run) byId("title").textContent = "This run cannot be read";
}

// Words about the run

function describe() {
  document.title = `${run.algo} on ${run.task} – stax explore`;
  byId("title").textContent = `${run.algo} on ${run.task}`;
  byId("subtitle").textContent = `${run.about}; seed ${run.seed}${run.preset === "default" ? "" : `, preset ${run.preset}`}`;
  showTiles(run);
  const sources = { results: "Read from the results in", checkpoint: "Read from the last checkpoint in", nothing: "Nothing has been written yet in" };
  byId("source").textContent = `${sources[run.source]} ${run.folder}.${run.error ? ` It failed: ${run.error}` : ""}`;
}

function showTiles(told) {
  const entries = [
    ["status", told.status], ["evaluations", count(told.evaluations), told.evaluations < run.budget ? `of ${count(run.budget)}` : ""],
    run.bounds ? ["coverage", share(told.coverage)] : null,
    ["novelty archive", count(told.novelty_size)], run.has_emitters ? ["reward archive", count(told.reward_size)] : null,
    ...run.areas.slice(0, 4).map((area, place) => [`best, ${area.name}`, number(told.max_reward?.[place] ?? 0)]),
  ].filter(Boolean);
  put(byId("tiles"), ...entries.map(([name, value, more]) => make("li", { "data-tile": name, class: name === "status" ? `status ${value}` : null },
    make("span", {}, name), make("b", {}, value), more ? make("small", {}, more) : null)));
}

// Controls

function buildMaps() {
  for (const side of SIDES) {
    const select = make("select", { "aria-label": `What the ${side} map shows`, onchange: () => change({ [side]: select.value, [`${side}Axes`]: "", place: null }) });
    const chosen = make("span", { class: "axes" });
    const tool = make("button", { type: "button", class: "tool", title: "What dragging does: select policies, or move the map", onclick: () => change({ tool: view.tool === "move" ? "select" : "move" }) });
    const home = make("button", { type: "button", class: "tool", title: "Show all again (or double-click)", onclick: () => maps[side].zoomTo({ scale: 1, x: 0, y: 0 }) }, "Reset");
    const ask = side === "right" ? picker() : null;
    byId(side).append(make("div", { class: "head" }, select, chosen), make("p", { class: "note", hidden: true }));
    maps[side] = new ScatterMap(byId(side), events(side));
    byId(side).append(make("div", { class: "foot" }, tool, home, ask, make("span", { class: "spring" }), make("span", { class: "faint", "data-count": side })));
    Object.assign(maps[side], { select, chosen, tool, ask });
  }
}

function picker() {
  const input = make("input", { type: "file", accept: "image/*", hidden: true, id: "picture" });
  input.addEventListener("change", () => { if (input.files[0]) askPicture(run, input.files[0]); input.value = ""; });
  return make("span", { id: "ask" }, input, make("button", { type: "button", class: "tool", onclick: () => input.click(), title: "Find the policies that end most like a picture; you can also drop one" }, "Ask with a picture…"));
}

function events(side) {
  return {
    hover(row, event) {
      change({ hover: row });
      tip(row, event);
    },
    click(row) {
      change({ policy: run.policy.id[row], place: null, near: [] });
    },
    place(x, y) {
      const { points } = maps[side];
      if (!points.places || frozen) return;
      change({ place: { side, x, y } });
      showPlace(run, points.places(x, y), `No policy was kept at ${number(x)}, ${number(y)}.`);
    },
    lasso(polygon) {
      change({ lasso: `${side}:${thinned(polygon).map((place) => place.map((value) => Number(value.toPrecision(5))).join(",")).join(";")}` });
    },
  };
}

function thinned(polygon) {
  const every = Math.ceil(polygon.length / 60);
  return polygon.filter((_, place) => place % every === 0);
}

function selectWithin() {
  const [side, words] = view.lasso.split(/:(.*)/s);
  if (!words || !maps[side]?.points) {
    change({ selection: null });
    return;
  }
  const polygon = words.split(";").map((place) => place.split(",").map(Number));
  const { x, y } = maps[side].points;
  const rows = [];
  for (let row = 0; row < run.count; row++) if (look.visible[row] && within(polygon, x[row], y[row])) rows.push(row);
  change({ selection: rows.length ? new Set(rows) : null });
}

function buildControls() {
  // A run that has just begun may come to have what it lacks now.
  const measured = (name) => !run.count || !["novelty", "surprise"].includes(name) || run.policy[name].some(Number.isFinite);
  const colours = COLOURS.filter(([name]) => measured(name) && (run.has_emitters || name !== "emitter"));
  if (!colours.some(([name]) => name === view.colour)) view.colour = run.has_emitters ? "archive" : "evaluation";
  fill(byId("colour"), colours, view.colour);
  fill(byId("archive"), [["all", "both archives"], ["novelty", "novelty archive"], ["reward", "reward archive"]], view.archive);
  byId("archive").parentElement.hidden = !run.has_emitters;
  fill(byId("area"), [["all", "all"], ["-1", "not rewarded"], ...run.areas.map(({ name }, place) => [String(place), name])], view.area);
  fill(byId("origin"), [["all", "all"], ...run.origins.map((name, place) => [String(place), name])], view.origin);
  byId("least").value = Math.round(100 * view.least / highest());
  byId("least-value").textContent = number(view.least, 2);
  const time = byId("time");
  time.max = run.evaluations;
  time.value = now(run);
  for (const side of SIDES) buildAxes(side);
}

const highest = () => Math.max(...run.policy.reward, 1e-9);

function buildAxes(side) {
  const found = kinds(run);
  if (!found.some(([name]) => name === view[side])) view[side] = usualKind(run, side);
  const { select, chosen, tool, ask, over } = maps[side];
  fill(select, found, view[side]);
  const options = axes(run, view[side]);
  const shownAxes = options.length ? chosenAxes(run, view[side], view[`${side}Axes`]) : [];
  put(chosen, ...shownAxes.map((name, place) => {
    const menu = make("select", { "aria-label": `${place ? "Vertical" : "Horizontal"} axis of the ${side} map`, onchange: () => {
      const others = [...shownAxes];
      others[place] = menu.value;
      change({ [`${side}Axes`]: others.join(",") });
    } });
    fill(menu, options, name);
    return menu;
  }));
  tool.textContent = view.tool === "move" ? "Drag moves" : "Drag selects";
  over.dataset.tool = view.tool;
  if (ask) ask.hidden = frozen || !run.learns || run.observation_shape.length !== 3;
}

function listenToControls() {
  for (const name of ["colour", "archive", "area", "origin"]) byId(name).addEventListener("change", (event) => change({ [name]: event.target.value }));
  byId("least").addEventListener("input", (event) => change({ least: (highest() * event.target.value) / 100 }));
  byId("time").addEventListener("input", (event) => {
    stop();
    const at = Number(event.target.value);
    change({ time: at >= run.evaluations ? null : at });
  });
  byId("play").addEventListener("click", () => (playing ? stop() : play()));
  document.addEventListener("keydown", (event) => {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") change({ selection: null, lasso: "", emitter: null, place: null, near: [], time: null });
    else if (event.key === "p" && view.policy !== null) pin(view.policy);
  });
  listenToDrops();
}

function listenToDrops() {
  const drop = byId("drop");
  const wanted = (event) => run?.learns && !frozen && event.dataTransfer?.types.includes("Files");
  window.addEventListener("dragover", (event) => {
    if (!wanted(event)) return;
    event.preventDefault();
    drop.hidden = false;
  });
  window.addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.hidden = true; });
  window.addEventListener("drop", (event) => {
    if (!wanted(event)) return;
    event.preventDefault();
    drop.hidden = true;
    if (event.dataTransfer.files[0]) askPicture(run, event.dataTransfer.files[0]);
  });
}

// Time

let playing = 0;
function play() {
  const began = performance.now();
  const from = view.time === null ? 0 : view.time;
  const whole = 12_000;
  byId("play").textContent = "❚❚";
  const frame = (time) => {
    const at = Math.round(from + ((time - began) / whole) * run.evaluations);
    if (at >= run.evaluations) {
      change({ time: null });
      stop();
      return;
    }
    change({ time: Math.max(at, 1) });
    playing = requestAnimationFrame(frame);
  };
  playing = requestAnimationFrame(frame);
}

function stop() {
  cancelAnimationFrame(playing);
  playing = 0;
  byId("play").textContent = "▶";
}

function showTime() {
  const at = now(run);
  byId("time").value = at;
  byId("when").textContent = `after ${count(at)} of ${count(run.evaluations)} evaluations${knownAt(run, at) ? `: ${knownAt(run, at)}` : ""}`;
}

/** The autoencoder of the training episode before a time, if the run has kept them. */
async function embedThen() {
  if (!run.kept_episodes.length) return;
  const done = run.episodes.filter(({ evaluations }) => evaluations <= now(run)).map(({ episode }) => episode);
  const episode = view.time === null ? null : run.kept_episodes.filter((one) => one <= (done.at(-1) ?? 0)).at(-1) ?? run.kept_episodes[0];
  if (run.episode === episode) return;
  run.episode = episode;
  const asked = run;
  run.embeddings ??= new Map();
  if (episode !== null && !run.embeddings.has(episode)) {
    run.embeddings.set(episode, message(`api/runs/${run.number}/embedded/${episode}`).then(({ arrays }) => arrays.places, () => null));
  }
  const found = episode === null ? null : await run.embeddings.get(episode);
  if (asked !== run || run.episode !== episode) return;
  run.embedded = found;
  byId("right").dataset.episode = episode ?? "";
  for (const side of SIDES) if (view[side] === "pca") place(side, { keepZoom: true });
}

// Drawing

async function place(side, options) {
  const words = byId(side).querySelector(".note");
  try {
    const found = await places(run, view[side], view[`${side}Axes`]);
    words.hidden = true;
    maps[side].place(found, options);
  } catch (error) {
    words.hidden = false;
    words.textContent = error.message;
    return;
  }
  if (look) dressOne(side);
  mark();
}

async function placeAll(options) {
  await Promise.all(SIDES.map((side) => place(side, options)));
  if (view.lasso) selectWithin();
}

function dress() {
  if (!run) return;
  look = { ...tones(run), visible: shown(run), counted: counted(run), rows: Math.ceil(now(run) / run.stride), selected: view.selection };
  look.behind = Math.min(look.rows * run.stride, run.evaluations);
  if (look.counted) look.behind = look.counted.subarray(0, look.rows).reduce((sum, one) => sum + one, 0) * run.stride;
  drawLegend(byId("legend"), look);
  const compared = comparedCells(run, runs);
  look.compared = compared;
  for (const side of SIDES) dressOne(side);
  showComparison(run, runs, compared);
}

function dressOne(side) {
  const { points } = maps[side];
  if (!points) return;
  const cells = points.truth ? look.compared?.picture ?? null : null;
  if (cells && points.picture) maps[side].dress({ ...look, cells: onScene(cells, points) });
  else maps[side].dress({ ...look, cells: cells && upsideDown(cells) });
  const here = look.visible.reduce((sum, one) => sum + one, 0);
  const behind = points.ledger ? ` · ${count(look.behind)} evaluations` : "";
  document.querySelector(`[data-count="${side}"]`).textContent = `${count(here)} of ${count(run.count)} policies${behind}`;
}

/** Cells over the bounds of the ground truth as a picture over the scene, which may show more or less. */
function onScene(cells, { bounds: [x0, x1, y0, y1] }) {
  const [[left, right], [top, bottom]] = run.bounds;
  const canvas = make("canvas", { width: 512, height: 512 });
  const pen = canvas.getContext("2d");
  pen.imageSmoothingEnabled = false;
  const toX = (value) => ((value - x0) / (x1 - x0)) * 512;
  const toY = (value) => ((value - y0) / (y1 - y0)) * 512;
  pen.translate(toX(left), toY(top));
  pen.scale((toX(right) - toX(left)) / cells.width, (toY(bottom) - toY(top)) / cells.height);
  pen.drawImage(cells, 0, 0);
  return canvas;
}

function upsideDown(cells) {
  const canvas = make("canvas", { width: cells.width, height: cells.height });
  const pen = canvas.getContext("2d");
  pen.scale(1, -1);
  pen.drawImage(cells, 0, -cells.height);
  return canvas;
}

/** Rings, pins and lines over the maps. */
function mark() {
  if (!run) return;
  const known = (id) => (id < now(run) ? run.rowOf.get(id) : undefined);
  const row = view.place ? null : known(view.policy) ?? null;
  const ids = view.emitter !== null ? emitterPath(run, view.emitter) : row === null ? [] : [view.policy, ...run.ancestors(view.policy)];
  const pins = view.pins.map(known).filter((one) => one !== undefined);
  for (const side of SIDES) {
    const { points } = maps[side];
    if (!points) continue;
    const line = ids.length > 1 ? ids.map((id) => {
      const kept = run.rowOf.get(id);
      if (kept !== undefined) return [points.x[kept], points.y[kept]];
      return points.ledger ? [points.ledger.x[id], points.ledger.y[id]] : [NaN, NaN];
    }) : [];
    maps[side].mark({ hover: view.hover, chosen: row, line, pins, near: view.near, place: view.place?.side === side ? view.place : null });
  }
}

function tip(row, event) {
  const element = byId("tip");
  element.hidden = row === null || !event?.clientX;
  if (element.hidden) return;
  const { policy } = run;
  put(element, make("b", {}, `Policy ${count(policy.id[row])}`), policy.area[row] < 0 ? "not rewarded" : `reward ${number(policy.reward[row])}, ${run.areaName(policy.area[row])}`,
    make("span", { class: "faint" }, `${run.origins[policy.origin[row]]}${policy.emitter[row] < 0 ? "" : `, emitter ${policy.emitter[row]}`}`));
  const { innerWidth: width, innerHeight: height } = window;
  element.style.left = `${Math.min(event.clientX + 14, width - element.offsetWidth - 8)}px`;
  element.style.top = `${Math.min(event.clientY + 16, height - element.offsetHeight - 8)}px`;
}

/** Shows everything anew. */
function refresh(options) {
  buildControls();
  dress();
  placeAll(options);
  showTime();
  showPanel(run);
  showPins(run);
  showSelection(run);
  showCourse(run, runs);
  showEmitters(run);
  showRuns(runs);
}

function listenToView() {
  const once = (work) => {
    let asked = false;
    return () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        if (run) work();
      });
    };
  };
  const redress = once(() => { dress(); mark(); });
  listen(["colour", "archive", "area", "origin", "least", "time", "selection", "emitter", "compared"], redress);
  listen(["hover", "policy", "pins", "near", "place", "emitter"], mark);
  listen(["policy", "pins", "place"], () => showPanel(run));
  listen(["pins"], () => showPins(run));
  listen(["selection"], () => showSelection(run));
  listen(["lasso"], selectWithin);
  listen(["time"], once(() => { showTime(); moveCursors(); embedThen(); }));
  listen(["emitter"], () => showEmitters(run));
  listen(["compared"], () => { showCourse(run, runs); showRuns(runs); });
  listen(["left", "leftAxes"], () => { buildAxes("left"); place("left"); });
  listen(["right", "rightAxes"], () => { buildAxes("right"); place("right"); });
  listen(["tool"], () => SIDES.forEach(buildAxes));
  listen(["least"], () => { byId("least-value").textContent = number(view.least, 2); });
  listen(["run"], () => {
    Object.assign(view, { policy: null, pins: [], selection: null, lasso: "", emitter: null, time: null, place: null, near: [] });
    stop();
    load(view.run);
  });
  window.addEventListener("hashchange", () => location.reload());
  whenThemeChanges(() => { if (run) refresh({ keepZoom: true }); });
}

// A run that goes on

function follow() {
  const versions = [];
  const source = new EventSource("api/events");
  source.onmessage = async ({ data }) => {
    const told = JSON.parse(data);
    showControl(told.control);
    for (const { number: place, version, status, evaluations, ...more } of told.runs) {
      const known = versions[place];
      versions[place] = version;
      if (place === view.run && run) {
        const live = byId("live");
        live.hidden = status !== "running";
        live.textContent = status === "running" ? "● running; the page follows it" : "";
        if (status !== "unreadable" && status === "running") {
          showTiles({ ...run, ...more, status, evaluations: evaluations ?? run.evaluations, novelty_size: more.novelty_archive_size ?? run.novelty_size, reward_size: more.reward_archive_size ?? run.reward_size });
        } else if (status !== run.status && known === version) await renew(place);
      }
      if (known !== undefined && known !== version) await renew(place);
    }
  };
  source.onerror = () => { byId("live").hidden = false; byId("live").textContent = "The server has ended; what is on the page stays."; };
  source.onopen = () => { byId("live").hidden = true; };
}

async function renew(place) {
  try {
    const found = await read(place);
    byId("failure").hidden = true;
    if (place !== view.run) return;
    run = found;
    change({ hover: null, near: [] });
    if (!run.rowOf.has(view.policy) && run.count) {
      view.policy = firstPolicy();
      showPanel(run);
    }
    describe();
    buildControls();
    dress();
    await placeAll({ keepZoom: true });
    showTime();
    showCourse(run, runs);
    showEmitters(run);
    document.documentElement.dataset.version = run.version;
    if (!run.scene) run.scene = await loadScene(run).catch(() => null);
  } catch (error) {
    fail(error);
  }
}

function showControl(state) {
  const element = byId("control");
  element.hidden = state === null || state === undefined;
  if (element.hidden || element.dataset.state === state) return;
  element.dataset.state = state;
  const button = (word, words) => make("button", { type: "button", onclick: () => json("api/control", word).then((told) => showControl(told.control), fail) }, words);
  put(element, state === "paused" ? button("resume", "Resume the run") : button("pause", "Pause the run"),
    state === "stopping" ? make("span", { class: "faint" }, "stopping…") : button("stop", "Stop and save"));
}

listenToControls();
listenToView();
start().catch(fail);
