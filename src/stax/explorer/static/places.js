// Where policies lie on a map: ways of placing them, and what lies behind them.

import { areaColour } from "./colours.js";
import { message } from "./data.js";
import { make } from "./words.js";

/** The ways of placing policies that a run has, with their names. */
export function kinds(run) {
  const found = [];
  if (run.truths >= 2) found.push(["truth", "Where policies end (ground truth)"]);
  if (run.learns && run.codes) {
    found.push(["pca", "Learned space: principal components"], ["codes", "Learned space: two codes"], ["umap", "Learned space: UMAP"]);
  } else if (run.codes > run.truths) found.push(["pca", "Compared by: principal components"], ["codes", "Compared by: two numbers"]);
  found.push(["genomes", "Genomes: principal components"], ["numbers", "Two numbers"]);
  return found;
}

/** The kind that each side shows at first. */
export function usualKind(run, side) {
  const names = kinds(run).map(([name]) => name);
  if (side === "left") return names.includes("truth") ? "truth" : names.includes("pca") ? "pca" : "numbers";
  if (run.truths < 2) return names.includes("pca") ? "numbers" : "genomes";
  return names.includes("pca") ? "pca" : "genomes";
}

/** The axes that can be chosen for a kind; none for kinds that have their own. */
export function axes(run, kind) {
  if (kind === "codes") {
    const size = run.learns ? run.code_size : run.codes;
    return Array.from({ length: run.codes }, (_, code) => [`code${code}`, codeName(run, code, size)]);
  }
  if (kind === "numbers") return run.numbers();
  if (kind === "truth" && run.truths > 2) return run.numbers().filter(([name]) => name.startsWith("truth"));
  return [];
}

function codeName(run, code, size) {
  const sample = Math.floor(code / size);
  return run.learns && run.codes > size ? `code ${(code % size) + 1} of observation ${sample + 1}` : `${run.learns ? "code" : "number"} ${code + 1}`;
}

/** The axes that are shown: those wished for if there are such, or the usual ones. */
export function chosenAxes(run, kind, wished) {
  const names = axes(run, kind).map(([name]) => name);
  const given = wished.split(",").filter((name) => names.includes(name));
  if (given.length === 2) return given;
  if (kind === "codes" && run.learns) {
    // Of the last observation, which shows where a policy ended.
    const first = run.codes - run.code_size;
    return [`code${first}`, `code${Math.min(first + 1, run.codes - 1)}`];
  }
  if (kind === "numbers") return run.truths === 1 ? ["truth0", "reward"] : ["evaluation", names.includes("novelty") ? "novelty" : "reward"];
  return names.slice(0, 2);
}

/** Places of all kept policies, and of the ledger where it has them. */
export async function places(run, kind, wished) {
  if (kind === "truth" && run.truths === 2) return truths(run);
  if (kind === "truth" || kind === "numbers" || kind === "codes") {
    const [first, second] = chosenAxes(run, kind, wished);
    const names = Object.fromEntries(axes(run, kind));
    const ledger = run.ledgerColumn(first) && run.ledgerColumn(second) ? { x: run.ledgerColumn(first), y: run.ledgerColumn(second) } : null;
    const found = upright(run, run.column(first), run.column(second), [names[first], names[second]], ledger);
    if (kind === "codes" && run.learns) found.places = (x, y) => aroundNearest(run, found, x, y, [first, second]);
    return found;
  }
  if (kind === "umap") {
    run.umap ??= (await message(`api/runs/${run.number}/umap`)).arrays.places;
    const found = upright(run, run.umap.subarray(0, run.count), run.umap.subarray(run.count), ["UMAP 1", "UMAP 2"], null);
    found.places = (x, y) => aroundNearest(run, found, x, y, []);
    return found;
  }
  return components(run, kind === "genomes" ? "genome" : "descriptor");
}

function components(run, what) {
  const told = run.embedded && what === "descriptor" ? run.embedded : run.policy[`${what}_pca`];
  const seen = told === run.embedded ? `first component, by the autoencoder of training ${run.episode}` : "first component";
  const found = upright(run, told.subarray(0, run.count), told.subarray(run.count), [seen, "second component"], null);
  if (what === "descriptor" && run.learns && !run.embedded) {
    const { descriptor_center: center, descriptor_directions: directions } = run.policy;
    found.places = (x, y) => Array.from(center, (value, code) => value + x * directions[code] + y * directions[run.codes + code]);
  }
  return found;
}

/** The numbers of the learned space at a place that leaves most of them open: those of the nearest policy. */
function aroundNearest(run, found, x, y, names) {
  const [x0, x1, y0, y1] = found.bounds;
  const [row] = run.nearest((one) => ((found.x[one] - x) / (x1 - x0)) ** 2 + ((found.y[one] - y) / (y1 - y0)) ** 2, 1);
  const codes = Array.from(run.policy.descriptor.subarray(row * run.codes, (row + 1) * run.codes));
  names.forEach((name, number) => { codes[Number(name.slice(4))] = number ? y : x; });
  return codes;
}

function truths(run) {
  const [[x0, x1], [y0, y1]] = run.bounds;
  const [x, y] = [run.column("truth0"), run.column("truth1")];
  const ledger = { x: run.ledgerColumn("truth0"), y: run.ledgerColumn("truth1") };
  const areas = run.areas.filter(({ center, radius }) => center?.length === 2 && radius).map((area) => (
    { ...area, colour: areaColour(run.areas.indexOf(area)) }));
  const { scene } = run;
  if (scene?.extent) return { x, y, ledger, areas, square: true, picture: scene, start: scene.start, bounds: scene.extent, labels: null, truth: true };
  return { x, y, ledger, areas, bounds: [x0, x1, y1, y0], labels: ["ground truth 1", "ground truth 2"], square: false, truth: true };
}

/** Places with axes whose second one points up, and some room around them. */
function upright(run, x, y, labels, ledger) {
  const [x0, x1] = range(ledger ? [x, ledger.x] : [x]);
  const [y0, y1] = range(ledger ? [y, ledger.y] : [y]);
  return { x, y, ledger, labels, square: false, bounds: [x0, x1, y1, y0] };
}

function range(columns) {
  let [low, high] = [Infinity, -Infinity];
  for (const column of columns) {
    for (let row = 0; row < column.length; row++) {
      if (column[row] < low) low = column[row];
      if (column[row] > high) high = column[row];
    }
  }
  if (!Number.isFinite(low)) return [0, 1];
  const room = 0.05 * (high - low) || 0.5;
  return [low - room, high + room];
}

/** The picture of the task, for light and for dark pages. */
export async function loadScene(run) {
  const told = await message(`api/runs/${run.number}/scene`);
  if (!told.extent) return null;
  const light = await createImageBitmap(new Blob([told.arrays.png], { type: "image/png" }));
  return { extent: told.extent, start: told.start, light, get dark() { return (this.inverted ??= darkened(light)); } };
}

/** A picture with light and dark exchanged; colours keep their hue. */
function darkened(image) {
  const canvas = make("canvas", { width: image.width, height: image.height });
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  const pixels = pen.getImageData(0, 0, image.width, image.height);
  const { data } = pixels;
  for (let place = 0; place < data.length; place += 4) {
    const [red, green, blue] = [data[place], data[place + 1], data[place + 2]];
    const shift = 255 - Math.max(red, green, blue) - Math.min(red, green, blue);
    data[place] = 27 + (red + shift) * 0.84;
    data[place + 1] = 32 + (green + shift) * 0.83;
    data[place + 2] = 40 + (blue + shift) * 0.8;
  }
  pen.putImageData(pixels, 0, 0);
  return canvas;
}

