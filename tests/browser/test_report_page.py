"""The pages of a run and of a sweep in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from support.patience import PATIENCE_S

from fedradio.core.files import write_text
from fedradio.report.page import page as page_of
from fedradio.report.page.document import Refresh
from fedradio.results.folder_state import folder_state
from fedradio.runs.run import run
from fedradio.spec.spec import Spec, load_spec
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.sweep import run_sweep

BAD = '</script><script>window.broken = 1</script><img src="http://fedradio.invalid/x" onerror="window.broken = 2">'

FULL = (
    "rounds=2",
    "topology.clients_per_edge=4",
    "hops.0.policy.clients=2",
    "hops.0.policy.max_steps=2",
    "hops.0.link.erasure=0.4",
    "model.hidden=[8]",
    "data.source={kind: videos, requests: 60, test_requests: 20}",
    "data.stream={kind: growing, history: 40}",
)
"""A run that has everything: cells, losses, joules, references, accuracies per client, notes."""

WIDE = {"width": 1280, "height": 900}

KINDS = ("run", "plain", "sweep")


@dataclass
class Visit:
    """A page that was opened, and what it did that it should not."""

    page: Page
    wrong: list[str] = field(default_factory=list)

    def draw(self) -> None:
        """Bring every chart into view, as somebody who reads on would."""
        for plot in self.page.locator(".plot").all():
            plot.scroll_into_view_if_needed()
            plot.locator(".main-svg").first.wait_for()


@pytest.fixture(scope="module")
def files(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages, made from real runs: one with everything, one with little and hostile words, and a sweep."""
    root = tmp_path_factory.mktemp("pages")
    run(load_spec("rawhfl", FULL), root / "run")
    plain = load_spec("digits_flat", ["rounds=2", "data.partition=iid"])
    run(Spec(plain.plain | {"about": BAD}), root / "<b>plain & hostile</b>")
    plan = plan_sweep("demo", ["algorithm=fedavg,fedprox"], seeds=[1, 2], rounds=2)
    run_sweep(plan, root / "sweep")
    folders = {"run": root / "run", "plain": root / "<b>plain & hostile</b>", "sweep": root / "sweep"}
    found = {}
    for kind, folder in folders.items():
        found[kind] = root / f"{kind}.html"
        found[kind].write_text(page_of(folder), encoding="utf-8")
    return found


def _visit(context: BrowserContext, file: Path) -> Visit:
    """Open a page; complaints on the console, errors and requests for anything but the file are kept."""
    visit = Visit(context.new_page())

    def asked(url: str) -> None:
        if url != file.as_uri() and not url.startswith(("data:", "blob:")):
            visit.wrong.append(f"request for {url}")

    visit.page.on("request", lambda request: asked(request.url))
    visit.page.on("pageerror", lambda error: visit.wrong.append(f"error: {error}"))
    visit.page.on("console", lambda message: visit.wrong.append(f"console: {message.text}"))
    visit.page.goto(file.as_uri())
    return visit


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _context(browser: Browser) -> BrowserContext:
    found = browser.new_context(viewport=WIDE, color_scheme="light")
    found.set_default_timeout(1e3 * PATIENCE_S)
    return found


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    found = _context(browser)
    yield found
    found.close()


@pytest.fixture(scope="module")
def drawn(browser: Browser, files: dict[str, Path]) -> dict[str, Visit]:
    """Every page, opened and read to its end; for tests that leave it as they found it."""
    context = _context(browser)
    found = {kind: _visit(context, file) for kind, file in files.items()}
    for visit in found.values():
        visit.draw()
    return found


def test_all_charts_are_drawn_and_nothing_is_asked_for(drawn: dict[str, Visit], kind: str) -> None:
    charts = drawn[kind].page.evaluate("""() => [...document.querySelectorAll(".plot")].map((plot) => ({
        id: plot.id,
        traces: plot.data.length,
        marks: plot.querySelectorAll(".trace, .point, .points path, .hm image").length,
        height: plot.querySelector(".main-svg").getBoundingClientRect().height,
    }))""")
    assert len(charts) >= {"run": 10, "plain": 4, "sweep": 5}[kind]
    for chart in charts:
        assert chart["traces"] > 0, chart
        assert chart["marks"] > 0, chart
        assert chart["height"] > 150, chart
    assert drawn[kind].wrong == []


