"""Hits on real meshes, against brute force in whole numbers."""

import numpy as np
import pytest

import unsnarl as us
from tests import oracles
from unsnarl.detect.edge_face import find_hits

QUICK = [
    "broken/soup.stl",
    "broken/busted.STL",
    "broken/two-cubes-far.ply",
    "broken/two-cubes-close.ply",
    "broken/two-cubes-intersecting.ply",
    "broken/rabbit.obj",
    "broken/monkey.glb",
    "broken/quadknot.obj",
    "broken/thick-cloth/t0.ply",
    "broken/thick-cloth/t1.ply",
    "garments/tshirt1900.obj",
    "garments/tshirt1900-folding-biFolded.obj",
    "garments/unisex_shirt.usd",
    "garments/dress-v5k-f10k.obj",
]
LONG = ["garments/cloth_ball92.ply"]
MOVING = [
    "makehuman_run_sit.npz",
    "makehuman_fly.npz",
    "mannequin_kick.npz",
    "CesiumMan.glb",
    "Fox.glb",
    "RiggedFigure.glb",
]

# From the data's own description: edge-face hits
KNOWN = {
    "garments/dress-v5k-f10k.obj": 317,
    "garments/tshirt1900.obj": 0,
    "garments/tshirt1900-folding-biFolded.obj": 55,
    "garments/cloth_ball92.ply": 62_655,
    "garments/unisex_shirt.usd": 0,
}


def assert_hits_are_exact(mesh):
    hits = find_hits(mesh)
    assert list(zip(hits.edge.tolist(), hits.face.tolist())) == oracles.hits_of(mesh.x, mesh.faces)
    return hits


@pytest.mark.parametrize("name", QUICK)
def test_small_meshes(data, name):
    hits = assert_hits_are_exact(us.read_mesh(data / name))
    assert len(hits) == KNOWN.get(name, len(hits))


@pytest.mark.prove
@pytest.mark.parametrize("name", LONG)
def test_large_meshes(data, name):
    hits = assert_hits_are_exact(us.read_mesh(data / name))
    assert len(hits) == KNOWN[name]


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_known_counts(data, name):
    assert len(find_hits(us.read_mesh(data / name))) == KNOWN[name]


@pytest.mark.prove
@pytest.mark.parametrize("name", MOVING)
def test_characters(data, name):
    frames = us.read_frames(data / "characters" / name)
    counts = [len(find_hits(frames[k])) for k in range(len(frames))]
    assert_hits_are_exact(frames[int(np.argmax(counts))])


@pytest.mark.parametrize("name", ["makehuman_run_sit.npz", "makehuman_fly.npz"])
def test_moving_bodies_are_clean_at_both_ends_only(data, name):
    frames = us.read_frames(data / "characters" / name)
    counts = [len(find_hits(frames[k])) for k in range(len(frames))]
    assert counts[0] == counts[-1] == 0
    assert max(counts) > 200


@pytest.mark.parametrize("name", [*QUICK, *LONG])
def test_verdict_is_ipctk_s(data, name):
    """Where the input is in general position: no four points that matter are coplanar, no vertices coincide."""
    ipctk = pytest.importorskip("ipctk")
    mesh = us.read_mesh(data / name)
    judge = ipctk.CollisionMesh(mesh.x, mesh.edges, mesh.faces)
    ours = len(find_hits(mesh)) > 0
    theirs = ipctk.has_intersections(judge, mesh.x)
    if ours != theirs:
        shaken = mesh.x + 1e-7 * mesh.diagonal * np.random.default_rng(0).standard_normal(mesh.x.shape)
        ours = len(find_hits(mesh, shaken)) > 0
        theirs = ipctk.has_intersections(judge, shaken)
    assert ours == theirs
