"""Emitters: one kind a file. To add a kind, write its class in a file of its own and add it to the list below."""

from __future__ import annotations

from stax.search.emitters.cma_es import CmaEmitter
from stax.search.emitters.elitist import ElitistEmitter
from stax.search.emitters.emitter_kind import EmitterKind
from stax.search.emitters.novelty import NoveltyEmitter
from stax.search.emitters.sep_cma_es import SeparableCmaEmitter

__all__ = ["ABOUT_KINDS", "EMITTER_KINDS", "EmitterKind"]

EMITTER_KINDS: dict[str, type[EmitterKind]] = {
    kind.name: kind for kind in (ElitistEmitter, CmaEmitter, SeparableCmaEmitter, NoveltyEmitter)
}
"""Built-in kinds by their names: the choices of the parameter `emitter_kinds`."""
ABOUT_KINDS = {name: kind.about for name, kind in EMITTER_KINDS.items()}
"""Descriptions of the built-in kinds, for `stax algos` and the parameter."""
