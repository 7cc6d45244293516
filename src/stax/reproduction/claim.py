"""One claim of the paper's Section 5, and how runs answer it."""

from __future__ import annotations

from dataclasses import dataclass

from stax.reproduction.answers import Answer, Judgement
from stax.reproduction.evidence import Evidence


@dataclass(frozen=True)
class Claim:
    """One claim of the paper."""

    id: str
    place: str
    """Subsection, and the figure that the sentence is about."""
    quote: str
    """The paper's words, shortened."""
    words: str
    """The part of it that is tested."""
    paper: str
    """The paper's figures."""
    judgements: tuple[Judgement, ...]
    """All of these must hold."""

    @property
    def section(self) -> str:
        return self.place.partition(",")[0]

    @property
    def figure(self) -> str:
        return self.place.partition(", ")[2]

    @property
    def published(self) -> str:
        """What the published code counts instead of what the text says; empty if they count the same."""
        return next((one.measure.published for one in self.judgements if one.measure and one.measure.published), "")

    def answer(self, evidence: Evidence, *, published: bool = False) -> Answer:
        """Judge the claim by our runs, or by what the published code counts of them."""
        return Answer(tuple(part for judgement in self.judgements for part in judgement(evidence, published)))
