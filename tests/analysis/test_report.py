"""`stax report`: pages about real runs, opened in a real browser that must not ask for anything but the file."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from report_tasks import EVIL, LINK

import stax
from browser import chromium
from stax.analysis.measures import descriptor_similarity, final_policies, random_similarity
from stax.analysis.report import archives, check_page, course, emitters, write_report
from stax.analysis.report.wording import numbers, plot_words, value_words
from stax.cli.main import main
from stax.runs.archived_policies import best_policy
from stax.runs.run_in_progress import RunInterrupted
from stax.search.policy_set import PolicySet
from stax.wording import duration

SMALL = {"population_size": 40, "chunk_size": 80}
TINY = {"population_size": 12, "chunk_size": 40, "code_size": 3, "max_epochs": 2, "isolation": "none"}
WINDOW, PHONE = {"width": 1200, "height": 900}, {"width": 360, "height": 740}


# Runs


@pytest.fixture(scope="session")
def folders(tmp_path_factory) -> dict[str, Path]:
    """Tiny runs, none of which is to be changed."""
    parent = tmp_path_factory.mktemp("report")
    learned = {**SMALL, "max_images_per_episode": 200, "max_epochs": 1, "code_size": 4, "descriptor_samples": 1}
    runs = {
        "arm": ("redundant-arm", "stax", 900, 9, {**learned, "task.view": "end-effector"}),
        "maze": ("hard-maze", "serene", 200, 0, SMALL),
        "grid": ("redundant-arm", "map-elites", 300, 0, {}),
        "sliding": ("drawn_tasks:SlidingTask", "stax", 900, 0, {**TINY, "bootstrap_generations": 2, "emitter_population": 2}),
        "plane": ("report_tasks:PlaneTask", "ns", 60, 0, TINY),
        "line": ("report_tasks:LineTask", "ns", 60, 0, TINY),
        "evil": ("report_tasks:EvilTask", "stax", 200, 0, TINY),
        "blind": ("drawn_tasks:SlidingTask", "random", 120, 0, {"population_size": 12}),
    }
    for name, (task, algo, budget, seed, more) in runs.items():
        stax.run(task, algo=algo, budget=budget, seed=seed, workers=2, out=parent / name, **more)
    given = stax.make_task("redundant-arm")
    del given._made_from
    stax.run(given, algo="ns", budget=120, seed=0, workers=1, out=parent / "given", **SMALL)
    rests = iter(range(100))
    with suppress(RunInterrupted):
        stax.run(
            "redundant-arm", algo="ns", budget=900, workers=1, out=parent / "stopped", stop=lambda: next(rests) > 2, **SMALL
        )
    return {path.name: path for path in parent.iterdir()}


@pytest.fixture
def folder(folders, tmp_path) -> Path:
    """A quick run, to change."""
    return Path(shutil.copytree(folders["stopped"], tmp_path / "run"))


def summary(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_text())


def change_summary(folder: Path, **values: object) -> None:
    (folder / "summary.json").write_text(json.dumps({**summary(folder), **values}))


def report(capsys, *arguments: object) -> tuple[int, str, list[str]]:
    code = main(["report", *map(str, arguments)])
    output = capsys.readouterr()
    return code, output.out, output.err.splitlines()


# The browser


@pytest.fixture(scope="module")
def browser():
    """Only for this module: it leaves an event loop running."""
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(folders, tmp_path_factory) -> dict[str, Path]:
    """A page about every run, with the code of our own tasks trusted."""
    parent = tmp_path_factory.mktemp("pages")
    made = {}
    for name, path in folders.items():
        made[name] = write_report(stax.load(path, trust=True), path, parent / f"{name}.html").path
    return made


class Tabs:
    """Pages that have drawn their plots, each opened once. Nothing may go wrong in them, and they may ask for nothing but themselves."""

    def __init__(self, browser, paths: dict[str, Path]) -> None:
        self._browser, self._paths = browser, paths
        self._open: dict[str, object] = {}
        self.wrong: list[str] = []
        self.asked: list[str] = []

    def __call__(self, name: str, **options: object):
        key = f"{name} {options}"
        if key not in self._open:
            page = self._browser.new_context(**{"viewport": WINDOW, **options}).new_page()
            page.on(
                "console", lambda message: self.wrong.append(message.text) if message.type in ("error", "warning") else None
            )
            page.on("pageerror", lambda error: self.wrong.append(str(error)))
            page.on("request", lambda request: self.asked.append(request.url))
            page.goto(self._paths[name].as_uri())
            page.wait_for_selector("html[data-ready]", state="attached")
            self._open[key] = page
        return self._open[key]


@pytest.fixture(scope="module")
def all_tabs(browser, pages) -> Tabs:
    return Tabs(browser, pages)


@pytest.fixture
def tabs(all_tabs, pages):
    yield all_tabs
    assert all_tabs.wrong == []
    allowed = {path.as_uri() for path in pages.values()}
    assert [url for url in all_tabs.asked if not url.startswith(("data:", "blob:")) and url not in allowed] == []


def figures(path: Path) -> dict:
    """What a page hands to Plotly."""
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', path.read_text())
    assert found
    return json.loads(found[1])


def text(page, selector: str) -> str:
    return " ".join(page.locator(selector).inner_text().split())


def fact(page, name: str) -> str:
    return text(page, f"[data-fact='{name}']")


def rows(page, table: str) -> list[list[str]]:
    return page.eval_on_selector_all(
        f"{table} tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    )


def trace(page, plot: str, number: int) -> dict:
    return page.evaluate(
        "([plot, number]) => { const t = document.getElementById(plot).data[number]; return {...t}; }", [plot, number]
    )


def place(page, number: int, row: int) -> tuple[float, float]:
    """Where on the screen a policy is drawn."""
    page.locator("#plot-archives").scroll_into_view_if_needed()
    return tuple(
        page.evaluate(
            """([number, row]) => {
                const plot = document.getElementById("plot-archives"), {_fullLayout: layout, data} = plot;
                const box = plot.getBoundingClientRect(), {xaxis: x, yaxis: y} = layout;
                return [box.left + x._offset + x.l2p(data[number].x[row]), box.top + y._offset + y.l2p(data[number].y[row])];
            }""",
            [number, row],
        )
    )


# What stands there


def test_the_numbers_are_those_of_the_summary(tabs, folders):
    for name in ("arm", "maze", "grid"):
        said = summary(folders[name])
        page = tabs(name)
        assert text(page, "h1") == f"{said['algo']} on {said['task']}"
        for key in ("task", "algo", "preset", "seed", "workers"):
            assert fact(page, key) == str(said[key])
        assert fact(page, "budget") == f"{said['budget']:,} evaluations"
        assert fact(page, "status") == f"finished in {duration(said['seconds']['total'])}"
        assert fact(page, "found-evaluations") == f"{said['evaluations']:,}"
        assert fact(page, "found-coverage") == f"{100 * said['coverage']:.1f} %"
        with (folders[name] / "metrics.csv").open(newline="") as file:
            last = list(csv.DictReader(file))[-1]
        assert fact(page, "found-qd_score") == f"{float(last['qd_score']):.2f}"
        assert fact(page, "found-novelty_archive_size") == f"{said['novelty_archive_size']:,}"
        learns, climbs = name == "arm", name != "grid"
        assert fact(page, "found-reward_archive_size") == (str(said["reward_archive_size"]) if climbs else "none")
        assert fact(page, "found-training_episodes") == (str(said["training_episodes"]) if learns else "none")
        assert fact(page, "found-failed") == "0"
        best = [row[1] for row in rows(page, "#areas")]
        assert best == [f"{reward:.3f}" if reward else "none" for reward in said["max_reward"]]
        spent = rows(page, "#spent .columns > div:last-child table")
        assert sum(int(row[1].replace(",", "")) for row in spent) == said["evaluations"]


def test_failed_evaluations_are_told_by_their_reasons(folder):
    change_summary(folder, failed_evaluations={"ValueError: <b>no</b>": 2, "took too long": 1})
    page = write_report(stax.load(folder), folder).path.read_text()
    assert '<span class="value" data-fact="found-failed">3</span>' in page
    assert "2 x ValueError: &lt;b&gt;no&lt;/b&gt;; 1 x took too long" in page


def test_areas_are_reached_when_the_ledger_says(tabs, folders):
    result = stax.load(folders["arm"])
    reward, area = result.ledger["reward"], result.ledger["reward_area"]
    page = tabs("arm")
    for number, row in enumerate(rows(page, "#areas")):
        assert row[0] == result.task.reward_areas[number].name
        kept = [*result.novelty_archive.id, *result.reward_archive.id]
        archived = max([0.0, *reward[(area == number) & np.isin(result.ledger["id"], kept)].tolist()])
        assert row[2] == (f"{archived:.3f}" if archived else "none")
        assert row[3] == str(np.count_nonzero(area == number))
        for share, said in zip((0.5, 0.8, 0.95), row[4:], strict=True):
            reached = np.flatnonzero((area == number) & (reward >= share))
            assert said == (f"{reached[0] + 1:,}" if len(reached) else "never")


def test_only_what_was_changed_is_said_to_be(tabs):
    page = tabs("arm")
    changed = text(page, ".changed >> nth=0")
    for words in ("task.view=end-effector", "population_size=40 (otherwise 100)", "descriptor_samples=1 (otherwise 5)"):
        assert words in changed
    assert "genome_bounds" not in changed
    assert "torch 2" in text(page, "#setup")
    assert "cores" in text(page, "#setup")
    page = tabs("grid")
    assert text(page, ".changed >> nth=0") == "All parameters are the preset's and the method's."


def test_an_interrupted_run_is_labelled(tabs, folders):
    said = summary(folders["stopped"])
    assert said["evaluations"] < 900
    page = tabs("stopped")
    assert fact(page, "status").startswith(f"interrupted after {said['evaluations']} of 900 evaluations")
    assert f"stax resume {folders['stopped']}" in fact(page, "status")
    assert fact(page, "found-coverage") == f"{100 * said['coverage']:.1f} %"


@pytest.mark.parametrize(
    ("name", "section", "words"),
    [
        ("maze", "learned", "serene compares behaviours by the task's ground truth and has no autoencoder."),
        ("maze", "best", "No policy was rewarded."),
        ("maze", "emitters", "No emitter was made: no policy was rewarded."),
        ("grid", "emitters", "map-elites has no emitters."),
        ("sliding", "found", "the task has no ground truth to count it on"),
        ("sliding", "course", "Without a ground truth there is no coverage."),
        ("sliding", "archives", "The task has no ground truth, so policies lie here by the two principal components"),
        ("sliding", "learned", "The task has no ground truth that the learned space could be compared with."),
        ("blind", "archives", "by the two principal components of their genomes, since nothing else was compared"),
        ("blind", "learned", "random compares nothing and has no autoencoder."),
        ("blind", "found", "policies, drawn at random"),
        ("given", "archives", "The task was given as an object, so it cannot be drawn here"),
        ("line", "archives", "Task 'line' has no picture to draw results over."),
    ],
)  # fmt: skip
def test_what_does_not_apply_is_said(name, section, words, pages):
    found = re.search(rf'<section id="{section}">(.*?)</section>', pages[name].read_text(), re.DOTALL)
    assert found
    plain = re.sub(r"<[^>]*>", " ", found[1]).replace("&#39;", "'")
    assert words in " ".join(plain.split())


# Plots


@pytest.mark.parametrize("name", ["arm", "maze", "grid", "plane", "line", "sliding", "given", "blind"])
def test_every_policy_of_the_archives_has_its_place(name, folders, pages):
    result = stax.load(folders[name])
    figure = figures(pages[name])["archives"]
    for drawn, archive in zip(figure["data"], (result.novelty_archive, result.reward_archive), strict=False):
        assert len(drawn["x"]) == len(drawn["y"]) == len(archive)
        if name in ("arm", "grid"):
            np.testing.assert_allclose(drawn["x"], archive.ground_truth[:, 0], atol=1e-5)
            np.testing.assert_allclose(drawn["y"], 1 - archive.ground_truth[:, 1], atol=1e-5)
        if name == "plane":
            np.testing.assert_allclose(drawn["x"], (archive.ground_truth[:, 0] + 1) / 2, atol=1e-4)
        if name == "line":
            np.testing.assert_allclose(drawn["y"], archive.reward, atol=1e-4)
    assert len(figure["layout"].get("images", [])) == (name in ("arm", "maze", "grid", "plane"))


def test_as_many_points_are_drawn_as_the_archives_have(tabs, folders):
    for name in ("arm", "maze", "sliding"):
        said = summary(folders[name])
        page = tabs(name)
        wanted = [said["novelty_archive_size"], said["reward_archive_size"]]
        assert [len(trace(page, "plot-archives", number)["x"]) for number in range(2)] == wanted
        # The start is a point, too.
        points = page.locator("#plot-archives .scatterlayer path.point").count()
        assert points == sum(wanted) + (name != "sliding")
        assert page.locator("#plot-archives .imagelayer image").count() == (name != "sliding")


def test_a_policy_tells_its_numbers(tabs, folders):
    result = stax.load(folders["arm"])
    archive = result.reward_archive
    # One that has no other near it.
    both = np.concatenate([result.novelty_archive.ground_truth, archive.ground_truth])
    apart = np.linalg.norm(archive.ground_truth[:, None] - both, axis=2)
    row = int(np.sort(apart, axis=1)[:, 1].argmax())
    page = tabs("arm")
    shown = rows(page, "#policy")
    best = final_policies(result).reward
    assert [float(line[1]) for line in shown] == pytest.approx(np.sort(best[best > 0])[::-1][:10], rel=1e-3)
    page.mouse.move(*place(page, 1, row))
    page.wait_for_selector("#plot-archives .hovertext")
    hover = page.locator("#plot-archives .hovertext").first.text_content()
    area = result.task.reward_areas[archive.reward_area[row]].name
    for words in (
        f"policy {archive.id[row]}",
        f"{archive.reward[row]:.4g}, {area}",
        f"parent {archive.parent[row]}",
        "emitter ",
    ):
        assert words in hover
    page.mouse.click(*place(page, 1, row))
    page.wait_for_selector("#policy dl")
    said = text(page, "#policy")
    assert said.startswith(f"Policy {archive.id[row]} ")
    for words in (f"reward {archive.reward[row]:.4g}", f"reward area {area}", f"steps {archive.steps[row]}", "novelty "):
        assert words in said
    assert said.endswith(f"stax replay {folders['arm']} {archive.id[row]} Back")
    page.get_by_role("button", name="Back").click()
    assert text(page, "#policy h3") == "The highest rewards"


def test_a_box_around_policies_lists_them(tabs, folders):
    result = stax.load(folders["arm"])
    page = tabs("arm")
    page.locator("#plot-archives").scroll_into_view_if_needed()
    (left, top), (right, bottom) = page.evaluate(
        """() => {
            const plot = document.getElementById("plot-archives"), box = plot.getBoundingClientRect();
            const {xaxis: x, yaxis: y} = plot._fullLayout;
            return [[0, 0], [1, 1]].map(([a, b]) => [box.left + x._offset + x.l2p(a), box.top + y._offset + y.l2p(b)]);
        }"""
    )
    page.mouse.move(left - 2, top - 2)
    page.mouse.down()
    page.mouse.move((left + right) / 2, (top + bottom) / 2, steps=4)
    page.mouse.move(right + 2, bottom + 2, steps=4)
    page.mouse.up()
    page.locator("#policy h3", has_text="policies").wait_for()
    count = len(result.novelty_archive) + len(result.reward_archive)
    assert text(page, "#policy h3").startswith(f"{count} policies")
    page.locator("#policy .link").first.click()
    assert text(page, "#policy h3").startswith("Policy ")


def test_curves_end_where_the_run_ended_and_phases_fill_the_budget(tabs, folders):
    result = stax.load(folders["arm"])
    page = tabs("arm")
    coverage = trace(page, "plot-course", 0)
    assert (coverage["x"][-1], coverage["y"][-1]) == (900, pytest.approx(result.coverage, rel=1e-4))
    by_exploration = trace(page, "plot-course", 1)
    assert by_exploration["name"] == "coverage by exploration"
    assert by_exploration["y"][-1] <= coverage["y"][-1]
    for number, best in enumerate(result.max_reward):
        curve = trace(page, "plot-course", 2 + number)
        assert curve["name"] == result.task.reward_areas[number].name
        assert curve["y"][-1] == pytest.approx(best, rel=1e-4)
        assert np.all(np.diff(curve["y"]) >= 0)
    exploration, exploitation = (trace(page, "plot-course", 5 + number) for number in range(2))
    assert (exploration["name"], exploitation["name"]) == ("exploration", "exploitation")
    assert sum(exploration["width"]) == 900
    wanted = [row["phase"] == "exploitation" for row in result.metrics]
    assert exploitation["y"] == wanted
    assert exploration["y"] == [not exploits for exploits in wanted]
    assert 0 < sum(wanted) < len(wanted)


def test_emitters_are_drawn_and_sorted(tabs, folders):
    with (folders["sliding"] / "emitters.csv").open() as file:
        recorded = list(csv.DictReader(file))
    assert len(recorded) > 12
    page = tabs("sliding")
    drawn = page.evaluate(
        "document.getElementById('plot-emitters').data.filter(t => t.mode === 'markers').map(t => t.x.length)"
    )
    assert sum(drawn) == len(recorded)
    assert page.locator("#emitter-table tbody tr:visible").count() == 12
    page.get_by_role("button", name=f"Show all {len(recorded)}").click()
    assert page.locator("#emitter-table tbody tr:visible").count() == len(recorded)
    heads = [head.inner_text().strip() for head in page.locator("#emitter-table thead th").all()]
    for head, name in (("best reward", "best_reward"), ("born after", "born"), ("emitter", "id")):
        column = heads.index(head)
        button = page.locator("#emitter-table thead button").nth(column)
        for direction, descending in (("ascending", False), ("descending", True)):
            button.click()
            assert page.locator("#emitter-table thead th").nth(column).get_attribute("aria-sort") == direction
            assert page.locator(f"#emitter-table th[aria-sort='{direction}']").count() == 1
            shown = [float(row[column].replace(",", "")) for row in rows(page, "#emitter-table")]
            wanted = sorted((float(row[name]) for row in recorded), reverse=descending)
            assert shown == pytest.approx(wanted, abs=5e-4)
    page.locator("#emitter-table thead button").last.click()
    reasons = [row[-1] for row in rows(page, "#emitter-table")]
    assert reasons == sorted(reasons)


def test_emitters_were_last_seen_where_the_ledger_says(folders):
    result = stax.load(folders["sliding"])
    for row in emitters.emitter_histories(result).rows:
        mine = np.flatnonzero(result.ledger["emitter"] == row.emitter.id)
        assert row.last == mine[-1] + 1
        assert row.emitter.born == mine[0]


def test_emitters_that_are_none_are_refused(folders):
    result = stax.load(folders["sliding"])
    broken = replace(result.emitters[0], best_reward=None)
    with pytest.raises(stax.InvalidInputError, match="The list of emitters is damaged: best_reward of emitter 0 is None"):
        emitters.emitter_histories(replace(result, emitters=[broken]))


# Pictures


def test_the_best_policies_are_films_that_stop(tabs, folders):
    result = stax.load(folders["arm"])
    found = [number for number, reward in enumerate(result.max_reward) if reward]
    page = tabs("arm")
    captions = page.locator(".films figcaption").all_inner_texts()
    assert len(captions) == len(found) > 1
    for number, caption in zip(found, captions, strict=True):
        best = best_policy(result, number)
        assert caption.startswith(f"{result.task.reward_areas[number].name}: policy {best.id[0]}, reward {best.reward[0]:.3f}")
        assert f"stax replay {folders['arm']} {best.id[0]}" in caption
    moving, still = page.locator(".film .moving").first, page.locator(".film .still").first
    assert page.evaluate("image => image.naturalWidth", moving.element_handle()) == 280
    with Image.open(io.BytesIO(base64.b64decode(moving.get_attribute("src").partition(",")[2]))) as film:
        assert film.format == "GIF"
        assert film.n_frames > 20
    assert (moving.is_visible(), still.is_visible()) == (True, False)
    page.locator(".film").first.click()
    assert (moving.is_visible(), still.is_visible()) == (False, True)


def test_the_learned_space(tabs, folders):
    result = stax.load(folders["arm"])
    policies = final_policies(result)
    wanted = [descriptor_similarity(policies), random_similarity(result, result.task, policies)]
    page = tabs("arm")
    pictures = page.eval_on_selector_all(".pairs img", "images => images.map(image => image.naturalWidth)")
    assert pictures == [64] * 16
    errors = trace(page, "plot-errors", 0)
    assert errors["name"] == "validation error"
    assert len(errors["x"]) == result.training_episodes > 1
    assert errors["y"][-1] == pytest.approx(result.metrics[-1]["validation_error"], rel=1e-3)
    assert [row[1] for row in rows(page, "#nearness")] == [f"{found.similarity:.3f}" for found in wanted]
    page = tabs("sliding")
    vectors = trace(page, "plot-vectors", 0)
    assert vectors["name"].endswith(", observed")
    assert len(vectors["x"]) == 4


# For everybody


def test_light_and_dark(tabs):
    def colors() -> list[int]:
        """How light the page and the words of a plot are."""
        words = ", ".join(f"#plot-course .{kind}" for kind in ("ytick text", "y2tick text", "legendtext", "g-xtitle text"))
        found = page.evaluate(
            """words => [getComputedStyle(document.body).backgroundColor,
                         ...[...document.querySelectorAll(words)].map(element => getComputedStyle(element).fill)]""",
            words,
        )
        return [sum(map(int, re.findall(r"\d+", color)[:3])) for color in found]

    page = tabs("arm")
    ground, *words = colors()
    assert ground > 700
    assert len(words) > 8
    assert max(words) < 200
    page.emulate_media(color_scheme="dark")
    ground, *words = colors()
    assert ground < 100
    assert min(words) > 600
    page.emulate_media(color_scheme="light")


def test_a_phone_scrolls_in_one_direction(tabs):
    phone = tabs("arm", viewport=PHONE, is_mobile=True, has_touch=True)
    widths = phone.eval_on_selector_all(".plot", "plots => plots.map(plot => plot._fullLayout.width)")
    assert max(widths) <= PHONE["width"]
    # A finger on a plot scrolls the page.
    assert phone.evaluate("document.getElementById('plot-archives').layout.dragmode") is False
    assert text(phone, "#policy .hint") == "Tap a policy for its numbers."
    for page in (phone, tabs("sliding"), tabs("evil")):
        page.set_viewport_size(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        page.set_viewport_size(WINDOW)


def test_it_prints(tabs, tmp_path):
    page = tabs("arm")
    widths = "[...document.querySelectorAll('.plot')].map(plot => plot._fullLayout.width)"
    before = page.evaluate(widths)
    page.evaluate(f"window.addEventListener('beforeprint', () => {{ window.inked = {widths}; }}, {{once: true}})")
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    content = (tmp_path / "report.pdf").read_bytes()
    assert content[:5] == b"%PDF-"
    assert len(content) > 50_000
    assert max(page.evaluate("window.inked")) <= 660
    # They grow again as soon as the paper is gone.
    page.wait_for_timeout(300)
    assert page.evaluate(widths) == before
    page.emulate_media(media="print")
    assert page.locator(".film .still").first.is_visible()
    assert not page.locator("nav").is_visible()
    page.emulate_media(media="screen")


def test_names_from_strangers_do_no_harm(tabs):
    """They are shown as they are, in the page and in plots, and none of them is code, a tag or a link."""
    page = tabs("evil")
    assert page.evaluate("window.harmed") is None
    assert text(page, "h1") == f"stax on {EVIL}"
    assert [row[0] for row in rows(page, "#areas")] == [LINK, "</script><script>window.harmed = 3</script>"]
    assert page.locator("a[href^='http'], img[src='x'], section script").count() == 0
    assert page.evaluate(
        "[...document.querySelectorAll('#plot-course .legendtext')].some(e => e.textContent.startsWith('<b>bold</b> <a href='))"
    )
    page.mouse.move(*place(page, 0, 0))
    page.wait_for_selector("#plot-archives .hovertext")
    assert page.evaluate("window.harmed") is None


def test_no_button_sends_anything_anywhere(tabs):
    """Plotly's own list of buttons has one that does."""
    page = tabs("arm")
    names = page.eval_on_selector_all(".modebar-btn", "buttons => [...new Set(buttons.map(button => button.dataset.title))]")
    assert names == ["Download plot as a PNG", "Zoom", "Pan", "Box Select", "Lasso Select", "Zoom in", "Zoom out", "Reset axes"]
    page.locator("#plot-course").hover()
    with page.expect_download() as download:
        page.locator("#plot-course .modebar-btn").first.click()
    assert Path(download.value.path()).read_bytes()[:4] == b"\x89PNG"


