# SPDX-License-Identifier: Apache-2.0
"""im2rec, rec2dir and `python -m loomix rec`."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from loomix import __version__, recordio

pytestmark = pytest.mark.library

FIXTURES = Path(__file__).parent.parent / "compat" / "files" / "record"


def loomix(*arguments, returncode=0, cwd=None):
    """Runs ``python -m loomix``: what it printed to both outputs."""
    result = subprocess.run(
        [sys.executable, "-m", "loomix", *map(str, arguments)], capture_output=True, timeout=60, cwd=cwd
    )
    if b"is not part of this build" in result.stderr:
        pytest.skip("built without libcli11-dev")
    assert result.returncode == returncode, result.stderr.decode()
    return result.stdout, result.stderr.decode()


def records_of(path):
    with recordio.MXIndexedRecordIO(Path(path).with_suffix(".idx"), path, "r") as reader:
        return {key: reader.read_idx(key) for key in reader.keys}


def picture(seed, height=40, width=60):
    y, x = np.mgrid[:height, :width]
    return np.stack([(x * 3 + seed * 9) % 256, (y * 4) % 256, x + y], axis=2).astype(np.uint8)


def write_picture(path, seed, **size):
    path.parent.mkdir(parents=True, exist_ok=True)
    quality = 80 if path.suffix == ".jpg" else 1
    record = recordio.pack_img((0, 0, 0, 0), picture(seed, **size), quality, path.suffix)
    path.write_bytes(recordio.unpack(record)[1])


@pytest.fixture
def root(tmp_path):
    """cat: 6 pictures, dog: 5, dog/small: 1 and a broken one."""
    root = tmp_path / "root"
    for i in range(6):
        write_picture(root / "cat" / f"{i}.jpg", i)
    for i in range(5):
        write_picture(root / "dog" / f"{i}.png", i, height=70)
    write_picture(root / "dog" / "small" / "0.jpg", 9)
    (root / "dog" / "notes.txt").write_text("no picture")
    os.symlink("..", root / "dog" / "loop")
    return root


def test_folder_to_record_in_one_command(root, tmp_path):
    (root / "dog" / "small" / "broken.jpg").write_bytes(b"broken")
    out, err = loomix(
        "im2rec", tmp_path / "a", root, "--recursive", "--resize", 20, "--center-crop", "--num-thread", 3
    )
    assert b"cat 0\ndog 1\ndog/small 2\n" in out and b"a.rec: 12 records, 1 images skipped" in out
    assert "broken.jpg" in err and "13/13" in err
    lines = [line.split("\t") for line in (tmp_path / "a.lst").read_text().splitlines()]
    assert sorted(int(index) for index, _, _ in lines) == list(range(13))
    records = records_of(tmp_path / "a.rec")
    assert list(records) == [int(index) for index, _, path in lines if "broken" not in path]
    for index, label, path in lines:
        if "broken" not in path:
            header, pixels = recordio.unpack_img(records[int(index)])
            assert header == (0, float(label), int(index), 0) and pixels.shape == (20, 20, 3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.idx", "a.lst", "a.rec", "root"]


def test_shuffles_as_python_does(root, tmp_path):
    import random

    loomix("im2rec", "--list", "--recursive", tmp_path / "a", root)
    loomix("im2rec", "--list", "--recursive", "--no-shuffle", tmp_path / "b", root)
    lines = (tmp_path / "b.lst").read_text().splitlines()
    assert lines[0] == "0\t0.000000\tcat/0.jpg" and lines[-1] == "11\t2.000000\tdog/small/0.jpg"
    random.seed(100)
    random.shuffle(lines)
    assert (tmp_path / "a.lst").read_text().splitlines() == lines


def test_lists_of_chunks_and_parts(root, tmp_path):
    ratios = "--chunks", 2, "--train-ratio", 0.5, "--test-ratio", 0.2
    loomix("im2rec", "--list", "--recursive", *ratios, tmp_path / "a", root)
    counts = {p.name: len(p.read_text().splitlines()) for p in tmp_path.glob("*.lst")}
    assert counts == {
        f"a_{i}_{part}.lst": n for i in range(2) for part, n in (("test", 1), ("train", 3), ("val", 2))
    }
    loomix("im2rec", "--pass-through", tmp_path / "a", root)
    assert len(list(tmp_path.glob("*.rec"))) == 6


def test_passes_files_and_labels_through(root, tmp_path):
    (tmp_path / "m.lst").write_text("5\t1.5\t-2\tcat/1.jpg\n8\t3\t4\tdog/2.png\nnonsense\n")
    _, err = loomix("im2rec", "--pass-through", "--pack-label", tmp_path / "m", root)
    assert "m.lst, line 3" in err
    for key, path, labels in ((5, "cat/1.jpg", [1.5, -2]), (8, "dog/2.png", [3, 4])):
        header, content = recordio.unpack(records_of(tmp_path / "m.rec")[key])
        assert list(header.label) == labels and header.id == key and content == (root / path).read_bytes()


def test_arguments_of_the_other_im2rec(root, tmp_path):
    loomix("im2rec", "--list", "--recursive", tmp_path / "a", root)
    for i in range(3):
        loomix("im2rec", tmp_path / "a.lst", root, tmp_path / "o.rec", "unchanged=1", "nsplit=3", f"part={i}")
    loomix("im2rec", tmp_path / "a.lst", root, tmp_path / "o.rec", "resize=30", "encoding=.png", "color=0")
    parts = [recordio.MXRecordIO(tmp_path / f"o.rec.part{i:03d}", "r") for i in range(3)]
    loomix("im2rec", "--pass-through", tmp_path / "a", root)
    assert [r for part in parts for r in part] == list(records_of(tmp_path / "a.rec").values())
    assert recordio.unpack_img(next(iter(records_of(tmp_path / "o.rec").values())))[1].shape[0] == 30
    _, err = loomix("im2rec", tmp_path / "a.lst", root, tmp_path / "o.rec", "sharpen=1", returncode=2)
    assert "there is no option sharpen" in err


def test_a_run_without_records_leaves_what_is_there(root, tmp_path):
    (root / "dog" / "broken.jpg").write_bytes(b"no picture")
    loomix("im2rec", "a", root, "--recursive", cwd=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.glob("a.*")}
    assert len(before) == 3

    def refused(*arguments):
        _, err = loomix("im2rec", *arguments, returncode=2, cwd=tmp_path)
        assert {path: path.read_bytes() for path in tmp_path.glob("a.*")} == before
        return err

    assert "there is no folder " in refused("a", tmp_path / "typo")
    (tmp_path / "empty").mkdir()
    assert "0 of 13 images could be packed" in refused("a", tmp_path / "empty")
    assert "12 of 13 images could be packed" in refused("a", root, "--min-kept", "1")
    loomix("im2rec", "a", root, "--min-kept", "0.9", cwd=tmp_path)


def test_an_interrupted_run_goes_on(tmp_path):
    root = tmp_path / "root"
    for i in range(100):
        write_picture(root / f"{i:03d}.png", i, height=100, width=150)
    command = ["im2rec", tmp_path / "a", root, "--resize", 300, "--num-thread", 1]
    loomix(*command)
    whole, index = (tmp_path / "a.rec").read_bytes(), (tmp_path / "a.idx").read_bytes()
    (tmp_path / "a.rec").unlink()
    process = subprocess.Popen(
        [sys.executable, "-m", "loomix", *map(str, command)], stderr=subprocess.DEVNULL
    )
    partial = tmp_path / "a.rec.partial"
    deadline = time.monotonic() + 30
    run = tmp_path / "a.rec.run"
    while time.monotonic() < deadline and not (run.exists() and run.stat().st_size > 0):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert run.exists() and not (tmp_path / "a.rec").exists()
    # What a crash can leave: half a line of the index, and half a record.
    lines = index[: len(index) // 2]
    (tmp_path / "a.idx.partial").write_bytes(lines)
    offset = int(lines.splitlines()[-2].split(b"\t")[1])
    partial.write_bytes(whole[: offset + 20])
    out, err = loomix(*command)
    assert "goes on after" in err and b"100 records" in out
    assert (tmp_path / "a.rec").read_bytes() == whole and (tmp_path / "a.idx").read_bytes() == index
    # Other options begin anew.
    shutil.copy(tmp_path / "a.rec", partial)
    run.write_text("other options")
    _, err = loomix(*command[:3], "--resize", 8)
    assert "goes on" not in err


@pytest.mark.parametrize("name", ["images", "multilabel"])
def test_rec2dir_and_back(name, tmp_path):
    loomix("rec2dir", FIXTURES / f"{name}.rec", tmp_path / "d")
    loomix("im2rec", "--pass-through", "--pack-label", tmp_path / "d", tmp_path / "d")
    before = [recordio.unpack(r) for r in recordio.MXRecordIO(FIXTURES / f"{name}.rec", "r")]
    after = [recordio.unpack(r) for r in recordio.MXRecordIO(tmp_path / "d.rec", "r")]
    assert len(before) == len(after)
    for (old, content), (new, copy) in zip(before, after):
        assert content == copy and old.id == new.id and np.array_equal(old.label, new.label)


def test_rec(tmp_path):
    for ending in (".rec", ".idx"):
        shutil.copy(FIXTURES / f"images{ending}", tmp_path / f"r{ending}")
    path = tmp_path / "r.rec"
    before = records_of(path)
    out, _ = loomix("rec", "ls", path)
    assert len(out.splitlines()) == 20
    assert out.splitlines()[0].split()[-7:] == b"0 id 100 label 0 content 1071".split()
    assert loomix("rec", "cat", path, 3)[0] == before[3]
    assert loomix("rec", "cat", path, 3, "--content")[0] == before[3][24:]
    loomix("rec", "cat", path, 99, returncode=1)
    assert b"20 whole records" in loomix("rec", "verify", path)[0]

    loomix("rec", "shuffle", path, tmp_path / "s.rec", "--seed", 1)
    shuffled = records_of(tmp_path / "s.rec")
    assert shuffled == before and list(shuffled) != list(before)
    loomix("rec", "split", path, "--parts", 3)
    joined = {}
    for i in range(3):
        joined.update(records_of(tmp_path / f"r_{i}.rec"))
    assert list(joined.items()) == list(before.items())
    loomix("rec", "split", path, "--records", 8, "--output", tmp_path / "t.rec")
    assert [len(records_of(tmp_path / f"t_{i}.rec")) for i in range(3)] == [8, 8, 4]

    (tmp_path / "r.idx").unlink()
    assert loomix("rec", "cat", path, 3)[0] == before[3]
    loomix("rec", "index", path)
    assert (tmp_path / "r.idx").read_bytes() == (FIXTURES / "images.idx").read_bytes()
    loomix("rec", "index", path, "--ids")
    assert list(records_of(path)) == list(range(100, 120))

    damaged = bytearray(path.read_bytes())
    damaged[0] ^= 1
    path.write_bytes(damaged)
    out, err = loomix("rec", "verify", path, returncode=1)
    assert b"19 whole records" in out and "r.rec, offset 0: expected the magic number" in err
    assert "no record begins at offset 0, key 100" in err


def test_commands():
    out, _ = loomix("--help")
    assert b"im2rec" in out and b"rec2dir" in out
    _, err = loomix("fly", returncode=2)
    assert "no command 'fly'" in err
    _, err = loomix("lanch", returncode=2)
    assert "Did you mean 'launch'" in err
    assert loomix("--version")[0] == f"loomix {__version__}\n".encode()
    _, err = loomix("rec", "ls", "no/such.rec", returncode=2)
    assert "no/such.rec cannot be opened" in err
