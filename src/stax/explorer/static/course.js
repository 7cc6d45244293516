// The course of runs: coverage, rewards, sizes of archives, errors of the autoencoder, time per activity.

import { archiveColour, areaColour, faint, runColour } from "./colours.js";
import { Chart, valueOf } from "./charts.js";
import { change, view } from "./state.js";
import { byId, duration, number, put, share } from "./words.js";

const ACTIVITIES = ["evaluation", "training", "encoding", "selection", "storage"];
let charts = new Map();

export function showCourse(run, runs) {
  const others = view.compared ? runs.filter((one) => one && one !== run) : [];
  const until = Math.max(run.evaluations, ...others.map((one) => one.evaluations), 1);
  const choose = (at) => change({ time: at >= run.evaluations ? null : at });
  const found = {};
  const together = (line) => (others.length ? [line(run), ...others.map(line)] : []);
  if (run.curves.coverage) {
    const lines = together((one) => one.curves.coverage && { name: one.label, ...one.curves.coverage, colour: runColour(one.number), step: true, until: one.evaluations }).filter(Boolean);
    found.coverage = { title: "Coverage", share: true, format: share, lines: lines.length ? lines : [
      { name: "all", ...run.curves.coverage, colour: archiveColour("novelty"), step: true },
      ...(run.has_emitters ? [{ name: "by exploration", ...run.curves.exploration, colour: faint(), step: true, dash: true }] : [])] };
  }
  if (others.length) {
    run.areas.forEach((area, place) => {
      const lines = together((one) => one.curves.rewards[place] && { name: one.label, ...one.curves.rewards[place], colour: runColour(one.number), step: true, until: one.evaluations }).filter(Boolean);
      found[`reward ${place}`] = { title: `Best reward, ${area.name}`, lines };
    });
  } else {
    const areas = run.areas.map((area, place) => ({ name: area.name, ...run.curves.rewards[place], colour: areaColour(place), step: true }));
    found.rewards = { title: "Best reward", lines: areas };
  }
  const { metrics } = run;
  const line = (name, column, colour, more = {}) => ({ name, x: metrics.evaluations, y: metrics[column], colour, ...more });
  found.archives = { title: "Policies in the archives", format: (value) => number(value, 0), lines: [
    line("novelty", "novelty_archive_size", archiveColour("novelty")),
    ...(run.has_emitters ? [line("reward", "reward_archive_size", archiveColour("reward"))] : [])] };
  if (run.learns && run.episodes.length) {
    const episodes = (name, colour, dash) => ({ name: name.split("_")[0], x: run.episodes.map(({ evaluations }) => evaluations), y: run.episodes.map((episode) => episode[name]), colour, dots: run.episodes.length < 60, dash });
    found.errors = { title: "Errors of the autoencoder", format: (value) => number(value, 4), lines: [
      episodes("validation_error", archiveColour("novelty")), episodes("training_error", faint(), true)] };
  }
  const colours = [archiveColour("novelty"), areaColour(1), areaColour(3), archiveColour("reward"), faint()];
  found.seconds = { title: "Time spent", format: duration, lines: ACTIVITIES.map((activity, place) => line(activity, `seconds_${activity}`, colours[place]))
    .filter(({ y }) => y.some((value) => value > 0)) };
  const kept = new Map();
  for (const [name, options] of Object.entries(found)) {
    const chart = charts.get(name) ?? new Chart({ ...options, until, choose });
    chart.show({ ...options, until, choose });
    chart.setCursor(view.time);
    chart.element.dataset.chart = name;
    kept.set(name, chart);
  }
  charts = kept;
  put(byId("charts"), ...[...charts.values()].map((chart) => chart.element));
}

export function moveCursors() {
  for (const chart of charts.values()) chart.setCursor(view.time);
}

/** What was known at a time, in words. */
export function knownAt(run, at) {
  const found = [];
  if (run.curves.coverage) found.push(`coverage ${share(valueOf(run.curves.coverage, at))}`);
  run.areas.forEach((area, place) => {
    const best = valueOf(run.curves.rewards[place], at);
    if (best > 0) found.push(`${area.name} ${number(best)}`);
  });
  return found.join(", ");
}
