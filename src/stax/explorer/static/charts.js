// Small line charts on canvases: hover reads values off, a click chooses a time.

import { faint, ink, line, paper } from "./colours.js";
import { clamp, short, ticks } from "./map.js";
import { make, number, put } from "./words.js";

const ROOM = { left: 44, right: 10, top: 8, bottom: 22 };

export class Chart {
  /** @param options { title, lines: [{ name, x, y, colour, step, dash, dots }], stacked, format, until, choose(x) } */
  constructor(options) {
    this.canvas = make("canvas", { tabindex: "-1" });
    this.values = make("ul", { class: "values" });
    this.title = make("h3", {});
    this.element = make("figure", { class: "chart card" }, make("figcaption", {}, this.title, this.values), make("div", { class: "canvas" }, this.canvas));
    this.cursor = null;
    this.show(options);
    new ResizeObserver(() => this.draw()).observe(this.canvas.parentElement);
    this.canvas.addEventListener("pointermove", (event) => this.read(this.valueAt(event)));
    this.canvas.addEventListener("pointerleave", () => this.read(null));
    this.canvas.addEventListener("click", (event) => this.options.choose?.(Math.round(this.valueAt(event))));
  }

  show(options) {
    this.options = { format: number, ...options };
    this.title.textContent = options.title;
    this.draw();
  }

  valueAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - ROOM.left) / (box.width - ROOM.left - ROOM.right);
    return clamp(share, 0, 1) * this.options.until;
  }

  /** Shows the values at a time; at the cursor, or at the end, if it is null. */
  read(at) {
    this.reading = at;
    this.draw();
  }

  setCursor(at) {
    this.cursor = at;
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (!width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const { lines, until, highest, format } = this.options;
    const top = highest ?? Math.max(...lines.flatMap(({ y }) => y.filter(Number.isFinite)), 1e-9) * 1.06;
    const toX = (value) => ROOM.left + (value / Math.max(until, 1)) * (width - ROOM.left - ROOM.right);
    const toY = (value) => height - ROOM.bottom - (value / top) * (height - ROOM.top - ROOM.bottom);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = faint();
    pen.strokeStyle = line();
    pen.textAlign = "right";
    for (const value of ticks(0, top, 4)) {
      pen.beginPath();
      pen.moveTo(ROOM.left, Math.round(toY(value)) + 0.5);
      pen.lineTo(width - ROOM.right, Math.round(toY(value)) + 0.5);
      pen.stroke();
      pen.fillText(this.options.share ? `${+(100 * value).toPrecision(3)} %` : short(value), ROOM.left - 5, toY(value) + 4);
    }
    pen.textAlign = "center";
    for (const value of ticks(0, until, Math.max(2, Math.floor(width / 90)))) pen.fillText(short(value), clamp(toX(value), 12, width - 16), height - 6);
    for (const one of lines) this.drawLine(pen, one, toX, toY);
    const at = this.reading ?? this.cursor;
    if (at !== null) {
      pen.beginPath();
      pen.moveTo(toX(at), ROOM.top);
      pen.lineTo(toX(at), height - ROOM.bottom);
      pen.strokeStyle = ink();
      pen.globalAlpha = 0.6;
      pen.setLineDash([3, 3]);
      pen.stroke();
      pen.setLineDash([]);
      pen.globalAlpha = 1;
    }
    put(this.values, ...lines.filter(({ name }) => name).map((one) => {
      const dot = make("i", { class: "dot" });
      dot.style.background = one.colour;
      return make("li", {}, dot, one.name, make("b", {}, format(valueOf(one, at ?? until))));
    }));
  }

  drawLine(pen, { x, y, colour, step, dash, dots, until }, toX, toY) {
    pen.beginPath();
    let before = null;
    for (let place = 0; place < x.length; place++) {
      if (!Number.isFinite(y[place])) continue;
      const [px, py] = [toX(x[place]), toY(y[place])];
      if (before === null) pen.moveTo(px, py);
      else if (step) {
        pen.lineTo(px, before);
        pen.lineTo(px, py);
      } else pen.lineTo(px, py);
      before = py;
    }
    if (step && before !== null) pen.lineTo(toX(until ?? this.options.until), before);
    pen.strokeStyle = colour;
    pen.lineWidth = 1.9;
    pen.lineJoin = "round";
    pen.setLineDash(dash ? [2, 3] : []);
    pen.stroke();
    pen.setLineDash([]);
    if (!dots) return;
    for (let place = 0; place < x.length; place++) {
      pen.beginPath();
      pen.arc(toX(x[place]), toY(y[place]), 2.6, 0, 2 * Math.PI);
      pen.fillStyle = colour;
      pen.fill();
      pen.strokeStyle = paper();
      pen.lineWidth = 0.7;
      pen.stroke();
    }
  }
}

/** The value of a line at a time: that of the last point before it. */
export function valueOf({ x, y }, at) {
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return low ? y[low - 1] : null;
}
