"""Compare the speed of the autoencoder between two source trees.

    python benchmarks/autoencoder_speed.py OLD NEW [--rounds 5] [--evaluations 2000]

OLD and NEW are checkouts of this repository. Each is measured in its own process, by turns, on the same rollouts: those of the last
policies of a short novelty search. The script prints core-seconds on one thread, the best of all rounds, and the ratio old / new, of

- describing 100 policies and an emitter's 12, without and with surprise,
- a training episode of 1,600 pictures and 400 for validation,
- encoder and decoder on pictures of noise, of which no part can be skipped.

For encoder, decoder and training it also prints the share of the rate of a matrix product on the same core. Multiplications are counted
as the layers define them, so code that needs fewer can exceed 100 %.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TASKS = ("hard-maze", "redundant-arm", "curling")
MANY, FEW = 100, 12
_TRAINED, _SEEN = 400, 1600
"""Policies of a training episode, and the pictures that it trains on once."""
_NOISE = 200
"""Number of pictures of noise."""
_ENCODER = 2 * 12_189_696
"""Floating-point operations of the encoder for a picture (64, 64, 3), and of the decoder."""
_MATRIX = 768


class Tree:
    """Process that measures one source tree."""

    def __init__(self, path: Path) -> None:
        environment = os.environ | {"PYTHONPATH": str(path / "src"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--worker"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)

    def ask(self, *request: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"The measuring process ended with exit code {self.process.wait()}.")
        return json.loads(answer)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def core_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def serve() -> None:
    """Answer requests: save a search's last genomes, or measure everything once for a task and its genomes."""
    import torch

    import stax
    from stax.representation.learned import LearnedSpace
    from stax.search import Parameters

    torch.set_num_threads(1)
    prepared: dict[str, dict[str, Callable[[], object]]] = {}
    matrix = torch.ones(_MATRIX, _MATRIX)

    def prepare(name: str, file: str) -> dict[str, Callable[[], object]]:
        task = stax.make_task(name)
        rollouts = task.evaluate(np.load(file)[:_TRAINED])
        options: dict[str, Any] = {"center_observations": True, "scale_observations": True, "max_images_per_episode": 2000}
        try:
            from stax.search.making import learning_options

            options = learning_options(Parameters(**options))
        except ImportError:  # an older tree, where the other options have defaults
            pass
        space = LearnedSpace(task=task, samples=5, seed=np.random.SeedSequence(0), device="cpu", **options)
        space.train(rollouts)
        many, few = rollouts.take(slice(0, MANY)), rollouts.take(slice(0, FEW))
        noise = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (_NOISE, *task.observation_shape), np.uint8))
        return {
            f"describe {MANY}": lambda: space.describe(many),
            f"describe {FEW}": lambda: space.describe(few),
            f"with surprise {MANY}": lambda: space.describe_with_surprise(many),
            f"with surprise {FEW}": lambda: space.describe_with_surprise(few),
            "training": lambda: space.train(rollouts),
            "encode noise": lambda: space.codes(noise),
            "encode and decode noise": lambda: space.codes_and_errors(noise),
            "matrix product": lambda: matrix @ matrix,
        }

    for line in sys.stdin:
        what, *request = json.loads(line)
        answer: Any = None
        if what == "search":
            name, evaluations, file = request
            task = stax.make_task(name)
            search = stax.make_search("ns", task, budget=evaluations, seed=0)
            asked = []
            while not search.done:
                asked.append(search.ask())
                search.tell(task.evaluate(asked[-1]))
            np.save(file, np.concatenate(asked)[-_TRAINED:])
        else:
            name, file = request
            if name not in prepared:
                prepared[name] = prepare(name, file)
                for work in prepared[name].values():
                    work()
            answer = {measured: core_seconds(work) for measured, work in prepared[name].items()}
        print(json.dumps(answer), flush=True)


def rates(seconds: dict[str, float]) -> dict[str, float]:
    """Return the share of the rate of a matrix product, in percent."""
    matrix = 2 * _MATRIX**3 / seconds["matrix product"]
    decoding = seconds["encode and decode noise"] - seconds["encode noise"]
    validation = seconds["encode and decode noise"] / _NOISE * _TRAINED
    return {
        "encoder": 100 * _NOISE * _ENCODER / seconds["encode noise"] / matrix,
        "decoder": 100 * _NOISE * _ENCODER / decoding / matrix,
        "training": 100 * _SEEN * 6 * _ENCODER / (seconds["training"] - validation) / matrix,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=2000)
    options = parser.parse_args()
    trees = {"old": Tree(options.old), "new": Tree(options.new)}
    with tempfile.TemporaryDirectory() as folder:
        for name in TASKS:
            file = str(Path(folder) / f"{name}.npy")
            trees["new"].ask("search", name, options.evaluations, file)
            best: dict[str, dict[str, float]] = {}
            for _ in range(options.rounds):
                for which, tree in trees.items():
                    seconds = tree.ask("measure", name, file)
                    kept = best.setdefault(which, seconds)
                    best[which] = {what: min(kept[what], seconds[what]) for what in seconds}
            print(f"\n{name:28s} {'old, ms':>10s} {'new, ms':>10s} {'ratio':>7s}")
            for what, old in best["old"].items():
                new = best["new"][what]
                print(f"{what:28s} {1000 * old:10.2f} {1000 * new:10.2f} {old / new:7.2f}")
            shares = {which: rates(seconds) for which, seconds in best.items()}
            for what, old in shares["old"].items():
                print(f"{what + ', of the matrix rate':28s} {old:8.0f} % {shares['new'][what]:8.0f} %", flush=True)
    for tree in trees.values():
        tree.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["--worker"]:
        serve()
    else:
        main()
