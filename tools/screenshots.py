"""Makes the pictures of docs/gallery.md again: runs the commands under each, and photographs pages in Chromium.

``python tools/screenshots.py`` makes all of them, ``--only slot`` some, ``--out DIR`` elsewhere than in docs/images,
``--keep DIR`` runs the commands in that folder, where what is there already is not run again.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gallery.md"
IMAGES = ROOT / "docs" / "images"

PICTURE = re.compile(r"^!\[[^]]+\]\(images/(\S+)\)(?:\{[^}]*\})?\n\n```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A picture, and the commands under it."""

COLOURS = 96
"""Of a picture: enough for curves and letters, and a third of the size."""

WIDTH = 1000
"""Pixels of a picture's width, at most."""

VIEW = 1280
"""Pixels of the window's width."""

SETUP = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


@dataclass(frozen=True)
class File:
    """A file that the commands write."""

    path: str


@dataclass(frozen=True)
class Shot:
    """A page that the commands write: all of its top, or the element that is selected."""

    path: str
    element: str = ""
    height: int = 900


SWEEP, RUN = "sweeps/algorithms", "runs/rawhfl-seed1"

SOURCES: dict[str, File | Shot] = {
    "gallery/accuracy-joules.png": File(f"{SWEEP}/figures/accuracy-joules.png"),
    "gallery/energy-uploads.png": File(f"{RUN}/figures/energy-uploads.png"),
    "gallery/sweep-page.png": Shot(f"{SWEEP}/report.html"),
    "gallery/network.png": File(f"{RUN}/figures/network.png"),
    "gallery/selection.png": File(f"{RUN}/figures/selection.png"),
    "gallery/reasons.png": File(f"{RUN}/figures/reasons.png"),
    "gallery/spread.png": File(f"{RUN}/figures/spread.png"),
    "gallery/slot.png": File("slot.png"),
    "gallery/run-page.png": Shot(f"{RUN}/report.html", height=1300),
    "gallery/cache-hits.png": Shot("runs/rawhfl_cache-seed1/report.html", "figure:has(#cache-hits-chart)"),
    "gallery/bound.png": File("reproduced/whfl/quick/fig4.png"),
}
"""Picture -> where it comes from once the commands have been run."""


def commands(text: str) -> dict[str, list[str]]:
    """Picture -> its own commands, from the page."""
    return {name: block.strip().splitlines() for name, block in PICTURE.findall(text)}


def needed(wanted: str, every: dict[str, list[str]]) -> list[str]:
    """The commands of a picture, after those of earlier ones that make the folders which it names."""
    mine = every[wanted]
    before = [line for name, lines in every.items() for line in lines if name != wanted]
    words = {word for line in mine for word in shlex.split(line)}
    makes = [line for line in before if made_by(line) in words]
    return list(dict.fromkeys([*makes, *mine]))


def made_by(line: str) -> str:
    """The folder that a command makes: a run's or a sweep's."""
    words = shlex.split(line)
    if words[1] not in ("run", "sweep"):
        return ""
    return words[words.index("--out") + 1] if "--out" in words else f"runs/{words[2]}-seed1"


def call(line: str, here: Path) -> None:
    """Run a command, unless what it makes is there."""
    folder = made_by(line)
    if folder and (here / folder).exists():
        return
    print(f"$ {line}", flush=True)
    subprocess.run(
        [sys.executable, "-m", "fedradio", *shlex.split(line)[1:]], cwd=here, check=True, stdout=subprocess.DEVNULL
    )


def photograph(address: str, shot: Shot) -> bytes:
    """A page in Chromium, as PNG; charts are drawn first."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("FEDRADIO_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(SETUP))
        page = browser.new_page(viewport={"width": VIEW, "height": shot.height}, color_scheme="light")
        page.goto(address)
        page.locator(".plot .main-svg").first.wait_for()
        if shot.element:
            target = page.locator(shot.element).first
            target.scroll_into_view_if_needed()
            target.locator(".main-svg").first.wait_for()
        page.wait_for_timeout(1500)  # charts move while they are drawn
        data = target.screenshot() if shot.element else page.screenshot()
        browser.close()
    return data


def small(data: bytes) -> bytes:
    """A PNG with fewer colours and no wider than :data:`WIDTH`."""
    from PIL import Image

    with Image.open(io.BytesIO(data)) as given:
        image = given.convert("RGB")
    if image.width > WIDTH:
        image = image.resize((WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def make(name: str, every: dict[str, list[str]], here: Path) -> bytes:
    """The bytes of a picture, with all that it needs run in a folder."""
    source, lines = SOURCES[name], needed(name, every)
    for line in lines:
        call(line, here)
    if isinstance(source, Shot):
        return small(photograph((here / source.path).as_uri(), source))
    data = (here / source.path).read_bytes()
    return small(data) if name.endswith(".png") else data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="pictures whose names hold this word")
    parser.add_argument("--out", type=Path, default=IMAGES)
    parser.add_argument("--keep", type=Path, help="run the commands here; default: a temporary folder")
    options = parser.parse_args()
    every = commands(PAGE.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        here = (options.keep or Path(folder)).resolve()
        here.mkdir(parents=True, exist_ok=True)
        for name in every:
            if options.only in name:
                target = options.out / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(make(name, every, here))
                print(f"{target}  {target.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
