"""The server of `stax explore`: who may ask, what is answered, and what stays as it was."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from explored_tasks import EVIL
from explorer_server import Server, environment
from PIL import Image

import stax
from stax.cli.main import main
from stax.explorer.content import aligned, principal_components
from stax.explorer.packing import pack, unpack
from stax.runs.folder import RunFolder
from stax.runs.result import load


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")}


# Messages


def test_a_message_is_read_as_it_was_packed():
    arrays = {
        "a": np.arange(6.0).reshape(2, 3),
        "b": np.array([True, False]),
        "c": np.array([3, -1]),
        "d": np.empty((0, 2), np.float32),
    }
    about, found = unpack(pack({"words": "é", "none": None}, arrays))
    assert about == {"words": "é", "none": None}
    assert found["b"].dtype == np.uint8
    assert found["c"].dtype == np.int32
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("message", [b"", b"\x05\0\0\0{}", b"\x02\0\0\0[]", pack({}, {"a": np.zeros(4)})[:-8]])
def test_a_damaged_message_is_one_sentence(message):
    with pytest.raises(stax.InvalidInputError, match="damaged"):
        unpack(message)


def test_principal_components_are_the_directions_of_the_largest_variance():
    places, center, directions = principal_components(
        np.array([[1.0, 0, 5], [-1, 0, 5], [0, 3, 5], [0, -3, 5], [np.nan, 0, 0]])
    )
    np.testing.assert_allclose(center, [0, 0, 5], atol=1e-12)
    np.testing.assert_allclose(directions, [[0, 1, 0], [1, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(places[:4], [[0, 1], [0, -1], [3, 0], [-3, 0]], atol=1e-12)
    assert np.isnan(places[4]).all()


def test_aligned_places_are_turned_back():
    places = np.random.default_rng(0).normal(size=(20, 2))
    turned = places @ np.array([[0, -1], [-1, 0]])
    np.testing.assert_allclose(aligned(turned, places), places, atol=1e-12)


# Who may ask


def test_the_address_is_the_one_line_on_stdout(servers):
    address = servers("arm").address
    assert address.startswith("http://127.0.0.1:")
    assert len(address.rstrip("/").rpartition("/")[2]) >= 32


def test_a_page_needs_the_token(servers):
    server = servers("arm")
    assert server.ask()[0] == 200
    for path in ("/", "/api/runs", "/static/main.js", "/x" + server.root, "/" + "a" * 32 + "/", server.root.rstrip("/") + "x/"):
        assert server.ask(path)[0] == 403
    assert server.ask("/api/control", b"stop")[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "elsewhere.example"},
        {"Host": "127.0.0.1"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_another_site_is_refused_even_with_the_token(servers, headers):
    for path, body in (("", None), ("api/runs", None), ("api/runs/0/data", None), ("api/control", b"stop")):
        assert servers("arm").ask(path, body, **headers)[0] == 403


def test_answers_have_a_policy_and_no_cors_headers(servers):
    for path in ("", "static/main.js", "api/runs", "/nothing"):
        _, headers, _ = servers("arm").ask(path, Origin=f"http://{servers('arm').host}")
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert not any(name.startswith("access-control") for name in headers)


def test_the_server_listens_on_the_loopback_only(folders):
    from stax.explorer.server import listen

    with listen(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("name", ["..%2f..%2fserver.py", "%2fetc%2fpasswd", "server.py", "../server.py"])
def test_only_files_of_the_page_are_served(servers, name):
    assert servers("arm").ask(f"static/{name}")[0] == 404


# What is answered


@pytest.mark.parametrize("name", ["arm", "arm-ns", "noisy", "maze", "curling", "gym", "evil", "stopped"])
def test_the_numbers_are_those_of_the_folder(servers, folders, name):
    result = load(folders[name])
    about, arrays = servers(name).message("api/runs/0/data")
    assert (about["evaluations"], about["coverage"]) == (result.evaluations, result.coverage)
    assert (about["novelty_size"], about["reward_size"]) == (len(result.novelty_archive), len(result.reward_archive))
    assert about["max_reward"] == result.max_reward
    assert len(about["emitters"]) == len(result.emitters)
    np.testing.assert_array_equal(arrays["ledger.parent"], result.ledger["parent"])
    np.testing.assert_allclose(arrays["ledger.reward"], result.ledger["reward"], rtol=1e-6)
    kept = dict(zip(arrays["policy.id"].tolist(), arrays["policy.reward"].tolist(), strict=True))
    assert kept == {
        int(number): float(reward)
        for archive in (result.novelty_archive, result.reward_archive)
        for number, reward in zip(archive.id, archive.reward, strict=True)
    }
    assert ("policy.spread" in arrays) == (name == "noisy")
    if result.coverage is not None:
        assert about["curves"]["coverage"]["y"][-1] == result.coverage
        cells = np.unique(arrays["ledger.cell"][arrays["ledger.cell"] >= 0])
        assert len(cells) / about["grid_cells"] ** len(about["bounds"]) == result.coverage


def test_a_killed_run_is_read_from_its_checkpoint(copied, folders):
    folder = copied("arm")
    for name in ("ledger.parquet", "emitters.csv", "archives/novelty.npz", "archives/reward.npz", "autoencoder.safetensors"):
        (folder / name).unlink()
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps({**summary, "status": "running"}))
    server, whole = Server(folder), load(folders["arm"])
    try:
        about, arrays = server.message("api/runs/0/data")
        assert (about["source"], about["status"], about["evaluations"]) == ("checkpoint", "killed", whole.evaluations)
        assert about["novelty_size"] == len(whole.novelty_archive)
        assert {row["id"]: row["best_reward"] for row in about["emitters"]} == {
            one.id: one.best_reward for one in whole.emitters
        }
        np.testing.assert_array_equal(arrays["ledger.emitter"], whole.ledger["emitter"])
        policy = int(arrays["policy.id"][0])
        assert set(server.message(f"api/runs/0/seen/{policy}")[1]) == {"seen", "made"}
    finally:
        server.end()


def test_a_film_shows_the_policy(servers, folders):
    result = load(folders["maze"])
    policy = int(result.novelty_archive.id[3])
    about, arrays = servers("maze").message(f"api/runs/0/film/{policy}")
    assert about["differences"] == []
    assert about["steps"][0] == 0
    assert about["steps"][-1] == result.novelty_archive.steps[3]
    sprite = np.asarray(Image.open(io.BytesIO(arrays["png"].tobytes())))
    size, last = about["size"], len(about["steps"]) - 1
    states = result.task.trajectory(result.novelty_archive.genome[3])
    row, column = divmod(last, about["columns"])
    np.testing.assert_array_equal(
        sprite[row * size : (row + 1) * size, column * size : (column + 1) * size],
        result.task.render(states[-1], size, trail=states),
    )


def test_observations_and_reconstructions_are_those_of_the_run(servers, folders):
    result = load(folders["maze"])
    policy = result.novelty_archive.take([0])
    _, arrays = servers("maze").message(f"api/runs/0/seen/{int(policy.id[0])}")
    np.testing.assert_array_equal(arrays["seen"], result.task.observe(policy.rollouts())[0])
    made = np.round(255 * np.clip(result.space.reconstruct(policy.rollouts())[0], 0, 1)).astype(np.uint8)
    np.testing.assert_array_equal(arrays["made"], made)


def test_an_observation_as_a_question_finds_its_policy(servers, folders):
    result = load(folders["maze"])
    policy = result.novelty_archive.take([5])
    content = io.BytesIO()
    Image.fromarray(result.task.observe(policy.rollouts())[0, -1]).save(content, "PNG")
    _, arrays = servers("maze").message("api/runs/0/encode", content.getvalue())
    kept = stax.PolicySet.union([result.reward_archive, result.novelty_archive])
    found = result.find(picture=content.getvalue(), count=9)
    assert kept.id[arrays["near"]].tolist() == found.policies.id.tolist()
    assert int(policy.id[0]) in found.policies.id[found.distance == 0]
    _, decoded = servers("maze").message("api/runs/0/decode", json.dumps(policy.descriptor[0].tolist()).encode())
    np.testing.assert_array_equal(decoded["made"][-1], arrays["made"][0])


def test_a_selection_is_taken_away_as_parquet(servers, folders):
    result = load(folders["arm"])
    ids = result.novelty_archive.id[[4, 2]].tolist()
    table = pyarrow.parquet.read_table(
        io.BytesIO(servers("arm").ask("api/runs/0/selection.parquet", json.dumps(ids).encode())[2])
    )
    assert table["id"].to_pylist() == ids
    assert table["reward"].to_pylist() == result.novelty_archive.reward[[4, 2]].tolist()
    assert table["genome_3"].to_pylist() == result.novelty_archive.genome[[4, 2], 3].tolist()


def test_films_are_taken_away_as_a_gif(servers, folders):
    ids = load(folders["arm"]).novelty_archive.id[:2].tolist()
    with Image.open(io.BytesIO(servers("arm").ask("api/runs/0/films.gif", json.dumps(ids).encode())[2])) as film:
        assert film.format == "GIF"
        assert film.n_frames > 5


def test_kept_autoencoders_place_policies_as_they_did_then(servers, folders):
    about, arrays = servers("arm").message("api/runs/0/data")
    episodes = about["kept_episodes"]
    assert episodes == list(range(1, load(folders["arm"]).training_episodes + 1))
    _, last = servers("arm").message(f"api/runs/0/embedded/{episodes[-1]}")
    np.testing.assert_allclose(last["descriptor"], arrays["policy.descriptor"], rtol=1e-4, atol=1e-5)
    _, first = servers("arm").message("api/runs/0/embedded/1")
    assert not np.allclose(first["descriptor"], arrays["policy.descriptor"], rtol=1e-4)


# What is refused


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("api/runs/7/data", None, "There is no run 7"),
        ("api/runs/0/film/899999", None, "Only the genomes of policies in the two archives"),
        ("api/runs/0/decode", b"[1, 2]", "has 4 numbers, not 2"),
        ("api/runs/0/decode", b"{", "not JSON"),
        ("api/runs/0/encode", b"no picture", "no picture that can be read"),
        ("api/runs/0/selection.parquet", b"[]", "No policy is selected"),
        ("api/runs/0/selection.parquet", b'["<b>"]', "list of ids"),
        ("api/runs/0/films.gif", json.dumps(list(range(40))).encode(), "From 1 to 36 films"),
        ("api/runs/0/embedded/99", None, "000099.safetensors"),
        ("api/control", b"stop", "can only be watched"),
    ],
)
def test_a_request_that_makes_no_sense_is_one_sentence(servers, path, body, words):
    sentence = servers("arm").refusal(path, body)
    assert words in sentence
    assert "\n" not in sentence.strip()


def test_code_of_a_stranger_is_run_only_if_it_is_trusted(servers, folders):
    policy = int(load(folders["evil"]).novelty_archive.id[0])
    for path in ("scene", f"film/{policy}", f"seen/{policy}"):
        assert "--trust" in servers("evil").refusal(f"api/runs/0/{path}")
    assert len(servers("evil", trust=True).message(f"api/runs/0/film/{policy}")[0]["steps"]) == 10


def test_a_task_that_ends_its_process_harms_nothing_else(servers, folders):
    policy = int(load(folders["crashing"]).novelty_archive.id[0])
    server = servers("crashing", "arm", trust=True)
    assert "ended the process that draws" in server.refusal(f"api/runs/0/film/{policy}")
    assert server.message("api/runs/1/scene")[0]["extent"]


@pytest.mark.parametrize("file", ["ledger.parquet", "archives/novelty.npz", "summary.json"])
def test_a_damaged_folder_is_one_sentence(copied, file):
    folder = copied("arm-ns")
    (folder / file).write_bytes(b"nonsense")
    server = Server(folder)
    try:
        sentence = server.refusal("api/runs/0/data")
        assert Path(file).name in sentence
        assert "\n" not in sentence.strip()
    finally:
        server.end()


def test_nothing_is_written_into_the_folder(servers, folders):
    before = contents(folders["maze"])
    server = servers("maze")
    policy = int(server.message("api/runs/0/data")[1]["policy.id"][0])
    for path in ("scene", f"film/{policy}", f"seen/{policy}"):
        server.message(f"api/runs/0/{path}")
    assert contents(folders["maze"]) == before


# The command


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "There is no run folder 'nowhere'"),
        (["."], "The folder '.' is empty"),
        (["RUN", "--port", "70000"], "must be a whole number of at most 65,535"),
        (["RUN"] * 7, "From 1 to 6 runs"),
        (["RUN", "--freeze", "page.txt"], "must end with .html"),
    ],
)
def test_wrong_usage_is_one_sentence(folders, tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    given = [str(folders["arm-ns"]) if word == "RUN" else word for word in arguments]
    try:
        code = main(["explore", *given, "--no-open"])
    except SystemExit as exit_:
        code = exit_.code
    said = capsys.readouterr()
    assert code == 2
    assert words in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_a_port_in_use_is_one_sentence(servers, folders, capsys):
    port = servers("arm").host.rpartition(":")[2]
    priority = os.nice(0)
    assert main(["explore", str(folders["arm-ns"]), "--no-open", "--port", port]) == 2
    assert f"The port {port} cannot be used" in capsys.readouterr().err
    # Only a server that serves gives way to other processes.
    assert os.nice(0) == priority


def test_the_server_ends_with_its_worker(folders):
    server = Server(folders["arm"])
    server.message("api/runs/0/scene")
    found = subprocess.run(["ps", "-eo", "ppid,pid,args"], capture_output=True, text=True, check=True).stdout.splitlines()
    workers = [
        int(line.split()[1]) for line in found if line.split()[0] == str(server.process.pid) and "explorer.worker" in line
    ]
    assert len(workers) == 1
    assert server.end() == 0
    time.sleep(0.5)
    with pytest.raises(ProcessLookupError):
        os.kill(workers[0], 0)


# A run that is explored


class Run:
    """`stax run --explore`, with a page that follows it."""

    def __init__(self, folder: Path, *more: str) -> None:
        command = [
            sys.executable,
            "-m",
            "stax",
            "run",
            "redundant-arm",
            "--explore",
            "--algo",
            "ns",
            "--out",
            str(folder),
            "--workers",
            "1",
            *more,
        ]
        self.folder = folder
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment()
        )
        assert self.process.stderr
        for line in self.process.stderr:
            if "page: " in line:
                self.server = Server.__new__(Server)
                self.server.find(line.split("page: ")[1].strip())
                threading.Thread(target=self._drop_what_is_said, daemon=True).start()
                return
        raise AssertionError("the run has no page")

    def _drop_what_is_said(self) -> None:
        with self.process.stderr as stream:
            stream.read()

    def wait(self) -> int:
        """Wait for the end of the run, and return its exit code. Its server waits longer for somebody to open the page."""
        return self.process.wait(timeout=300)

    def evaluations(self) -> int:
        return int(RunFolder(self.folder).summary().get("evaluations", 0))


def digests(folder: Path) -> dict[str, bytes]:
    result = load(folder)
    archives = {name: result.novelty_archive.columns()[name].tobytes() for name in ("id", "genome", "novelty")}
    return {**archives, **{name: column.tobytes() for name, column in result.ledger.items()}}


def test_an_explored_run_is_paused_resumed_and_has_the_same_bits(tmp_path, folders):
    budget = ["--budget", "15000", "--seed", "3"]
    run = Run(tmp_path / "watched", *budget)
    run.server.ask("api/control", b"pause")
    time.sleep(2)
    paused = run.evaluations()
    run.server.ask("api/runs/0/data")
    time.sleep(2)
    assert run.evaluations() == paused < 15000
    assert run.server.refusal("api/control", b"obey").startswith("A run can be asked to pause, resume, stop")
    run.server.ask("api/control", b"resume")
    assert run.wait() == 0
    stax.run("redundant-arm", algo="ns", budget=15000, seed=3, workers=1, out=tmp_path / "alone")
    assert digests(tmp_path / "watched") == digests(tmp_path / "alone")


def test_an_explored_run_is_stopped_and_can_be_resumed(tmp_path, folders):
    run = Run(tmp_path / "run", "--budget", "400000")
    run.server.ask("api/control", b"stop")
    assert run.wait() == 130
    assert RunFolder(run.folder).summary()["status"] == "interrupted"


def test_a_run_goes_on_when_its_server_is_killed_even_if_it_was_paused(tmp_path, folders):
    run = Run(tmp_path / "run", "--budget", "20000")
    run.server.ask("api/control", b"pause")
    found = subprocess.run(["ps", "-eo", "ppid,pid,args"], capture_output=True, text=True, check=True).stdout.splitlines()
    (server,) = [
        int(line.split()[1]) for line in found if line.split()[0] == str(run.process.pid) and "explorer.control" in line
    ]
    os.kill(server, signal.SIGKILL)
    assert run.wait() == 0
    assert RunFolder(run.folder).summary()["status"] == "finished"


def test_names_are_escaped_nowhere_and_packed_as_they_are(servers):
    assert servers("evil").message("api/runs/0/data")[0]["areas"][0]["name"] == EVIL
