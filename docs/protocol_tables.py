"""Tables of the page on the request protocol, made at build time from its steps: messages, knowledge, stolen keys."""

from __future__ import annotations

from collections.abc import Sequence

from fedradio.papers.protocol import FACTS, OCTETS, PARTIES, Ciphertext, Field, Party, knowledge, request_steps
from fedradio.report.terminal.words import markdown_table

FILE_OCTETS = 1_000_000

GROUPS: dict[str, tuple[Party, ...]] = {
    **{party: (party,) for party in PARTIES},
    "BS and ISP": ("BS", "ISP"),
    "CSP and ES": ("CSP", "ES"),
    "ISP and CSP": ("ISP", "CSP"),
}
"""Columns of the table of knowledge: every party alone, either company, and both clouds together."""

STOLEN = {"epoch_key": "key of the epoch", "provider_key": "private key of the CSP", "group_key": "group key"}
"""Keys of others that an operator could have, and their titles."""

SHOWN = FACTS | {"file": "file"}


def field_text(field: Field) -> str:
    """``count 8``: a field and its octets; those of an encrypted file depend on the file."""
    if isinstance(field, str):
        return f"{field.replace('_', ' ')} {OCTETS[field]}"
    return field.name if field.carries_file else f"{field.name} {field.octets(0)}"


def fields_text(fields: Sequence[Field]) -> str:
    return ", ".join(map(field_text, fields))


def messages() -> str:
    """Every step with its parties, fields and octets."""
    rows = [
        (
            step.number,
            step.sender if step.receiver is None else f"{step.sender} to {step.receiver}".replace(" ", "\u00a0"),
            step.about,
            fields_text(step.fields),
            "" if step.receiver is None else f"{step.octets(FILE_OCTETS):,}",
        )
        for step in request_steps()
    ]
    return markdown_table(("step", "party", "what", "fields", "bytes"), rows)


def ciphertexts() -> str:
    """The encrypted fields of the messages, with their keys and contents."""
    every = {f.name: f for step in request_steps() for f in step.fields if isinstance(f, Ciphertext)}
    rows = [
        (
            name,
            field.key.replace("_", " "),
            "file" if field.carries_file else fields_text(field.facts),
            f"{field.octets(FILE_OCTETS):,}",
        )
        for name, field in every.items()
    ]
    return markdown_table(("ciphertext", "key", "contents", "bytes"), rows)


def derivable() -> str:
    """Which parties can derive which facts, alone and together."""
    known = {group: knowledge(request_steps(), *parties) for group, parties in GROUPS.items()}
    rows = [(title, *("yes" if fact in known[group] else "-" for group in GROUPS)) for fact, title in FACTS.items()]
    return markdown_table(("fact", *GROUPS), rows)


def stolen_keys() -> str:
    """What the operator can derive in addition with a key of others, for sealed requests and for tags in the clear."""
    rows = []
    for key, title in STOLEN.items():
        cells = []
        for clear in (False, True):
            steps = request_steps(tags_in_clear=clear)
            new = knowledge(steps, "BS", "ISP", stolen=[key]) - knowledge(steps, "BS", "ISP") - {key}
            cells.append(", ".join(SHOWN[fact] for fact in SHOWN if fact in new) or "nothing")
        rows.append((title, *cells))
    return markdown_table(("stolen key", "sealed requests", "tags in the clear"), rows)
