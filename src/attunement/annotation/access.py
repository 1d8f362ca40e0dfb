"""Who may come in? A link carries a random token; the study keeps only its hash.

A token opens the door of one member until it expires or is revoked. Both are looked at on every request, so that a
revoked link is closed at once.
"""

import hashlib
import secrets
from datetime import UTC, datetime, timedelta

from sqlalchemy import bindparam, select

from attunement.annotation.projects import member_of, record
from attunement.annotation.records import Member, MemberState, Project
from attunement.store import Study, now
from attunement.store.schema import access_tokens, members

_LENGTH = 32
"""Bytes of chance in a token: nobody guesses 256 bits."""
# Asked on every request, so it is put together once: that takes longer than asking it.
_LET_IN = select(members).where(
    access_tokens.c.hash == bindparam("hash"),
    access_tokens.c.revoked.is_(None),
    access_tokens.c.expires > bindparam("now"),
    members.c.key == access_tokens.c.member,
    members.c.state != MemberState.LEFT,
)


def issue(
    study: Study, project: Project, member: Member, *, by: Member | None = None, days: float | None = None
) -> str:
    """Make a token for a member that is valid for `days`, or as long as the project says."""
    token = secrets.token_urlsafe(_LENGTH)
    lasting = timedelta(days=project.settings.days if days is None else days)
    row = {
        "member": member.key,
        "hash": _hash(token),
        "made": now(),
        "expires": (datetime.now(UTC) + lasting).isoformat(timespec="milliseconds"),
    }
    with study.writing() as connection:
        connection.execute(access_tokens.insert(), row)
        record(connection, project, "link made", member=by, content={"for": member.name, "expires": row["expires"]})
    return token


def revoke(study: Study, project: Project, member: Member, *, by: Member | None = None) -> None:
    """Close every link of a member."""
    own = (access_tokens.c.member == member.key) & access_tokens.c.revoked.is_(None)
    with study.writing() as connection:
        connection.execute(access_tokens.update().where(own).values(revoked=now()))
        record(connection, project, "links revoked", member=by, content={"for": member.name})


def member_with(study: Study, token: str) -> Member | None:
    """The member whom this token lets in; None where it is unknown, expired or revoked, or the member has left."""
    with study.reading() as connection:
        row = connection.execute(_LET_IN, {"hash": _hash(token), "now": now()}).mappings().first()
    return None if row is None else member_of(row)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
