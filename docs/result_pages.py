"""Shipped results as Markdown pages: an overview of all papers, the items of one paper, and one page for each item."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from folding import folded

from fedradio.core.units import show_seconds
from fedradio.papers.abstracts import Sentence, abstracts
from fedradio.papers.items import Item
from fedradio.papers.judge import JudgedClaim
from fedradio.papers.known import VERDICTS, WORTH, tested_seeds
from fedradio.papers.published import PAPERS
from fedradio.report.terminal.claims import claim_lines, claimed_text, tried, value_text, verdict_counts
from fedradio.report.terminal.reproduction import result_text, trials
from fedradio.report.terminal.shipped import (
    MADE,
    Shipped,
    agreement,
    cost_text,
    made_rows,
    made_text,
    seeds_made,
    shipped_counts,
    size_text,
)
from fedradio.report.terminal.words import count, markdown_table

Link = Callable[[Item], str]
"""Address of an item's result, or of its picture."""

RUN = ("item", "ours", "numbers that agree", "claims", "CPU time")
"""Header of the table of what was run."""

ABSTRACT = ("what the abstract says, and the claims about it", "ours", "the paper", "verdict", "seeds")
"""Header of the tables of abstracts."""

ABSENT = ("paper", "item", "what it shows", "at paper scale on two cores")
"""Header of the table of what was not run."""

SENTENCE = ("what the abstract says", "verdicts on the claims about it", "seeds")
"""Header of the tables of sentences."""

ENOUGH = 3
"""Seeds from which on a verdict on a sentence of an abstract counts as settled."""

LONG = 24
"""Tables with more lines than this are collapsed."""


def overview_markdown(listed: Sequence[Item | Shipped], link: Link) -> str:
    """All papers at a glance: verdicts by paper, claims that do not hold, all items, what was not run and its cost."""
    found = [one for one in listed if isinstance(one, Shipped)]
    refuted = [
        (
            f"[{PAPERS[one.item.paper]} {one.item.name}]({link(one.item)})",
            judged.claim.says,
            tried(judged.claim),
            judged.claim.decided_by or "-",
        )
        for one in found
        for judged in one.judged
        if judged.judgement == "does not hold"
    ]
    absent = [
        (PAPERS[one.paper], one.name, one.title, cost_text(one)) for one in listed if not isinstance(one, Shipped)
    ]
    parts = [
        _by_paper(listed),
        "## What the abstracts say",
        abstracts_markdown(listed, link),
        "## Claims that do not hold" if refuted else "",
        markdown_table(("where", "what the paper says", "what we tried", "whose choice decides it"), refuted),
        "## What was run",
        markdown_table(RUN, [_line(one, link) for one in found]),
        "## What was not run" if absent else "",
        folded(count(len(absent), "item"), markdown_table(ABSENT, absent)) if absent else "",
    ]
    return "\n\n".join(part for part in parts if part)


def abstracts_markdown(listed: Sequence[Item | Shipped], link: Link) -> str:
    """For every paper the claims of its abstract: the sentence, ours, the paper's, verdict, seeds, and fleets."""
    parts = [_abstract_counts(listed)]
    for paper, sentences in abstracts().items():
        mine = [one for one in listed if (one.item if isinstance(one, Shipped) else one).paper == paper]
        rows = [row for key, sentence in sentences.items() for row in _sentence_rows(key, sentence, mine, link)]
        lines = [_sentence_line(key, sentence, mine) for key, sentence in sentences.items()]
        fleets = [f"- {sentence.says} {sentence.fleets}" for sentence in sentences.values() if sentence.fleets]
        table = folded("claim by claim, ours beside the paper's", markdown_table(ABSTRACT, rows))
        parts += [f"### {PAPERS[paper]}", markdown_table(SENTENCE, lines), table]
        parts += ["On devices with floors:\n\n" + "\n".join(fleets)] if fleets else []
    return "\n\n".join(parts)


def _abstract_counts(listed: Sequence[Item | Shipped]) -> str:
    """How many claims of the abstracts have a verdict, and from how many seeds."""
    judged = [each for one in listed for each in _judged(one) if each.claim.abstract is not None]
    told = [each for each in judged if each.judgement in VERDICTS]
    enough = [each for each in told if len(tested_seeds(each)) >= ENOUGH]
    return (
        f"{len(judged)} claims are about sentences of the abstracts: {verdict_counts(judged)}. {len(enough)} have a "
        f"verdict from {ENOUGH} or more seeds, {len(told) - len(enough)} from fewer. The rest has not been run; the "
        "end of this page says what it costs."
    )


def _judged(one: Item | Shipped) -> Sequence[JudgedClaim]:
    """The claims of an item with their judgements; those of an item without a result are not run."""
    if isinstance(one, Shipped):
        return one.judged
    return [JudgedClaim(claim, "not run" if claim.tests else "not testable") for claim in one.claims]


def _sentence_line(key: str, sentence: Sentence, mine: Sequence[Item | Shipped]) -> tuple[str, str, str]:
    """A sentence, how many of its claims have which verdict, and the fewest and most seeds behind them."""
    judged = [each for one in mine for each in _judged(one) if each.claim.abstract == key]
    seeds = sorted({len(tested_seeds(each)) for each in judged if each.judgement in VERDICTS} - {0})
    span = " to ".join(str(number) for number in dict.fromkeys((*seeds[:1], *seeds[-1:])))
    return sentence.says, verdict_counts(judged) or f"no claim. {sentence.untested or ''}", span or "-"


