"""``fedradio new``: names and imports of the files."""

from pathlib import Path

import pytest
from support.commands import exit_code

from fedradio.cli.new import USES, _imports, files


@pytest.mark.parametrize("family", USES)
def test_the_files_bear_the_name_of_the_part(family: str) -> None:
    texts = files(family, "my_own_thing")
    assert list(texts) == ["my_own_thing.py", "my_own_thing.yaml", "test_my_own_thing.py"]
    assert f'@register("{family}", "my_own_thing")' in texts["my_own_thing.py"]
    assert "my_own_thing" in texts["my_own_thing.yaml"]
    assert "class MyOwnThing(" in texts["my_own_thing.py"] or family in ("source", "model")


def test_a_test_imports_what_it_uses() -> None:
    assert _imports("    run(load_spec(1), Rng(1))\n") == (
        "from pathlib import Path\n\nfrom fedradio import Rng, load_part_file, load_spec, run"
    )
    assert "import pytest\nimport torch" in _imports("pytest.approx(torch.ones(1))")


def test_a_folder_is_made_where_there_is_none(tmp_path: Path) -> None:
    assert exit_code("new", "link", "my_link", "--out", tmp_path / "own" / "links") == 0
    assert (tmp_path / "own" / "links" / "my_link.py").is_file()
    assert exit_code("new", "link", "my_link", "--out", tmp_path / "own" / "links" / "my_link.py") == 5