def test_the_page_names_no_other_place(pages):
    for path in pages.values():
        own = re.sub(r"<script>.*?</script>", "", path.read_text(), flags=re.DOTALL)
        own = re.sub(r"data:image/[a-z]+;base64,[A-Za-z0-9+/=]*", "", own)
        assert not re.search(r"(src|href)\s*=\s*[\"']?\s*(https?:)?//", own)
        assert "@import" not in own
        assert "url(" not in own


def test_figures_are_what_plotly_knows(pages):
    """It checks every name and value of a figure, which its JavaScript does not."""
    from plotly.graph_objects import Figure

    for name in ("arm", "sliding", "line", "stopped"):
        for figure in figures(pages[name]).values():
            Figure(figure)


# Large runs


def many(count: int) -> PolicySet:
    rng = np.random.default_rng(0)
    whole = {name: np.zeros(count, np.int64) for name in ("parent", "born", "origin", "emitter", "steps")}
    numbers = {name: rng.random(count) for name in ("reward", "novelty", "surprise")}
    return PolicySet(
        id=np.arange(count),
        genome=np.zeros((count, 2)),
        ground_truth=rng.random((count, 2)),
        snapshots=np.zeros((count, 1, 1)),
        descriptor=np.zeros((count, 2)),
        reward_area=rng.integers(-1, 3, count),
        **whole,
        **numbers,
    )