def _sentence_rows(key: str, sentence: Sentence, mine: Sequence[Item | Shipped], link: Link) -> list[tuple[str, ...]]:
    """A line for every claim that is evidence for a sentence; the first one has the sentence."""
    rows = []
    for one in mine:
        item = one.item if isinstance(one, Shipped) else one
        name = f"[{item.name}]({link(item)})" if isinstance(one, Shipped) else item.name
        rows += [
            (f"{name}: {each.claim.says}", *_evidence(item, each))
            for each in _judged(one)
            if each.claim.abstract == key
        ]
    if not rows:
        return [(f"**{sentence.says}** {sentence.untested or ''}", "-", "-", "no claim", "-")]
    (first, *cells), *others = rows
    return [(f"**{sentence.says}**<br>{first}", *cells), *others]


def _evidence(item: Item, judged: JudgedClaim) -> tuple[str, str, str, str]:
    """Ours, the paper's, the verdict and the seeds of a claim; tests are separated by line breaks."""
    numbers = [value_text(item, test) for test in judged.tests if test.values or test.spans]
    claimed = [claimed_text(item, test) for test in judged.claim.tests or ()]
    seeds = str(len(tested_seeds(judged)) or "-")
    return "<br>".join(numbers) or "-", "<br>".join(claimed) or "-", f"**{judged.judgement}**", seeds


def _by_paper(listed: Sequence[Item | Shipped]) -> str:
    """A line for every paper, and one for all: items run, claims by verdict."""
    rows = []
    for paper, title in [*PAPERS.items(), ("", "all")]:
        mine = [one for one in listed if paper in ("", (one.item if isinstance(one, Shipped) else one).paper)]
        counts = shipped_counts(mine)
        rows.append((title, f"{counts.whole} of {counts.items}", *(str(counts.verdicts[kind]) for kind in WORTH)))
    empty = [number for number in range(len(WORTH)) if all(row[number + 2] == "0" for row in rows)]
    kept = [number for number in range(len(WORTH) + 2) if number - 2 not in empty]
    header = ("paper", "items run", *WORTH)
    return markdown_table([header[number] for number in kept], [[row[number] for number in kept] for row in rows])


def _line(one: Shipped, link: Link) -> tuple[str, ...]:
    """A line of the table of what was run."""
    name = f"[{PAPERS[one.item.paper]} {one.item.name}]({link(one.item)})"
    cpu = show_seconds(one.stored.cpu_s)
    return name, size_text(one), agreement(one.result), verdict_counts(one.judged) or "-", cpu


def anchor(item: Item) -> str:
    """The anchor of an item on the page of its paper."""
    return f"{item.paper}-{item.name.replace('_', '-')}"


def item_summary(one: Item | Shipped, link: Link, picture: Link) -> str:
    """An item on the page of its paper: a small picture, its verdicts and where the rest is; or the expected cost."""
    item = one.item if isinstance(one, Shipped) else one
    title = f"## {item.name}: {item.title} {{ #{anchor(item)} }}"
    if not isinstance(one, Shipped):
        command = f"fedradio reproduce {item.paper} {item.name} --scale paper"
        return f"{title}\n\nNot run: `{command}` takes {cost_text(item)}."
    claims = f"Claims: {verdict_counts(one.judged)}. " if one.judged else ""
    parts = [
        title,
        f"{claims}[Curves, numbers and verdicts]({link(item)}): {size_text(one)}.",
        f"[{_image(one, picture, 'thumbnail')}]({link(item)})" if _is_drawn(one) else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _is_drawn(one: Shipped) -> bool:
    return one.stored.picture is not None and bool(one.stored.picture["series"])


def _image(one: Shipped, picture: Link, size: str) -> str:
    return f"![{one.item.title}]({picture(one.item)}){{ loading=lazy .{size} }}"


def item_markdown(one: Shipped, picture: Link | None = None) -> str:
    """The page of an item: picture, claims with verdicts, paper beside ours, what it was made of."""
    item, stored, texts = one.item, one.stored, result_text(one.result)
    table = markdown_table(texts.header, texts.rows)
    parts = [
        f"# {PAPERS[item.paper]} {item.name}: {item.title} {{ #{anchor(item)} }}",
        f"Published: {item.source}  \nOurs: {stored.scale} scale, "
        f"{trials(one.result.reproduction, seeds_made(stored))}; {item.size(stored.scale).about}",
        f"**Superseded**: {stored.superseded}" if stored.superseded else "",
        *(f"**Outdated**: {problem}" for problem in one.outdated),
        "" if stored.whole else "**Not finished**: some runs are still missing.",
        _image(one, picture, "result") if picture and _is_drawn(one) else "",
        claims_table(item, one.judged),
        folded(f"{count(len(texts.rows), 'number')}, published and ours", table) if len(texts.rows) > LONG else table,
        "\n".join(f"({number}) {note}  " for number, note in enumerate(texts.notes, start=1)),
        "\n".join(f"- {note}" for note in item.footnotes),
        texts.verdict[0].upper() + texts.verdict[1:] + ".",
        folded("runs, costs and versions", f"{markdown_table(MADE, made_rows(stored))}\n\n{made_text(stored)}"),
    ]
    return "\n\n".join(part for part in parts if part)


def claims_table(item: Item, judged: Sequence[JudgedClaim]) -> str:
    """The claims of an item as a table: what the paper says, our numbers, the verdict."""
    rows = []
    for one in judged:
        says, *numbers = claim_lines(item, one)
        rows.append((says, "<br>".join(numbers) or "-", f"**{one.judgement}**"))
    return markdown_table(("what the paper says", "ours", "verdict"), rows)
