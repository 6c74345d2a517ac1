"""Markup: escaped text, data blocks, tables."""

import json

import pytest
from support.pages import BAD, Outline

from fedradio.report.page.html import Html, data_block, join, table, tag


def test_text_is_escaped_unless_it_is_markup() -> None:
    assert tag("p", BAD) == f"<p>{join([BAD])}</p>"
    assert "<script>" not in tag("p", BAD, title=BAD)
    assert '"' not in tag("i", title='a"b').removeprefix('<i title="').removesuffix('"></i>')
    assert tag("b", Html("<i>x</i>")) == "<b><i>x</i></b>"
    assert tag("input", type="radio", checked=True, name=None, disabled=False) == '<input type="radio" checked>'
    assert tag("label", "x", for_="a", aria_label="b") == '<label for="a" aria-label="b">x</label>'


def test_no_text_ends_a_data_block() -> None:
    block = data_block("x", {"a": BAD})
    assert block.count("<") == 2
    assert json.loads(block[block.index(">") + 1 : block.rindex("<")]) == {"a": BAD}
    with pytest.raises(ValueError, match="JSON compliant"):
        data_block("x", [float("nan")])


def test_tables_name_their_rows_and_columns() -> None:
    found = Outline(table("words", ["a", "b"], [["1", "2"], ["3", None]]))
    assert [one["scope"] for one in found.names("th")] == ["col", "col", "row", "row"]
    assert len(found.names("caption")) == 1
