"""Policies as modules of PyTorch and as ONNX files do what the search's own network does."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stax
from optional_packages import need
from rollout_samples import NAMES
from run_folders import QUICK
from stax.cli.main import main
from stax.ecosystem import export_policy, policy_module
from stax.policies import act, network_genome_size
from stax.runs.described_task import DescribedTask, describe_task
from stax.tasks.gymnasium_registration import ENVIRONMENTS
from toy_tasks import SquareTask

SIZES = st.lists(st.integers(1, 7), min_size=2, max_size=5).map(tuple)


class WheelTask(SquareTask):
    """A task of one's own that says what its six numbers are: a network of five inputs and one output."""

    policy_sizes = (5, 1)


@pytest.fixture(scope="session")
def arm(tmp_path_factory):
    """The folder of a small run of Redundant Arm."""
    folder = tmp_path_factory.mktemp("exported") / "arm"
    stax.run("redundant-arm", algo="serene", budget=200, seed=0, workers=1, out=folder, **{**QUICK, "checkpoint_seconds": 60})
    return folder


def actions(path, observations):
    onnxruntime = need("onnxruntime")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["action"], {"observation": observations})[0]


def drawn(sizes, seed, scale=3.0, count=7):
    rng = np.random.default_rng(seed)
    return rng.normal(scale=scale, size=network_genome_size(sizes)), rng.normal(scale=2.0, size=(count, sizes[0]))


