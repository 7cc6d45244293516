"""Connection of this process to a Ray cluster, or to one that is started on this machine.

Ray is used as it is found: an existing connection is used and left open, and one that was made here is ended. A cluster that is
started here has no dashboard and sends no usage statistics. Its token is in the environment of its processes and in no file.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stax.errors import InvalidInputError
from stax.evaluation.watchdog import REMOVE_FOLDER, Watchdog
from stax.extras import import_extra

_SECONDS_TO_ANSWER = 10.0
"""Seconds that a cluster's address may take to answer."""
_LONGEST_FOLDER = 21
"""Most characters of the path of the folder in which a cluster's folder is made. Ray's sockets are deep below it, and the path of a
socket has at most 107 characters."""
_AUTHENTICATION = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


def import_ray() -> Any:
    """Import and return Ray, or raise an error that says how to install it."""
    import_extra("ray.cloudpickle", "ray", "The backend 'ray'")
    return import_extra("ray", "ray", "The backend 'ray'")


class RayConnection:
    """Connection to Ray. An existing connection of this process is used and left open; `close` ends one that is made here.

    A cluster that is started here is for this process alone. It listens on the loopback interface only, requires a secret token, and
    keeps its files in a private folder, which `close` removes.

    Args:
        ray: the package.
        address: address of a running cluster, as for `ray.init`; None starts one on this machine.
        cpus: number of CPUs of a cluster that is started here.
    """

    def __init__(self, ray: Any, address: str | None, *, cpus: int) -> None:
        self._end: weakref.finalize[..., Any] | None = None
        if ray.is_initialized():
            return
        try:
            if address is None:
                self._start(ray, cpus)
            else:
                check_address(address)
                with _own_signals():
                    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
                self._end = weakref.finalize(self, ray.shutdown)
        except Exception as error:
            what = "A Ray cluster cannot be started" if address is None else f"There is no Ray cluster at {address!r}"
            raise InvalidInputError(f"{what} ({type(error).__name__}: {' '.join(str(error).split())}).") from error

    def _start(self, ray: Any, cpus: int) -> None:
        folder = _private_folder()
        before = {name: os.environ.get(name) for name in _AUTHENTICATION}
        watchdog = Watchdog(REMOVE_FOLDER, folder) if os.name == "posix" else None
        # At exit, in case the connection is never closed.
        self._end = weakref.finalize(self, _end_cluster, ray, folder, watchdog, before)
        if not before["RAY_AUTH_TOKEN"] and not before["RAY_AUTH_TOKEN_PATH"] and before["RAY_AUTH_MODE"] != "disabled":
            # Otherwise Ray writes a token to a file that everybody can read, and leaves it there.
            os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
            _forget_token(ray)
        try:
            with _own_signals(), _on_loopback(ray):
                ray.init(
                    address="local",
                    num_cpus=cpus,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    _node_ip_address="127.0.0.1",
                    # Ray makes its own folder accessible to everybody, so that folder is placed inside the private one.
                    _temp_dir=str(folder / "r"),
                )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the connection, and the cluster if it was started here."""
        if self._end is not None:
            self._end()


def _end_cluster(ray: Any, folder: Path, watchdog: Watchdog | None, environment: Mapping[str, str | None]) -> None:
    ray.shutdown()
    _set_environment(environment)
    _forget_token(ray)
    shutil.rmtree(folder, ignore_errors=True)
    if watchdog is not None:
        watchdog.end()


def _private_folder() -> Path:
    """Return a new folder that only this user can access."""
    usual = tempfile.gettempdir()
    short = os.name != "posix" or len(usual) <= _LONGEST_FOLDER
    return Path(tempfile.mkdtemp(prefix="stax-ray-", dir=usual if short else "/tmp"))


@contextmanager
def _on_loopback(ray: Any) -> Iterator[None]:
    """Make clusters that are started inside listen on the loopback interface only.

    Ray replaces a loopback address by one that other machines can reach, except on systems where it does not support clusters of
    several machines. Inside, Ray is made to treat this machine as such a system, in this process and in those that it starts.
    """
    settings = {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": os.environ.get("RAY_USAGE_STATS_ENABLED", "0"),
    }
    before = {name: os.environ.get(name) for name in settings}
    constants = ray._private.ray_constants
    clusters = constants.ENABLE_RAY_CLUSTER
    os.environ.update(settings)
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = clusters
        _set_environment(before)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Restore the handler of SIGTERM, which Ray replaces."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGTERM, before)


def _set_environment(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _forget_token(ray: Any) -> None:
    """Make Ray read the token again, which it keeps from an earlier cluster of this process. Older versions have no tokens."""
    loader = getattr(ray._raylet, "AuthenticationTokenLoader", None)
    if loader is not None:
        loader.instance().reset_cache()


def check_address(address: str) -> None:
    """Raise an OSError at once if nothing listens at host:port, where Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    if port.isdigit() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS_TO_ANSWER).close()
