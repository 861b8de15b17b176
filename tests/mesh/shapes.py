"""Meshes that the tests of `unsnarl.mesh` share: by hand, and at random."""

from itertools import permutations

import numpy as np
from hypothesis import strategies as st

TETRAHEDRON = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
BOW_TIE = [[0, 1, 2], [0, 3, 4]]
BOOK = [[0, 1, 2], [1, 0, 3], [0, 1, 4]]  # three pages on the edge (0, 1)
TRIPLES = list(permutations(range(8), 3))


def points(n, seed=0):
    """n scattered points (n, 3)."""
    return np.random.default_rng(seed).standard_normal((n, 3))


def grid(rows, columns):
    """A flat sheet of rows x columns squares, two faces each: x (n, 3), faces (m, 3)."""
    i, j = np.meshgrid(np.arange(rows + 1), np.arange(columns + 1), indexing="ij")
    x = np.stack([i, j, 0 * i], axis=-1).reshape(-1, 3).astype(float)
    a = (i * (columns + 1) + j)[:-1, :-1].ravel()
    c = a + columns + 2
    return x, np.stack([a, a + 1, c, a, c, c - 1], axis=1).reshape(-1, 3)


def moebius(squares):
    """A strip of an odd number of half turns (one): faces over 2 * squares vertices."""
    low = [2 * i for i in range(squares)] + [1]
    high = [2 * i + 1 for i in range(squares)] + [0]
    faces = []
    for i in range(squares):
        faces += [[low[i], low[i + 1], high[i + 1]], [low[i], high[i + 1], high[i]]]
    return faces


@st.composite
def soups(draw):
    """(n, faces): up to 20 faces over 3 to 8 vertices, in any order and winding, repeated ones among them."""
    n = draw(st.integers(3, 8))
    triple = st.sampled_from([t for t in TRIPLES if max(t) < n])
    faces = draw(st.lists(triple, min_size=1, max_size=20))
    return n, [list(face) for face in faces]


@st.composite
def sheets(draw):
    """(n, faces): some faces of a grid, wound and numbered at random: holes, bow ties, loose pieces."""
    x, faces = grid(draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    keep = draw(st.lists(st.booleans(), min_size=len(faces), max_size=len(faces)).filter(any))
    order = np.array(draw(st.permutations(range(len(x)))))
    faces = order[faces[keep]].tolist()
    turns = draw(st.lists(st.integers(0, 5), min_size=len(faces), max_size=len(faces)))
    return len(x), [[face[k] for k in list(permutations(range(3)))[turn]] for face, turn in zip(faces, turns)]


meshes = st.one_of(soups(), sheets())
