"""Where does a command listen that serves pages, and how are they reached?"""

from typing import Annotated
from urllib.parse import urlsplit

import typer

from attunement.errors import InputError

HostOption = Annotated[str, typer.Option(help="Where to listen; the default is reached from this computer only.")]
PortOption = Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")]
AddressOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help="How the pages are reached behind a proxy, such as https://example.org/study."),
]
ProxyOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="The proxy whose X-Forwarded headers are believed; several with commas."),
]
THIS_COMPUTER = "127.0.0.1"


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
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            raise InputError(f"cannot listen on {host} port {port}: {error.strerror}; choose another --port") from error
