"""The body's surface: closed, manifold, untangled, of the size that was asked for, and with a person's measures."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

import unsnarl as us
from unsnarl.errors import BadInput
from unsnarl.mesh import TriMesh
from unsnarl.mesh.primitives import box, sphere
from unsnarl.wardrobe import body
from unsnarl.wardrobe.body import character, girth
from unsnarl.wardrobe.coarsen import coarsened
from unsnarl.wardrobe.figure import FIGURE
from unsnarl.wardrobe.surface_nets import surface_nets


def volume(mesh):
    a, b, c = mesh.x[mesh.faces].transpose(1, 0, 2)
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6


def fans(mesh):
    """How many fans the corners make; each vertex has one where the surface is manifold."""
    corners = {}
    links = []
    for f, face in enumerate(mesh.faces.tolist()):
        for k in range(3):
            a, b = face[k], face[(k + 1) % 3]
            for end in (a, b):
                corner = 3 * f + face.index(end)
                other = corners.setdefault((min(a, b), max(a, b), end), corner)
                links.append((corner, other))
    n = mesh.faces.size
    return connected_components(coo_matrix((np.ones(len(links)), np.transpose(links)), shape=(n, n)), directed=False)[0]


def assert_closed_manifold(mesh):
    directed = np.concatenate([mesh.faces[:, [k, (k + 1) % 3]] for k in range(3)]).astype(np.int64)
    key, back = (directed @ w for w in ([len(mesh.x), 1], [1, len(mesh.x)]))
    assert len(np.unique(key)) == len(key)  # no edge twice the same way
    assert set(key.tolist()) == set(back.tolist())  # and each of them once the other way
    assert fans(mesh) == len(mesh.x)


def assert_good_body(triangles):
    mesh = character(triangles).mesh
    assert abs(len(mesh.faces) - triangles) <= 0.05 * triangles
    assert_closed_manifold(mesh)
    assert len(mesh.x) - len(mesh.edges) + len(mesh.faces) == 2
    assert mesh.vertex_component.max() == 0
    assert 0.060 < volume(mesh) < 0.080
    assert us.check(mesh).clean
    assert np.abs(FIGURE.distance(mesh.x)).max() < 1e-4
    sides = mesh.x[mesh.faces] - mesh.x[np.roll(mesh.faces, 1, axis=1)]
    quality = 4 * np.sqrt(3) * mesh.areas / (sides**2).sum(axis=(1, 2))  # 1 for an equilateral triangle
    assert quality.min() > 0.3
    assert quality.mean() > 0.9


@pytest.mark.parametrize("triangles", [3_000, 4_321, 12_000, 20_001])
def test_a_body_is_closed_untangled_and_has_the_triangles_asked_for(triangles):
    assert_good_body(triangles)


@pytest.mark.prove
@pytest.mark.parametrize("triangles", [3_001, 19_999, 20_000, 60_000, *np.geomspace(3_000, 59_999, 40).astype(int)])
def test_every_number_of_triangles_will_do(triangles):
    assert_good_body(int(triangles))


def test_surface_nets_are_manifold_whatever_the_signs():
    """Noise has every ambiguous case; well-composed values have none."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        noise = np.full((12, 12, 12), 1e-3)
        noise[1:-1, 1:-1, 1:-1] = 1e-3 * rng.uniform(-1, 1, (10, 10, 10))

        def distance(x, noise=noise):
            i = np.minimum(np.floor(x + 0.5).astype(int), 11)
            return noise[tuple(i.T)]

        x, faces = surface_nets(distance, (0, 0, 0), (11, 11, 11), 1.0)
        assert_closed_manifold(TriMesh(x, faces))


def test_surface_nets_of_a_ball_face_outwards_and_have_its_volume():
    ball = TriMesh(*surface_nets(lambda x: np.linalg.norm(x, axis=1) - 1, (-1.2,) * 3, (1.2,) * 3, 0.05))
    assert volume(ball) == pytest.approx(4 / 3 * np.pi, rel=0.01)


def test_coarsening_keeps_a_torus_a_torus():
    def distance(x):
        return np.hypot(np.hypot(x[:, 0], x[:, 1]) - 1.0, x[:, 2]) - 0.3

    def onto(x, steps=3):
        ring = x * [1, 1, 0] / np.hypot(x[:, 0], x[:, 1])[:, None]
        normals = (x - ring) / np.linalg.norm(x - ring, axis=1)[:, None]
        return ring + 0.3 * normals, normals

    x, faces = surface_nets(distance, (-1.5, -1.5, -0.5), (1.5, 1.5, 0.5), 0.06)
    mesh = TriMesh(*coarsened(x, faces, 800, onto, np.ones(len(x))))
    assert len(mesh.faces) == 800
    assert_closed_manifold(mesh)
    assert len(mesh.x) - len(mesh.edges) + len(mesh.faces) == 0


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("UNSNARL_THREADS", threads)
        body._fine.cache_clear()
        mesh = body._character.__wrapped__(3_000).mesh
        found.append((mesh.x.tobytes(), mesh.faces.tobytes()))
    assert found[0] == found[1]