def test_of_a_large_archive_a_sample_is_drawn_with_the_best_of_each_area(tasks):
    policies = many(20_000)
    drawn = archives.drawn(policies)
    assert len(drawn) == archives.MOST_POINTS
    assert len(set(drawn.id.tolist())) == len(drawn)
    for area in range(3):
        rewards = np.where(policies.reward_area == area, policies.reward, -1)
        assert int(rewards.argmax()) in drawn.id
    assert archives.drawn(drawn) is drawn
    result = SimpleNamespace(novelty_archive=policies, reward_archive=many(7000), task=tasks["redundant-arm"])
    picture = archives.archive_picture(result, "")
    assert "6,000 of the novelty archive's 20,000 policies are drawn" in picture.about
    assert len(json.dumps([picture.figure, picture.policies])) < 2_500_000


def test_of_many_chunks_several_are_drawn_together():
    rows = [{"evaluations": 100 * (row + 1), "phase": "exploitation" if row % 2 else "exploration"} for row in range(5000)]
    exploration, exploitation = course._phases(SimpleNamespace(metrics=rows, evaluations=500_000))
    assert len(exploration["x"]) == course.MOST_CHUNKS
    assert sum(exploration["width"]) == 500_000
    np.testing.assert_allclose(np.add(exploration["y"], exploitation["y"]), 1, atol=1e-4)
    assert np.average(exploitation["y"], weights=exploitation["width"]) == pytest.approx(0.5, abs=1e-3)


