"""HTTP for web servers and WebHDFS, through `urllib3`, with timeouts and plain error messages."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from urllib.request import getproxies, proxy_bypass

from lamella.core.jobs import Job
from lamella.core.remote.addresses import Address
from lamella.core.remote.problems import Unreachable, unreachable
from lamella.core.remote.server import CONNECT_SECONDS, SILENT_SECONDS, UPLOAD_SILENT_SECONDS
from lamella.core.remote.watchdog import Silent, Watchdog

if TYPE_CHECKING:
    import urllib3

TRIES = 3
"""Attempts when a connection breaks: servers close idle connections."""
PAUSE_SECONDS = 0.2
MOST_CONNECTIONS = 16


class HttpClient:
    """Sends requests, on any thread. Tries again when a connection breaks, but not when the server answers
    with an error."""

    def __init__(self, headers: Mapping[str, str], uses_proxies: bool = False) -> None:
        """`uses_proxies`: use the proxies of the environment or the system, as `obstore` does."""
        import urllib3

        self._trust, self._uses_proxies = _trust(), uses_proxies
        self._options: dict[str, Any] = {
            "maxsize": MOST_CONNECTIONS,
            "timeout": urllib3.Timeout(connect=CONNECT_SECONDS, read=SILENT_SECONDS),
            "retries": _redirects(),
            "headers": {"Accept-Encoding": "identity", **headers},
            "ssl_context": self._trust,
        }
        self._pool = urllib3.PoolManager(**self._options)
        self._pools: dict[str, urllib3.PoolManager] = {}

    def _pool_for(self, url: str) -> urllib3.PoolManager:
        proxy = _proxy_of(url) if self._uses_proxies else ""
        if not proxy:
            return self._pool
        if proxy not in self._pools:
            import urllib3

            login = urllib3.util.parse_url(proxy).auth
            headers = urllib3.make_headers(proxy_basic_auth=unquote(login)) if login else None
            self._pools[proxy] = urllib3.ProxyManager(proxy, proxy_headers=headers, **self._options)
        return self._pools[proxy]

    def ask(
        self,
        method: str,
        url: str,
        address: Address,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> urllib3.BaseHTTPResponse:
        """Return the response, whatever its status; with `preload_content=False` its body is still to be
        read. Raises `Unreachable`."""
        import urllib3

        whole = dict(self._pool.headers) | dict(headers or {})
        for tries_left in reversed(range(TRIES if method in ("GET", "HEAD") else 1)):
            try:
                return self._pool_for(url).request(method, url, headers=whole, **options)
            except urllib3.exceptions.HTTPError as raised:
                error = (isinstance(raised, urllib3.exceptions.MaxRetryError) and raised.reason) or raised
                # Trying again does not help if no server listens, it timed out, or it redirects in circles.
                final = isinstance(
                    error,
                    (
                        urllib3.exceptions.TimeoutError,
                        urllib3.exceptions.NewConnectionError,
                        urllib3.exceptions.ResponseError,
                        urllib3.exceptions.LocationValueError,
                        urllib3.exceptions.ProxyError,
                    ),
                )
                if final or not tries_left:
                    raise connection_problem(address, error) from None
                time.sleep(PAUSE_SECONDS)
        raise AssertionError("unreachable")

    def put(
        self, url: str, address: Address, pieces: Iterable[bytes], ask: Callable[[], object], job: Job
    ) -> urllib3.BaseHTTPResponse:
        """Send a body in pieces, for as long as the network needs, and return the response, whatever its
        status. `ask` is passed to a `Watchdog`. Raises `Unreachable`, `Silent` if the server no longer
        answers, and `Cancelled` at once."""
        from urllib3.exceptions import HTTPError
        from urllib3.util import parse_url

        target = parse_url(url)
        connection = self._connection(target)

        def end() -> None:
            if connection.sock is not None:
                with suppress(OSError):  # it has been closed meanwhile
                    socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)

        watchdog = Watchdog(ask, end)
        headers = {**self._pool.headers, "Content-Type": "application/octet-stream"}
        try:
            connection.connect()
            connection.timeout = UPLOAD_SILENT_SECONDS
            with watchdog, job.interrupted_by(end):
                with suppress(BrokenPipeError):  # a server that refuses may answer before all is sent
                    body = _noting(pieces, watchdog)
                    connection.request("PUT", target.request_uri, body, headers, chunked=True)
                return connection.getresponse()
        except (HTTPError, HTTPException, OSError) as error:
            job.check()
            raise (Silent(address) if watchdog.has_given_up else connection_problem(address, error)) from None
        finally:
            connection.close()

    def _connection(self, target: urllib3.util.Url) -> urllib3.connection.HTTPConnection:
        from urllib3.connection import HTTPConnection, HTTPSConnection

        host = target.host or ""
        if target.scheme == "https":
            return HTTPSConnection(host, target.port, timeout=CONNECT_SECONDS, ssl_context=self._trust)
        return HTTPConnection(host, target.port, timeout=CONNECT_SECONDS)


def _noting(pieces: Iterable[bytes], watchdog: Watchdog) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        watchdog.note_progress()


def _proxy_of(url: str) -> str:
    """Return the proxy for a URL, by `HTTPS_PROXY`, `NO_PROXY` and the like or by the system's settings; an
    empty string if there is none. Raises `LocationValueError`."""
    from urllib3.util import parse_url

    target, proxies = parse_url(url), getproxies()
    proxy = proxies.get(target.scheme or "") or proxies.get("all") or ""
    if not proxy or proxy_bypass(target.netloc or ""):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _redirects() -> urllib3.Retry:
    """Follow redirects, without the credentials if the host is another; try nothing else again."""
    import urllib3

    return urllib3.Retry(
        total=None, connect=0, read=0, redirect=5, status=0, other=0, respect_retry_after_header=False
    )


def connection_problem(address: Address, error: Exception) -> Unreachable:
    import urllib3.exceptions as kinds

    why = "It closed the connection"
    if isinstance(error, kinds.NameResolutionError):
        why = "The host name is unknown"
    elif isinstance(error, kinds.ProxySchemeUnknown):
        why = "Only http and https proxies are supported"
    elif isinstance(error, kinds.ProxyError):
        why = "The proxy does not answer, or refuses the request"
    elif isinstance(error, kinds.NewConnectionError):
        why = "No server is listening there"
    elif isinstance(error, kinds.TimeoutError | TimeoutError):
        why = "It did not answer in time"
    elif isinstance(error, kinds.LocationValueError):
        why = "The address, or one that it redirects to, is not valid"
    elif isinstance(error, kinds.ResponseError):
        why = "It redirects in a circle"
    elif isinstance(error, kinds.SSLError | ssl.SSLCertVerificationError):
        why = "Its certificate is not trusted on this machine"
    elif isinstance(error, kinds.IncompleteRead) or "IncompleteRead" in str(error):
        why = "It broke off in the middle of its answer"
    return unreachable(address, why)


def _trust() -> ssl.SSLContext:
    """Trust the certificates of the system, or those of `certifi` if a bundled Python finds none."""
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    paths_present = [path for path in (paths.cafile, paths.capath) if path and Path(path).exists()]
    if not paths_present and not context.get_ca_certs():
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def wait_of(answer: urllib3.BaseHTTPResponse) -> float | None:
    """Return the seconds in `Retry-After`; None if there are none."""
    value = answer.headers.get("Retry-After", "")
    return float(value) if value.isdigit() else None


def time_of(text: str | None) -> int:
    """Parse the date in a header, in ns since 1970; 0 if it is not a date."""
    try:
        return int(parsedate_to_datetime(text or "").timestamp()) * 1_000_000_000
    except (ValueError, TypeError):
        return 0
