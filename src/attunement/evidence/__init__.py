"""Check whether the words that a judge quotes are really in the turn it cites.

A judge must cite turns and quote them. `verify` reads its reasoning, finds each citation and looks the quote up in that
turn. A quote that is not found is reported as such, with the nearest text.
"""

from attunement.evidence.findings import CitationStatus, Finding, from_json, has_verified_quote, to_json
from attunement.evidence.lookup import Speaker
from attunement.evidence.verify import verify

__all__ = ["CitationStatus", "Finding", "Speaker", "from_json", "has_verified_quote", "to_json", "verify"]
