"""`stax explore`: serves a local web page to look into runs."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path

from stax.cli.arguments import CommandParser, Commands, whole_number
from stax.cli.outcome import DONE
from stax.streams import print_message, print_path

_LAST_PORT = 65_535


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "explore",
        help="a local web page to look into runs",
        description="Serves a page about one to six runs, finished or running, for this machine alone: both archives on twin maps,"
        " films of policies, the course of the search. Its address is printed. Ctrl-C ends it; nothing is written into the runs'"
        " folders.",
        epilog="Example: stax explore runs/hard-maze-stax-0-1",
    )
    parser.add_argument("dirs", metavar="DIR", nargs="+", help="a run's folder; up to six are compared")
    parser.add_argument(
        "--port",
        type=whole_number(0, _LAST_PORT),
        default=0,
        metavar="P",
        help="the port to listen on (default 0: any that is free)",
    )
    parser.add_flag("--no-open", "do not open the page in a browser")
    parser.add_argument("--freeze", metavar="FILE", help="write the page into one .html file that needs no server, and end")
    parser.add_trust()
    parser.add_quiet()
    return parser


def run(options: argparse.Namespace) -> int:
    """Serve the page until the user ends it, or write it into a file."""
    from stax.extras import require_extra
    from stax.runs.reader import RunReader

    folders = [Path(folder) for folder in options.dirs]
    for folder in folders:
        RunReader(folder).config  # noqa: B018 (what is no run is refused before anything is served)
    if options.freeze is not None:
        require_extra("plots", "stax explore --freeze")
        from stax.explorer.freezing import freeze

        print_path(freeze(folders, Path(options.freeze), trust=options.trust))
        return DONE
    require_extra("explorer", "stax explore")
    return _serve(folders, options)


def _serve(folders: list[Path], options: argparse.Namespace) -> int:
    from stax.explorer.server import serve

    def ready(address: str) -> None:
        print(address, flush=True)
        if not options.quiet:
            print_message("serving until Ctrl-C; the page is for this machine alone")
        if not options.no_open:
            open_page(address)

    with suppress(KeyboardInterrupt):  # the usual way to end it
        serve(folders, port=options.port, trust=options.trust, ready=ready)
    return DONE


def open_page(address: str) -> None:
    """Open a page in the user's browser, if there is one."""
    import webbrowser

    # What a browser prints must not be taken for the address.
    with suppress(webbrowser.Error, OSError), redirect_stdout(sys.stderr):
        webbrowser.open(address)
