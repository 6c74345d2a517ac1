"""Programs that take the place of ``python -m fedradio`` in runs of ``neutral.py``: what one command cannot say.

Each gets the arguments of ``fedradio run SPEC CHANGES --out FOLDER ...`` and leaves its results in FOLDER. They are run
on both checkouts and use public names only.
"""

from __future__ import annotations

THREE_HOPS = """
import dataclasses, runpy, torch, fedradio

@fedradio.register("topology", "three_hops")
def three_hops(rng, /):
    "Four tiers: the clients and the four edges of demo, two regions, the server."
    two = fedradio.build(fedradio.load_spec("demo")).topology
    clients, edges, server = two.positions
    region = torch.tensor([0, 0, 1, 1])
    places = torch.stack([edges[region == r].mean(dim=0) for r in range(2)])
    parents = (two.parents[0], region, torch.zeros(2, dtype=torch.long))
    return dataclasses.replace(two, parents=parents, positions=(clients, edges, places, server))

runpy.run_module("fedradio", run_name="__main__", alter_sys=True)
"""
"""The command line with one topology more: no shipped one has three hops."""

FEDERATION = """
import signal, socket, subprocess, sys, time
from pathlib import Path

spec, at = sys.argv[2], sys.argv.index("--out")
changes, out = sys.argv[3:at], Path(sys.argv[at + 1])
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = str(free.getsockname()[1])
started = []

def fedradio(*words):
    started.append(subprocess.Popen([sys.executable, "-m", "fedradio", *words]))
    return started[-1]

def serve(*more):
    return fedradio("serve", spec, *changes, "--insecure", "--port", port, "--out", str(out), *more)

def join(client):
    address = f"127.0.0.1:{port}"
    state = f"state-{client}"
    return fedradio("join", address, "--client", str(client), "--insecure", "--state", state, "--wait", "300")

def rounds():
    return max((int(path.stem[6:]) for path in out.glob("checkpoints/round-*.json")), default=0)

try:
    server, devices = serve(), [join(client) for client in range(3)]
    while rounds() < 3:
        assert server.poll() is None
        time.sleep(0.05)
    for process in (server, devices[1]):
        process.kill()
        process.wait()
    server, devices[1] = serve("--resume"), join(1)
    codes = [process.wait() for process in (server, *devices)]
    assert codes == [0] * 4, codes
finally:
    for process in started:
        process.kill()
"""
"""A server and three devices on this machine: after three rounds the server and one device are killed and restarted."""

ENVIRONMENT = """
import json, sys
from pathlib import Path
from fedradio import gym

spec, at = sys.argv[2], sys.argv.index("--out")
changes, out = sys.argv[3:at], Path(sys.argv[at + 1])

def plain(values):
    return {name: value.tolist() for name, value in values.items()}

env = gym.make(spec, changes)
observation, info = env.reset(seed=1)
env.action_space.seed(1)
rows, over, returned = [{"observation": plain(observation)}], False, 0.0
for step in range(20):
    action = env.expert_action() if step % 2 else env.action_space.sample()
    observation, reward, over, _, info = env.step(action)
    returned += float(reward)
    rows.append({"action": plain(action), "observation": plain(observation), "reward": float(reward), "over": over})
out.mkdir(parents=True)
(out / "records.jsonl").write_text("".join(json.dumps({"type": "step"} | row) + chr(10) for row in rows))
(out / "summary.json").write_text(json.dumps({"return": returned, "accuracy": info.get("accuracy")}))
"""
"""Twenty steps of the environment for learning agents, its expert and random actions in turns: no model is stored."""
