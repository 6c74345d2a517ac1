"""Learning agents instead of a policy: the world of a spec as a Gymnasium environment (extra ``gym``).

>>> from fedradio import gym                                    # doctest: +SKIP
>>> env = gym.make("rawhfl", ["rounds=4"])                      # doctest: +SKIP
>>> observation, info = env.reset(seed=1)                       # doctest: +SKIP
>>> observation, reward, over, cut, info = env.step(env.action_space.sample())   # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fedradio.core.errors import Problem, SpecError
from fedradio.spec.spec import Spec, load_spec

if TYPE_CHECKING:
    from fedradio.gym.environment import PolicyEnv, Step

__all__ = ["make"]


def make(
    spec: Spec | Path | str,
    overrides: Sequence[str] = (),
    *,
    reward: Callable[[Step], float] | None = None,
    max_steps: int | None = None,
    workers: int | None = None,
) -> PolicyEnv:
    """The environment of a spec, a shipped one or a YAML file: an agent decides what the policy of hop 0 would.

    ``reward`` makes a number of each edge round (:func:`~fedradio.gym.environment.accuracy_gain`); ``max_steps`` is the
    most local steps that an action may allot, by default those of the spec's policy, or of an epoch.
    """
    try:
        from fedradio.gym.environment import PolicyEnv, accuracy_gain
    except ModuleNotFoundError as error:
        if error.name != "gymnasium":
            raise
        remedy = "pip install 'fedradio[gym]'"
        raise SpecError(Problem("fedradio.gym", "Gymnasium is not installed", remedy)) from None
    checked = spec if isinstance(spec, Spec) else load_spec(str(spec), list(overrides))
    return PolicyEnv(checked, reward or accuracy_gain, max_steps, workers)
