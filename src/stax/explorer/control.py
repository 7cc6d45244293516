"""The page of a run that was started with `--explore`: a server beside the run, and commands that it passes on to the run.

The server is a process of its own, so that neither can harm the other. It prints lines on its standard output: first its address, then the
commands of the page. When the run has ended, its standard input ends, and it serves on for as long as a page is open.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING

from stax.errors import InvalidInputError

if TYPE_CHECKING:
    from typing import Self

COMMANDS = {"pause": "paused", "resume": "running", "stop": "stopping"}
"""What the page may ask for, and the state that follows."""
_LOOK_SECONDS = 0.05
"""Seconds between two looks at the command of a run that is paused."""
_PATIENCE = 15.0
"""Seconds that a server without a run waits for somebody to open its page."""


class Control:
    """What was last asked of a run, as the server knows it.

    Args:
        send: called with each command.
    """

    def __init__(self, send: Callable[[str], None]) -> None:
        self._send = send
        self.state: str | None = "running"
        """`running`, `paused` or `stopping`; None when the run has ended."""
        self.watchers = 0
        """Pages that follow the run."""

    def command(self, word: str) -> None:
        """Pass a command on to the run."""
        if word not in COMMANDS:
            raise InvalidInputError(f"A run can be asked to {', '.join(COMMANDS)}, not {word[:20]!r}.")
        if self.state is None:
            raise InvalidInputError("The run has ended.")
        self._send(word)
        self.state = COMMANDS[word]


class Companion:
    """The server beside a run, as the run knows it: a context manager.

    Args:
        folder: the run's folder, which may be made later.
        say: called with the address of the page.
    """

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._folder, self._say = folder, say
        self._state = "running"

    def __enter__(self) -> Self:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        # A session of its own: Ctrl-C in the terminal is for the run.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "stax.explorer.control", str(self._folder.absolute())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
        )
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        assert self._process.stdin
        with suppress(OSError):
            self._process.stdin.close()

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            word = line.strip()
            if word in COMMANDS:
                self._state = COMMANDS[word]
            elif word:
                self._say(word)
        # A server that has gone cannot resume what it has paused.
        self._state = "stopping" if self._state == "stopping" else "running"

    def stops(self, interrupted: Callable[[], bool]) -> bool:
        """Return whether the page has asked the run to stop; while it is paused, wait.

        Args:
            interrupted: whether the run has to stop anyway.
        """
        while self._state == "paused" and not interrupted():
            time.sleep(_LOOK_SECONDS)
        return self._state == "stopping"


# In the process of the server


def main() -> None:
    """Serve the page about a run that is about to begin."""
    from stax.explorer.server import serve
    from stax.working_folder import ignore_matplotlib_settings

    folder, answers = Path(sys.argv[1]), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    ignore_matplotlib_settings()

    def send(line: str) -> None:
        with suppress(OSError):
            print(line, file=answers, flush=True)

    control = Control(send)
    threading.Thread(target=_follow, args=(sys.stdin, control), daemon=True).start()
    while not (folder / "config.toml").is_file():
        if control.state is None:
            return
        time.sleep(_LOOK_SECONDS)
    with suppress(KeyboardInterrupt):
        # The user has started the run, and with it the code that it names.
        serve([folder], trust=True, control=control, ready=send)


def _follow(stream: IO[str], control: Control) -> None:
    """Wait for the end of the run, then for the last page to be closed, and end the process."""
    stream.read()
    control.state = None
    alone = 0.0
    while alone < _PATIENCE:
        time.sleep(1)
        alone = 0.0 if control.watchers else alone + 1
    import signal

    signal.raise_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
