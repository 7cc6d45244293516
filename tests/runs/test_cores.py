"""Everybody uses the number of cores that a run was given."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from threadpoolctl import threadpool_info

import stax
from stax.runs.cores import sharing_cores


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("workers", [1, 2])
def test_task_blas_and_torch_share_the_cores_of_a_run_and_get_theirs_back(workers):
    task = stax.make_task("redundant-arm", threads=3)
    before = blas_threads(), torch.get_num_threads()
    with sharing_cores(task, workers=workers, learns=True):
        assert task.threads == workers
        # A pool never has more threads than the machine has cores.
        assert max(blas_threads()) <= workers
        assert torch.get_num_threads() == workers
    assert task.threads == 3
    assert (blas_threads(), torch.get_num_threads()) == before


def test_a_run_gives_its_workers_to_all_of_them():
    seen = []

    class Looking(stax.Callback):
        def after_chunk(self, search):
            seen.append((search.task.threads, torch.get_num_threads(), max(blas_threads())))

    stax.run("redundant-arm", algo="stax-nt", budget=30, population_size=10, workers=1, seed=0, callbacks=[Looking()])
    assert set(seen) == {(1, 1, 1)}


def test_importing_stax_lets_idle_threads_sleep_unless_told_otherwise():
    def policy(**environment: str) -> str:
        kept = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
        command = [sys.executable, "-c", "import stax, os; print(os.environ['OMP_WAIT_POLICY'])"]
        done = subprocess.run(command, env={**kept, **environment}, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert policy() == "PASSIVE"
    assert policy(OMP_WAIT_POLICY="ACTIVE") == "ACTIVE"
