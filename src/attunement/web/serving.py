"""How are the pages put on the network?"""

from contextlib import suppress

import uvicorn

from attunement.study import Study
from attunement.web.app import make_app


def serve(study: Study, *, host: str, port: int, address: str, proxies: str | None = None) -> None:
    """Serve the pages of `study` until interrupted.

    Args:
        study: What is worked on.
        host: The network address to listen on.
        port: The port to listen on.
        address: How the pages are reached from outside; behind a proxy this is not where we listen.
        proxies: The addresses of proxies whose word about a visitor's address is taken; None: nobody's.
    """
    with suppress(KeyboardInterrupt):  # that is how it is stopped
        uvicorn.run(
            make_app(study, address=address),
            host=host,
            port=port,
            # A link holds a token, so the requests are not written to a log.
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=proxies is not None,
            forwarded_allow_ips=proxies or "",
            timeout_graceful_shutdown=5,
        )
