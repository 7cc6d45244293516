"""Measure the map of the original HardMaze from laser readings recorded in it, and cross-validate the result.

The task's walls are polygons, while the original's map is a bitmap, and the two differ in a few cells. Everything else
about a laser is known to the last bit, so a recorded reading that differs from ours reveals such a cell. Beginning with
the map of the polygons, the script repeatedly flips the cell that corrects the most readings on balance, until no cell
corrects at least a few. The outcomes of rollouts are not used.

Cross-validation then tests whether the cells are the original's or merely fit the readings: measured on one part of the
recorded rollouts, they must make the simulation of the *other* part end where the original's ended.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from numba import njit

from stax.policies import forward
from stax.tasks import hard_maze_physics as maze
from stax.tasks.hard_maze import HORIZON, POLICY_SIZES

PUBLIC_FILE = "hard_maze_public.npz"  # many rollouts, recorded every few steps
STEPS_FILE = "hard_maze_steps.npz"  # some of them again, recorded every step
LASERS = slice(3, 6)  # where a state holds the readings of the three lasers
LASER_ANGLES = np.array([1.0, 0.0, -1.0]) * np.pi / 4.0
FEWEST = 3  # readings that a flipped cell must set right on balance
TOLERANCES = (0.01, 0.001)


@njit
def read_all(free_squares, states):
    """Return the readings of the three lasers at the pose of each of these states."""
    readings = np.empty((len(states), 3))
    state = np.empty(8)
    for i in range(len(states)):
        state[:3] = states[i, :3]
        maze.read_lasers(state, maze.PUBLISHED, free_squares)
        readings[i] = state[3:6]
    return readings


@njit
def roll_out(free_squares, touching, genomes):
    """Return the final state of a full rollout of each genome on this map."""
    finals = np.empty((len(genomes), 8))
    values, scratch = np.empty(5), np.empty(5)
    for i in range(len(genomes)):
        state = finals[i]
        maze.reset(state, maze.PUBLISHED)
        for _ in range(HORIZON):
            values[:] = state[3:]
            forward(genomes[i], POLICY_SIZES, values, scratch)
            maze.step(state, values[0], values[1], maze.PUBLISHED, free_squares, touching)
    return finals


class Measurement:
    """Map that is being measured, and its agreement with the recorded states."""

    def __init__(self, states):
        # A robot that stands still repeats its reading, which adds no evidence.
        self.states = np.unique(states, axis=0)
        self.cells = maze.polygon_cells()
        # Lasers jump over free squares. With squares of side 1 they take every step, and flipping a cell needs no update.
        self.squares = np.repeat(~self.cells[None], 4, axis=0).astype(np.uint8)
        self.readings = read_all(self.squares.ravel(), self.states)
        self.flips = []

    def differing(self):
        """Return which readings differ from the recorded ones, as [state, laser]."""
        return self.readings != self.states[:, LASERS]

    def flip(self, cell):
        """Make this cell a wall if it is free, and free if it is a wall."""
        self.squares[:, *cell] ^= 1
        self.cells[cell] = not self.cells[cell]

    def gain(self, cell):
        """Return how many more readings are right with this cell flipped, and how many become wrong."""
        near = np.abs(self.states[:, :2] - maze.CELL * np.array(cell)).max(axis=1) < maze.LASER_RANGE + 3.0 * maze.CELL
        self.flip(cell)
        right = read_all(self.squares.ravel(), self.states[near]) == self.states[near, LASERS]
        self.flip(cell)
        was_right = self.readings[near] == self.states[near, LASERS]
        return int(right.sum()) - int(was_right.sum()), int((was_right & ~right).sum())

    def candidates(self):
        """Return how many differing readings each cell might explain, as a Counter by (column, row).

        A laser that is too short was stopped by a cell that is no wall in the original; one that is too long has missed
        a wall where the recorded one ended. The cell is within two cells of the ray's point at that distance.
        """
        counts = Counter()
        for i, laser in np.argwhere(self.differing()):
            ours, recorded = self.readings[i, laser], self.states[i, LASERS][laser]
            angle = self.states[i, 2] + LASER_ANGLES[laser]
            end = self.states[i, :2] + min(ours, recorded) * np.array([np.cos(angle), np.sin(angle)])
            middle = np.rint(end / maze.CELL).astype(int)
            low, high = np.maximum(middle - 2, 1), np.minimum(middle + 3, maze.CELLS - 1)
            around = self.cells[low[0] : high[0], low[1] : high[1]]
            counts.update(tuple(cell) for cell in (low + np.argwhere(around == (ours < recorded))).tolist())
        return counts

    def run(self):
        """Flip the best cell as long as there is one; `flips` gets (cell, gain, set wrong, cells just as good)."""
        while True:
            best, scores = FEWEST, {}
            for cell, most in self.candidates().most_common():
                if most < best:
                    break
                scores[cell] = self.gain(cell)
                best = max(best, scores[cell][0])
            equals = sorted(cell for cell, (gain, _) in scores.items() if gain >= best)
            if not equals:
                return self
            self.flip(equals[0])
            self.readings = read_all(self.squares.ravel(), self.states)
            self.flips.append((equals[0], *scores[equals[0]], equals[1:]))


def load(folder):
    """Return the rollouts' genomes and final descriptors, every recorded state, and the rollout of each state."""
    with np.load(folder / PUBLIC_FILE) as public, np.load(folder / STEPS_FILE) as steps:
        genomes, descriptors = public["genome"].astype(np.float64), public["bd"].astype(np.float64)
        # The rollouts of the step-by-step recordings, so that a fold holds out both recordings of its rollouts.
        same = (steps["genome"][:, None] == public["genome"][None]).all(axis=2)
        # The first state of each rollout precedes the first reading.
        trajectories = [public["traj"][:, 1:].astype(np.float64), steps["full_traj"][:, 1:]]
    owners = [np.arange(len(genomes)), same.argmax(axis=1)]
    states = np.concatenate([part.reshape(-1, 8) for part in trajectories])
    owners = np.concatenate([np.repeat(of, part.shape[1]) for of, part in zip(owners, trajectories, strict=True)])
    return genomes, descriptors, states, owners


