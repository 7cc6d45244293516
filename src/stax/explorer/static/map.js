// A map: kept policies as dots over the density of all evaluations, drawn on a canvas; hover, click, lasso, zoom, keys.

import { faint, ink, isDark, line, paper } from "./colours.js";
import { make } from "./words.js";

const MARGIN = { left: 8, right: 8, top: 8, bottom: 8 };
const AXES = { left: 46, right: 12, top: 10, bottom: 34 };
const CELLS = 120;
const REACH = 14; // pixels from the pointer to a dot that it points at
const EMPTY = 22; // pixels around a click without a dot that make it an empty place

export class ScatterMap {
  /** @param events { hover(row), click(row), place(x, y), lasso(polygon) }; a row is that of a kept policy, or null. */
  constructor(element, events) {
    this.events = events;
    this.base = make("canvas");
    this.over = make("canvas", { tabindex: "0", role: "application", "aria-label": "Map of policies: arrows move, Enter opens" });
    this.holder = make("div", { class: "canvas" }, this.base, this.over);
    element.append(this.holder);
    this.zoom = { scale: 1, x: 0, y: 0 };
    this.points = null;
    this.marks = { hover: null, chosen: null, line: [], pins: [], near: [], place: null };
    new ResizeObserver(() => this.resize()).observe(this.holder);
    this.listenToPointer();
    this.over.addEventListener("keydown", (event) => this.key(event));
  }

  /** @param points { x, y, bounds, labels, picture, areas, start, ledger: {x, y} or null, square, tones } */
  place(points, { keepZoom = false } = {}) {
    this.points = points;
    this.bins = points.ledger ? binned(points.ledger, points.bounds) : null;
    if (!keepZoom) this.zoom = { scale: 1, x: 0, y: 0 };
    this.resize();
  }

  /** @param look { colours: [css], shade: Uint8Array of each row, visible: Uint8Array, selected: Set or null, counted(row), cells } */
  dress(look) {
    this.look = look;
    this.draw();
  }

  mark(marks) {
    Object.assign(this.marks, marks);
    this.drawOver();
  }

  // Places

