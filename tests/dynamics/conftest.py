"""Fixtures of the tests of dynamics."""

import pytest

from unsnarl.jit import use_threads


@pytest.fixture(autouse=True)
def threads():
    """Kernels that are called directly run on as many threads as simulations do."""
    use_threads()