# Words


def test_words():
    assert [duration(seconds) for seconds in (0.04, 9.96, 59.4, 61, 3599, 7300)] == [
        "0.0 s", "10 s", "59 s", "1 min 1 s", "59 min 59 s", "2 h 1 min",
    ]  # fmt: skip
    assert numbers(np.array([1 / 3, np.nan, np.inf])) == [0.33333, None, None]
    assert numbers(np.array([3, -1])) == [3, -1]
    assert [value_words(value) for value in (None, True, 0.25, (1.0, "x"), "y")] == ["none", "true", "0.25", "1, x", "y"]
    assert plot_words("a<b>&") == "a&lt;b&gt;&amp;"
    assert len(plot_words("x" * 1000)) == 40


# The command


def test_the_command_writes_one_file_and_prints_its_path(folder, tmp_path, capsys):
    code, written, said = report(capsys, folder)
    assert (code, written) == (0, f"{folder / 'report.html'}\n")
    assert len(said) == 1
    assert re.fullmatch(r"stax: \d\.\d MB; it opens in any browser and needs nothing else", said[0])
    first = (folder / "report.html").read_bytes()
    out = tmp_path / "deep" / "er.htm"
    assert report(capsys, folder, "--out", out, "--quiet") == (0, f"{out}\n", [])
    # The same run gives the same page.
    assert out.read_bytes() == first
    assert [path.name for path in out.parent.iterdir()] == ["er.htm"]


