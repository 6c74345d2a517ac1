"""Work on several threads: the same results in the same order, and torch's own threads left as they were."""

import sys
import threading

import pytest
import torch
from support.patience import PATIENCE_S

from fedradio.engine.threads import cores, one_torch_thread, parallel_map


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_keep_their_order(workers: int) -> None:
    assert parallel_map(lambda n: n * n, list(range(20)), workers) == [n * n for n in range(20)]
    assert parallel_map(lambda n: n, [], workers) == []


def test_many_threads_work_and_each_has_one_of_torch() -> None:
    """Two pieces of work that wait for each other end only where they run side by side."""
    both = threading.Barrier(2, timeout=PATIENCE_S)

    def work(_: int) -> tuple[str, int]:
        both.wait()
        return threading.current_thread().name, torch.get_num_threads()

    before = sys.getswitchinterval()
    found = parallel_map(work, [0, 1], 2)
    assert len({name for name, _ in found}) == 2
    assert [threads for _, threads in found] == [1, 1]
    assert sys.getswitchinterval() == before


def test_torch_threads_come_back_also_after_an_error() -> None:
    def work() -> None:
        with one_torch_thread():
            seen.append(torch.get_num_threads())
            raise ArithmeticError

    seen: list[int] = []
    torch.set_num_threads(2)
    with pytest.raises(ArithmeticError):
        work()
    assert seen == [1]
    assert torch.get_num_threads() == 2


def test_errors_of_workers_are_raised() -> None:
    for workers in (1, 2):
        with pytest.raises(ZeroDivisionError):
            parallel_map(lambda n: 1 // n, [1, 0], workers)


def test_there_is_a_core() -> None:
    assert cores() >= 1
