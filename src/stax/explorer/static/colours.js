// Colours, for light and dark pages.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
export const isDark = () => dark.matches;
export const whenThemeChanges = (call) => dark.addEventListener("change", call);

export const ink = () => (isDark() ? "#e6e9ef" : "#1c2128");
export const faint = () => (isDark() ? "#8f98a6" : "#69717d");
export const line = () => (isDark() ? "#343b46" : "#dde1e7");
export const paper = () => (isDark() ? "#1b2028" : "#ffffff");

const LIGHT = { novelty: "#1f62bf", reward: "#e07b00", other: "#8a919c" };
const DARK = { novelty: "#6ea6f5", reward: "#ffac3e", other: "#7d8695" };
export const archiveColour = (name) => (isDark() ? DARK : LIGHT)[name];

const AREAS = ["#28965a", "#8c50aa", "#d62828", "#0096a0", "#7a5c3a", "#6e737d"];
const AREAS_DARK = ["#4cc486", "#bd84dc", "#ff6b6b", "#3fc8d2", "#c49a6c", "#a9b0bc"];
export const areaColour = (area) => (area < 0 ? archiveColour("other") : (isDark() ? AREAS_DARK : AREAS)[area % AREAS.length]);

// Of runs: none of the archives' colours, which stand on the same map.
const RUNS = ["#0a8f98", "#c2377e", "#6f8a1f", "#7b4fc4", "#c4442f", "#5f6b7a"];
const RUNS_DARK = ["#45cdd6", "#f27ab5", "#b6d152", "#b394f0", "#f5866f", "#a3afbf"];
export const runColour = (number) => (isDark() ? RUNS_DARK : RUNS)[number % RUNS.length];

// From dark violet by blue and green to yellow; on dark paper it starts lighter, so that low values can still be seen.
const RAMP = [[70, 40, 130], [45, 90, 175], [20, 145, 150], [95, 190, 85], [245, 215, 40]];
export const SHADES = 24;
/** The colour of a share between 0 and 1. */
export function ramp(share) {
  const place = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1);
  const low = Math.min(Math.floor(place), RAMP.length - 2);
  const mix = RAMP[low].map((value, channel) => {
    const mixed = value + (place - low) * (RAMP[low + 1][channel] - value);
    return Math.round(isDark() ? mixed + (255 - mixed) * 0.18 : mixed);
  });
  return `rgb(${mix.join(",")})`;
}
export const numberColour = (value) => `hsl(${(value * 137.5) % 360} ${isDark() ? "70% 68%" : "62% 42%"})`;