MEASURES = {
    "chest": 0.95, "waist": 0.80, "hip": 0.98, "neck": 0.37, "bicep_left": 0.30, "wrist_left": 0.17,
    "thigh_left": 0.57, "calf_left": 0.37, "ankle_left": 0.24,
}  # fmt: skip


@pytest.mark.parametrize(("name", "length"), MEASURES.items())
def test_measures_are_those_of_a_person(name, length):
    person = character(12_000)
    joint = dict(zip(person.skeleton.names, person.skeleton.joints))
    along = {
        "neck": joint["head"] - joint["neck"],
        "bicep_left": joint["forearm_left"] - joint["upper_arm_left"],
        "wrist_left": joint["hand_left"] - joint["forearm_left"],
    }
    assert person.girth(name, along.get(name, (0, 1, 0))) == pytest.approx(length, rel=0.05)


def test_heights_and_stance():
    person = character(12_000)
    low, high = person.mesh.x.min(axis=0), person.mesh.x.max(axis=0)
    assert low[1] == pytest.approx(0, abs=1e-6)
    assert high[1] == pytest.approx(1.75, abs=0.005)
    assert low[0] == pytest.approx(-high[0], abs=0.003)
    assert high[2] > -low[2]  # feet point to the front
    assert person.landmarks["crotch"][1] == pytest.approx(0.80, abs=0.02)
    heights = np.arange(0.96, 1.20, 0.01)
    assert heights[np.argmin([person.girth((0, y, 0)) for y in heights])] == pytest.approx(1.08, abs=0.03)


def test_shoulders_slope_from_the_neck_to_the_arm():
    """A shirt hangs on this line: 1.48 m at the neck, falling to the shoulders' edge, 0.40 m from side to side."""
    across = np.arange(0.08, 0.25, 0.01)
    x, y, z = np.meshgrid(across, np.arange(1.30, 1.55, 0.001), np.arange(-0.06, 0.03, 0.01), indexing="ij")
    inside = FIGURE.distance(np.stack([x, y, z], axis=-1).reshape(-1, 3)).reshape(x.shape) < 0
    top = np.where(inside, y, 0).max(axis=(1, 2))
    assert top[0] == pytest.approx(1.48, abs=0.02)
    assert (np.diff(top) < 0.0005).all()
    slope = np.degrees(np.arctan(-np.diff(top) / np.diff(across)))
    edge = across[1:][np.argmax(slope > 40)]  # from here on it is the arm
    assert edge == pytest.approx(0.20, abs=0.025)


def test_both_halves_are_mirror_images():
    x = np.random.default_rng(3).uniform((-0.8, 0, -0.2), (0.8, 1.8, 0.3), (2_000, 3))
    np.testing.assert_allclose(FIGURE.distance(x), FIGURE.distance(x * [-1, 1, 1]), atol=1e-12)


def test_girth_of_what_is_known():
    assert girth(sphere(1.0, 20_000), (0, 0.1, 0)) == pytest.approx(2 * np.pi * np.sqrt(0.99), rel=1e-3)
    assert girth(box((1, 2, 3), (4, 4, 4)), (0, 0.1, 0)) == pytest.approx(8)
    assert girth(box((1, 2, 3), (4, 4, 4)), (0.1, 0, 0), (1, 0, 0)) == pytest.approx(10)


@pytest.mark.parametrize("triangles", [2_999, 60_001, 12_000.0, "many", None, True, float("nan")])
def test_a_wrong_number_of_triangles_is_bad_input(triangles):
    with pytest.raises(BadInput, match=r"3,000 to 60,000 triangles") as error:
        character(triangles)
    assert "\n" not in str(error.value)


def test_a_landmark_or_cut_that_is_not_there_is_bad_input():
    with pytest.raises(BadInput, match="no landmark 'tail'"):
        character(3_000).girth("tail")
    with pytest.raises(BadInput, match="nothing to measure"):
        character(3_000).girth((0, 3, 0))
    for at, normal in ((None, (0, 1, 0)), ((0, 1), (0, 1, 0)), ((0, np.nan, 0), (0, 1, 0)), ("waist", (0, 0, 0))):
        with pytest.raises(BadInput, match=r"a point must be|a normal must not"):
            character(3_000).girth(at, normal)
