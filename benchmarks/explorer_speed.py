"""Measures the explorer on large runs: how fast its page is, and what the server and a watched run cost.

    python benchmarks/explorer_speed.py DIR...           # the page about each of these runs, in Chromium
    python benchmarks/explorer_speed.py --watched        # the rate of a run with and without a page that follows it

For the first, make large runs beforehand, such as

    stax run redundant-arm --algo ns --budget 500000 --out runs/arm-ns
    stax run hard-maze --budget 100000 --out runs/maze

Printed are a JSON object per run: seconds from opening the address to the first picture; milliseconds from a movement of the pointer to
the ring around the policy in both maps, median and worst of 40; the same for a step of the time slider, which counts the density anew; and
the memory of the server and of its worker process in MB, after a film. For the second, the evaluations a second of several runs by turns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_HOVER = """() => new Promise((done) => {
  const map = window.staxMaps.left, box = map.over.getBoundingClientRect(), times = [];
  const rows = [...map.buckets.values()].flat();
  const step = () => {
    if (times.length === 40) { done(times); return; }
    const [x, y] = map.pixel(rows[Math.floor(Math.random() * rows.length)]);
    const began = performance.now();
    map.over.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y, bubbles: true }));
    requestAnimationFrame(() => { times.push(performance.now() - began); setTimeout(step, 20); });
  };
  step();
})"""
_SLIDE = """() => new Promise((done) => {
  const slider = document.getElementById("time"), times = [];
  const step = () => {
    if (times.length === 40) { done(times); return; }
    const began = performance.now();
    slider.value = Math.round((times.length + 1) / 41 * slider.max);
    slider.dispatchEvent(new Event("input"));
    requestAnimationFrame(() => requestAnimationFrame(() => { times.push(performance.now() - began); setTimeout(step, 20); }));
  };
  step();
})"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", metavar="DIR", nargs="*", type=Path)
    parser.add_argument("--watched", action="store_true")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind (default 3)")
    parser.add_argument("--budget", type=int, default=100_000, help="evaluations of each run (default 100,000)")
    options = parser.parse_args()
    for folder in options.folders:
        print(json.dumps(measured_page(folder)), flush=True)
    if options.watched:
        print(json.dumps(measured_rates(options.rounds, options.budget)))


def start(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """Start a server, and return its process and its address."""
    command = [sys.executable, "-m", "stax", "explore", str(folder), "--no-open", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, process.stdout.readline().strip()


def measured_page(folder: Path) -> dict[str, Any]:
    """Open the page about a run, and measure it."""
    from playwright.sync_api import sync_playwright

    server, address = start(folder)
    try:
        with sync_playwright() as driver:
            chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = chromium.new_page(viewport={"width": 1400, "height": 900})
            began = time.perf_counter()
            page.goto(address)
            page.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
            first = time.perf_counter() - began
            page.wait_for_selector("html[data-scene]", state="attached", timeout=900_000)
            page.wait_for_selector("#panel .strip", timeout=900_000)
            return {
                "run": folder.name,
                "evaluations": page.locator("[data-tile=evaluations] b").inner_text(),
                "policies": page.locator("[data-count=left]").inner_text(),
                "first_picture_s": round(first, 2),
                "hover_ms": _spread(page.evaluate(_HOVER)),
                "slider_ms": _spread(page.evaluate(_SLIDE)),
                "memory_mb": memory(server.pid),
            }
    finally:
        server.terminate()
        server.communicate()


def _spread(times: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(times), 1), "worst": round(max(times), 1)}


def memory(pid: int) -> dict[str, float]:
    """Return the most memory that the server and its worker process have had so far."""
    found = {"server": pid}
    for line in subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout.splitlines():
        child, parent, words = line.split(None, 2)
        if parent == str(pid) and "explorer.worker" in words:
            found["worker"] = int(child)
    peaks = {}
    for name, process in found.items():
        status = Path(f"/proc/{process}/status").read_text()
        peaks[name] = round(int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024, 1)
    return peaks


# A run that is watched


def measured_rates(rounds: int, budget: int) -> dict[str, Any]:
    """Return the evaluations a second of runs alone and of runs that a page follows, by turns."""
    rates: dict[str, list[float]] = {"alone": [], "watched": []}
    with tempfile.TemporaryDirectory() as parent:
        for number in range(rounds):
            for kind in rates:
                rates[kind].append(_rate(Path(parent) / f"{kind}-{number}", budget, watched=kind == "watched"))
    ratio = statistics.median(rates["watched"]) / statistics.median(rates["alone"])
    return {"evaluations_a_second": rates, "watched / alone": round(ratio, 4)}


def _rate(folder: Path, budget: int, *, watched: bool) -> float:
    """Do a run, with or without a page in a browser that follows it."""
    command = [sys.executable, "-m", "stax", "run", "redundant-arm", "--algo", "ns", "--budget", str(budget), "--quiet"]
    run = subprocess.Popen([*command, "--out", str(folder)], stdout=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1"})
    while not (folder / "config.toml").is_file():
        time.sleep(0.05)
    if watched:
        from playwright.sync_api import sync_playwright

        server, address = start(folder)
        with sync_playwright() as driver:
            chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            chromium.new_page().goto(address)
            run.wait()
            chromium.close()
        server.terminate()
        server.communicate()
    run.wait()
    summary = json.loads((folder / "summary.json").read_text())
    return round(float(summary["evaluations"] / summary["seconds"]["total"]), 1)


if __name__ == "__main__":
    main()
