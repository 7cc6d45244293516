"""Measures the explorer on large runs: how fast its page is, and what the server and a watched run cost.

    python benchmarks/explorer_speed.py DIR...           # the page about each of these runs, in Chromium
    python benchmarks/explorer_speed.py --watched        # the rate of a run with and without a page that follows it

For the first, make large runs beforehand, such as

    stax run redundant-arm --algo ns --budget 500000 --out runs/arm-ns
    stax run hard-maze --budget 100000 --out runs/maze

Printed are a JSON object per run: seconds from opening the address to the first picture; milliseconds from a movement of the pointer to
the ring around the policy in both maps, median and worst of 40; the same for a step of the time slider, which counts the density anew; and
the memory of the server and of its worker process in MB, after a film. For the second: the evaluations a second of one run while a page
follows it, as a share of those without a page, and how much of a core the server and the browser take once the page is open.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    parser.add_argument("--rounds", type=int, default=3, help="rounds of --watched (default 3)")
    parser.add_argument("--seconds", type=float, default=60, help="a quarter of a round, in seconds (default 60)")
    options = parser.parse_args()
    for folder in options.folders:
        print(json.dumps(measured_page(folder)), flush=True)
    if options.watched:
        print(json.dumps(measured_rates(options.rounds, options.seconds)))


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


def measured_rates(rounds: int, seconds: float) -> dict[str, Any]:
    """Return the evaluations a second of one long run, in stretches with and without a page that follows it.

    A run slows down as its archives grow, so that each round has the stretches alone, watched, watched, alone.
    """
    ratios, spent = [], []
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "run"
        command = [sys.executable, "-m", "stax", "run", "hard-maze", "--budget", "6000000", "--quiet"]
        run = subprocess.Popen([*command, "--out", str(folder)], stdout=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1"})
        try:
            while not (folder / "checkpoints").is_dir():
                time.sleep(0.1)
                if run.poll() is not None:
                    sys.exit("The run ended before anything was measured.")
            for _ in range(rounds):
                first = _rate(folder, seconds)
                with _followed(folder) as pids:
                    before = _core_seconds(pids)
                    watched = _rate(folder, 2 * seconds)
                    spent.append((_core_seconds(pids) - before) / (2 * seconds))
                ratios.append(2 * watched / (first + _rate(folder, seconds)))
        finally:
            run.send_signal(signal.SIGINT)
            run.wait()
    return {
        "watched / alone": {"median": round(statistics.median(ratios), 3), "rounds": [round(ratio, 3) for ratio in ratios]},
        "cores that server and browser take": round(statistics.mean(spent), 3),
    }


@contextmanager
def _followed(folder: Path) -> Iterator[Callable[[], list[int]]]:
    """Open the page about a run, and close it in the end; gives the processes of the server and the browser."""
    from playwright.sync_api import sync_playwright

    server, address = start(folder)
    try:
        with sync_playwright() as driver:
            chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = chromium.new_page(viewport={"width": 1400, "height": 900})
            page.goto(address)
            page.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
            page.wait_for_selector("#panel .strip", timeout=120_000)
            yield lambda: [server.pid, *_below(server.pid), *(pid for pid in _below(os.getpid()) if "chromium" in _words(pid))]
            chromium.close()
    finally:
        server.terminate()
        server.communicate()


def _rate(folder: Path, seconds: float) -> float:
    """Return the evaluations a second of a run over a stretch of time, by two summaries that it writes every few seconds."""
    begin, began = _next_summary(folder)
    time.sleep(seconds)
    end, ended = _next_summary(folder)
    return (end - begin) / (ended - began)


def _next_summary(folder: Path) -> tuple[int, float]:
    """Wait for the next summary; return its evaluations, and when it was written."""
    path = folder / "summary.json"
    last = path.stat().st_mtime_ns
    while (now := path.stat().st_mtime_ns) == last:
        time.sleep(0.01)
    return json.loads(path.read_text())["evaluations"], now / 1e9


def _core_seconds(pids: Callable[[], list[int]]) -> float:
    """Return the processor time of processes so far."""
    ticks = [sum(map(int, _stat(pid)[11:13])) for pid in pids()]
    return sum(ticks) / os.sysconf("SC_CLK_TCK")


def _below(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that these have."""
    parents = {int(path.name): int(_stat(int(path.name))[1]) for path in Path("/proc").iterdir() if path.name.isdigit()}
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def _stat(pid: int) -> list[str]:
    """Return the fields of a process's state after its name; zeros if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["0"] * 50


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    main()
