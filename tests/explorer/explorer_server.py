"""Servers that are started with the real command, and requests to them."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from stax.explorer.packing import unpack

TESTS = Path(__file__).parents[1]


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(TESTS), str(TESTS / "explorer"), *filter(None, sys.path)])
    return {**os.environ, "PYTHONPATH": path, "BROWSER": "true", "NO_COLOR": "1"}


class Server:
    """A server that was started with the command."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, "-m", "stax", "explore", *map(str, arguments), "--no-open"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        assert self.process.stdout
        self.find(self.process.stdout.readline().strip())

    def find(self, address: str) -> None:
        """Take the address that was printed."""
        self.address, parts = address, urlsplit(address)
        self.host, self.root = parts.netloc, parts.path

    def ask(self, path: str = "", body: bytes | None = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and content of an answer; the path stands below the token unless it begins with a slash."""
        connection = http.client.HTTPConnection(self.host, timeout=120)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET" if body is None else "POST", path if path.startswith("/") else self.root + path, body, given)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, content

    def message(self, path: str, body: bytes | None = None):
        """Return the JSON and the arrays of an answer."""
        status, headers, content = self.ask(path, body)
        assert status == 200
        assert "stax-refusal" not in headers, content.decode()
        return unpack(content)

    def refusal(self, path: str, body: bytes | None = None) -> str:
        """Return the sentence that a request is refused with."""
        status, headers, content = self.ask(path, body)
        assert status == 200
        assert "stax-refusal" in headers
        return content.decode()

    def end(self) -> int:
        """End the server, and return the exit code of the command."""
        self.process.terminate()
        self.process.communicate(timeout=30)
        return self.process.returncode
