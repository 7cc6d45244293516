"""Make docs/tasks.md and its pictures from the tasks: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

import stax
from stax.tasks.compiled import CompiledTask
from stax.tasks.gymnasium_registration import ENVIRONMENTS
from stax.tasks.task import sample_steps

DOCS = Path(__file__).parent
PICTURE, OBSERVATION, GAP = 440, 128, 10
POLICIES = 20_000

INTRODUCTION = """# The three tasks

<!-- Made by docs/make_tasks_page.py ("make docs"); change that file, not this page. -->

These are the three sparse-reward environments of the paper (Section 4), as compiled batch rollouts
and as Gymnasium environments. All are deterministic: they have a fixed start, and no noise unless
you [ask for it](stochastic-tasks.md). The reward is paid once, at the end of the episode. It is
(radius - distance to the centre) / radius if the ground-truth descriptor lies within a reward area,
and 0 otherwise.

![The three tasks](images/tasks.png)

A policy is a fully connected network. Every layer, the output layer included, is followed by 2
sigmoid(x) - 1, and has *one bias shared by the whole layer*. The genome holds, for each layer in
order, the weights (inputs x outputs, row-major) and then that bias.

The autoencoder sees five 64 x 64 RGB pictures of each rollout. They show the scene after the steps
ceil(i (T - 1) / 5) for i = 1 to 5, counted from 0, so that the last one is the end. An episode that
ends early repeats its last picture. Pictures are drawn when they are needed, from snapshots of at
most 400 bytes a rollout, and show nothing of the reward. Small moving parts are drawn at least a
pixel or two wide (the maze's robot with a radius of 2.2 pixels instead of 1.1). Reward areas, the
start (a cross) and the trail of the descriptor (purple) appear only in pictures for people.

```python
import numpy as np
import stax

task = stax.make_task("hard-maze", sensors="published-code")
genomes = np.random.default_rng(0).normal(size=(100, task.genome_size))
rollouts = task.evaluate(genomes)               # (n, 63) -> reward, reward_area, steps, ground_truth, snapshots
pictures = task.observe(rollouts)               # (n, 5, 64, 64, 3) uint8
states = task.trajectory(genomes[0])            # (steps + 1, state size)
picture = task.render(states[-1], 900, trail=states)
```
"""

ABOUT = {
    "curling": """A two-link arm pushes a ball over a 3 x 3 table with walls. The origin is in the centre, y points
up, and there is no gravity. The policy sees the ball's position, the two joint angles and the two
joint speeds, and sets the speeds of the joints' motors, clipped to [-1, 1] rad/s.

The physics are those of Box2D 2.3 at 1/60 s a step with 100 velocity and 100 position iterations,
computed by a solver written for this scene (`stax/tasks/curling_physics`). It follows Box2D in the
order of operations and in 32-bit floats:

| | |
|---|---|
| walls | 0.1 thick, centred on the table's sides (inner faces at +-1.45); friction 0.2, restitution 0 |
| ball | radius 0.15, density 1, friction 0.9, restitution 0.9, linear damping 1.1, angular damping 2; starts at rest at (-0.5, 0.2) |
| link 0 | 0.1 x 1.0, density 5, friction 0.9; hinged at its lower end to (0, -1.5); limits +-0.4 pi |
| link 1 | 0.1 x 1.0, density 1, friction 0.9; hinged 0.1 from its lower end to link 0's far end; limits +-0.9 pi |
| motors | largest torque 100 each |

In the original no body ever sleeps, and the origin of the world is a corner of the table. Both
affect the last bits, and both are reproduced here.

On Linux x86-64 the ball ends where Box2D's ends, bit for bit. There are two differences on the way,
and neither changed a bit of any end in the comparisons below:

- Subnormal numbers, those smaller than 1.2e-38, count as zero. The speeds of an arm at rest decay
  through them, and many processors compute slowly with them. The processor's setting is changed in
  the simulator's threads while they simulate, and restored afterwards. So a speed can be 0 where
  Box2D's is 3e-45. On processors other than x86-64 nothing is changed.
- Velocity iterations end before the hundredth once velocities and impulses are what they were two
  iterations before, bit for bit. The iterations left out could not have changed anything.

The ends of 500 rollouts recorded from the original environment are all equal (`make reference`).
`tests/tasks/test_reference.py` repeats the comparison with 20 recorded rollouts, and with Box2D
step by step.""",
    "hard-maze": """A two-wheeled robot of radius 10 drives through a maze of 600 x 600; y points down. The policy sees
five sensor readings and sets the speeds of the two wheels, in world units a step. Where the robot
would touch a wall, it turns but does not move.

The map is a grid of 200 x 200 cells of side 3: a cell is a wall if its centre lies in one of the
wall polygons. The original's map differs from the polygons in some 26 cells. 22 of them could be
measured from laser readings recorded in the original environment
(`benchmarks/measure_maze_map.py`), and are corrected in `stax/tasks/hard_maze_physics.py`. The
others were never in the lasers' sight.

- `sensors="lasers"` (default), as in the paper: five lasers at -90, -45, 0, 45 and 90 degrees,
  divided by their range of 100.
- `sensors="published-code"`, as in the authors' code: lasers at 45, 0 and -45 degrees in world
  units, then the left and the right bumper.

The reward is computed from the final position (the original computes it one step earlier).""",
    "redundant-arm": """A planar arm of 20 joints and total length 1 starts as a spiral in the middle of the unit square; y
points up. The policy sees the joint angles divided by pi and sets the joints' torques. A step is
two substeps of 0.01: next angle = angle + speed dt + torque / 2 dt^2. A substep is legal if all of
these hold:

- half the end effector's displacement plus the last joint's speed is at most 1;
- all joint points lie within the square, and none lies strictly inside a wall;
- no two joint points are closer than 0.95 links in Manhattan distance.

An illegal substep is not carried out and ends the episode.

The walls, as x, y, width, height, are (0.49, 0, 0.02, 0.2), (0.49, 0.8, 0.02, 0.2), (0, 0.49, 0.2,
0.02) and (0.8, 0.49, 0.2, 0.02).

- `view="arm"` (default): the autoencoder sees the whole arm.
- `view="end-effector"`: it sees only the arm's end (the paper's STAX_ef).

