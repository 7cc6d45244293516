"""The answers of our runs to the claims, and why some differ from the paper."""

from __future__ import annotations

from dataclasses import dataclass

from stax.reproduction.answers import BY_CONSTRUCTION, DIFFERS, Answer
from stax.reproduction.claim import Claim
from stax.reproduction.claims import CLAIMS, REASONS
from stax.reproduction.evidence import Evidence

OPEN = "open"
"""Reason of a difference that nobody has explained."""


@dataclass(frozen=True)
class AnsweredClaim:
    """A claim with our answers."""

    claim: Claim
    answer: Answer
    published: Answer | None
    """Answer by what the published code counts; None if that is the same."""
    reason: str = ""
    """Why our runs differ from the paper, if that is known."""
    agrees_with: tuple[str, ...] = ()
    """Other parameters with which our runs agree with the paper, in words."""

    @property
    def counted(self) -> bool:
        """Whether the claim says anything about our runs."""
        return self.answer.verdict != BY_CONSTRUCTION

    @property
    def why(self) -> str:
        """Why our answer differs from the paper; empty where it does not."""
        if DIFFERS not in [answer.verdict for answer in (self.answer, self.published) if answer]:
            return ""
        known = [self.reason] if self.reason else []
        known += [f"With {' or with '.join(self.agrees_with)} it agrees."] if self.agrees_with else []
        return " ".join(known) or OPEN


def answered_claims(evidence: Evidence) -> list[AnsweredClaim]:
    """Judge every claim."""
    # The reasons are about runs with the default parameters.
    reasons = REASONS if evidence.runs.has_defaults else {}
    return [
        AnsweredClaim(
            claim,
            claim.answer(evidence),
            claim.answer(evidence, published=True) if claim.published else None,
            reasons.get(claim.id, ""),
        )
        for claim in CLAIMS
    ]
