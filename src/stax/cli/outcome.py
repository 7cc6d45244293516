"""Exit codes of the command, and the outcome of commands that write one file or folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

from stax.cli.interruption import was_interrupted
from stax.streams import print_message, print_path
from stax.working_folder import code_allowed

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


def print_written(write: Callable[[argparse.Namespace], Path], options: argparse.Namespace) -> int:
    """Call `write`, print the path that it returns, and return the exit code; a failure is reported in one line.

    Standard output carries only the path: what a user's own task prints meanwhile goes to standard error.
    """
    if options.quiet:
        from stax.compiling import compile_quietly

        compile_quietly()
    try:
        with code_allowed() if options.trust else nullcontext(), redirect_stdout(sys.stderr):
            path = write(options)
    except (RuntimeError, MemoryError) as error:
        if was_interrupted():
            raise
        lack = "there is not enough memory: " if isinstance(error, MemoryError) else ""
        print_message(f"{lack}{error or 'nothing is left'}")
        return FAILED
    print_path(path)
    return DONE