  resize() {
    const { clientWidth: width, clientHeight: height } = this.holder;
    if (!width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.width = width;
    this.height = height;
    this.draw();
  }

  /** Computes where data lies on the canvas. */
  frame() {
    const { bounds, square, labels } = this.points;
    const margin = labels ? AXES : MARGIN;
    let [left, top] = [margin.left, margin.top];
    let [width, height] = [this.width - margin.left - margin.right, this.height - margin.top - margin.bottom];
    if (square) {
      const side = Math.min(width, height);
      [left, top] = [left + (width - side) / 2, top + (height - side) / 2];
      width = height = side;
    }
    const [x0, x1, y0, y1] = bounds;
    const { scale, x, y } = this.zoom;
    this.box = { left, top, width, height };
    this.toX = (value) => left + (((value - x0) / (x1 - x0)) * scale + x) * width;
    this.toY = (value) => top + (((value - y0) / (y1 - y0)) * scale + y) * height;
    this.fromX = (pixel) => x0 + (((pixel - left) / width - x) / scale) * (x1 - x0);
    this.fromY = (pixel) => y0 + (((pixel - top) / height - y) / scale) * (y1 - y0);
  }

  // Drawing

  draw() {
    if (!this.points || !this.look || !this.width) return;
    this.frame();
    const pen = this.base.getContext("2d");
    pen.clearRect(0, 0, this.width, this.height);
    pen.save();
    pen.beginPath();
    pen.rect(this.box.left, this.box.top, this.box.width, this.box.height);
    pen.clip();
    this.drawPicture(pen);
    this.drawDensity(pen);
    this.drawAreas(pen);
    this.drawDots(pen);
    pen.restore();
    this.drawFrame(pen);
    this.drawOver();
  }

  drawPicture(pen) {
    const { picture } = this.points;
    if (!picture) return;
    const [x0, x1, y0, y1] = picture.extent;
    const image = isDark() ? picture.dark : picture.light;
    const [left, right, top, bottom] = [this.toX(x0), this.toX(x1), this.toY(y0), this.toY(y1)];
    pen.imageSmoothingEnabled = true;
    pen.drawImage(image, left, top, right - left, bottom - top);
  }

  drawDensity(pen) {
    const tiles = this.look.cells ?? (this.bins && density(this.bins, this.look.counted, this.look.rows));
    if (!tiles) return;
    const [x0, x1, y0, y1] = this.points.bounds;
    pen.imageSmoothingEnabled = false;
    pen.drawImage(tiles, this.toX(x0), this.toY(y0), this.toX(x1) - this.toX(x0), this.toY(y1) - this.toY(y0));
  }

  drawAreas(pen) {
    pen.font = "600 12px system-ui, sans-serif";
    pen.textAlign = "center";
    for (const { center, radius, name, colour } of this.points.areas ?? []) {
      const [x, y] = [this.toX(center[0]), this.toY(center[1])];
      const [wide, high] = [Math.abs(this.toX(center[0] + radius) - x), Math.abs(this.toY(center[1] + radius) - y)];
      pen.beginPath();
      pen.ellipse(x, y, wide, high, 0, 0, 2 * Math.PI);
      pen.strokeStyle = colour;
      pen.lineWidth = 1.6;
      pen.stroke();
      const below = y + high + 14 < this.box.top + this.box.height ? y + high + 14 : y - high - 6;
      const half = pen.measureText(name).width / 2;
      written(pen, name, clamp(x, this.box.left + half + 4, this.box.left + this.box.width - half - 4), below, colour);
    }
    if (this.points.start) {
      const [x, y] = [this.toX(this.points.start[0]), this.toY(this.points.start[1])];
      cross(pen, x, y);
      written(pen, "start", x, y + 19, faint());
    }
  }

  drawDots(pen) {
    const { x, y } = this.points;
    const { colours, shade, visible, selected } = this.look;
    const size = this.dotSize();
    this.buckets = new Map();
    const parts = colours.map(() => [[], []]);
    for (let row = 0; row < x.length; row++) {
      if (!visible[row]) continue;
      const [px, py] = [this.toX(x[row]), this.toY(y[row])];
      if (!(px >= this.box.left - 6 && px <= this.box.left + this.box.width + 6 && py >= this.box.top - 6 && py <= this.box.top + this.box.height + 6)) continue;
      parts[shade[row]][selected && !selected.has(row) ? 1 : 0].push(px, py);
      const bucket = (Math.floor(px / REACH) << 12) | Math.floor(py / REACH);
      if (!this.buckets.has(bucket)) this.buckets.set(bucket, []);
      this.buckets.get(bucket).push(row);
    }
    for (const faded of [1, 0]) {
      pen.globalAlpha = faded ? 0.13 : size > 2.6 ? 0.82 : 0.7;
      parts.forEach((part, number) => dots(pen, part[faded], size, colours[number], faded ? null : size > 2.6 ? paper() : null));
    }
    pen.globalAlpha = 1;
  }

  dotSize() {
    return clamp(90 / Math.sqrt(Math.max(this.points.x.length, 1)), 1.7, 4.6) * Math.min(Math.sqrt(this.zoom.scale), 1.8) * (this.width < 330 ? 0.8 : 1);
  }

  drawFrame(pen) {
    const { left, top, width, height } = this.box;
    pen.strokeStyle = line();
    pen.lineWidth = 1;
    pen.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
    if (!this.points.labels) return;
    pen.fillStyle = faint();
    pen.font = "11.5px system-ui, sans-serif";
    pen.textAlign = "center";
    for (const value of ticks(this.fromX(left), this.fromX(left + width))) pen.fillText(short(value), this.toX(value), top + height + 14);
    pen.fillText(this.points.labels[0], left + width / 2, top + height + 29);
    pen.textAlign = "right";
    const [low, high] = [this.fromY(top + height), this.fromY(top)].sort((one, other) => one - other);
    for (const value of ticks(low, high)) pen.fillText(short(value), left - 5, this.toY(value) + 4);
    pen.save();
    pen.translate(11, top + height / 2);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.fillText(this.points.labels[1], 0, 0);
    pen.restore();
  }

  drawOver() {
    if (!this.points || !this.box) return;
    const pen = this.over.getContext("2d");
    pen.clearRect(0, 0, this.width, this.height);
    const { line: ancestors, pins, near, place, hover, chosen } = this.marks;
    if (ancestors.length) this.drawLine(pen, ancestors);
    for (const row of near) this.ring(pen, row, 5.5, ink(), 1.2);
    pins.forEach((row, number) => this.badge(pen, row, number + 1));
    if (chosen !== null) this.ring(pen, chosen, 8.5, ink(), 2.4);
    if (hover !== null) this.ring(pen, hover, 7, ink(), 2, true);
    if (place && this.points.places) cross(pen, this.toX(place.x), this.toY(place.y));
    if (this.polygon) {
      pen.beginPath();
      this.polygon.forEach(([x, y], number) => pen[number ? "lineTo" : "moveTo"](x, y));
      pen.closePath();
      pen.fillStyle = isDark() ? "rgba(110,166,245,.15)" : "rgba(31,98,191,.10)";
      pen.fill();
      pen.strokeStyle = isDark() ? "#6ea6f5" : "#1f62bf";
      pen.setLineDash([5, 4]);
      pen.stroke();
      pen.setLineDash([]);
    }
  }

  /** Draws a line from a policy back to its first ancestor, which fades on its way. */
  drawLine(pen, places) {
    const known = places.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y)).map(([x, y]) => [this.toX(x), this.toY(y)]);
    pen.lineCap = "round";
    for (let place = known.length - 1; place >= 0; place--) {
      pen.globalAlpha = Math.max(0.85 * 0.8 ** place, 0.16);
      pen.strokeStyle = pen.fillStyle = ink();
      pen.lineWidth = Math.max(1.8 - 0.12 * place, 0.9);
      pen.beginPath();
      if (place) {
        pen.moveTo(...known[place]);
        pen.lineTo(...known[place - 1]);
        pen.stroke();
      }
      pen.beginPath();
      pen.arc(...known[place], Math.max(2.8 - 0.1 * place, 1.6), 0, 2 * Math.PI);
      pen.fill();
    }
    pen.globalAlpha = 1;
  }

  ring(pen, row, radius, colour, width, filled = false) {
    const [x, y] = this.pixel(row);
    if (!Number.isFinite(x)) return;
    if (filled) {
      pen.beginPath();
      pen.arc(x, y, this.dotSize() + 1, 0, 2 * Math.PI);
      pen.fillStyle = this.look.colours[this.look.shade[row]];
      pen.fill();
    }
    for (const [tone, wide] of [[paper(), width + 2.2], [colour, width]]) {
      pen.beginPath();
      pen.arc(x, y, radius, 0, 2 * Math.PI);
      pen.strokeStyle = tone;
      pen.lineWidth = wide;
      pen.stroke();
    }
  }

  badge(pen, row, number) {
    const [x, y] = this.pixel(row);
    if (!Number.isFinite(x)) return;
    this.ring(pen, row, 7, ink(), 1.4);
    pen.beginPath();
    pen.arc(x + 9, y - 9, 7.5, 0, 2 * Math.PI);
    pen.fillStyle = ink();
    pen.fill();
    pen.fillStyle = paper();
    pen.font = "700 10px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.fillText(String(number), x + 9, y - 5.5);
  }

  pixel(row) {
    return [this.toX(this.points.x[row]), this.toY(this.points.y[row])];
  }

  // The pointer

  at(px, py, reach = REACH) {
    let [best, nearest] = [null, reach * reach];
    const [column, level] = [Math.floor(px / REACH), Math.floor(py / REACH)];
    const around = Math.ceil(reach / REACH);
    for (let one = column - around; one <= column + around; one++) {
      for (let other = level - around; other <= level + around; other++) {
        for (const row of this.buckets?.get((one << 12) | other) ?? []) {
          const [x, y] = this.pixel(row);
          const far = (x - px) ** 2 + (y - py) ** 2;
          if (far < nearest) [best, nearest] = [row, far];
        }
      }
    }
    return best;
  }

  listenToPointer() {
    const spot = (event) => {
      const box = this.over.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let start = null;
    this.over.addEventListener("pointermove", (event) => {
      if (!this.points) return;
      const [x, y] = spot(event);
      if (start) this.drag(start, x, y);
      else this.events.hover(this.at(x, y), event);
    });
    this.over.addEventListener("pointerleave", () => this.events.hover(null));
    this.over.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.points) return;
      const [x, y] = spot(event);
      start = { x, y, zoom: { ...this.zoom }, moves: this.moving() || event.shiftKey, dragged: false };
      this.over.setPointerCapture(event.pointerId);
    });
    const end = (event) => {
      if (!start) return;
      const { dragged, moves, x, y } = start;
      start = null;
      if (dragged && !moves) {
        const polygon = this.polygon?.map(([px, py]) => [this.fromX(px), this.fromY(py)]);
        this.polygon = null;
        this.drawOver();
        if (polygon?.length > 2) this.events.lasso(polygon);
      } else if (!dragged && event.type === "pointerup") this.click(x, y);
    };
    this.over.addEventListener("pointerup", end);
    this.over.addEventListener("pointercancel", end);
    this.over.addEventListener("dblclick", () => this.zoomTo({ scale: 1, x: 0, y: 0 }));
    this.over.addEventListener("wheel", (event) => {
      if (!this.points) return;
      event.preventDefault();
      this.zoomAt(...spot(event), Math.exp(-event.deltaY * 0.0016));
    }, { passive: false });
  }

  moving() {
    return this.over.dataset.tool === "move";
  }

  drag(start, x, y) {
    if (!start.dragged && Math.hypot(x - start.x, y - start.y) < 5) return;
    if (!start.dragged) this.events.hover(null);
    start.dragged = true;
    if (start.moves) {
      this.zoomTo({ scale: start.zoom.scale, x: start.zoom.x + (x - start.x) / this.box.width, y: start.zoom.y + (y - start.y) / this.box.height });
      return;
    }
    this.polygon ??= [[start.x, start.y]];
    this.polygon.push([x, y]);
    this.drawOver();
  }

  click(x, y) {
    const row = this.at(x, y);
    if (row !== null) this.events.click(row);
    else if (this.at(x, y, EMPTY) === null) this.events.place(this.fromX(x), this.fromY(y));
  }

  zoomAt(px, py, factor) {
    const { left, top, width, height } = this.box;
    const scale = clamp(this.zoom.scale * factor, 1, 60);
    const [x, y] = [(px - left) / width, (py - top) / height];
    const part = scale / this.zoom.scale;
    this.zoomTo({ scale, x: x - (x - this.zoom.x) * part, y: y - (y - this.zoom.y) * part });
  }

  zoomTo({ scale, x, y }) {
    this.zoom = { scale, x: clamp(x, 1 - scale - 0.3, 0.3), y: clamp(y, 1 - scale - 0.3, 0.3) };
    if (scale === 1) this.zoom = { scale, x: 0, y: 0 };
    this.draw();
  }

  // Keys

  key(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const { left, top, width, height } = this.box ?? {};
    if (!this.points) return;
    if (event.key in steps) this.events.hover(this.neighbour(...steps[event.key]));
    else if (event.key === "Enter" && this.marks.hover !== null) this.events.click(this.marks.hover);
    else if (event.key === "+" || event.key === "=") this.zoomAt(left + width / 2, top + height / 2, 1.4);
    else if (event.key === "-") this.zoomAt(left + width / 2, top + height / 2, 1 / 1.4);
    else if (event.key === "0") this.zoomTo({ scale: 1, x: 0, y: 0 });
    else return;
    event.preventDefault();
  }

  /** The nearest visible dot in a direction from the one that is lit up, or from the chosen one. */
  neighbour(dx, dy) {
    const from = this.marks.hover ?? this.marks.chosen;
    const all = [...(this.buckets?.values() ?? [])].flat();
    if (from === null) return all[0] ?? null;
    const [x, y] = this.pixel(from);
    let [best, least] = [from, Infinity];
    for (const row of all) {
      const [px, py] = this.pixel(row);
      const ahead = (px - x) * dx + (py - y) * dy;
      const aside = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
      const cost = ahead + 2.5 * aside;
      if (row !== from && ahead > 0.5 && cost < least) [best, least] = [row, cost];
    }
    return best;
  }
}

