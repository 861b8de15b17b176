"""Motion in numbered files: patterns, folders, gaps, and frames that do not belong together."""

import numpy as np
import pytest

from tests.io.polygon_meshes import assert_same_but_positions, bits, polygon_mesh
from unsnarl.errors import BadInput
from unsnarl.io import Frames, read_frames, read_mesh, write_frames, write_mesh
from unsnarl.mesh import TriMesh

X = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
QUAD = polygon_mesh(X, [[0, 1, 2, 3]], groups={"front": [0]})
MOTION = np.stack([X + k / 3 for k in range(12)])


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    "pattern, first",
    [
        ("cloth_####.obj", "cloth_0000.obj"),
        ("cloth_%04d.ply", "cloth_0000.ply"),
        ("cloth.obj", "cloth_0000.obj"),
        ("%d.off", "0.off"),
        ("take1.###.final.OBJ", "take1.000.final.OBJ"),
        ("a_%03d.npz", "a_000.npz"),
    ],
)
def test_round_trip(tmp_path, pattern, first):
    write_frames(tmp_path / pattern, Frames(QUAD, MOTION))
    assert first in names(tmp_path) and len(names(tmp_path)) == 12
    for path in (tmp_path, tmp_path / pattern.replace("cloth.", "cloth_####.")):
        frames = read_frames(path)
        assert bits(frames.x) == bits(MOTION)
        assert frames.fps == 24
        assert frames.mesh.polygons.vertices.tolist() == [0, 1, 2, 3]
    assert bits(read_mesh(tmp_path / pattern.replace("cloth.", "cloth_####.")).x) == bits(MOTION[0])


def test_everything_of_the_first_file_goes_into_all(tmp_path):
    (tmp_path / "a.obj").write_text("# note\nv 0 0 0\nv 1 0 0\nv 0 1 0\ng front\nusemtl red\nf 1 2 3\n")
    mesh = read_mesh(tmp_path / "a.obj")
    write_frames(tmp_path / "b_##.obj", Frames(mesh, np.stack([mesh.x, mesh.x + 1])))
    text = (tmp_path / "b_01.obj").read_text()
    assert text == "# note\nv 1.0 1.0 1.0\nv 2.0 1.0 1.0\nv 1.0 2.0 1.0\ng front\nusemtl red\nf 1 2 3\n"
    assert_same_but_positions(read_frames(tmp_path / "b_%02d.obj").mesh, mesh)


def test_one_frame_needs_no_number(tmp_path):
    write_frames(tmp_path / "cloth.obj", Frames(QUAD, MOTION[:1]))
    write_frames(tmp_path / "other_##.obj", Frames(QUAD, MOTION[:1]))
    assert names(tmp_path) == ["cloth.obj", "other_00.obj"]
    assert len(read_frames(tmp_path / "cloth.obj")) == 1


def test_numbers_without_zeros_are_sorted_as_numbers(tmp_path):
    for k in range(12):
        write_mesh(tmp_path / f"f{k}.obj", QUAD.moved(MOTION[k]))
    for path in (tmp_path, tmp_path / "f%d.obj"):
        assert bits(read_frames(path).x) == bits(MOTION)


def test_even_steps_are_frames_and_gaps_are_not(tmp_path):
    for k in (3, 5, 7, 11):
        write_mesh(tmp_path / f"f_{k:03d}.obj", QUAD.moved(MOTION[k]))
    for path in (tmp_path, tmp_path / "f_###.obj"):
        with pytest.raises(BadInput) as error:
            read_frames(path)
        assert str(error.value) == f"{path}: number 9 is missing"
    (tmp_path / "f_011.obj").unlink()
    assert bits(read_frames(tmp_path / "f_###.obj").x) == bits(MOTION[[3, 5, 7]])


def test_a_fold_that_is_cut_otherwise_is_the_same_polygon(tmp_path):
    """Cloth may fold a quad over, so that its triangles come out differently in that frame."""
    folded = X.copy()
    folded[1] = [0.4, 0.6, 0]
    assert polygon_mesh(folded, [[0, 1, 2, 3]]).faces.tolist() != QUAD.faces.tolist()
    write_frames(tmp_path / "f_##.obj", Frames(QUAD, np.stack([X, folded])))
    frames = read_frames(tmp_path / "f_##.obj")
    assert bits(frames.x) == bits(np.stack([X, folded]))
    assert np.array_equal(frames.mesh.faces, QUAD.faces)