def test_hostile_words_are_only_words(context: BrowserContext, files: dict[str, Path]) -> None:
    visit = _visit(context, files["plain"])
    visit.draw()
    assert visit.page.evaluate("window.broken") is None
    assert visit.page.locator("img").count() == 0
    assert "window.broken" in visit.page.locator(".about").inner_text()
    # even markup that comes later cannot run: the policy knows every script of the page
    visit.page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.broken = 3';"
        " document.body.append(s); }"
    )
    assert visit.page.evaluate("window.broken") is None
    assert len(visit.wrong) == 1
    assert "Content Security Policy" in visit.wrong[0]


def test_axes_are_switched_by_keyboard(context: BrowserContext, files: dict[str, Path]) -> None:
    page = _visit(context, files["run"]).page
    title = "() => document.getElementById('accuracy-chart').layout.xaxis.title.text"
    page.locator("#accuracy-chart .main-svg").first.wait_for()
    assert page.evaluate(title) == "Round"
    page.locator("#learning-view-0").focus()
    seen = []
    for _ in range(4):
        page.keyboard.press("ArrowRight")
        page.wait_for_function("(before) => (" + title + ")() !== before", arg=(seen or ["Round"])[-1])
        seen.append(page.evaluate(title))
    assert seen == ["Simulated time [s]", "Energy of all clients [J]", "Uplink of all hops [bit]", "Round"]
    assert page.evaluate("document.getElementById('loss-chart').layout.xaxis.title.text") == "Round"


def test_everything_can_be_reached_by_keyboard(context: BrowserContext, files: dict[str, Path]) -> None:
    page = _visit(context, files["run"]).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.locator("#mode").focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    details = page.locator("#network-chart ~ .tools summary")
    details.focus()
    page.keyboard.press("Enter")
    assert page.locator("#network-chart ~ .tools table").is_visible()


LUMINANCE = """
const channels = (text) => text.match(/[0-9.]+/g).map(Number);
const luminance = (rgb) => {
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = rgb.slice(0, 3).map((c) => linear(c / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (one, other) => {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const background = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const found = channels(getComputedStyle(at).backgroundColor);
    if (found.length < 4 || found[3] > 0) return found;
  }
  return [255, 255, 255];
};
"""

CONTRASTS = (
    "() => {"
    + LUMINANCE
    + """
  const poor = [];
  let count = 0;
  for (const node of document.querySelectorAll("body *")) {
    const words = [...node.childNodes].filter((child) => child.nodeType === 3 && child.textContent.trim());
    const shape = node.getBoundingClientRect();
    if (!words.length || shape.width < 2 || shape.height < 2 || node.closest("script, style, noscript")) continue;
    const style = getComputedStyle(node);
    const colour = channels(node instanceof SVGElement ? style.fill : style.color);
    count += 1;
    const found = contrast(colour, background(node));
    if (found < 4.5) poor.push(`${found.toFixed(2)} ${node.tagName}: ${words[0].textContent}`);
  }
  return { count, poor };
}"""
)


def test_text_stands_out_in_both_modes(drawn: dict[str, Visit], kind: str) -> None:
    page = drawn[kind].page
    for mode in ("light", "dark"):
        page.emulate_media(color_scheme=mode)
        page.wait_for_function("(mode) => document.documentElement.dataset.theme === mode", arg=mode)
        found = page.evaluate(CONTRASTS)
        assert found["count"] > 100
        assert found["poor"] == [], mode
    page.emulate_media(color_scheme="light")


def test_the_mode_follows_the_system_until_it_is_chosen(context: BrowserContext, files: dict[str, Path]) -> None:
    page = _visit(context, files["run"]).page
    paper = "() => getComputedStyle(document.body).backgroundColor"
    title = "() => getComputedStyle(document.querySelector('#accuracy-chart .xtitle')).fill"
    page.locator("#accuracy-chart .xtitle").wait_for()
    light, light_title = page.evaluate(paper), page.evaluate(title)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("(before) => (" + paper + ")() !== before", arg=light)
    page.wait_for_function("(before) => (" + title + ")() !== before", arg=light_title)
    assert page.locator("#mode").get_attribute("aria-pressed") == "true"
    page.locator("#mode").click()
    assert page.evaluate(paper) == light
    page.reload()
    assert page.evaluate(paper) == light  # chosen: remembered against the system
    assert page.locator("#mode").get_attribute("aria-pressed") == "false"


FOLDED = "(open) => document.querySelectorAll('details').forEach((one) => { one.open = open; })"


def test_a_phone_does_not_scroll_sideways(drawn: dict[str, Visit], kind: str) -> None:
    page = drawn[kind].page
    page.set_viewport_size({"width": 360, "height": 740})
    page.evaluate(FOLDED, True)
    page.wait_for_function("() => [...document.querySelectorAll('.plot svg')].every((one) => one.clientWidth <= 360)")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.evaluate(FOLDED, False)
    page.set_viewport_size(WIDE)


