"""Benches run, and say what they have to say; no times are asserted."""

import json

from unsnarl.bench import check, paths, peers
from unsnarl.bench.result import BenchResult


def test_check_bench_on_small_sheets(monkeypatch, tmp_path):
    monkeypatch.delenv("UNSNARL_PEERS", raising=False)
    monkeypatch.chdir(tmp_path)
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
    import sys

    monkeypatch.setenv("UNSNARL_PEERS", sys.executable)
    assert peers.run_peer("print('{\"seconds\": 1}')") == {"seconds": 1}
    assert peers.run_peer("import no_such_peer") == peers.NOT_INSTALLED
    assert "ValueError: no" in peers.run_peer("raise ValueError('no')")


def test_table():
    text = str(BenchResult("x", [{"a": 1, "b": 0.5, "c": None}], {"peer": 2.0, "other": "skipped: not installed"}))
    assert "0.5" in text and "-" in text and "skipped" in text


def test_paths_bench_on_small_tangles():
    small = [(600, {"layers": 3, "bumps": 3.0, "height": 0.1}, 154, 4, 34)]
    result = paths.run(table=small, copies=(1, 2))
    table, one, two = result.rows
    assert table["paper ms"] == 34 and table["segments"] > 0
    assert two["segments"] == 2 * one["segments"] and two["paths"] == 2 * one["paths"]
