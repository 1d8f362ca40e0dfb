"""Links for members. A link carries a random token; the study stores only its hash.

A token is valid for one member until it expires or is revoked. Both are checked on every request, so a revoked link
stops working at once.
"""

import hashlib
import secrets
from datetime import UTC, datetime, timedelta

from attunement.store import Study
from attunement.store import projects as store
from attunement.store.projects import Member, Project

_LENGTH = 32  # random bytes in a token: 256 bits cannot be guessed


def issue(
    study: Study, project: Project, member: Member, *, by: Member | None = None, days: float | None = None
) -> str:
    """Create a token for a member, valid for `days` or for the time in the project's settings."""
    token = secrets.token_urlsafe(_LENGTH)
    valid = timedelta(days=project.settings.days if days is None else days)
    expires = (datetime.now(UTC) + valid).isoformat(timespec="milliseconds")
    with study.writing() as connection:
        store.insert_token(connection, member, _hash(token), expires)
        store.log_event(connection, project, "link made", member=by, content={"for": member.name, "expires": expires})
    return token


def revoke(study: Study, project: Project, member: Member, *, by: Member | None = None) -> None:
    """Invalidate every link of a member."""
    with study.writing() as connection:
        store.revoke_tokens(connection, member)
        store.log_event(connection, project, "links revoked", member=by, content={"for": member.name})


def member_with(study: Study, token: str) -> Member | None:
    """The member of this token; None if it is unknown, expired or revoked, or the member has left."""
    return store.member_by_token(study, _hash(token))


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
