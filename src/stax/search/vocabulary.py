"""The words that the search, its files and its readers share."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Phase(StrEnum):
    """A phase of the search, as displays, the metrics and schedulers name it."""

    INITIAL_POPULATION = "initial population"
    EXPLORATION = "exploration"
    TRAINING = "training"
    """Training of the autoencoder, a part of exploration."""
    EXPLOITATION = "exploitation"
    """Bootstrap step and emitter step together."""
    BOOTSTRAP = "bootstrap"
    """First step of exploitation."""
    EMITTERS = "emitters"
    """Second step of exploitation."""


CHUNK_PHASES = (Phase.EXPLORATION, Phase.EXPLOITATION)
"""The phases that a chunk of the budget is given to."""


class Origin(IntEnum):
    """The step of the search that made a policy. Arrays hold the number, tables the word."""

    INITIAL = 0
    EXPLORATION = 1
    BOOTSTRAP = 2
    EMITTER = 3
    REEVALUATION = 4
    """A further evaluation of its parent with another seed: a row of the ledger, never a policy of an archive."""

    @property
    def word(self) -> str:
        """Word for the origin in tables and files."""
        return self.name.lower()


ORIGINS = tuple(origin.word for origin in Origin)
"""Words for the origins, by their numbers."""
POLICY_ORIGINS = ORIGINS[: Origin.REEVALUATION]
"""Words for the origins that a policy can have; the others are those of rows of the ledger alone."""


def origin_words(highest: int) -> tuple[str, ...]:
    """Return the words for a column of origins with this highest number: those of policies, and more only if it needs them."""
    return ORIGINS[: max(len(POLICY_ORIGINS), highest + 1)]
