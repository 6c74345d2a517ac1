"""Do all extras, those of today and those to come, fit into one environment under the pins of ``constraints.txt``?

``python tools/resolve.py`` (or ``make resolve``) asks pip for one resolution of ``fedradio[dev]`` and of every package
in ``COMING``, and installs nothing. It prints the versions as lines of ``constraints.txt``, or pip's own explanation of
what does not fit. It needs a package index and takes about a minute once the packages are in pip's cache.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"

# Extras to come -> what they will ask for. An extra moves to pyproject.toml together with the code that needs it. Only
# the pinned version within a range has been resolved. Never flwr[simulation]: it asks for ray==2.55.1 exactly.
COMING = {
    "privacy": "dp-accounting>=0.6",
    "optuna": "optuna>=5",
    "pooch": "pooch>=1.9",
}


def pins(text: str) -> dict[str, str]:
    """Package -> version of the lines ``package==version``, comments left out."""
    lines = (line.strip() for line in text.splitlines())
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def versions(report: str) -> dict[str, str]:
    """Package -> version of pip's installation report, sorted; without fedradio and without labels such as ``+cpu``."""
    packages = [item["metadata"] for item in json.loads(report)["install"]]
    pairs = {item["name"]: item["version"].split("+")[0] for item in packages if item["name"] != "fedradio"}
    return dict(sorted(pairs.items(), key=lambda pair: pair[0].lower()))


def resolve() -> dict[str, str]:
    """One resolution of everything; ends the program with pip's explanation where there is none."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--dry-run", "--ignore-installed", "--disable-pip-version-check", "--progress-bar", "off"]
        # Not --quiet: pip would then keep back which packages are in conflict.
        command = [sys.executable, "-m", "pip", "install", *options, "--report", str(report), "-c", str(CONSTRAINTS)]
        command += [f"{ROOT}[dev]", *COMING.values()]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stdout[max(done.stdout.find("ERROR:"), 0) :])
        return versions(report.read_text(encoding="utf-8"))


def main() -> None:
    """Print the resolution; name on standard error what is not pinned, and pins that nothing asks for here."""
    resolved, pinned = resolve(), pins(CONSTRAINTS.read_text(encoding="utf-8"))
    print("\n".join(f"{name}=={version}" for name, version in resolved.items()))
    print(f"{len(resolved)} packages fit together", file=sys.stderr)
    for note, names in (
        ("not pinned", resolved.keys() - pinned),
        ("pinned but not asked for", pinned.keys() - resolved),
    ):
        if names:
            print(f"{note}: {', '.join(sorted(names, key=str.lower))}", file=sys.stderr)


if __name__ == "__main__":
    main()
