"""The web server of the explorer: it listens on the loopback only, and answers those who know the token.

Every address begins with the token, which is drawn anew at each start, so a page of another site cannot ask for anything. The Host header
must be the server's own, which keeps out names that somebody has pointed to this machine. There are no CORS headers, and a content
security policy lets the page load nothing from elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stax.errors import InvalidInputError, in_one_line
from stax.explorer.control import Control
from stax.explorer.explored import Explored
from stax.explorer.packing import finite

ADDRESS = "127.0.0.1"
STATIC = Path(__file__).parent / "static"
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_LONGEST_BODY = 20_000_000
"""Bytes of a request: a picture or a list of policies."""
_PACKED = "application/octet-stream"
_NICENESS = 10
"""How much lower the priority of the server's process is than usual."""
_POLL_SECONDS = 1.0
"""Seconds between two looks at the files of the runs."""


class Guard:
    """Refuses requests without the token, for another host, or from another site's page, before anything else sees them."""

    def __init__(self, app: ASGIApp, *, token: str, hosts: Callable[[], set[str]]) -> None:
        self._app, self._token, self._hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", ()),
                    *((name.lower().encode(), value.encode()) for name, value in _HEADERS.items()),
                ]
            await send(message)

        why = self._refusal(Request(scope))
        if why:
            await Response(why, 403, media_type="text/plain")(scope, receive, with_headers)
            return
        prefix = f"/{self._token}"
        await self._app({**scope, "path": scope["path"].removeprefix(prefix) or "/"}, receive, with_headers)

    def _refusal(self, request: Request) -> str:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if host not in self._hosts():
            return "This host is not served here."
        if origin is not None and origin not in {f"http://{name}" for name in self._hosts()}:
            return "Pages of other sites may not ask here."
        if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return "Pages of other sites may not ask here."
        first = request.url.path.split("/")[1]
        if not secrets.compare_digest(first.encode(), self._token.encode()):
            return "The address must begin with the token that 'stax explore' printed."
        return ""


def make_app(explored: Explored, *, token: str, port: int, control: Control | None = None) -> ASGIApp:
    """Return the web application.

    Args:
        explored: the runs.
        token: what every address begins with.
        port: where the server listens, for the check of the Host header.
        control: pauses and stops the run, if it was started with `--explore`.
    """
    app = Starlette(routes=_Routes(explored, control).table())
    return Guard(app, token=token, hosts=lambda: {f"{ADDRESS}:{port}", f"localhost:{port}"})


Answer = bytes | Mapping[str, Any] | Response


class _Routes:
    def __init__(self, explored: Explored, control: Control | None) -> None:
        self._explored, self._control = explored, control

    def table(self) -> list[Route]:
        explored = self._explored
        run = "/api/runs/{run:int}"

        def number(request: Request) -> int:
            return int(request.path_params["run"])

        def policy(request: Request) -> int:
            return int(request.path_params["policy"])

        return [
            Route("/", lambda _: _static("index.html")),
            Route("/static/{name}", lambda request: _static(request.path_params["name"])),
            self._get("/api/runs", lambda _: {**explored.overview(), "control": self._state()}),
            self._get(f"{run}/data", lambda request: explored.message(number(request))),
            self._get(f"{run}/scene", lambda request: explored.scene(number(request))),
            self._get(f"{run}/umap", lambda request: explored.umap(number(request))),
            self._get(f"{run}/film/{{policy:int}}", lambda request: explored.film(number(request), policy(request))),
            self._get(f"{run}/seen/{{policy:int}}", lambda request: explored.observations(number(request), policy(request))),
            self._get(f"{run}/embedded/{{policy:int}}", lambda request: explored.embed(number(request), policy(request))),
            self._post(f"{run}/decode", lambda request, body: explored.decode(number(request), _numbers(body))),
            self._post(f"{run}/encode", lambda request, body: explored.encode(number(request), body)),
            self._post(
                f"{run}/selection.parquet",
                lambda request, body: _file(explored.parquet(number(request), _ids(body)), "application/vnd.apache.parquet"),
            ),
            self._post(
                f"{run}/films.gif", lambda request, body: _file(explored.films(number(request), _ids(body)), "image/gif")
            ),
            self._post("/api/control", lambda _, body: self._command(body)),
            Route("/api/events", self._events),
        ]

    def _get(self, path: str, answer: Callable[[Request], Answer]) -> Route:
        async def endpoint(request: Request) -> Response:
            return await _answered(lambda: answer(request))

        return Route(path, endpoint)

    def _post(self, path: str, answer: Callable[[Request, bytes], Answer]) -> Route:
        async def endpoint(request: Request) -> Response:
            parts, size = [], 0
            async for part in request.stream():
                size += len(part)
                if size > _LONGEST_BODY:
                    return _refusal(f"A request may have at most {_LONGEST_BODY:,} bytes.")
                parts.append(part)
            return await _answered(lambda: answer(request, b"".join(parts)))

        return Route(path, endpoint, methods=["POST"])

    def _state(self) -> str | None:
        return None if self._control is None else self._control.state

    def _command(self, body: bytes) -> Mapping[str, Any]:
        if self._control is None:
            raise InvalidInputError("This run can only be watched: it was not started with 'stax run --explore'.")
        self._control.command(body.decode(errors="replace"))
        return {"control": self._state()}

    def _count(self, change: int) -> None:
        if self._control is not None:
            self._control.watchers += change

    async def _events(self, request: Request) -> Response:
        """Tell the page whenever files of a run change, as server-sent events."""

        async def events() -> AsyncIterator[str]:
            known: list[Any] = []
            self._count(1)
            try:
                async for event in changes(known):
                    yield event
            finally:
                self._count(-1)

        async def changes(known: list[Any]) -> AsyncIterator[str]:
            while not await request.is_disconnected():
                now = [*await run_in_threadpool(self._explored.progress), self._state()]
                if now != known:
                    known = now
                    yield f"data: {json.dumps(finite({'runs': now[:-1], 'control': now[-1]}))}\n\n"
                else:
                    # Without a word now and then, a browser that has gone would not be noticed.
                    yield ": \n\n"
                await asyncio.sleep(_POLL_SECONDS)

        return StreamingResponse(events(), media_type="text/event-stream")


