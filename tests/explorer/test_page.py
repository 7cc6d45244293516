"""The page of `stax explore` in a real browser: every interaction, on runs of all kinds. Nothing may leave the loopback, or go wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pyarrow.parquet
import pytest
from explorer_server import Server

from browser import chromium
from stax.explorer.freezing import freeze
from stax.runs.result import load

pytestmark = pytest.mark.slow
WINDOW, PHONE = {"width": 1400, "height": 900}, {"width": 400, "height": 800}
TASKS = ("arm", "arm-ns", "maze", "curling", "gym", "evil")


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


class Tab:
    """A page that has been opened. What its console says, and what it asks for, is kept."""

    def __init__(self, browser, address: str, **options: object) -> None:
        self.context = browser.new_context(**{"viewport": WINDOW, "accept_downloads": True, **options})
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on(
            "console", lambda message: self.wrong.append(message.text) if message.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready=all]", state="attached", timeout=300_000)

    @property
    def address(self) -> str:
        """The address as it is now; Playwright's own is only renewed by its calls."""
        return self.page.evaluate("() => location.href")

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_inner_texts()

    def until(self, holds: Callable[[], bool], seconds: float = 300) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.1)

    def box(self, side: str) -> dict[str, float]:
        canvas = self.page.locator(f"#{side} canvas[tabindex]")
        canvas.scroll_into_view_if_needed()
        return canvas.bounding_box()

    def lasso(self, side: str) -> None:
        """Drag around the whole map."""
        box = self.box(side)
        corners = [(0.01, 0.01), (0.99, 0.01), (0.99, 0.99), (0.01, 0.99)]
        places = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in corners]
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(*place, steps=5)
        self.page.mouse.up()

    def set_time(self, at: int) -> None:
        slider = self.page.locator("#time")
        slider.evaluate("(slider, at) => { slider.value = at; slider.dispatchEvent(new Event('input')); }", at)


@pytest.fixture
def open_tab(browser, servers):
    tabs: list[Tab] = []

    def opened(*names: str, trust: bool = True, view: str = "", address: str | None = None, **options: object) -> Tab:
        tabs.append(Tab(browser, (address or servers(*names, trust=trust).address) + view, **options))
        return tabs[-1]

    yield opened
    for tab in tabs:
        assert tab.wrong == []
        assert all(url.startswith(("http://127.0.0.1:", "blob:", "data:", "file:")) for url in tab.asked)
        tab.context.close()


@pytest.mark.parametrize("name", TASKS)
def test_the_page_shows_what_the_folder_has(open_tab, folders, name):
    tab, result = open_tab(name), load(folders[name])
    assert result.algo in tab.text("#title")
    tiles = dict(zip(tab.texts(".tiles li span"), tab.texts(".tiles li b"), strict=True))
    assert tiles["evaluations"] == f"{result.evaluations:,}"
    assert tiles["novelty archive"] == f"{len(result.novelty_archive):,}"
    if result.coverage is not None:
        assert tiles["coverage"] == f"{100 * result.coverage:.1f} %"
    for area, best in zip(result.task.reward_areas, result.max_reward, strict=True):
        assert float(tiles[f"best, {area.name}"]) == pytest.approx(best, abs=6e-4)
    kept = len(np.union1d(result.novelty_archive.id, result.reward_archive.id))
    assert tab.text("[data-count=left]").startswith(f"{kept:,} of {kept:,} policies")
    # The best policy is there at once, with its film and what is seen of it.
    tab.until(lambda: tab.text("#panel .film .step").startswith("step"))
    tab.until(lambda: tab.page.locator("#panel .strip").count() >= 1)
    number = int(tab.page.locator("#panel h2").get_attribute("data-policy"))
    rows = {
        int(number): (float(reward), int(steps))
        for archive in (result.novelty_archive, result.reward_archive)
        for number, reward, steps in zip(archive.id, archive.reward, archive.steps, strict=True)
    }
    assert rows[number][0] == max(reward for reward, _ in rows.values())
    assert tab.text("[data-fact=steps]") == f"{rows[number][1]:,}"
    emitters = tab.page.locator("#emitters tbody tr").count() if result.config.has_emitters else 0
    assert emitters == min(len(result.emitters), 12)


def test_a_reevaluated_policy_shows_the_spread_of_its_rewards(open_tab, folders):
    tab, archive = open_tab("noisy"), load(folders["noisy"]).novelty_archive
    tab.until(lambda: tab.page.locator("[data-fact=spread]").count() == 1)
    row = archive.id.tolist().index(int(tab.page.locator("#panel h2").get_attribute("data-policy")))
    assert float(tab.text("[data-fact=spread]").split()[0]) == pytest.approx(archive.reward_spread[row], abs=1e-4)