The reward is paid whether or not the episode ends early.""",
}


def show_policy(task: CompiledTask) -> tuple[NDArray[np.float64], stax.Rollouts]:
    """Return the random policy with the highest reward, or the one that ends farthest from the others if none is rewarded."""
    genomes = np.random.default_rng(0).normal(scale=1.5, size=(POLICIES, task.genome_size))
    rollouts = task.evaluate(genomes)
    assert rollouts.ground_truth is not None
    far = np.linalg.norm(rollouts.ground_truth - np.median(rollouts.ground_truth, axis=0), axis=1)
    best = int(np.argmax(rollouts.reward if rollouts.reward.max() > 0 else far))
    return genomes[best], rollouts.take([best])


def observation_strip(task: CompiledTask, rollouts: stax.Rollouts) -> Image.Image:
    """Draw the five observations, enlarged without smoothing, with the step written under each."""
    pictures = task.observe(rollouts)[0]
    strip = Image.new("RGB", (len(pictures) * (OBSERVATION + GAP) - GAP, OBSERVATION + 20), "white")
    draw, font = ImageDraw.Draw(strip), ImageFont.load_default(13)
    for i, (picture, step) in enumerate(zip(pictures, sample_steps(task.horizon, len(pictures)), strict=True)):
        x = i * (OBSERVATION + GAP)
        strip.paste(Image.fromarray(picture).resize((OBSERVATION, OBSERVATION), Image.Resampling.NEAREST), (x, 0))
        draw.rectangle((x, 0, x + OBSERVATION - 1, OBSERVATION - 1), outline=(190, 190, 190))
        last = min(int(step), int(rollouts.steps[0]) - 1)
        draw.text((x + OBSERVATION // 2, OBSERVATION + 3), f"step {last}", fill=(60, 60, 60), font=font, anchor="ma")
    return strip


def framed(picture: NDArray[np.uint8]) -> Image.Image:
    """Return the picture with a thin grey frame."""
    image = Image.fromarray(picture)
    ImageDraw.Draw(image).rectangle((0, 0, image.width - 1, image.height - 1), outline=(190, 190, 190))
    return image


def save(image: Image.Image, name: str) -> None:
    """Save an image with a palette of 128 colours."""
    image.quantize(128, dither=Image.Dither.NONE).save(DOCS / "images" / name, optimize=True)


def numbers(task: CompiledTask) -> str:
    """Make the table of a task's sizes, bounds and reward areas."""
    layers = "-".join(str(size) for size in task.policy_sizes)
    bounds = " x ".join(f"[{low:g}, {high:g}]" for low, high in task.ground_truth_bounds)
    rows = [
        ("policy", f"{layers}, {task.genome_size} numbers"),
        ("steps", f"{task.horizon} at most"),
        (
            "observations",
            f"after steps {', '.join(str(step) for step in sample_steps(task.horizon, task.observation_samples))}",
        ),
        ("ground truth", f"final {GROUND_TRUTH[task.name]}; bounds {bounds}"),
    ]
    for area in task.reward_areas:
        assert area.center is not None
        center = ", ".join(f"{value:.4g}" for value in area.center)
        rows.append((f"reward area “{area.name}”", f"centre ({center}), radius {area.radius:.4g}"))
    rows.append(("Gymnasium", f"`{ENVIRONMENTS[task.name]}`"))
    return "| | |\n|---|---|\n" + "\n".join(f"| {name} | {value} |" for name, value in rows)


GROUND_TRUTH = {
    "curling": "position of the ball",
    "hard-maze": "position of the robot, divided by 600",
    "redundant-arm": "position of the end effector",
}


def main() -> int:
    (DOCS / "images").mkdir(exist_ok=True)
    together = Image.new("RGB", (3 * (PICTURE + GAP) - GAP, PICTURE), "white")
    page = [INTRODUCTION]
    for i, name in enumerate(ABOUT):
        task = stax.make_task(name)
        assert isinstance(task, CompiledTask)
        genome, rollouts = show_policy(task)
        states = task.trajectory(genome)
        picture = framed(task.render(states[-1], PICTURE, trail=states))
        together.paste(picture, (i * (PICTURE + GAP), 0))
        strip = observation_strip(task, rollouts)
        save(strip, f"{name}-observations.png")
        page.append(f"## {name}\n\n{ABOUT[name]}\n\n{numbers(task)}\n")
        page.append(f"What the autoencoder sees:\n\n![Five observations of {name}](images/{name}-observations.png)\n")
    save(together, "tasks.png")
    (DOCS / "tasks.md").write_text("\n".join(page), encoding="utf-8")
    print(f"wrote {DOCS / 'tasks.md'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
