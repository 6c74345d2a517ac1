"""``fedradio schema``."""

import json

from support.commands import Call

from fedradio.spec.json_schema import json_schema


def test_it_is_printed_as_json(call: Call) -> None:
    done = call("schema")
    assert done.exit_code == 0
    assert json.loads(done.output) == json_schema()
