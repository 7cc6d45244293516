"""The page beside a run: `stax run --explore`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stax.cli.interruption import Requests
from stax.streams import print_message

Stops = Callable[[Requests], bool]
"""Whether a run has to stop, by the requests in the terminal or by the page."""


@contextmanager
def page_beside(folder: Path, options: argparse.Namespace) -> Iterator[Stops]:
    """Serve a page about the run while inside, if the options ask for it, and yield the function that says whether to stop."""
    if not options.explore:
        yield lambda requests: requests.count() > 0
        return
    from stax.cli.commands.explore import open_page
    from stax.explorer.control import Companion
    from stax.extras import require_extra

    require_extra("explorer", "stax run --explore")

    def say(address: str) -> None:
        print_message(f"the run's page: {address}")
        open_page(address)

    with Companion(folder, say) as page:
        yield lambda requests: page.stops(lambda: requests.count() > 0) or requests.count() > 0
