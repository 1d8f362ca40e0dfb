"""What the environment says about reaching a service: its address, its key, proxies and certificates.

Keys come from here and from nowhere else, and what is secret is known as such from the start, so that it can be kept
out of everything that is shown or stored.
"""

import base64
import os
import ssl
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from attunement.errors import JudgeError

HIDDEN = "[hidden]"

_SHORTEST = 5
"""What is shorter is no secret but a placeholder such as `x`, and hiding it would garble every sentence."""

_SHORTEST_IN_REPLIES = 16
"""Shorter "keys" are placeholders such as `EMPTY` or `ollama`, which may well be words of a reply."""


class Secrets:
    """Words that must never be shown. It holds them, and its `repr` does not tell them."""

    def __init__(self, *values: str | None) -> None:
        """Empty values are no secrets."""
        # As it is, and as it looks inside an address.
        told = [value for value in values if value and len(value) >= _SHORTEST]
        forms = {form for value in told for form in (value, quote(value, safe=""))}
        self._texts = sorted(forms, key=len, reverse=True)
        self._bytes = [text.encode() for text in self._texts if len(text) >= _SHORTEST_IN_REPLIES]

    def __repr__(self) -> str:
        return f"Secrets({len(self._texts)})"

    def hide(self, text: str) -> str:
        """`text` without any of the secrets."""
        for secret in self._texts:
            text = text.replace(secret, HIDDEN)
        return text

    def hide_in_reply(self, body: bytes) -> bytes:
        """A reply without any of the secrets, in case the server gives back what it was sent."""
        for secret in self._bytes:
            if secret in body:
                body = body.replace(secret, HIDDEN.encode())
        return body


class Address(NamedTuple):
    """Where requests go."""

    url: str
    """The whole address of the call, with its query and without credentials."""
    shown: str
    """The base address as it may be shown and stored: without credentials and without a query."""
    host: str
    credentials: str | None = None
    """`user:password`, where the address holds them."""
    query: str = ""

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"


def address(base_url: str, path: str) -> Address:
    """The address of `path` under `base_url`, whose query is kept; a JudgeError where it is no web address."""
    try:
        parts = urlsplit(base_url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = SplitResult("", "", "", "", ""), None
    if parts.scheme not in {"http", "https"} or not host:
        raise JudgeError(
            "the base URL of a judge must be a web address such as https://api.openai.com/v1; "
            f"this one is not: {base_url.rpartition('@')[2][:80]!r}"
        )
    userinfo, _, server = parts.netloc.rpartition("@")
    base = parts.path.rstrip("/").removesuffix(path)
    return Address(
        url=urlunsplit((parts.scheme, server, base + path, parts.query, "")),
        shown=urlunsplit((parts.scheme, server, base, "", "")),
        host=host,
        credentials=unquote(userinfo) or None,
        query=parts.query,
    )


def variable(name: str) -> str | None:
    """The value of an environment variable, None where it is empty."""
    return os.environ.get(name, "").strip() or None


def key(name: str) -> str | None:
    """The key in the variable `name`; a JudgeError, which does not show it, where it cannot be sent."""
    value = variable(name)
    if value and not (value.isascii() and value.isprintable() and " " not in value):
        raise JudgeError(f"{name} is set but is no key: it holds a space or a character that no key has")
    return value


def basic(credentials: str) -> str:
    """The value of an Authorization header for `user:password`."""
    return "Basic " + base64.b64encode(credentials.encode()).decode()


def secrets_of(target: Address, *values: str | None) -> Secrets:
    """Everything that must not be shown: `values`, and what the address carries."""
    credentials = target.credentials or ""
    carried = [part.partition("=")[2] for part in target.query.split("&") if "version" not in part]
    password = credentials.partition(":")[2]
    return Secrets(*values, *carried, password, basic(credentials).removeprefix("Basic ") if credentials else None)


class Access(NamedTuple):
    """How a service lets us in."""

    key: str
    """The name of the variable, for messages."""
    headers: Mapping[str, str]
    secrets: Secrets

    @property
    def key_sent(self) -> bool:
        """Whether a key, or a name and a password, goes with the requests."""
        return not {"Authorization", "api-key", "x-api-key"}.isdisjoint(self.headers)

    def __repr__(self) -> str:
        return f"Access({self.key!r})"


class Proxy(NamedTuple):
    """A proxy on the way to a service."""

    url: str
    headers: Mapping[str, str]
    """What the proxy itself wants to know."""

    def __repr__(self) -> str:
        return f"Proxy({self.url!r})"


def proxy_for(target: Address) -> Proxy | None:
    """The proxy that the environment names for `target`, or for everything where it names none for its scheme.

    A service on this machine is reached without one. A JudgeError where it is a proxy of another kind than HTTP.
    """
    scheme = urlsplit(target.url).scheme
    proxies = getproxies()
    found = proxies.get(scheme) or proxies.get("all")
    if not found or _loopback(target.host) or proxy_bypass(target.host):
        return None
    kind, named, _ = found.lower().partition("://")
    if named and kind.startswith("socks"):
        raise JudgeError(
            f"the environment names the proxy {found.rpartition('@')[2]}, and socks proxies are not supported: "
            f"set {scheme.upper()}_PROXY to an HTTP proxy, or NO_PROXY to {target.host} to do without one"
        )
    proxy = address(found if "://" in found else f"http://{found}", "")
    headers = {"Proxy-Authorization": basic(proxy.credentials)} if proxy.credentials else {}
    return Proxy(proxy.url, headers)


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def certificates() -> ssl.SSLContext:
    """The certificates to trust: those of SSL_CERT_FILE, else those of REQUESTS_CA_BUNDLE, else the system's."""
    bundle = variable("REQUESTS_CA_BUNDLE")
    if bundle is None or variable("SSL_CERT_FILE"):
        return ssl.create_default_context()  # reads SSL_CERT_FILE by itself
    folder = Path(bundle).is_dir()
    try:
        return ssl.create_default_context(cafile=None if folder else bundle, capath=bundle if folder else None)
    except (OSError, ssl.SSLError) as error:
        raise JudgeError(f"REQUESTS_CA_BUNDLE names {bundle}, which holds no readable certificates") from error
