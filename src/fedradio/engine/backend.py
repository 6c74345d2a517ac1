"""Training engine: chooses a kernel by the model's structure and trains a cohort in groups, on all cores."""

from __future__ import annotations

from torch import Tensor

from fedradio.core.contracts import Backend, EvalJob, Model, Precision, Scores, Trained, TrainJob
from fedradio.engine.any_loss import LossAutograd, LossDense
from fedradio.engine.coordinates import in_coordinates
from fedradio.engine.dense import Dense
from fedradio.engine.evaluate import evaluate
from fedradio.engine.groups import check_groups
from fedradio.engine.layers import dense_layers
from fedradio.engine.local import Kernel, finish, prepare
from fedradio.engine.memo import Memo
from fedradio.engine.memory import keep_freed_memory
from fedradio.engine.module import Autograd
from fedradio.engine.threads import cores, one_torch_thread, parallel_map
from fedradio.losses.cross_entropy import is_plain


class Engine(Backend):
    """The multi-threaded :class:`~fedradio.core.contracts.Backend` of this machine.

    ``workers`` threads (default: one per core) train the groups of clients, each on one core: results are bit for bit
    the same for any number of workers. On a GPU there is one worker (untested here). Freed memory stays with the
    process (:func:`~fedradio.engine.memory.keep_freed_memory`).
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers}")
        keep_freed_memory()
        self.workers = workers or cores()
        self._last: tuple[Model, bool, Precision, Kernel] | None = None
        self._memo = Memo()

    def train(self, job: TrainJob, groups: list[list[int]]) -> Trained:
        check_groups(job.updates.tolist(), groups)
        training = prepare(job)
        self.trained(job.start.ids)
        kernel = self._kernel(job.model, is_plain(job.rule), job.precision)
        workers = 1 if job.start.w.is_cuda else self.workers
        if isinstance(kernel, Dense):
            with one_torch_thread():
                training = in_coordinates(training, kernel.layers)
        parallel_map(lambda rows: kernel.train(training, rows), groups, workers)
        return finish(training)

    def trained(self, ids: Tensor | None) -> None:
        """Note that these clients have trained, here or elsewhere (None: unknown which): what is remembered of their
        models is out of date."""
        self._memo.trained(ids)

    def evaluate(self, job: EvalJob) -> Scores:
        return evaluate(job, self.workers, memo=self._memo)

    def _kernel(self, model: Model, plain: bool, precision: Precision) -> Kernel:
        """The fastest kernel for this model's structure; kept, with its buffers, until the model, the kind of cost or
        the precision changes."""
        last = self._last
        if last is not None and last[0] is model and last[1:3] == (plain, precision):
            return last[3]
        layers = dense_layers(model)
        kernel: Kernel
        if plain:
            kernel = Autograd(model, precision) if layers is None else Dense(layers)
        else:
            kernel = LossAutograd(model, precision) if layers is None else LossDense(model, layers)
        self._last = (model, plain, precision, kernel)
        return kernel