@pytest.mark.parametrize("name", TASKS)
def test_dots_are_linked_and_lead_to_policies(open_tab, folders, name):
    tab = open_tab(name)
    canvas = tab.page.locator("#left canvas[tabindex]")
    before = tab.text("#panel h2")
    canvas.focus()
    for key in ("ArrowDown", "ArrowLeft", "ArrowUp", "ArrowRight"):
        tab.page.keyboard.press(key)
        tab.page.keyboard.press("Enter")
        if tab.text("#panel h2") != before:
            break
    assert tab.text("#panel h2") != before
    # The pointer finds the dot that the keys have chosen, and a tip says which it is.
    number = tab.text("#panel h2")
    place = tab.page.evaluate("() => { const found = window.staxMaps.left; return found.pixel(found.marks.chosen); }")
    box = tab.box("left")
    tab.page.mouse.move(box["x"] + place[0], box["y"] + place[1])
    tab.until(lambda: tab.page.locator("#tip").is_visible())
    hovered = tab.page.evaluate("() => [window.staxMaps.left.marks.hover, window.staxMaps.right.marks.hover]")
    assert hovered[0] is not None
    assert hovered[0] == hovered[1]
    tab.page.mouse.click(box["x"] + place[0], box["y"] + place[1])
    assert tab.text("#panel h2") == tab.text("#tip b") or tab.text("#panel h2") == number