def test_code_of_others_runs_only_if_it_is_trusted(folders, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert report(capsys, folders["sliding"], "--out", out, "--quiet") == (0, f"{out}\n", [])
    why = "The task is code of the run&#39;s maker, &#39;drawn_tasks:SlidingTask&#39;, which draws only if you trust it"
    assert out.read_text().count(why) == 3
    assert "data:image/gif" not in out.read_text()
    assert report(capsys, folders["sliding"], "--out", out, "--quiet", "--trust") == (0, f"{out}\n", [])
    assert why not in out.read_text()
    assert "data:image/gif" in out.read_text()
    assert " --trust</code>" in out.read_text()


def test_a_task_that_fails_to_draw_costs_its_pictures_alone(folders, tmp_path, capsys):
    folder = Path(shutil.copytree(folders["plane"], tmp_path / "run"))
    config = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text(config.replace("report_tasks:PlaneTask", "report_tasks:LostPlaneTask"))
    code, written, said = report(capsys, folder, "--trust", "--quiet")
    assert (code, written) == (0, f"{folder / 'report.html'}\n")
    assert len(said) == 1
    assert said[0].startswith("stax: warning: Drawing the task failed: KeyError: 'the map is lost' (report_tasks.py, line ")
    assert "the map is lost" in (folder / "report.html").read_text()


def test_a_task_given_as_an_object_is_drawn_in_python(folders, tmp_path):
    result = stax.load(folders["given"], task=stax.make_task("redundant-arm"))
    page = write_report(result, folders["given"], tmp_path / "page.html").path.read_text()
    assert "given as an object" not in page
    assert "Where policies end, on the task as an episode finds it" in page
    assert "stax replay" not in page.rpartition("<script>")[0].partition('<script type="application/json"')[0]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("running", "was killed after "),
        ("failed", "failed after "),
    ],
)
def test_runs_without_a_result_are_refused(status, words, folder, capsys):
    change_summary(folder, status=status, error="the simulator is not connected")
    code, written, said = report(capsys, folder)
    assert (code, written, len(said)) == (2, "", 1)
    assert said[0].startswith(f"stax: The run in {str(folder)!r} {words}")
    assert not (folder / "report.html").exists()


