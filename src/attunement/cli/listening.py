"""Where does a command listen that serves pages, and how are they reached?"""

import socket
from urllib.parse import urlsplit

from attunement.errors import InputError


def address_of(given: str | None, host: str, port: int) -> str:
    """How the pages are reached: as the user says, or where we listen."""
    if given is None:
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"
    parts = urlsplit(given)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
        raise InputError(f"{given!r} is no address: it looks like https://example.org/rate")
    return given.rstrip("/")


def check_port(host: str, port: int) -> None:
    """Say at once, and before anything is printed, that nobody can listen there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            raise InputError(f"cannot listen on {host} port {port}: {error.strerror}; choose another --port") from error
