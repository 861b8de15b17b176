"""Benches run, and say what they have to say; no times are asserted."""

import json
import sys

import pytest

from unsnarl.bench import check, falling_sheet, paths, peers
from unsnarl.bench.result import BenchResult


@pytest.fixture
def no_peers(monkeypatch, tmp_path):
    monkeypatch.delenv("UNSNARL_PEERS", raising=False)
    monkeypatch.chdir(tmp_path)


def test_check_bench_on_small_sheets(no_peers):
    result = check.run(sizes=(1000, 4000))
    assert [row["sheet"] for row in result.rows] == ["tangled", "clean"] * 2
    for row in result.rows:
        assert (row["hits"] > 0) == (row["sheet"] == "tangled")
        assert row["ipctk verdict"] == ("intersects" if row["hits"] else "clean")
        assert row["unsnarl s"] > 0 and row["peak MiB"] > 0
    assert result.ratios["ipctk, tangled"] > 0
    assert result.ratios["pymeshlab, clean"] == peers.NOT_INSTALLED
    content = json.loads(json.dumps(result.to_dict()))
    assert set(content) == {"name", "rows", "ratios"}
    assert "skipped" in str(result)


def test_peers_run_elsewhere(monkeypatch, tmp_path):
    def run(text, timeout=60):
        script = tmp_path / "peer.py"
        script.write_text(text)
        return peers.run_peer(script, "1", timeout=timeout)

    monkeypatch.setenv("UNSNARL_PEERS", sys.executable)
    assert run("import sys; print('{\"seconds\": ' + sys.argv[1] + '}')") == {"seconds": 1}
    assert run("import no_such_peer") == peers.NOT_INSTALLED
    assert "ValueError: no" in run("raise ValueError('no')")
    assert run("import time; time.sleep(20)", 0.5) == "skipped: not done after 0.5 s"
    monkeypatch.setenv("UNSNARL_PEERS", str(tmp_path / "nowhere"))
    assert "nowhere" in run("")


@pytest.mark.parametrize("script", [peers.BLENDER, peers.NEWTON, peers.PYMESHLAB])
def test_scripts_of_peers_are_there(script):
    compile(script.read_text(), str(script), "exec")


def test_table():
    text = str(BenchResult("x", [{"a": 1, "b": 0.5, "c": None}], {"peer": 2.0, "other": "skipped: not installed"}))
    assert "0.5" in text and "-" in text and "skipped" in text


def test_paths_bench_on_small_tangles():
    small = [(600, {"layers": 3, "bumps": 3.0, "height": 0.1}, 154, 4, 34)]
    result = paths.run(table=small, copies=(1, 2))
    table, one, two = result.rows
    assert table["paper ms"] == 34 and table["segments"] > 0
    assert two["segments"] == 2 * one["segments"] and two["paths"] == 2 * one["paths"]


def test_falling_sheet_bench_on_small_sheets(no_peers):
    result = falling_sheet.run(sizes=(36, 144), frames=3)
    assert [row["vertices"] for row in result.rows] == [36, 144]
    for row in result.rows:
        assert row["hits"] == 0 and row["unsnarl s/frame"] > 0 and row["blender s/frame"] is None
    assert result.ratios["Blender, 144 vertices"] == result.ratios["Newton, 36 vertices"] == peers.NOT_INSTALLED
    assert result.ratios["unsnarl, time per vertex at 144 over 36"] > 0


def test_falling_sheet_beside_peers(monkeypatch, tmp_path):
    """Peers get the scene in a file, and are judged by the positions that they leave."""
    script = tmp_path / "peer.py"
    script.write_text(
        "import json, sys; import numpy as np; given = np.load(sys.argv[1]);"
        "np.save(sys.argv[2], given['x'] - [0, 0, float(len(sys.argv) > 3)]);"
        "print(json.dumps({'seconds': 7.0, 'frames': int(given['frames']) - 1}))"
    )
    monkeypatch.setenv("UNSNARL_PEERS", sys.executable)
    monkeypatch.setattr(falling_sheet, "BLENDER", script)
    monkeypatch.setattr(falling_sheet, "NEWTON", script)
    (row,) = falling_sheet.run(sizes=(144,), frames=2).rows
    assert row["blender s/frame"] == row["newton s/frame"] == 7.0 and row["newton frames"] == 1
    assert row["blender hits"] == 0 < row["newton hits"]  # left in the air; put through the sphere