def errors(cells, genomes, descriptors):
    """Return the distances of the final descriptors on this map from the recorded ones."""
    finals = roll_out(maze.find_free_squares(cells), maze.find_touching(cells), genomes)
    return np.linalg.norm(finals[:, :2] / maze.SIZE - descriptors, axis=1)


def report_cells(measurement, before):
    """Print the flipped cells and what they did to the readings."""
    print(f"{len(measurement.states)} distinct states, 3 readings each; {before} readings differ on the polygons' map")
    print("column  row  original  set right  set wrong  equally good")
    for (column, row), gain, wrong, equals in measurement.flips:
        kind = "wall" if measurement.cells[column, row] else "free"
        print(f"{column:6d}  {row:3d}  {kind:8s}  {gain + wrong:9d}  {wrong:9d}  {equals or '-'}")
    print(f"{measurement.differing().sum()} readings differ with these {len(measurement.flips)} cells flipped")


def report_shares(title, distances):
    """Print how many of these distances are within each tolerance."""
    shares = ", ".join(f"{np.mean(distances < limit):6.1%} within {limit}" for limit in TOLERANCES)
    print(f"{title:34s} {shares}")


def main():
    """Measure, print and cross-validate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    files = f"folder with {PUBLIC_FILE} and {STEPS_FILE}"
    parser.add_argument("--reference", type=Path, required=True, metavar="DIR", help=files)
    parser.add_argument("--folds", type=int, default=2, help="parts for the cross-validation (default 2)")
    arguments = parser.parse_args()
    for path in (arguments.reference, arguments.reference / PUBLIC_FILE, arguments.reference / STEPS_FILE):
        if not path.exists():
            print(f"There is no {path}, which this measurement needs.", file=sys.stderr)
            return 2
    genomes, descriptors, states, owners = load(arguments.reference)
    if not 2 <= arguments.folds <= len(genomes):
        print(f"The number of folds must be from 2 to the {len(genomes)} rollouts.", file=sys.stderr)
        return 2

    whole = Measurement(states)
    before = whole.differing().sum()
    report_cells(whole.run(), before)
    print(f"The task's own map is {'' if (whole.cells == maze.WALL_CELLS).all() else 'NOT '}the one measured here.\n")

    print(f"Final descriptors of {len(genomes)} rollouts:")
    held_out = np.empty(len(genomes))
    for fold in range(arguments.folds):
        part = np.arange(len(genomes)) % arguments.folds == fold
        measured = Measurement(states[~part[owners]]).run()
        held_out[part] = errors(measured.cells, genomes[part], descriptors[part])
        unlike = (measured.cells != whole.cells).sum()
        report_shares(f"fold {fold + 1}, cells of the others", held_out[part])
        print(f"{'':34s} {len(measured.flips)} cells; the map differs from the one of all readings in {unlike}")
    report_shares("all, held out", held_out)
    report_shares("all, polygons alone", errors(maze.polygon_cells(), genomes, descriptors))
    report_shares("all, cells of all readings", errors(whole.cells, genomes, descriptors))
    return 0


if __name__ == "__main__":
    sys.exit(main())
