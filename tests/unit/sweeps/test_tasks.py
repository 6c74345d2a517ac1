"""Messages about tasks are plain JSON."""

import json

from fedradio.sweeps.tasks import NOT_BEGUN, end, not_begun


def test_the_last_message_about_a_task_is_plain_data() -> None:
    message = end("failed", "no luck", 5)
    assert json.loads(json.dumps(message)) == message
    assert (message["event"], message["status"], message["error"], message["exit_code"]) == (
        "end",
        "failed",
        "no luck",
        5,
    )
    assert (not_begun()["status"], not_begun()["exit_code"]) == (NOT_BEGUN, 130)
