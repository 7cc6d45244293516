"""The largest values that a user may give.

The limits are far above any known use. They are checked before a run begins, so that a typing error is answered by one sentence and
not by a machine that runs out of memory hours later.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

LARGEST_NUMBER = 1e100
"""Largest magnitude of rewards, ground truth and bounds: sums of their squares, and of the cubes, stay finite in float64."""
LARGEST_GENE = 1e30
"""Largest magnitude of a genome's numbers, their bounds and mutations; CMA-ES refuses means beyond 1e32."""
MOST_EVALUATIONS = 10**9
"""Evaluations of a run. The ledger alone takes about 30 bytes for each of them."""
LARGEST_SEED = 2**63 - 1
"""Largest integer of TOML, in which seeds are written down."""
MOST_POLICIES = 10**6
"""Policies of a population, an archive's additions and the like."""
LARGEST_GENERATION = 2**32
"""Bytes of all genomes of one generation: 4 GiB."""
MOST_GENES = 10**7
"""Numbers of a genome; networks in the literature have up to four million weights."""
MOST_SAMPLES = 10_000
"""Observations of a rollout."""
LARGEST_OBSERVATION = 2**22
"""Numbers of one observation: more than a picture of 1,000 x 1,000 pixels in colour."""
MOST_OBSERVED = 2**24
"""Numbers of all observations of a rollout."""
MOST_CODE = 10_000
"""Numbers of an observation's code."""
MOST_DESCRIPTOR = 10**6
"""Numbers of a descriptor: of all the codes of a rollout."""
MOST_WEIGHTS = 2**25
"""Weights of a built-in autoencoder, 134 MB of them; training takes four times as much."""
MOST_LAYERS = 20
"""Hidden layers of an autoencoder."""
MOST_REWARD_AREAS = 1000
"""Reward areas of a task: each is a column of the table of metrics."""
MOST_GROUND_TRUTH = 1000
"""Numbers of a ground-truth descriptor."""
LONGEST_NAME = 200
"""Characters of the name of a task or of a reward area."""
LONGEST_TIME_LIMIT = 7 * 24 * 3600
"""Seconds: a week. Waiting on a process for longer than 24 days overflows in the operating system."""
MOST_RUNS = 10_000
"""Runs of a campaign."""


def is_finite_number(given: Any, largest: float = LARGEST_NUMBER) -> bool:
    """Return whether this is a number of at most this magnitude; nan, infinity and truth values are not."""
    return isinstance(given, Real) and not isinstance(given, bool) and bool(abs(given) <= largest)  # type: ignore[operator]
