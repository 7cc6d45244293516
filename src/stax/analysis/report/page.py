"""The page itself: what it is made of, and the file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
from jinja2 import DictLoader, Environment, StrictUndefined
from plotly.offline import get_plotlyjs

from stax import __version__
from stax.analysis.measures import SHARES, check_ends, measure
from stax.analysis.recorded import RecordedRun
from stax.analysis.replay import check_file
from stax.analysis.report import facts
from stax.analysis.report.archives import archive_picture
from stax.analysis.report.course import course_figure
from stax.analysis.report.emitters import EmitterHistories, emitter_histories
from stax.analysis.report.films import Films, best_films
from stax.analysis.report.learned import LearnedFacts, learned_facts
from stax.analysis.report.wording import Missing
from stax.errors import InvalidInputError, check_choice
from stax.runs.config import RunConfig, read_toml
from stax.runs.files import write_for_user
from stax.runs.folder import RunFolder, how_to_resume
from stax.runs.result import Result, load
from stax.wording import counted, duration, percent

SUFFIXES = (".html", ".htm")


@dataclass(frozen=True)
class Written:
    """A page that was written."""

    path: Path
    size: int
    """In bytes."""
    failures: tuple[str, ...]
    """What could not be drawn because somebody's code failed, a sentence each."""


@dataclass(frozen=True)
class Commands:
    """What to type for more; there is nothing if the task was given as an object."""

    repeat: str
    replay: tuple[str, str]
    """What stands before and behind a policy's id."""


def readable_run(path: str | Path, *, trust: bool = False) -> Result:
    """The result of a run that is finished or interrupted; of any other it is told what it is instead."""
    run = RecordedRun(path)
    if run.status not in ("finished", "interrupted"):
        raise InvalidInputError(run.why_unfinished())
    return load(path, trust=trust)


def check_page(path: Path) -> None:
    """One sentence if no page can be written there."""
    check_choice("The suffix of the file", path.suffix.lower(), SUFFIXES)
    check_file(path)


def write_report(result: Result, folder: str | Path, path: str | Path | None = None) -> Written:
    """Writes the page about a run, whole or not at all.

    Args:
        result: of `readable_run`, or of `stax.load(folder, task=...)` if the task was given as an object.
        folder: the run's.
        path: the file, `report.html` in the run's folder if None.
    """
    run = RunFolder.existing(folder)
    target = run.file("report.html") if path is None else Path(path)
    check_page(target)
    context, failures = _context(result, run)
    # The name of the folder need not be text.
    content = _rendered(context).encode(errors="replace")
    write_for_user(target, content)
    return Written(target, len(content), failures)


# What it says


def _context(result: Result, folder: RunFolder) -> tuple[dict[str, Any], tuple[str, ...]]:
    """All that the template shows, and what failed on the way."""
    config = result.config
    archived_ids = np.union1d(result.novelty_archive.id, result.reward_archive.id)
    measured = measure(result.task, result.ledger, grid_cells=config.parameters.grid_cells, archived_ids=archived_ids)
    check_ends(measured, result.coverage, result.max_reward, folder.path)
    why_described = _why_described(config)
    archives = archive_picture(result, why_described)
    learned = learned_facts(result, why_described)
    emitters = emitter_histories(result)
    films = best_films(result, why_described)
    settings = facts.settings(config, result.task)
    commands = None if config.objects else _commands(folder.path, config)
    figures = {
        "archives": archives.figure,
        "course": course_figure(result, measured),
        **dict(_learned_figures(learned)),
        **({"emitters": emitters.figure} if isinstance(emitters, EmitterHistories) else {}),
    }
    context = {
        "result": result,
        "config": config,
        "folder": str(folder.path),
        "version": __version__,
        "resume": how_to_resume(folder.path, config),
        "commands": commands,
        "time": facts.time_parts(result.seconds),
        "budget": facts.budget_parts(result),
        "run_facts": facts.run_facts(config),
        "machine": facts.machine_facts(read_toml(folder.file("config.toml"))),
        "changed": [setting for setting in settings if setting.changed],
        "settings": settings,
        "headline": facts.headline(result, measured),
        "areas": facts.area_facts(result, measured),
        "shares": SHARES,
        "highest": facts.highest_words(result.max_reward),
        "archives": archives,
        "learned": learned,
        "emitters": emitters,
        "films": films,
        "figures": figures,
        "details": {"replay": commands and commands.replay, "policies": archives.policies},
    }
    return context, tuple(missing.why for missing in _missing(archives.missing, learned, films) if missing.surprising)


def _learned_figures(learned: LearnedFacts | Missing) -> Iterator[tuple[str, Any]]:
    if isinstance(learned, LearnedFacts):
        if not isinstance(learned.errors, Missing):
            yield "errors", learned.errors
        if learned.vectors is not None:
            yield "vectors", learned.vectors


def _missing(archives: Missing | None, learned: LearnedFacts | Missing, films: Films) -> Iterator[Missing]:
    parts = [archives, *films.missing]
    if isinstance(learned, LearnedFacts):
        parts += [part for part in (learned.pictures, learned.nearness) if isinstance(part, Missing)]
    return (part for part in dict.fromkeys(parts) if part is not None)


def _why_described(config: RunConfig) -> str:
    if config.task_given:
        return (
            "The task was given as an object, so it cannot be drawn here; stax.analysis.report does it in Python, with what"
            " stax.load(folder, task=...) returns."
        )
    return f"The task is code of the run's maker, {config.task!r}, which draws only if you trust it: stax report --trust."


def _commands(folder: Path, config: RunConfig) -> Commands:
    trust = " --trust" if config.code else ""
    return Commands(
        repeat=f"stax run --config {quote(str(folder / 'config.toml'))}{trust}",
        replay=(f"stax replay {quote(str(folder))} ", trust),
    )


# The file


def _rendered(context: Mapping[str, Any]) -> str:
    """The page. Every word that comes from a run folder is escaped, and no script runs but the two of ours."""
    own = files("stax.analysis.report")
    template, style, script = (own.joinpath(name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "page.js"))
    scripts = [_one_line_ends(get_plotlyjs()), _one_line_ends(script)]
    environment = Environment(
        loader=DictLoader({"page.html": template}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    environment.filters |= {"duration": duration, "percent": percent, "counted": counted, "thousands": "{:,}".format}
    environment.tests["missing"] = lambda part: isinstance(part, Missing)
    return environment.get_template("page.html").render(
        **context, style=style, scripts=scripts, allowed_scripts=[_digest(script) for script in scripts]
    )


def _one_line_ends(script: str) -> str:
    # A browser reads them all as this one before it compares digests.
    return script.replace("\r\n", "\n").replace("\r", "\n")


def _digest(script: str) -> str:
    """As a content security policy names a script that may run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
