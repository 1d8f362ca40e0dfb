"""Who takes responsibility for a release, and on what?

A sign-off names the person, their role, what they decided, and what had been read and decided until then. It is given
for the instrument, the judges and the systems as they are now.
"""

from collections.abc import Sequence

from attunement.errors import InputError
from attunement.people.projects import record
from attunement.people.records import Member, Project
from attunement.people.reviewing import Reviewed
from attunement.study import Study
from attunement.study.sign_offs import Release, SignOff, basis, keep_sign_off

_LONGEST = 500
_LONGEST_CONDITIONS = 10_000


def numbers_read(study: Study, entries: Sequence[Reviewed]) -> dict[str, int]:
    """What a signature given now would rest on."""
    return {
        "conversations": study.conversation_count(),
        "queue": len(entries),
        "read": sum(entry.read for entry in entries),
        "decided": sum(entry.is_decided for entry in entries),
        "unsafe": sum(entry.queued.is_alarming for entry in entries),
        "cleared": sum(entry.held.cleared is not None and entry.queued.is_alarming for entry in entries),
        "raised": sum(entry.held.alarm is not None and not entry.queued.is_alarming for entry in entries),
    }


def sign(
    study: Study,
    project: Project,
    member: Member,
    entries: Sequence[Reviewed],
    *,
    name: str,
    role: str,
    decision: str,
    conditions: str,
) -> SignOff:
    """Keep a signature.

    Raises:
        InputError: Name, role or decision is missing, or the conditions do not go with the decision.
    """
    name, role, conditions = name.strip(), role.strip(), conditions.strip()
    if not name or not role or len(name) > _LONGEST or len(role) > _LONGEST:
        raise InputError("who signs gives their name and their role")
    if decision not in set(Release):
        raise InputError("choose what you decide: release, release with conditions, or do not release")
    chosen = Release(decision)
    if (chosen is Release.CONDITIONS) != bool(conditions):
        raise InputError("conditions go with the decision “release with conditions”, and it needs them")
    if len(conditions) > _LONGEST_CONDITIONS:
        raise InputError(f"conditions have at most {_LONGEST_CONDITIONS:,} characters")
    signed = keep_sign_off(
        study,
        basis(study, project.instrument),
        chosen,
        member=member.key,
        name=name,
        role=role,
        conditions=conditions,
        numbers=numbers_read(study, entries),
    )
    with study.writing() as connection:
        record(connection, project, "signed", member=member, content={"name": name, "decision": chosen})
    return signed