def test_a_lasso_selects_and_the_selection_is_taken_away(open_tab, folders, tmp_path):
    tab, result = open_tab("arm"), load(folders["arm"])
    tab.lasso("left")
    kept = len(np.union1d(result.novelty_archive.id, result.reward_archive.id))
    tab.until(lambda: tab.page.locator("#selected").is_visible())
    assert tab.text("#selected") == f"{kept:,} selected"
    with tab.page.expect_download() as download:
        tab.page.click("text=Save as Parquet")
    download.value.save_as(tmp_path / "selection.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "selection.parquet")
    assert set(table["id"].to_pylist()) == {*result.novelty_archive.id.tolist(), *result.reward_archive.id.tolist()}
    tab.page.click("text=Watch the best 9")
    tab.until(lambda: len(tab.texts("#pins figure")) == 9)
    tab.until(lambda: all(words.startswith("step") for words in tab.texts("#pins .step")))
    tab.page.click("[data-pin] .unpin >> nth=0")
    assert tab.page.locator("#pins figure").count() == 8
    # The view is in the address.
    tab.until(lambda: len(parse_qs(urlsplit(tab.address).fragment)["pins"][0].split(",")) == 8)
    again = open_tab(address=tab.address)
    assert again.text("#selected") == f"{kept:,} selected"
    assert again.page.locator("#pins figure").count() == 8
    again.page.keyboard.press("Escape")
    assert not again.page.locator("#selected").is_visible()


def test_filters_and_colours(open_tab, folders):
    tab, result = open_tab("arm"), load(folders["arm"])
    tab.page.select_option("#archive", "reward")
    tab.until(lambda: tab.text("[data-count=right]").startswith(f"{len(result.reward_archive):,} of"))
    tab.page.select_option("#archive", "all")
    rewarded = result.ledger["reward_area"] == 0
    tab.page.select_option("#area", "0")
    tab.until(lambda: tab.text("[data-count=left]").endswith(f"· {int(rewarded.sum()):,} evaluations"))
    tab.page.select_option("#area", "all")
    for colour in tab.page.locator("#colour option").evaluate_all("options => options.map(({ value }) => value)"):
        tab.page.select_option("#colour", colour)
        tab.until(lambda: bool(tab.text("#legend")))
    assert tab.text("#legend").count(",") >= 0


@pytest.mark.parametrize("name", ["arm", "arm-ns", "gym"])
def test_maps_show_what_is_chosen(open_tab, name):
    tab = open_tab(name)
    for kind in tab.page.locator("#right .head > select option").evaluate_all("options => options.map(({ value }) => value)"):
        tab.page.select_option("#right .head > select", kind)
        if kind == "umap":
            tab.until(lambda: tab.page.locator("#right .note").is_visible() or "UMAP" in tab.address)
    tab.page.select_option("#right .head > select", "numbers")
    tab.page.select_option("#right .axes select >> nth=0", "reward")
    tab.page.select_option("#right .axes select >> nth=1", "evaluation")
    tab.until(lambda: "rightAxes=reward%2Cevaluation" in tab.address)


def test_the_slider_shows_what_was_known_then(open_tab, folders):
    tab, result = open_tab("arm"), load(folders["arm"])
    tab.set_time(500)
    kept = np.union1d(result.novelty_archive.id, result.reward_archive.id)
    tab.until(lambda: tab.text("[data-count=left]").startswith(f"{int((kept < 500).sum())} of"))
    assert tab.text("[data-count=left]").endswith("· 500 evaluations")
    assert "after 500 of 900 evaluations" in tab.text("#when")
    # Autoencoders were kept, so the learned space is shown as it was.
    tab.until(lambda: bool(tab.page.locator("#right").get_attribute("data-episode")))
    tab.page.click("#play")
    tab.until(lambda: "after 900 of 900" in tab.text("#when"))
    tab.page.locator("[data-chart=archives] canvas").click(position={"x": 120, "y": 60})
    tab.until(lambda: "after 900 of 900" not in tab.text("#when"))


def test_an_emitter_is_shown_alone(open_tab, folders):
    tab, result = open_tab("arm"), load(folders["arm"])
    emitter = max(result.emitters, key=lambda one: (one.best_reward, -one.id))
    assert tab.page.locator("#emitters tbody tr").first.get_attribute("data-emitter") == str(emitter.id)
    tab.page.locator(f"tr[data-emitter='{emitter.id}'] .chip").click()
    own = int((result.ledger["emitter"] == emitter.id).sum())
    tab.until(lambda: tab.text("[data-count=left]").endswith(f"· {own:,} evaluations"))
    assert f"Born after {emitter.born:,} evaluations from policy {emitter.ancestor:,}" in tab.text("#life p")
    tab.page.click("text=Show all policies again")
    tab.until(lambda: tab.text("[data-count=left]").endswith("· 900 evaluations"))


def test_an_empty_place_is_decoded_and_a_picture_is_looked_up(open_tab, folders, tmp_path):
    from PIL import Image

    tab, result = open_tab("maze"), load(folders["maze"])
    box = tab.box("right")
    # A corner of the map has no policy.
    tab.page.mouse.click(box["x"] + box["width"] - 20, box["y"] + 18)
    tab.until(lambda: tab.text("#panel h2") == "An empty place")
    tab.until(lambda: tab.page.locator("#panel .strip canvas").count() == 5)
    policy = result.novelty_archive.take([5])
    Image.fromarray(result.task.observe(policy.rollouts())[0, -1]).save(tmp_path / "question.png")
    tab.page.set_input_files("#picture", tmp_path / "question.png")
    tab.until(lambda: "Your picture" in tab.text("#panel h2") and tab.page.locator("#panel .chips .chip").count() == 9)
    assert int(tab.text("#panel .chips .chip")) == int(policy.id[0])


def test_runs_are_compared(open_tab, folders):
    tab = open_tab("arm", "arm-ns")
    tab.until(lambda: tab.page.locator("#cells").is_visible())
    cells = {}
    for name in ("arm", "arm-ns"):
        result = load(folders[name])
        size = result.parameters.grid_cells
        low, high = np.array(result.task.ground_truth_bounds).T
        place = np.clip(np.floor((result.ledger["ground_truth"] - low) / (high - low) * size), 0, size - 1)
        cells[name] = {tuple(cell) for cell in place.astype(int).tolist()}
    both, one, other = cells["arm"] & cells["arm-ns"], cells["arm"] - cells["arm-ns"], cells["arm-ns"] - cells["arm"]
    words = tab.text("#cells")
    assert f"{len(both):,} were reached by both, {len(one):,} by arm alone, and {len(other):,} by arm-ns alone" in words
    tab.page.click("#runs .chip >> nth=1")
    tab.until(lambda: tab.text("#title") == "ns on redundant-arm")
    assert tab.text("[data-tile=evaluations] b") == "300"


def test_names_of_a_stranger_are_text(open_tab):
    tab = open_tab("evil", trust=False)
    assert "<script>" in tab.text(".tiles")
    assert tab.page.evaluate("() => window.harmed") is None
    tab.until(lambda: "--trust" in tab.text("#panel .film .step"))


def test_a_damaged_run_is_one_sentence_on_the_page(browser, copied):
    folder = copied("arm-ns")
    (folder / "ledger.parquet").write_bytes(b"nonsense")
    server = Server(folder)
    try:
        page = browser.new_page()
        page.goto(server.address)
        page.wait_for_selector("#failure:visible")
        assert "The ledger" in page.locator("#failure").inner_text()
        assert page.locator("#main").is_hidden()
    finally:
        server.end()


def test_another_site_cannot_read_the_page(browser, servers):
    page = browser.new_page()
    page.route("http://elsewhere.example/", lambda route: route.fulfill(body="<p>elsewhere</p>", content_type="text/html"))
    page.goto("http://elsewhere.example/")
    address = servers("arm", trust=True).address
    ask = "address => fetch(address).then(answer => answer.text(), () => 'refused')"
    command = (
        "address => fetch(address, { method: 'POST', body: 'stop', mode: 'no-cors' }).then(({ type }) => type, () => 'refused')"
    )
    assert page.evaluate(ask, f"{address}api/runs") == "refused"
    assert page.evaluate(command, f"{address}api/control") in ("opaque", "refused")
    frame = "address => new Promise(done => { const image = new Image(); image.onload = () => done('shown'); image.onerror = () => done('refused'); image.src = address; })"
    assert page.evaluate(frame, f"{address}static/icon.svg") == "refused"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WINDOW, PHONE], ids=["wide", "narrow"])
