// Words, numbers, and elements of the page. What comes from a run is always put in as text.

/** Makes an element; strings among its children become text. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const put = (element, ...children) => element.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
export const byId = (id) => document.getElementById(id);

const whole = new Intl.NumberFormat("en-GB");
export const count = (value) => whole.format(value);
export const share = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)} %`);

export function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value)) return count(value);
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(2) : value.toFixed(size >= 100 ? 1 : digits);
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 90) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return seconds < 5400 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** Options of a select element, given as pairs of value and words. */
export function fill(select, options, chosen) {
  put(select, ...options.map(([value, words]) => make("option", { value, selected: String(value) === String(chosen) }, words)));
  select.value = chosen;
}

export function copyButton(text) {
  const button = make("button", { class: "copy", type: "button", title: "Copy", "aria-label": `Copy ${text}` }, "copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard?.writeText(text).catch(() => null);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1200);
  });
  return make("div", { class: "command" }, make("code", {}, text), button);
}

export function download(content, name) {
  const link = make("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
