"""Links that let members in. A link carries a random token, of which the study keeps only the hash.

A token is valid for one member until it expires or is revoked. Both are checked on every request, so that a revoked
link stops working at once.
"""

import hashlib
import secrets
from datetime import UTC, datetime, timedelta

from attunement.store import Study
from attunement.store import projects as store
from attunement.store.projects import Member, Project

_LENGTH = 32
"""Random bytes in a token: nobody guesses 256 bits."""


def issue(
    study: Study, project: Project, member: Member, *, by: Member | None = None, days: float | None = None
) -> str:
    """Make a token for a member that is valid for `days`, or as long as the project's settings say."""
    token = secrets.token_urlsafe(_LENGTH)
    valid = timedelta(days=project.settings.days if days is None else days)
    expires = (datetime.now(UTC) + valid).isoformat(timespec="milliseconds")
    with study.writing() as connection:
        store.insert_token(connection, member, _hash(token), expires)
        store.log_event(connection, project, "link made", member=by, content={"for": member.name, "expires": expires})
    return token


def revoke(study: Study, project: Project, member: Member, *, by: Member | None = None) -> None:
    """Make every link of a member invalid."""
    with study.writing() as connection:
        store.revoke_tokens(connection, member)
        store.log_event(connection, project, "links revoked", member=by, content={"for": member.name})


def member_with(study: Study, token: str) -> Member | None:
    """The member whom this token lets in; None if it is unknown, expired or revoked, or the member has left."""
    return store.member_by_token(study, _hash(token))


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
