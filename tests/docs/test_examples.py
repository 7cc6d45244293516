"""The files of examples/: every campaign is valid, and the environments of other packages can be searched as it says."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from optional_packages import need
from stax.cli.main import main
from stax.runs.campaign import fitted_runs, read_campaign
from stax.working_folder import code_allowed

EXAMPLES = Path(__file__).parents[2] / "examples"
NEEDED = {
    "door-key": "minigrid",
    **dict.fromkeys(("adroit-door", "ant-maze", "fetch-push", "point-maze"), "gymnasium_robotics"),
}
"""Package that an example needs."""


@pytest.fixture
def in_examples(monkeypatch):
    """Work in the folder of the examples, as their first lines say."""
    monkeypatch.chdir(EXAMPLES)


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.toml")))
def test_every_example_is_a_campaign(name, in_examples):
    if name in NEEDED:
        need(NEEDED[name])
    with code_allowed():
        campaign = read_campaign(Path(f"{name}.toml"))
        assert len(fitted_runs(campaign.runs)) == len(campaign.runs) > 0


@pytest.mark.parametrize("name", ["door-key"])
def test_an_environment_of_another_package_is_searched(name, in_examples, capsys, tmp_path):
    need(NEEDED[name])
    configuration = tomllib.loads((EXAMPLES / f"{name}.toml").read_text())
    small = tmp_path / "small.toml"
    small.write_text(
        f"tasks = {configuration['tasks']!r}\nalgos = ['ns']\nseeds = 1\nbudget = 12\n[parameters]\npopulation_size = 6\n"
        + (EXAMPLES / f"{name}.toml").read_text().partition("[parameters]\n")[2]
    )
    assert main(["campaign", str(small), "--out", str(tmp_path / "runs"), "--processes", "1", "--quiet"]) == 0, (
        capsys.readouterr().err
    )
    assert len(list((tmp_path / "runs").glob("*/archives/novelty.npz"))) == 1