/** The cell of a grid over the bounds that each evaluation lies in; 65535 for none. */
function binned({ x, y }, [x0, x1, y0, y1]) {
  const bins = new Uint16Array(x.length);
  for (let row = 0; row < x.length; row++) {
    const column = Math.floor(((x[row] - x0) / (x1 - x0)) * CELLS);
    const level = Math.floor(((y[row] - y0) / (y1 - y0)) * CELLS);
    bins[row] = column >= 0 && column < CELLS && level >= 0 && level < CELLS ? level * CELLS + column : 65535;
  }
  return bins;
}

/** A small picture of how many evaluations lie in each cell; `counted` says which count, null for the first `rows` of all. */
function density(bins, counted, rows) {
  const counts = new Uint32Array(65536);
  for (let row = 0; row < rows; row++) if (counted === null || counted[row]) counts[bins[row]]++;
  let most = 0;
  for (let cell = 0; cell < CELLS * CELLS; cell++) if (counts[cell] > most) most = counts[cell];
  const tone = isDark() ? [150, 175, 215] : [70, 95, 140];
  return painted(CELLS, CELLS, (cell) => {
    const value = counts[cell];
    return value ? [...tone, 34 + 150 * (Math.log1p(value) / Math.log1p(Math.max(most, 8)))] : null;
  });
}