@pytest.mark.parametrize("other", [polygon_mesh(X, [[0, 1, 2], [0, 2, 3]]), TriMesh(X[:3], [[0, 1, 2]])])
def test_another_mesh_among_the_frames_is_named(tmp_path, other):
    write_frames(tmp_path / "f_##.obj", Frames(QUAD, MOTION[:4]))
    write_mesh(tmp_path / "f_02.obj", other)
    with pytest.raises(BadInput) as error:
        read_frames(tmp_path / "f_##.obj")
    assert str(error.value) == f"{tmp_path / 'f_02.obj'}: has other vertices or faces than f_00.obj"


def test_a_damaged_frame_is_named(tmp_path):
    write_frames(tmp_path / "f_##.obj", Frames(QUAD, MOTION[:3]))
    (tmp_path / "f_01.obj").write_text("v 0 0\n")
    with pytest.raises(BadInput) as error:
        read_frames(tmp_path)
    assert str(error.value) == f"{tmp_path / 'f_01.obj'}: line 1: 3 numbers are needed, there are 2"


def test_frames_that_would_be_mixed_with_older_ones(tmp_path):
    write_frames(tmp_path / "f.obj", Frames(QUAD, MOTION[:5]))
    before = (tmp_path / "f_0000.obj").read_bytes()
    with pytest.raises(BadInput) as error:
        write_frames(tmp_path / "f.obj", Frames(QUAD, MOTION[5:8]))
    assert str(error.value).startswith(f"{tmp_path / 'f.obj'}: f_0003.obj is there already")
    assert (tmp_path / "f_0000.obj").read_bytes() == before
    write_frames(tmp_path / "f.obj", Frames(QUAD, MOTION[5:10]))
    assert bits(read_frames(tmp_path / "f_####.obj").x) == bits(MOTION[5:10])


def test_interruption_leaves_whole_files_only(tmp_path, monkeypatch):
    from unsnarl.io import obj

    whole = obj.write

    def interrupted(path, mesh):
        whole(path, mesh)
        if bits(mesh.x) == bits(MOTION[2]):
            path.write_bytes(path.read_bytes()[:10])
            raise KeyboardInterrupt

    monkeypatch.setattr(obj, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_frames(tmp_path / "f_##.obj", Frames(QUAD, MOTION[:5]))
    assert names(tmp_path) == ["f_00.obj", "f_01.obj"]
    assert bits(read_frames(tmp_path).x) == bits(MOTION[:2])


def test_a_file_whose_name_looks_like_a_pattern(tmp_path):
    write_mesh(tmp_path / "cloth_%d.obj", QUAD)
    write_mesh(tmp_path / "take#2.obj", QUAD)
    assert names(tmp_path) == ["cloth_%d.obj", "take#2.obj"]
    assert len(read_frames(tmp_path / "cloth_%d.obj")) == 1
    assert len(read_frames(tmp_path / "take#2.obj")) == 1


@pytest.mark.parametrize(
    "files, said",
    [
        ([], "found none"),
        (["shirt.obj", "notes_1.txt", ".hidden_1.obj"], "found none"),
        (["a_1.obj", "a_2.obj", "b_1.obj"], "found a_#.obj, b_#.obj"),
        (["a_1.obj", "a_1.ply"], "found a_#.obj, a_#.ply"),
        (["a_1.obj", "a_01.obj"], "a_01.obj and a_1.obj have the same number"),
    ],
)
def test_folders_without_one_sequence(tmp_path, files, said):
    for name in files:
        (tmp_path / name).write_text("")
    with pytest.raises(BadInput) as error:
        read_frames(tmp_path)
    assert str(error.value).startswith(f"{tmp_path}: ") and str(error.value).endswith(said)


@pytest.mark.parametrize("reader", [read_mesh, read_frames])
def test_a_pattern_without_files(tmp_path, reader):
    with pytest.raises(BadInput) as error:
        reader(tmp_path / "none" / "f_##.obj")
    assert str(error.value) == f"{tmp_path / 'none' / 'f_##.obj'}: there are no files with this pattern"