@pytest.mark.parametrize("name", ["arm", "gym"])
def test_nothing_is_wider_than_the_window(open_tab, name, viewport, scheme):
    tab = open_tab(name, viewport=viewport, color_scheme=scheme)
    tab.until(lambda: tab.page.locator("#panel .strip").count() >= 1)
    assert tab.page.evaluate("() => document.documentElement.scrollWidth") <= viewport["width"]


def test_everything_can_be_reached_by_keys(open_tab):
    tab = open_tab("arm")
    reached = set()
    for _ in range(150):
        tab.page.keyboard.press("Tab")
        reached.add(tab.page.evaluate("() => document.activeElement.id || document.activeElement.closest('[id]')?.id"))
    assert {"colour", "archive", "area", "origin", "least", "left", "right", "panel", "time", "play", "emitters"} <= reached


def test_a_frozen_page_needs_no_server(open_tab, folders, tmp_path):
    target = freeze([folders["arm"]], tmp_path / "frozen.html")
    tab, result = open_tab(address=target.as_uri()), load(folders["arm"])
    assert tab.text("[data-tile=coverage] b") == f"{100 * result.coverage:.1f} %"
    tab.until(lambda: tab.text("#panel .film .step").startswith("step"))
    assert tab.asked == [target.as_uri()]
    tab.set_time(500)
    tab.until(lambda: "after 500 of 900" in tab.text("#when"))
    best = int(tab.page.locator("#panel h2").get_attribute("data-policy"))
    tab.page.locator("#panel .near .chip").first.click()
    tab.until(lambda: int(tab.page.locator("#panel h2").get_attribute("data-policy")) != best)


def test_films_rest_while_nobody_touches_the_page(open_tab):
    tab = open_tab("arm-ns")
    tab.page.mouse.move(300, 300)
    step = ".film .step"
    tab.until(lambda: tab.text(step).startswith("step"))
    before = tab.text(step)
    tab.until(lambda: tab.text(step) != before)
    tab.page.evaluate("() => { const now = performance.now.bind(performance); performance.now = () => now() + 30_000; }")
    time.sleep(0.5)
    before = tab.text(step)
    time.sleep(1)
    assert tab.text(step) == before
    assert tab.page.evaluate("() => document.getAnimations().length") == 0
    tab.page.mouse.move(310, 310)
    tab.until(lambda: tab.text(step) != before)


def test_a_running_run_is_followed_and_the_view_stays(open_tab, folders, tmp_path):
    import subprocess
    import sys

    from explorer_server import environment

    folder = tmp_path / "run"
    command = [sys.executable, "-m", "stax", "run", "redundant-arm", "--algo", "ns", "--budget", "60000", "--workers", "1"]
    command += ["--set", "checkpoint_seconds=1", "--quiet", "--out", str(folder)]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment())
    while not (folder / "summary.json").is_file():
        assert run.poll() is None
        time.sleep(0.1)
    server = Server(folder)
    try:
        tab = open_tab(address=server.address, view="#colour=novelty")
        assert tab.text("[data-tile=status] b") == "running"
        # What moves all the time takes processor time from the run.
        assert tab.page.evaluate("() => document.getAnimations().length") == 0
        first = tab.text("[data-count=left]")
        tab.until(lambda: tab.text("[data-count=left]") != first)
        assert tab.page.locator("#colour").input_value() == "novelty"
        assert run.wait(timeout=300) == 0
        tab.until(lambda: tab.text("[data-tile=status] b") == "finished")
        tab.until(lambda: tab.text("[data-count=left]").endswith("· 60,000 evaluations"))
    finally:
        server.end()
        run.kill()
        run.wait()
