// What the server, or a frozen page, tells about the runs.

const TYPES = {
  uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array,
  int32: Int32Array, float32: Float32Array, float64: Float64Array,
};

export const frozen = document.getElementById("frozen") !== null;

/** Reads a message of stax.explorer.packing: its JSON, with the arrays in `arrays` by name. */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const about = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const { name, dtype, shape, place } of about.arrays) {
    const count = shape.reduce((product, side) => product * side, 1);
    arrays[name] = Object.assign(new TYPES[dtype](buffer, 4 + length + place, count), { shape });
  }
  return { ...about, arrays };
}

/** Fetches an address of the server; a refusal is an Error with the server's sentence. */
async function fetched(path, body) {
  if (frozen) return thawed(path);
  const options = body === undefined ? {} : { method: "POST", body };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The server has ended. Start it again with 'stax explore'.");
  }
  if (!answer.ok || answer.headers.has("Stax-Refusal")) throw new Error(await answer.text());
  return answer;
}

async function thawed(path) {
  const kept = document.getElementById(`frozen:${path}`);
  if (kept === null) throw new Error("This page was frozen into a file; what is made on demand needs 'stax explore'.");
  const packed = Uint8Array.from(atob(kept.textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
}

export const json = async (path, body) => (await fetched(path, body)).json();
export const message = async (path, body) => unpack(await (await fetched(path, body)).arrayBuffer());
export const blob = async (path, body) => (await fetched(path, body)).blob();

/** The numbers of a run that points can be placed and coloured by; those of the ledger are known of every evaluation. */
export class Run {
  constructor(told) {
    Object.assign(this, told);
    const part = (prefix) => Object.fromEntries(
      Object.entries(told.arrays).filter(([name]) => name.startsWith(prefix)).map(([name, array]) => [name.slice(prefix.length), array]));
    this.ledger = part("ledger.");
    this.policy = part("policy.");
    this.count = this.policy.id.length;
    this.rows = this.ledger.reward.length;
    this.rowOf = new Map(Array.from(this.policy.id, (id, row) => [id, row]));
    this.truths = this.bounds ? this.bounds.length : 0;
    this.codes = this.policy.descriptor.shape[1];
  }

  /** A column of the kept policies, or null. */
  column(name) {
    const [, kind, number] = name.match(/^(truth|code)(\d+)$/) ?? [];
    if (kind === "truth") return this.policy.truth.subarray(number * this.count, (Number(number) + 1) * this.count);
    if (kind === "code") return Float64Array.from({ length: this.count }, (_, row) => this.policy.descriptor[row * this.codes + Number(number)]);
    return this.policy[name === "evaluation" ? "id" : name] ?? null;
  }

  /** The same column of every evaluation, or null if only kept policies have it. */
  ledgerColumn(name) {
    const [, number] = name.match(/^truth(\d+)$/) ?? [];
    if (number !== undefined) return this.ledger.truth.subarray(number * this.rows, (Number(number) + 1) * this.rows);
    if (name === "evaluation") return this.evaluationNumbers ??= Float64Array.from({ length: this.rows }, (_, row) => row * this.stride);
    return name === "reward" ? this.ledger.reward : null;
  }

  /** Numbers to choose from, with their names in words. */
  numbers() {
    const truths = Array.from({ length: this.truths }, (_, number) => [`truth${number}`, `ground truth ${number + 1}`]);
    const others = [["reward", "reward"], ["evaluation", "evaluation"], ["steps", "steps"]];
    for (const name of ["novelty", "surprise"]) if (this.policy[name].some(Number.isFinite)) others.push([name, name]);
    return [...truths, ...others];
  }

  areaName(area) {
    return area < 0 ? "none" : this.areas[area]?.name ?? `area ${area}`;
  }

  /** The ids of a policy's ancestors, its parent first. */
  ancestors(id) {
    const line = [];
    if (this.stride > 1) return line;
    for (let next = this.ledger.parent[id]; next >= 0 && next < this.rows && line.length < 5000; next = this.ledger.parent[next]) line.push(next);
    return line;
  }

  /** The rows of the kept policies nearest to a place, the nearest first. */
  nearest(distance, most, except = -1) {
    const found = [];
    for (let row = 0; row < this.count; row++) {
      const far = row === except ? NaN : distance(row);
      if (Number.isFinite(far)) found.push([far, row]);
    }
    return found.sort((one, other) => one[0] - other[0]).slice(0, most).map(([, row]) => row);
  }

  descriptorDistance(from, first = 0, last = this.codes) {
    return (row) => {
      let sum = 0;
      for (let code = first; code < last; code++) sum += (this.policy.descriptor[row * this.codes + code] - from[code - first]) ** 2;
      return sum;
    };
  }

  /** The best kept policy of each area, as rows, and the most novel one if none is rewarded. */
  best() {
    const best = new Map();
    for (let row = 0; row < this.count; row++) {
      const area = this.policy.area[row];
      if (area >= 0 && this.policy.reward[row] > 0 && !(this.policy.reward[row] <= this.policy.reward[best.get(area)])) best.set(area, row);
    }
    return [...best.entries()].sort(([one], [other]) => one - other).map(([, row]) => row);
  }
}