def test_structure_for_screen_readers(drawn: dict[str, Visit], kind: str) -> None:
    page = drawn[kind].page
    found = page.evaluate("""() => {
      const all = (query) => [...document.querySelectorAll(query)];
      const ids = all("[id]").map((node) => node.id);
      const lost = (attribute) => all(`${attribute === "href" ? "a" : ""}[${attribute}]`)
        .flatMap((node) => node.getAttribute(attribute).split(" "))
        .filter((id) => !document.getElementById(id.replace(/^#/, "")));
      return {
        twice: ids.filter((id, at) => ids.indexOf(id) !== at),
        lost: ["href", "for", "aria-labelledby", "aria-describedby"].flatMap(lost),
        levels: all("h1, h2, h3, h4").map((node) => Number(node.tagName[1])),
        landmarks: ["header", "nav", "main", "footer"].map((name) => all(name).length),
        unnamed: all(".plot").filter((plot) => !plot.matches("[role=img][aria-labelledby][aria-describedby]")).length,
        bare: all("table").filter((node) => !node.caption || !node.querySelector("th[scope=col]")).length,
        nameless: all("button, input").filter((node) => !(node.textContent.trim() || node.labels?.length)).length,
        lang: document.documentElement.lang,
      };
    }""")
    assert found["twice"] == []
    assert found["lost"] == []
    assert found["levels"][0] == 1
    assert found["levels"].count(1) == 1
    assert all(after <= before + 1 for before, after in zip(found["levels"], found["levels"][1:], strict=False))
    assert found["landmarks"] == [1, 1, 1, 1]
    assert (found["unnamed"], found["bare"], found["nameless"]) == (0, 0, 0)
    assert found["lang"] == "en"


def test_a_chart_is_saved_and_a_spec_is_copied(context: BrowserContext, files: dict[str, Path]) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit = _visit(context, files["run"])
    page = visit.page
    with page.expect_download() as download:
        page.locator("[data-chart=loss-chart]").click()
    assert download.value.suggested_filename == "loss-chart.svg"
    page.evaluate("() => { window.setTimeout = () => 0; }")  # the word stays; it is taken away after two seconds
    page.locator("#spec .copy").click()
    page.get_by_text("Copied", exact=True).wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith("name: rawhfl\n")
    assert visit.wrong == []


def test_paper_is_light_and_shows_every_chart(context: BrowserContext, files: dict[str, Path]) -> None:
    visit = _visit(context, files["run"])
    page = visit.page
    page.locator("#mode").click()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.wait_for_function(
        "() => [...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('.main-svg'))"
    )
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert visit.wrong == []


def test_a_page_reloads_itself_until_the_run_is_complete(
    tmp_path: Path, context: BrowserContext, files: dict[str, Path]
) -> None:
    folder, file = files["run"].with_name("run"), tmp_path / "page.html"
    file.write_text(page_of(folder, refresh=Refresh(1, folder_state(folder))), encoding="utf-8")
    visit = _visit(context, file)
    visit.page.wait_for_event("load")  # again, after a second
    write_text(file, page_of(folder))  # the end of the run; at once, for a reload may read it at any time
    visit.page.locator(".state").wait_for(state="detached")
    assert visit.wrong == []


def test_what_is_scrolled_chosen_and_unfolded_survives_reloads(
    tmp_path: Path, context: BrowserContext, files: dict[str, Path]
) -> None:
    """Also the last one, to the final page; reloaded by hand, that one is not restored by the page's script."""
    folder, file = files["run"].with_name("run"), tmp_path / "page.html"
    file.write_text(page_of(folder, refresh=Refresh(3600, folder_state(folder))), encoding="utf-8")
    visit = _visit(context, file)
    place = (
        "() => [scrollY, document.querySelector('details').open, document.querySelector('#learning-view-2').checked]"
    )
    visit.page.locator("#learning-view-2").check()
    visit.page.evaluate("() => { document.querySelector('details').open = true; }")
    visit.page.evaluate("scrollTo({ top: 700, behavior: 'instant' })")
    assert visit.page.evaluate(place) == [700, True, True]
    visit.page.reload()
    assert visit.page.evaluate(place) == [700, True, True]
    file.write_text(page_of(folder), encoding="utf-8")
    visit.page.reload()
    top, unfolded, chosen = visit.page.evaluate(place)
    assert (unfolded, chosen) == (True, True)
    assert 600 < top <= 700  # the line at the top is gone
    visit.page.reload()
    assert visit.page.evaluate(place)[1] is False
    assert visit.wrong == []
