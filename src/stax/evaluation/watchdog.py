"""Watchdog process that runs a command once this process has died, however it died."""

from __future__ import annotations

import os
import subprocess
import weakref
from typing import Any, ClassVar

KILL_GROUP = 'kill -s KILL -- "-$1" "$1"'
"""Shell command that kills a process group and its leader."""
REMOVE_FOLDER = 'sleep 5; rm -rf -- "$1"'
"""Shell command that removes a folder, after the processes that use it have had time to end."""


class Watchdog:
    """Process that waits for the end of its standard input, which closes when this process dies, and then runs a command.

    It has its own process group, to outlive a signal to the group of this process. Only for POSIX systems.

    Args:
        command: a shell command; `"$1"` is the argument.
        argument: the argument of the command.
    """

    _inputs: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()
    """Pipes to all watchdogs of this process. Forks of this process must not hold them open."""

    def __init__(self, command: str, argument: object) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", f"read -r _; {command}", "stax-watchdog", str(argument)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            process_group=0,
        )
        self._inputs.add(self._process.stdin)

    def end(self) -> None:
        """End the watchdog without running its command."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    @classmethod
    def close_pipes(cls) -> None:
        """Close the pipes to all watchdogs, in a fork of the process that started them."""
        for pipe in list(cls._inputs):
            pipe.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Watchdog.close_pipes)
