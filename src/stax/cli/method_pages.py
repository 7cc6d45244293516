"""Text and JSON about the methods, their parameters and the presets, for `stax algos`."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from stax.run_settings import RunSettings
from stax.search.emitters import ABOUT_KINDS
from stax.search.methods import METHODS, Method, find_method
from stax.search.parameters import ABOUT_PRESETS, PRESETS, Parameters
from stax.search.schedulers import ABOUT_SCHEDULERS
from stax.wording import setting_text


def method_page(name: str | None, *, as_json: bool) -> str:
    """Return the list of methods, or the page of the one with this name."""
    if as_json:
        found = [_facts(method) for method in METHODS.values()] if name is None else _all_about(find_method(name))
        return json.dumps(found, indent=2)
    width = min(max(shutil.get_terminal_size().columns, 60), 120)
    return "\n".join(_list(width) if name is None else _page(find_method(name), width))


def _facts(method: Method) -> dict[str, Any]:
    return {
        "name": method.name,
        "paper_name": method.paper_name,
        "page": method.page,
        "about": method.about,
        "explorer": method.explorer.name,
        "objectives": list(method.explorer.objectives),
        "emitters": method.emitters,
        "training": method.training if method.is_learned else "never",
    }


def _all_about(method: Method) -> dict[str, Any]:
    values = {preset: method.resolve(preset) for preset in PRESETS}
    parameters = {
        name: {
            "about": description.about,
            "symbol": description.symbol,
            "allowed": str(description.constraint),
            "values": {preset: getattr(values[preset], name) for preset in PRESETS},
        }
        for name, description in Parameters.described().items()
    }
    return {**_facts(method), "presets": ABOUT_PRESETS, "parameters": parameters}


def _list(width: int) -> Iterator[str]:
    widest = max(map(len, METHODS))
    for name, method in METHODS.items():
        yield from _wrap(f"{name:<{widest}}  ", method.about, width)
    yield ""
    yield from _presets(width)
    yield ""
    yield from _choices("Kinds of emitters (--set emitter_kinds=NAME,NAME; your own as module:name):", ABOUT_KINDS, width)
    yield ""
    yield from _choices("Schedulers (--set scheduler=NAME; your own as module:name):", ABOUT_SCHEDULERS, width)
    yield ""
    yield "All parameters of a method: 'stax algos NAME'."


def _presets(width: int) -> Iterator[str]:
    return _choices("Presets (--preset NAME):", ABOUT_PRESETS, width)


def _choices(title: str, about: Mapping[str, str], width: int) -> Iterator[str]:
    yield from _wrap("", title, width, indent="  ")
    widest = max(map(len, about))
    for name, words in about.items():
        yield from _wrap(f"  {name:<{widest}}  ", words, width)


def _page(method: Method, width: int) -> Iterator[str]:
    yield from _wrap(f"{method.name}: ", method.about, width, indent="  ")
    yield ""
    yield f"selection    {method.explorer.selection_about}"
    yield f"rewards      {'climbed by emitters' if method.emitters else 'no emitters'}"
    training = {"continued": "trained again and again", "reset": "trained from scratch every time", "never": "never trained"}
    yield f"autoencoder  {training[method.training] if method.is_learned else 'none'}"
    yield ""
    yield from _presets(width)
    yield ""
    yield from _parameters(method, width)
    yield ""
    yield from _settings(width)


def _settings(width: int) -> Iterator[str]:
    yield "Settings of the run, the same for every method:"
    known = RunSettings.described()
    names = max(map(len, known))
    for name, description in known.items():
        yield f"{name:<{names}}  {setting_text(getattr(RunSettings(), name))}"
        yield from _wrap("    ", f"{description.about}: {description.constraint}", width)


def _parameters(method: Method, width: int) -> Iterator[str]:
    parameters = _all_about(method)["parameters"]
    names = max(map(len, parameters))
    symbols = max(len(entry["symbol"]) for entry in parameters.values())
    columns = [f"{preset:<14}" for preset in PRESETS]
    if names + symbols + 4 + 14 * len(columns) > width:
        symbols = 0  # A narrow terminal: the symbols go into the second line.
    symbol_title = f"{'symbol':<{symbols}}  " if symbols else ""
    yield f"{'--set KEY=VALUE':<{names}}  {symbol_title}{''.join(columns)}".rstrip()
    for name, entry in parameters.items():
        symbol = f"{entry['symbol']:<{symbols}}  " if symbols else ""
        values = [f"{setting_text(value):<14}" for value in entry["values"].values()]
        yield f"{name:<{names}}  {symbol}{''.join(values)}".rstrip()
        known = f" ({entry['symbol']})" if entry["symbol"] and not symbols else ""
        yield from _wrap("    ", f"{entry['about']}{known}: {entry['allowed']}", width)


def _wrap(before: str, text: str, width: int, indent: str | None = None) -> list[str]:
    following = " " * len(before) if indent is None else indent
    return textwrap.wrap(text, width, initial_indent=before, subsequent_indent=following)
