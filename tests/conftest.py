"""Fixtures that all tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

if "PYTEST_XDIST_WORKER" in os.environ:  # one process a core: their threads would only wait for each other
    os.environ.setdefault("UNSNARL_THREADS", "1")

settings.register_profile("same", derandomize=True)  # what passed once passes again; `make fuzz` takes new examples
settings.load_profile("same")

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real meshes beside the project; tests that need it are skipped where it is missing."""
    if not DATA.is_dir():
        pytest.skip(f"real meshes are not here: {DATA.name} folder beside the project is missing")
    return DATA


@pytest.fixture
def fake(monkeypatch):
    """Simulations are done by a fake simulator, which is returned."""
    from tests.simulation.fake import FakeSimulator

    monkeypatch.setattr("unsnarl.simulation.simulate.Simulator", FakeSimulator)
    return FakeSimulator
