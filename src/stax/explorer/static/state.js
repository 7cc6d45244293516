// The view: what is shown, in one object that parts of the page listen to, and that stands in the address.

const DEFAULTS = {
  run: 0, left: "", right: "", leftAxes: "", rightAxes: "", colour: "", archive: "all", area: "all", origin: "all", least: 0,
  time: null, policy: null, pins: [], emitter: null, lasso: "", compared: true, tool: "select",
};
const IN_ADDRESS = Object.keys(DEFAULTS);

const listeners = [];
export const view = { ...DEFAULTS, hover: null, selection: null, place: null, near: [] };

/** Calls a function with the names of what has changed, once for each change. */
export function listen(names, call) {
  listeners.push({ names, call });
}

export function change(values) {
  const changed = Object.keys(values).filter((name) => view[name] !== values[name]);
  if (!changed.length) return;
  Object.assign(view, values);
  if (changed.some((name) => IN_ADDRESS.includes(name))) remember();
  for (const { names, call } of listeners) if (names.some((name) => changed.includes(name))) call(changed);
}

let waiting = 0;
function remember() {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const words = new URLSearchParams();
    for (const name of IN_ADDRESS) {
      const value = view[name];
      if (value !== null && String(value) !== String(DEFAULTS[name])) words.set(name, value);
    }
    history.replaceState(null, "", `#${words}`);
  }, 150);
}

/** Takes the view from the address; nonsense in it is ignored. */
export function recall() {
  const words = new URLSearchParams(location.hash.slice(1));
  const found = {};
  for (const name of IN_ADDRESS) {
    if (!words.has(name)) continue;
    const word = words.get(name);
    if (name === "pins") found.pins = word.split(",").map(Number).filter(Number.isInteger).slice(0, 9);
    else if (["run", "least", "time", "policy", "emitter"].includes(name)) {
      if (Number.isFinite(Number(word))) found[name] = Number(word);
    } else if (name === "compared") found.compared = word === "true";
    else found[name] = word;
  }
  Object.assign(view, found);
}