/** A picture of cells, painted by a function that gives red, green, blue and opacity, or null for nothing. */
export function painted(columns, levels, tone) {
  const canvas = make("canvas", { width: columns, height: levels });
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(columns, levels);
  for (let cell = 0; cell < columns * levels; cell++) {
    const found = tone(cell);
    if (found) image.data.set(found, 4 * cell);
  }
  pen.putImageData(image, 0, 0);
  return canvas;
}

function dots(pen, places, size, colour, edge) {
  if (!places.length) return;
  pen.beginPath();
  for (let place = 0; place < places.length; place += 2) {
    const [x, y] = [places[place], places[place + 1]];
    // Of dots this small nobody sees that they are squares, and thousands of them are drawn several times as fast.
    if (size < 2) pen.rect(x - 0.9 * size, y - 0.9 * size, 1.8 * size, 1.8 * size);
    else {
      pen.moveTo(x + size, y);
      pen.arc(x, y, size, 0, 2 * Math.PI);
    }
  }
  pen.fillStyle = colour;
  pen.fill();
  if (edge) {
    pen.strokeStyle = edge;
    pen.lineWidth = 0.6;
    pen.stroke();
  }
}

function written(pen, words, x, y, colour) {
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  pen.strokeStyle = paper();
  pen.globalAlpha = 0.85;
  pen.strokeText(words, x, y);
  pen.globalAlpha = 1;
  pen.fillStyle = colour;
  pen.fillText(words, x, y);
}

function cross(pen, x, y) {
  for (const [colour, width] of [[paper(), 5], [ink(), 2.2]]) {
    pen.beginPath();
    pen.moveTo(x - 6, y - 6);
    pen.lineTo(x + 6, y + 6);
    pen.moveTo(x + 6, y - 6);
    pen.lineTo(x - 6, y + 6);
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.stroke();
  }
}

export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** Round numbers between two others. */
export function ticks(low, high, most = 5) {
  const span = high - low;
  if (!(span > 0)) return [];
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((part) => part * power).find((part) => part >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(Math.abs(value) < step * 1e-6 ? 0 : value);
  return found;
}

/** A number for an axis, with letters for thousands and millions. */
export function short(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  if (size >= 1e3) return `${+(value / 1e3).toPrecision(3)}k`;
  return String(+value.toPrecision(3));
}

/** Whether a place lies within a polygon. */
export function within(polygon, x, y) {
  let inside = false;
  for (let one = 0, other = polygon.length - 1; one < polygon.length; other = one++) {
    const [x1, y1] = polygon[one];
    const [x2, y2] = polygon[other];
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
  }
  return inside;
}