@settings(max_examples=30, deadline=None)
@given(SIZES, st.integers(0, 10**6))
def test_a_module_acts_as_the_network_does(sizes, seed):
    import torch

    genome, observations = drawn(sizes, seed)
    module = policy_module(sizes, genome)
    expected = np.array([act(genome, sizes, row) for row in observations])
    np.testing.assert_allclose(module(torch.from_numpy(observations)).detach().numpy(), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(module(torch.from_numpy(observations[0])).detach().numpy(), expected[0], rtol=0, atol=1e-12)
    as_floats = module.float()(torch.from_numpy(observations)).detach()
    assert as_floats.dtype == torch.float32
    np.testing.assert_allclose(as_floats.numpy(), expected, rtol=0, atol=1e-4)


@settings(max_examples=20, deadline=None)
@given(SIZES, st.integers(0, 10**6))
def test_an_onnx_file_acts_as_the_network_does(tmp_path_factory, sizes, seed):
    need("onnx")
    genome, observations = drawn(sizes, seed)
    path = export_policy(sizes, genome, tmp_path_factory.mktemp("onnx") / "policy.onnx")
    expected = np.array([act(genome, sizes, row) for row in observations])
    found = actions(path, observations)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert actions(path, observations[:0]).shape == (0, sizes[-1])


@pytest.mark.parametrize("name", NAMES)
def test_policies_of_the_built_in_tasks(name, tasks, tmp_path):
    need("onnx")
    task = tasks[name]
    genome, observations = drawn(task.policy_sizes, 1, scale=1.0, count=200)
    assert task.genome_size == network_genome_size(task.policy_sizes)
    expected = np.array([act(genome, task.policy_sizes, row) for row in observations])
    for precision, tolerance in (("float64", 1e-12), ("float32", 1e-6)):
        path = export_policy(task, genome, tmp_path / precision / "policy.onnx", precision=precision)
        np.testing.assert_allclose(actions(path, observations.astype(precision)), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_an_exported_policy_reaches_the_recorded_end(name, tasks, tmp_path):
    """In the Gymnasium environment, step by step, from a file that knows nothing of the search."""
    onnxruntime = need("onnxruntime")
    need("onnx")
    task = tasks[name]
    genome = np.random.default_rng(4).normal(size=task.genome_size)
    rollout = task.evaluate(genome[None])
    session = onnxruntime.InferenceSession(export_policy(task, genome, tmp_path / "policy.onnx"))
    env = gymnasium.make(ENVIRONMENTS[name])
    observation, _ = env.reset()
    ended = False
    while not ended:
        seen = observation[None].astype(np.float64)
        observation, reward, ended, _, info = env.step(session.run(None, {"observation": seen})[0][0])
    env.close()
    assert info["steps"] == rollout.steps[0]
    np.testing.assert_allclose(info["ground_truth"], rollout.ground_truth[0], atol=1e-6)
    assert reward == pytest.approx(rollout.reward[0], abs=1e-4)


def test_a_module_can_be_trained_and_given_back():
    import torch

    sizes = (3, 4, 2)
    genome, observations = drawn(sizes, 0, scale=0.5, count=64)
    module = policy_module(sizes, genome)
    np.testing.assert_array_equal(module.genome(), genome)
    wanted = torch.tanh(torch.from_numpy(observations[:, :2]))
    optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    errors = []
    for _ in range(60):
        error = torch.nn.functional.mse_loss(module(torch.from_numpy(observations)), wanted)
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
        errors.append(float(error.detach()))
    assert errors[-1] < 0.3 * errors[0]
    # Biases are still shared, so a genome says all of it.
    trained = module.genome()
    found = module(torch.from_numpy(observations)).detach().numpy()
    np.testing.assert_allclose(found, np.array([act(trained, sizes, row) for row in observations]), atol=1e-12)


def test_policies_of_a_result_by_their_ids(arm, tmp_path):
    onnx = need("onnx")
    result = stax.load(arm)
    number = int(result.novelty_archive.id[2])
    np.testing.assert_array_equal(result.policy_module(number).genome(), result.novelty_archive.genome[2])
    path = result.export_policy(number, tmp_path / "policy.onnx")
    words = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    assert words == {"task": "redundant-arm", "algo": "serene", "seed": "0", "policy": str(number)}
    first = path.read_bytes()
    result.export_policy(number, path)
    assert path.read_bytes() == first
    with pytest.raises(stax.InvalidInputError, match="There is no policy 5000"):
        result.policy_module(5000)
    with pytest.raises(stax.InvalidInputError, match="policy must be a whole number of at least 0, not 'best'"):
        result.policy_module("best")


def test_the_command_exports(arm, tmp_path, capsys):
    need("onnx")
    result = stax.load(arm)
    number = int(result.novelty_archive.id[0])
    assert main(["export", str(arm), str(number)]) == 0
    said = capsys.readouterr()
    assert said.out == f"{arm / 'policies' / f'policy-{number}.onnx'}\n"
    assert f"policy {number}, reward" in said.err
    assert "a network of 20 x 5 x 5 x 20: input 'observation' (n, 20) and output 'action' (n, 20) of float64" in said.err
    target = tmp_path / "new" / "p.onnx"
    assert main(["export", str(arm), str(number), "--out", str(target), "--float32", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    observations = np.random.default_rng(0).normal(size=(9, 20))
    expected = [act(result.novelty_archive.genome[0], (20, 5, 5, 20), row) for row in observations]
    np.testing.assert_allclose(actions(target, observations.astype(np.float32)), expected, rtol=0, atol=1e-5)


def test_the_command_exports_the_best_of_an_area(tmp_path, capsys):
    need("onnx")
    out = tmp_path / "run"
    result = stax.run(WheelTask(), algo="serene", budget=300, seed=1, workers=1, out=out, **QUICK)
    archive = result.reward_archive.take(result.reward_archive.reward_area == 0)
    # The task is an object of this file: nothing of it is needed, since the folder tells its network.
    assert main(["export", str(out), "--best", "near", "--out", str(tmp_path / "best.onnx")]) == 0
    assert f"reward {archive.reward.max():.3f}, a network of 5 x 1:" in capsys.readouterr().err
    genome = archive.genome[archive.reward.argmax()]
    seen = np.arange(5.0) / 5
    np.testing.assert_allclose(actions(tmp_path / "best.onnx", seen[None])[0], act(genome, (5, 1), seen), atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Say which policy to export in one way: by ID or with --best AREA."),
        (["1", "--best", "upper left"], "in one way"),
        (["100000"], "There is no policy 100000: the run did 200 evaluations"),
        (["--best", "somewhere"], "There is no reward area 'somewhere'; there are 0 'lower left'"),
        (["1", "--out", "policy.pt"], "must end with .onnx, not 'policy.pt'"),
    ],
)
def test_bad_input_to_the_command(arm, capsys, arguments, words):
    assert main(["export", str(arm), *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert said.err.count("\n") == 1


def test_bad_input_is_told(tmp_path):
    genome = np.zeros(7)
    for call, words in [
        (
            lambda: policy_module(SquareTask(), np.zeros(6)),
            "task 'square' are not known to be networks: the task has no policy_sizes",
        ),
        (lambda: policy_module((2, 3), np.zeros(6)), "genomes must have 7 numbers a row, not 6"),
        (lambda: policy_module((2, 3), np.zeros((1, 7))), "genome must be one row of 7 numbers, the weights of layers (2, 3)"),
        (lambda: policy_module((2, 3), np.full(7, np.nan)), "genomes must be finite"),
        (lambda: policy_module((3,), genome), "at least two layers, inputs first, not (3,)"),
        (lambda: policy_module("hard-maze", genome), "not 'hard-maze'"),
        (lambda: policy_module((2, 0), genome), "not (2, 0)"),
        (lambda: export_policy((2, 3), genome, tmp_path / "policy.pt"), "must end with .onnx"),
        (
            lambda: export_policy((2, 3), genome, tmp_path / "p.onnx", precision="float16"),
            "precision must be one of 'float64', 'float32'",
        ),
    ]:
        with pytest.raises(stax.InvalidInputError) as raised:
            call()
        assert words in str(raised.value)


@pytest.mark.parametrize("sizes", [[-1, -62], [63], [5, 5, 5, 3], [0, 62]])
def test_networks_that_a_damaged_folder_describes(tmp_path, sizes):
    described = DescribedTask({**describe_task(stax.make_task("hard-maze")), "policy_sizes": sizes})
    with pytest.raises(stax.InvalidInputError):
        export_policy(described, np.zeros(63), tmp_path / "p.onnx")
