"""Plots show what was measured, in the colours and lines of their methods."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

import stax
from stax.analysis.comparison import compare_runs
from stax.analysis.comparison_plots import comparison_figures, coverage_figure, final_coverage_figure, reward_figure
from stax.analysis.recorded import find_runs
from stax.analysis.statistics import evaluation_grid
from stax.analysis.style import METHOD_COLORS, method_color, method_order, save_figure, short_number
from stax.search.methods import METHODS
from toy_tasks import NoTruthTask


@pytest.fixture(scope="module")
def compared(runs):
    return compare_runs(find_runs([runs]), against="ns")


@pytest.fixture(scope="module")
def task(compared):
    return compared.tasks[0]


def legend_of(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def band_of(collection) -> tuple[dict[float, float], dict[float, float]]:
    """Lower and upper edge of a filled band, by evaluations."""
    (path,) = collection.get_paths()
    low: dict[float, float] = {}
    high: dict[float, float] = {}
    for x, y in path.vertices:
        low[x], high[x] = min(low.get(x, y), y), max(high.get(x, y), y)
    return low, high


def test_coverage_over_evaluations(task):
    figure = coverage_figure([task])
    (axes,) = figure.axes
    assert axes.get_title() == "redundant-arm"
    assert legend_of(figure) == ["stax-nt", "serene", "ns"]
    grid = evaluation_grid(500)
    for line, band, group in zip(axes.lines, axes.collections, task.groups, strict=True):
        values = 100 * np.stack([curve.at(grid) for curve in group.coverage()])
        np.testing.assert_array_equal(line.get_xdata(), grid)
        np.testing.assert_allclose(line.get_ydata(), np.median(values, axis=0))
        assert line.get_label() == group.label
        assert to_hex(line.get_color()).upper() == METHOD_COLORS[group.group.algo].upper()
        assert line.is_dashed() is (group.label != "stax-nt")
        low, high = band_of(band)
        np.testing.assert_allclose([low[x] for x in grid], np.percentile(values, 10, axis=0))
        np.testing.assert_allclose([high[x] for x in grid], np.percentile(values, 90, axis=0))


def test_highest_reward_over_evaluations(task):
    figure = reward_figure([task])
    assert [axes.get_title() for axes in figure.axes] == [f"redundant-arm: {area}" for area in task.runs.areas]
    grid = evaluation_grid(500)
    for area, axes in enumerate(figure.axes):
        for line, group in zip(axes.lines, task.groups, strict=True):
            values = np.stack([curve.at(grid) for curve in group.max_reward(area)])
            np.testing.assert_allclose(line.get_ydata(), np.median(values, axis=0))
        low, high = axes.get_ylim()
        assert low < 0 < 1 < high


def test_coverage_at_the_end(task):
    (axes,) = final_coverage_figure([task]).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["stax-nt", "serene", "ns"]
    for place, (line, finding) in enumerate(zip(axes.lines, task.families[0], strict=True)):
        values = 100 * np.array(finding.values)
        np.testing.assert_allclose(line.get_ydata(), values)
        assert np.abs(np.asarray(line.get_xdata()) - place).max() < 0.5
        drawn = [segment for lines in axes.collections if hasattr(lines, "get_segments") for segment in lines.get_segments()]
        here = {round(float(segment[0, 1]), 9) for segment in drawn if abs(segment[:, 0].mean() - place) < 0.01}
        expected = {round(float(value), 9) for value in (np.median(values), values.min(), values.max())}
        assert expected <= here
    # Violins for five seeds, none for two.
    assert len([body for body in axes.collections if type(body).__name__ == "FillBetweenPolyCollection"]) == 2


def test_the_end_of_the_curves_is_what_the_table_says(task):
    axes = coverage_figure([task]).axes[0]
    for line, finding in zip(axes.lines, task.families[0], strict=True):
        assert line.get_ydata()[-1] == pytest.approx(100 * finding.spread.median)


def test_several_sets_of_parameters_of_one_method_are_told_apart(tmp_path):
    for chunk in (25, 50):
        for seed in (0, 1):
            settings = {"population_size": 12, "chunk_size": chunk, "workers": 1}
            stax.run("redundant-arm", algo="ns", budget=100, seed=seed, out=tmp_path / f"{chunk}-{seed}", **settings)
    compared = compare_runs(find_runs([tmp_path]))
    lines = coverage_figure(compared.tasks).axes[0].lines
    assert [line.get_label() for line in lines] == ["ns (chunk_size=25)", "ns (chunk_size=50)"]
    assert lines[0].get_color() != lines[1].get_color()
    assert [line.get_marker() for line in lines] == ["", "o"]


def test_many_tasks_and_tasks_without_coverage(compared, tmp_path):
    for seed in (0, 1):
        settings = {"population_size": 12, "workers": 1}
        stax.run(NoTruthTask(), algo="stax-nt", budget=40, seed=seed, out=tmp_path / f"run-{seed}", **settings)
    without = compare_runs(find_runs([tmp_path]))
    assert list(comparison_figures(without)) == ["reward-over-evaluations"]
    both = type(compared)(compared.tasks + without.tasks, [])
    figures = comparison_figures(both)
    assert list(figures) == ["coverage-over-evaluations", "coverage-at-the-end", "reward-over-evaluations"]
    assert len(figures["coverage-over-evaluations"].axes) == 1
    assert len(figures["reward-over-evaluations"].axes) == 3 + 2
    four = coverage_figure(compared.tasks * 4)
    assert len(four.axes) == 4
    assert legend_of(four) == ["stax-nt", "serene", "ns"]


def test_figures_are_written_twice_and_always_the_same(task, tmp_path):
    written = save_figure(coverage_figure([task]), tmp_path / "coverage")
    assert [path.name for path in written] == ["coverage.png", "coverage.pdf"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["coverage.pdf", "coverage.png"]
    assert written[0].read_bytes()[:4] == b"\x89PNG"
    assert written[1].read_bytes()[:4] == b"%PDF"
    (tmp_path / "again").mkdir()
    for one, other in zip(written, save_figure(coverage_figure([task]), tmp_path / "again" / "coverage"), strict=True):
        assert one.read_bytes() == other.read_bytes()


# Style

SEES = {
    "all": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}
"""Linear RGB as people see it who lack one kind of cones, after Machado, Oliveira and Fernandes (2009)."""
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(color, sight: str):
    red_green_blue = np.array(to_rgb(color))
    linear = np.where(red_green_blue <= 0.04045, red_green_blue / 12.92, ((red_green_blue + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(np.array(SEES[sight]) @ linear, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(one, other) -> float:
    return min(float(np.linalg.norm(lab(one, sight) - lab(other, sight))) for sight in SEES)


def test_every_method_has_its_colour_that_all_people_can_tell():
    assert list(METHOD_COLORS) == list(METHODS)
    dashed = [name for name, method in METHODS.items() if method.parameters.get("descriptor", "learned") != "learned"]
    solid = [name for name in METHODS if name not in dashed]
    # A difference of 2 can just be seen; lines need more.
    for group in (dashed, solid):
        for one, other in combinations(group, 2):
            assert difference(METHOD_COLORS[one], METHOD_COLORS[other]) > 18, (one, other)
    for one, other in product(dashed, solid):
        assert difference(METHOD_COLORS[one], METHOD_COLORS[other]) > 12, (one, other)


def test_shades_lines_and_numbers():
    shades = [method_color("stax", number) for number in range(5)]
    assert to_hex(shades[0]).upper() == METHOD_COLORS["stax"]
    for one, other in combinations(shades, 2):
        assert difference(one, other) > 10
    assert method_color("unheard of") == to_rgb("#33363d")
    assert METHODS["stax"].line_style == "solid"
    assert METHODS["ns"].line_style == "dashed"
    assert sorted(["ns", "unheard of", "stax (a=1)", "stax"], key=method_order) == ["stax", "stax (a=1)", "ns", "unheard of"]
    assert [short_number(value) for value in (0, 500, 1500, 20_000, 500_000, 2_500_000)] == [
        "0", "500", "1.5k", "20k", "500k", "2.5M",
    ]  # fmt: skip