def test_a_run_that_is_still_going_is_refused(folder, capsys):
    from filelock import FileLock

    change_summary(folder, status="running")
    with FileLock(folder / ".lock"):
        code, _, said = report(capsys, folder)
    assert code == 2
    assert "is still going (" in said[0]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "ledger.parquet").unlink(), "The run in {folder!r} was interrupted after "),
        (lambda folder: (folder / "metrics.csv").unlink(), "The run in {folder!r} was interrupted after "),
        (lambda folder: (folder / "archives" / "novelty.npz").unlink(), "The run in {folder!r} was interrupted after "),
        (lambda folder: (folder / "config.toml").unlink(), "{folder!r} is not a run folder: it has no config.toml."),
        (lambda folder: (folder / "metrics.csv").write_text("evaluations,phase\n9,exploration\n3,exploration\n"), "The table of metrics is damaged: "),
        (lambda folder: change_summary(folder, coverage=0.9), "Summary and ledger of {folder!r} do not belong together: coverage is [0.9]"),
        (lambda folder: change_summary(folder, max_reward=[0.0]), "The summary '{folder}/summary.json' is damaged: max_reward is [0.0]"),
        (lambda folder: change_summary(folder, seconds={"total": float("nan")}), "The summary '{folder}/summary.json' is damaged: seconds is "),
        (lambda folder: shutil.rmtree(folder), "There is no run folder {folder!r}."),
    ],
)  # fmt: skip
def test_damaged_folders_are_refused_and_nothing_is_left(damage, message, folder, capsys):
    damage(folder)
    code, written, said = report(capsys, folder)
    assert (code, written, len(said)) == (2, "", 1)
    assert said[0].startswith(f"stax: {message.format(folder=str(folder))}")
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("page.pdf", "The suffix of the file must be one of '.html', '.htm', not '.pdf'."),
        ("folder.html", "The file 'folder.html' cannot be written: it is a folder."),
        ("notes.txt/page.html", "The file 'notes.txt/page.html' cannot be written: a part of its path is not a folder."),
    ],
)
def test_a_file_that_cannot_be_written_is_told_before_any_work(out, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "notes.txt").write_text("important")
    before = sorted(tmp_path.rglob("*"))
    assert report(capsys, "no-run-at-all", "--out", out) == (2, "", [f"stax: {message}"])
    assert sorted(tmp_path.rglob("*")) == before


def test_an_older_page_stays_until_the_new_one_is_whole(folder, monkeypatch):
    (folder / "report.html").write_text("older")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    result = stax.load(folder)
    monkeypatch.setattr("stax.runs.files.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_report(result, folder)
    assert (folder / "report.html").read_text() == "older"
    assert not [path for path in folder.iterdir() if path.name.endswith(".part")]


def test_a_page_in_the_run_folder_does_not_lead_out_of_it(folder, tmp_path, capsys):
    (tmp_path / "mine.html").write_text("mine")
    (folder / "report.html").symlink_to(tmp_path / "mine.html")
    code, _, said = report(capsys, folder)
    assert code == 2
    assert "leads out of the run folder" in said[0]
    assert (tmp_path / "mine.html").read_text() == "mine"


def test_suffixes_in_capitals_are_fine(tmp_path):
    check_page(tmp_path / "PAGE.HTML")
