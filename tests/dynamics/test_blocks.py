"""Block rows times a vector, against numpy: rows of any length, none among them."""

import numpy as np
import pytest

from unsnarl.dynamics.blocks import row_product
from unsnarl.jit import kernel


@kernel
def products(values, column, p, start):
    out = np.empty((start.shape[0] - 1, 3))
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1], out[i, 2] = row_product(values, column, p, np.int64(start[i]), np.int64(start[i + 1]))
    return out


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_any_length(seed):
    rng = np.random.default_rng(seed)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, 9, 12) * rng.integers(0, 2, 12))]).astype(np.int32)
    blocks, p = rng.standard_normal((start[-1], 3, 3)), rng.standard_normal((7, 3))
    column = rng.integers(0, 7, start[-1]).astype(np.int32)
    found = products(np.ascontiguousarray(blocks.swapaxes(1, 2)), column, p, start)
    for i in range(12):
        row = slice(start[i], start[i + 1])
        expected = np.einsum("krc,kc->r", blocks[row], p[column[row]])
        assert found[i] == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_what_is_not_finite_stays_in_its_row():
    """The lane that is not looked at reads into the next column, and must not matter."""
    values, column, start = np.ones((3, 3, 3)), np.zeros(3, np.int32), np.arange(4, dtype=np.int32)
    values[1, 0, 0] = np.nan
    values[1, 2, 2] = np.inf
    found = products(values, column, np.ones((1, 3)), start)
    assert np.array_equal(found[[0, 2]], np.full((2, 3), 3.0))
    assert np.isnan(found[1, 0]) and found[1, 1] == 3.0 and found[1, 2] == np.inf