async def _answered(work: Callable[[], Answer]) -> Response:
    """Do the work in a thread; what cannot be done is said in one sentence."""
    try:
        answer = await run_in_threadpool(work)
    except InvalidInputError as error:
        return _refusal(str(error))
    except (OSError, MemoryError) as error:
        return _refusal(in_one_line(error))
    if isinstance(answer, Response):
        return answer
    return Response(answer, media_type=_PACKED) if isinstance(answer, bytes) else JSONResponse(finite(dict(answer)))


def _refusal(sentence: str) -> Response:
    """Return a sentence for the page; not as an error of HTTP, which a browser would report in its console."""
    return Response(sentence, media_type="text/plain", headers={"Stax-Refusal": "yes"})


def _static(name: str) -> Response:
    path = STATIC / name
    if path.parent != STATIC or path.suffix not in _TYPES or not path.is_file():
        return Response("There is no such file.", 404, media_type="text/plain")
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix])


def _file(content: bytes, kind: str) -> Response:
    return Response(content, media_type=kind, headers={"Content-Disposition": "attachment"})


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        raise InvalidInputError("The request is not JSON.") from None


def _ids(body: bytes) -> list[int]:
    ids = _json(body)
    if not isinstance(ids, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in ids):
        raise InvalidInputError("The request must be a list of ids of policies.")
    return ids


def _numbers(body: bytes) -> Any:
    values = _json(body)
    if not isinstance(values, list) or not all(isinstance(one, (int, float)) for one in values):
        raise InvalidInputError("The request must be a list of numbers.")
    return np.array(values, np.float32)


# Starting


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback; 0 takes a free port."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((ADDRESS, port))
        found.listen()
    except (OSError, OverflowError) as error:
        found.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInputError(f"The port {port} cannot be used: {reason}. Give another one, or --port 0 for any.") from None
    return found


def serve(
    paths: Sequence[Path],
    *,
    port: int = 0,
    trust: bool = False,
    control: Control | None = None,
    ready: Callable[[str], None],
) -> None:
    """Serve the page about some runs until the process is interrupted.

    Args:
        paths: the runs' folders.
        port: where to listen; 0 for any that is free.
        trust: whether code of a run's maker may be imported.
        control: pauses and stops the run, if it was started with `--explore`.
        ready: called with the address once it can be opened.
    """
    import uvicorn

    explored = Explored(paths, trust=trust)
    with listen(port) as listening:
        # A run that goes on beside the server comes first.
        with suppress(OSError, AttributeError):
            os.nice(_NICENESS)
        taken = int(listening.getsockname()[1])
        token = secrets.token_urlsafe(24)
        app = make_app(explored, token=token, port=taken, control=control)
        # A page that follows a run never ends its request, and an end in the middle of it is nothing to report.
        config = uvicorn.Config(app, log_level="critical", access_log=False, timeout_graceful_shutdown=1, server_header=False)
        server = uvicorn.Server(config)
        explored.warm_up()
        ready(f"http://{ADDRESS}:{taken}/{token}/")
        try:
            server.run(sockets=[listening])
        finally:
            explored.close()
