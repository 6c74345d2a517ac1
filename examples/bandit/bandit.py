"""A bandit that learns which clients make the deadline, against random selection and the exact planner.

Run: python examples/bandit/bandit.py (embedded data, half a minute; needs pip install 'fedradio[gym]')
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.progress import track

from fedradio import gym, paired
from fedradio.gym.agents import Agent, Bandit, Episode, Expert, RandomSelection, play

CLIENTS, STEPS = 4, 5


def main() -> None:
    """Every agent plays the same seeds; differences are taken seed by seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("overrides", nargs="*", help="key=value, such as rounds=20")
    options = parser.parse_args()
    env = gym.make(Path(__file__).parent / "bandit.yaml", options.overrides)
    agents: dict[str, Agent] = {
        "random": RandomSelection(CLIENTS, STEPS),
        "bandit": Bandit(CLIENTS, STEPS),
        "planner": Expert(),
    }
    episodes: dict[str, dict[int, Episode]] = {name: {} for name in agents}
    for seed in track(range(1, options.seeds + 1), "playing"):
        for name, agent in agents.items():
            episodes[name][seed] = play(env, agent, seed)
    print("agent    arrived  accuracy  joules   accuracy against random, 95 %")
    for name, played in episodes.items():
        share = mean([each.arrived / each.selected for each in played.values()])
        accuracy, joules = (mean([getattr(each, what) for each in played.values()]) for what in ("accuracy", "joules"))
        print(f"{name:<8} {share:7.1%}  {accuracy:8.4f}  {joules:7.4f}  {against(played, episodes['random'])}")


def against(played: dict[int, Episode], other: dict[int, Episode]) -> str:
    """The difference of accuracies, seed by seed, with the half width of its interval."""
    accuracies = [{seed: each.accuracy for seed, each in some.items()} for some in (played, other)]
    difference = paired(*accuracies)
    if played is other or difference is None:
        return ""
    half = "" if difference.half is None else f" +- {difference.half:.4f}"
    return f"{difference.mean:+.4f}{half}"


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
