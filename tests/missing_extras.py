"""A process without the packages of the extras: prints how commands and calls that need them end, as JSON."""

from __future__ import annotations

import io
import json
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from stax.extras import EXTRAS

RUN = ["run", "redundant-arm", "--algo", "ns", "--budget", "60", "--set", "population_size=10", "--workers", "1"]
COMMANDS = {
    "run": [*RUN, "--out", "kept"],
    "show": ["show", "kept"],
    "resume": ["resume", "kept"],
    "compare": ["compare", "kept"],
    "classic-control": ["run", "gym:CartPole-v1", "--set", "task.observe=pictures", "--out", "new"],
    "explorer": ["explore", "kept", "--no-open"],
    "onnx": ["export", "kept", "0", "--out", "new"],
    "plots (compare)": ["compare", "kept", "--out", "new"],
    "plots (replay)": ["replay", "kept", "--random", "1", "--out", "new.gif"],
    "plots (reproduce)": ["reproduce", "--quick", "--out", "new"],
    "plots (share)": ["share", "kept", "--out", "new"],
    "ray": [*RUN, "--out", "new", "--backend", "ray"],
    "report": ["report", "kept", "--out", "new.html"],
    "robotics": ["run", "gym:FetchReach-v4", "--out", "new"],
    "robotics (module)": ["run", "gym:gymnasium_robotics:FetchReach-v4", "--out", "new"],
    "tensorboard": [*RUN, "--out", "new", "--tensorboard", "new"],
}
ONLY_VIDEO_IS_MISSING = {"video": ["replay", "kept", "--random", "1", "--out", "new.mp4"]}


@contextmanager
def missing(modules):
    """Make imports of these modules fail as if they were not installed."""
    sys.modules.update(dict.fromkeys(modules))
    yield
    for module in modules:
        del sys.modules[module]


def ends(command: list[str]) -> dict[str, object]:
    """Return how a command ends, what it says, and whether it has written anything new."""
    from stax.cli.main import main

    said = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        code = main(command)
    return {"code": code, "said": said.getvalue(), "new": [str(path) for path in Path().glob("new*")]}


def raises(call) -> dict[str, object]:
    """Return the error of a call in the form of `ends`."""
    from stax.errors import InvalidInputError

    try:
        call()
    except InvalidInputError as error:
        return {"code": 2, "said": f"stax: {error}\n", "new": []}
    return {"code": 0, "said": "", "new": []}


def calls():
    import stax
    import stax.analysis
    from stax.benchmarks.box2d_table import Box2DTable
    from stax.ecosystem import WandbCallback, grid_archive

    result = stax.load("kept")
    return {
        "box2d": Box2DTable,
        "pandas": result.frames,
        "plots (call)": lambda: stax.analysis.draw_result(result, "new.png"),
        "ribs": lambda: grid_archive(result.novelty_archive, result.task),
        "wandb": WandbCallback,
    }


def main() -> None:
    with missing({module for modules in EXTRAS.values() for module in modules}):
        ended = {name: ends(command) for name, command in COMMANDS.items()}
        ended |= {name: raises(call) for name, call in calls().items()}
    with missing(EXTRAS["video"]):
        ended |= {name: ends(command) for name, command in ONLY_VIDEO_IS_MISSING.items()}
    print(json.dumps(ended))


if __name__ == "__main__":
    main()
