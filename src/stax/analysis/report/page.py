"""The page about a run: its content and its file."""

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
from stax.analysis.measures import SHARES, check_ends, highest_reward_words, measure
from stax.analysis.replay import check_file
from stax.analysis.report import facts
from stax.analysis.report.archives import archive_picture
from stax.analysis.report.course import course_figure
from stax.analysis.report.emitters import EmitterHistories, emitter_histories
from stax.analysis.report.films import Films, best_films
from stax.analysis.report.learned import LearnedFacts, learned_facts
from stax.analysis.report.wording import Missing
from stax.constraints import check_choice
from stax.runs.config import RunConfig
from stax.runs.files import write_for_user
from stax.runs.reader import RunReader
from stax.runs.result import Result
from stax.wording import counted, duration, percent

SUFFIXES = (".html", ".htm")


@dataclass(frozen=True)
class Written:
    """A page that was written."""

    path: Path
    size: int
    """Size in bytes."""
    failures: tuple[str, ...]
    """What could not be drawn because a user's own code failed, a sentence each."""


@dataclass(frozen=True)
class Commands:
    """Commands shown on the page; there are none if the task was given as an object."""

    repeat: str
    replay: tuple[str, str]
    """What comes before and after a policy's id."""


def check_page(path: Path) -> None:
    """Refuse a path at which no page can be written."""
    check_choice("The suffix of the file", path.suffix.lower(), SUFFIXES)
    check_file(path)


def write_report(result: Result, folder: str | Path, path: str | Path | None = None) -> Written:
    """Write the page about a run, atomically.

    Args:
        result: the result that `stax.load` returns.
        folder: the run's folder.
        path: the file, `report.html` in the run's folder if None.
    """
    run = RunReader(folder)
    target = run.file("report.html") if path is None else Path(path)
    check_page(target)
    context, failures = _context(result, run)
    # The name of the folder need not be text.
    content = _rendered(context).encode(errors="replace")
    write_for_user(target, content)
    return Written(target, len(content), failures)


# Content


def _context(result: Result, run: RunReader) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return all that the template shows, and what failed on the way."""
    config = result.config
    archived_ids = np.union1d(result.novelty_archive.id, result.reward_archive.id)
    measured = measure(result.task, result.ledger, grid_cells=config.parameters.grid_cells, archived_ids=archived_ids)
    check_ends(measured, result.coverage, result.max_reward, run.path)
    why_described = _why_described(config)
    archives = archive_picture(result, why_described)
    learned = learned_facts(result, why_described)
    emitters = emitter_histories(result)
    films = best_films(result, why_described)
    settings = facts.settings(config, result.task)
    commands = None if config.objects else _commands(run.path, config)
    figures = {
        "archives": archives.figure,
        "course": course_figure(result, measured),
        **dict(_learned_figures(learned)),
        **({"emitters": emitters.figure} if isinstance(emitters, EmitterHistories) else {}),
    }
    context = {
        "result": result,
        "config": config,
        "folder": str(run.path),
        "version": __version__,
        "resume": run.resume_command,
        "commands": commands,
        "time": facts.time_spent(result.seconds),
        "budget": facts.budget_parts(result),
        "run_facts": facts.run_facts(config),
        "machine": facts.machine_facts(run.config_table),
        "changed": [setting for setting in settings if setting.changed],
        "settings": settings,
        "headline": facts.headline(result, measured),
        "areas": facts.area_facts(result, measured),
        "shares": SHARES,
        "highest": highest_reward_words(config.task),
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


# File


def _rendered(context: Mapping[str, Any]) -> str:
    """Return the page. All text from a run folder is escaped, and only our two scripts may run."""
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
    # A browser turns all line ends into this one before it compares digests.
    return script.replace("\r\n", "\n").replace("\r", "\n")


def _digest(script: str) -> str:
    """Return the digest by which a content security policy allows a script to run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
