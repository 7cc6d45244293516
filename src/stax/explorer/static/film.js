// Films and observations of policies. All films on the page share one clock, so that pinned policies play together.

import { areaColour, faint, line } from "./colours.js";
import { message } from "./data.js";
import { make } from "./words.js";

const FRAMES_A_SECOND = 12;
const HOLD = 12; // frames that the end of a film stands still
const players = new Set();
const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
export const clock = { playing: !still, frame: 0 };
const REST_AFTER = 30_000; // milliseconds without a touch of the page: a page that nobody watches costs a running search nothing
let timer = null;
let touched = performance.now();

for (const touch of ["pointermove", "pointerdown", "keydown", "wheel"]) {
  window.addEventListener(touch, () => { touched = performance.now(); wind(); }, { passive: true });
}

/** Lets the films move as long as there is one, and somebody at the page. */
function wind() {
  if (timer !== null || !clock.playing || !players.size || performance.now() - touched > REST_AFTER) return;
  timer = setTimeout(() => requestAnimationFrame(() => {
    timer = null;
    if (!clock.playing) return;
    clock.frame++;
    for (const player of players) player.draw();
    wind();
  }), 1000 / FRAMES_A_SECOND);
}

/** Starts or stops all films. */
export function playAll(playing) {
  clock.playing = playing;
  for (const player of players) player.draw();
  wind();
}

/** Plays all films from their start. */
export function restartAll() {
  clock.frame = 0;
  playAll(true);
}

const kept = new Map();
async function loaded(run, id) {
  const key = `${run.number}/${run.version}/${id}`;
  if (!kept.has(key)) {
    if (kept.size > 40) kept.delete(kept.keys().next().value);
    kept.set(key, message(`api/runs/${run.number}/film/${id}`).then(async (told) => (
      { ...told, sprite: await createImageBitmap(new Blob([told.arrays.png], { type: "image/png" })) })));
    kept.get(key).catch(() => kept.delete(key));
  }
  return kept.get(key);
}

/** The film of a policy: a canvas with the step below it. */
export class Player {
  constructor(run, id) {
    this.canvas = make("canvas", { width: 320, height: 320, role: "img", "aria-label": `Film of policy ${id}` });
    this.step = make("span", { class: "step" }, "drawing the film… (the first one may take a minute)");
    this.element = make("div", { class: "film" }, this.canvas, this.step);
    this.ready = loaded(run, id).then((film) => {
      this.film = film;
      players.add(this);
      wind();
      if (still) clock.frame = film.steps.length;
      this.draw();
      return film;
    }, (error) => {
      this.step.textContent = error.message;
      this.element.classList.add("missing");
      return null;
    });
  }

  draw() {
    if (!this.film) return;
    if (!this.canvas.isConnected && this.shown) {
      players.delete(this);
      return;
    }
    this.shown ||= this.canvas.isConnected;
    const { steps, size, columns, sprite } = this.film;
    const frame = Math.min(clock.frame % (steps.length + HOLD), steps.length - 1);
    if (frame === this.drawn) return;
    this.drawn = frame;
    this.canvas.getContext("2d").drawImage(sprite, (frame % columns) * size, Math.floor(frame / columns) * size, size, size, 0, 0, 320, 320);
    this.step.textContent = `step ${steps[frame]} of ${steps[steps.length - 1]}`;
  }
}

/** Observations as pictures in a row, or as bars of numbers where they are vectors. */
export function observationRow(array, words) {
  const [count, ...shape] = array.shape;
  const size = shape.reduce((product, side) => product * side, 1);
  const pictures = Array.from({ length: count }, (_, number) => {
    const values = array.subarray(number * size, (number + 1) * size);
    return shape.length === 3 ? picture(values, shape) : bars(values, array);
  });
  return make("div", { class: "observations" }, make("span", {}, words), make("div", { class: "strip" }, ...pictures));
}

function picture(values, [height, width]) {
  const canvas = make("canvas", { width, height });
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(width, height);
  for (let pixel = 0; pixel < width * height; pixel++) {
    for (let channel = 0; channel < 3; channel++) image.data[4 * pixel + channel] = values[3 * pixel + channel];
    image.data[4 * pixel + 3] = 255;
  }
  pen.putImageData(image, 0, 0);
  return canvas;
}

function bars(values, all) {
  const canvas = make("canvas", { width: 96, height: 96, title: Array.from(values, (value) => value.toPrecision(4)).join(", ") });
  const pen = canvas.getContext("2d");
  const most = Math.max(...all.map(Math.abs), 1e-9);
  const height = 96 / values.length;
  pen.fillStyle = line();
  pen.fillRect(47.5, 0, 1, 96);
  values.forEach((value, place) => {
    pen.fillStyle = Math.abs(value) < 1e-12 ? faint() : areaColour(value < 0 ? 1 : 0);
    const wide = (value / most) * 46;
    pen.fillRect(48 + Math.min(wide, 0), place * height + 1, Math.abs(wide) || 1, Math.max(height - 2, 1));
  });
  return canvas;
}
