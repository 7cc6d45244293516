"""Do the campaigns of examples/ on environments of others, and put what they found into docs/gymnasium.md.

python docs/make_examples.py FOLDER

The runs stay in FOLDER, and only those that it does not hold yet are done. MuJoCo draws its pictures without a screen if MUJOCO_GL is
egl or osmesa and the library is installed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stax.analysis.measures import Measured, measure_recorded
from stax.runs.reader import RunReader

PROJECT = Path(__file__).resolve().parents[1]
EXAMPLES = PROJECT / "examples"
PAGE = PROJECT / "docs" / "gymnasium.md"
IMAGES = PROJECT / "docs" / "images"
BEGIN, END = "<!-- examples -->\n", "<!-- end of examples -->"
NAMES = {
    "ant-maze": "AntMaze_UMaze",
    "fetch-push": "FetchPush",
    "adroit-door": "AdroitHandDoorSparse",
    "door-key": "DoorKey, 6 x 6",
}
METHODS = ("stax", "ns", "random")


@dataclass(frozen=True)
class Found:
    """One finished run, and the course of what it found."""

    path: Path
    method: str
    measured: Measured

    @property
    def best(self) -> float:
        return self.measured.max_reward[0].last

    @property
    def until_found(self) -> int | None:
        """Evaluations until the first reward; None if there was none."""
        return self.measured.max_reward[0].first_reaching(np.nextafter(0.0, 1.0))


def stax(*words: str) -> None:
    """Run a command in the folder of the examples, one of which brings its own environment."""
    subprocess.run([sys.executable, "-m", "stax", *words], cwd=EXAMPLES, check=True)


def do_campaign(name: str, folder: Path) -> list[Found]:
    """Do what is missing of a campaign, and return what its runs found."""
    stax("campaign", f"{name}.toml", "--out", str(folder / name), "--processes", "2")
    runs = [RunReader(path.parent) for path in sorted((folder / name).glob("*/config.toml"))]
    return [Found(run.path, run.config.algo, measure_recorded(run)) for run in runs]


def row(method: str, runs: Sequence[Found]) -> str:
    """Return a method's row of the table."""
    soonest = [run.until_found for run in runs if run.until_found is not None]
    when = f"{len(soonest)} of {len(runs)}" + (f", after {np.median(soonest):,.0f}" if soonest else "")
    coverage = [100 * run.measured.coverage.last for run in runs if run.measured.coverage is not None]
    best = [run.best for run in runs]
    return f"| {method} | {spread(coverage, '.1f')} | {spread(best, '.3g')} | {when} |"


def spread(values: Sequence[float], form: str) -> str:
    """Return the median, and the lowest and the highest in brackets."""
    low, median, high = (format(value, form) for value in np.quantile(values, (0, 0.5, 1)))
    return median if low == high else f"{median} ({low} to {high})"


def table(found: dict[str, list[Found]]) -> str:
    """Return the table of all campaigns."""
    lines = [
        "| | coverage, %, median (range) | best reward, median (range) | seeds that found a reward |",
        "|---|---|---|---|",
    ]
    for name, runs in found.items():
        evaluations = max(run.measured.evaluations for run in runs)
        lines.append(f"| **{NAMES[name]}**, {evaluations:,} evaluations | | | |")
        lines += [row(method, [run for run in runs if run.method == method]) for method in METHODS]
    return "\n".join(lines) + "\n"


def draw_best(name: str, runs: Sequence[Found]) -> None:
    """Draw moments of the best policy of all runs or, without rewards, of the one of `stax` that ended farthest from most others."""
    best = max(runs, key=lambda run: run.best)
    which = ["--best", "goal"]
    if not best.best:
        best = next(run for run in runs if run.method == "stax")
        archive = RunReader(best.path).novelty_archive
        ends = archive.ground_truth
        far = np.linalg.norm((ends - np.median(ends, axis=0)) / (np.ptp(ends, axis=0) + 1e-9), axis=1)
        which = [str(archive.id[np.argmax(far)])]
    stax("replay", str(best.path), *which, "--trust", "--out", str(IMAGES / f"example-{name}.png"), "--quiet")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the runs are, or are to be")
    folder = parser.parse_args().folder.absolute()
    found = {name: do_campaign(name, folder) for name in NAMES}
    for name, runs in found.items():
        draw_best(name, runs)
    before, begun, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (begun and ended):
        raise SystemExit(f"{PAGE.name} lacks the marks {BEGIN.strip()} and {END}.")
    PAGE.write_text(before + BEGIN + table(found) + END + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
