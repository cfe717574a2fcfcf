# SPDX-License-Identifier: Apache-2.0
"""Figures say what they were taken on, and the README's table follows from them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import kept
import take

pytestmark = pytest.mark.library

STAMP = {"cpu": "Z80", "cores": 2, "threads": 2, "wait_policy": "passive", "commit": "HEAD"}


def row(group="training", case="mlp", **stamp):
    medians = {"loomix": 0.0069, "mxnet": 0.0169, "torch": 0.00981}
    return {"group": group, "case": case, "medians": medians, "machine": {**STAMP, **stamp}}


@pytest.mark.skipif(kept.git("rev-parse", "HEAD") is None, reason="this is no clone: it has no commits")
def test_faults():
    assert kept.faults([row()]) == []
    assert kept.faults([row(commit="HEAD+changes")]) == [
        "training/mlp: was taken with changes that are not committed"
    ]
    unknown = kept.faults([row(commit="0123456789")])
    shallow = kept.git("rev-parse", "--is-shallow-repository") == "true"
    assert unknown == ([] if shallow else ["training/mlp: there is no commit '0123456789'"])
    old = row()
    del old["machine"]["threads"], old["machine"]["wait_policy"]
    assert kept.faults([old]) == ["training/mlp: does not say threads, wait_policy"]


def test_rows_are_kept_by_case(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "RESULTS", tmp_path / "results.json")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    kept.save(
        [{"group": "g", "case": "a", "medians": {"loomix": 1}}, {"group": "g", "case": "b", "medians": {}}]
    )
    kept.save([{"group": "g", "case": "a", "medians": {"loomix": 2}}])
    rows = {r["case"]: r for r in kept.load()}
    assert len(rows) == 2 and rows["a"]["medians"] == {"loomix": 2}
    assert rows["a"]["machine"]["threads"] == 1 and rows["a"]["machine"]["wait_policy"] == "active"
    kept.drop("g")
    assert kept.load() == []


def test_table():
    images = [row("images", f"image_record_iter_{n}", commit="abc") for n in (1, 2)]
    text = take.table([row(), *images])
    assert "batch 100 | 6.9 ms | 16.9 ms | 9.81 ms | `C training mlp` |" in text
    assert "| 9,300 / 9,300 | 3,800 / 3,800 |" in text
    assert "training: 2 cores, Z80, 2 threads, wait policy passive, commit HEAD." in text
    engine = [row("engine", f"one chain{end}") for end in ("", ", after an error")]
    engine[0]["medians"] = {"loomix": 5e-8, "mxnet": 1e-6}
    engine[1]["medians"] = {"loomix": 1e-7}
    assert "| 20 million / 10 million | 1 million |" in take.table(engine)
    assert "images: 2 cores, Z80, 2 threads, wait policy passive, commit abc." in text


def test_output_of_programs():
    engine = take.engine_rows(
        "one chain    median   20.000  min   1.0  max  3.0  M tasks/s\nnew_var  median 5 min 4 max 9 ns\n"
    )
    assert engine == {"one chain": pytest.approx(5e-8), "new_var": pytest.approx(5e-9)}
    comm = take.comm_rows(
        "tcp push   1024   1   26.0 us  38461 /s  0.32 Gbit/s\ntcp push  1024  16  5.0 us  1 /s  1 Gbit/s\n"
    )
    assert comm == {"tcp push, 1024 bytes": pytest.approx(26e-6)}
