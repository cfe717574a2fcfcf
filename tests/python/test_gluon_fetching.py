# SPDX-License-Identifier: Apache-2.0
"""Trained parameters and data sets come from a public store, where the folder lacks them."""

import functools
import gzip
import hashlib
import http.server
import io
import logging
import struct
import tarfile
import threading
import zipfile

import loomix as mx
import numpy as np
import pytest
from loomix.gluon import data
from loomix.gluon.model_zoo import model_store, vision


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The folder of a store on this machine; ``asked`` has the paths that were asked for."""
    folder, asked = tmp_path / "store", []
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            super().do_GET()

        def log_message(self, form, *args):
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("MXNET_GLUON_REPO", f"http://127.0.0.1:{server.server_port}")
    yield folder, asked
    server.shutdown()
    thread.join()
    server.server_close()


def put(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def published_network(folder, monkeypatch, name, net):
    net.save_parameters(str(folder / "some.params"))
    content = (folder / "some.params").read_bytes()
    sha1 = hashlib.sha1(content).hexdigest()
    monkeypatch.setitem(model_store._model_sha1, name, sha1)
    stem = f"{name}-{sha1[:8]}"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"{stem}.params", content)
    put(folder, f"gluon/models/{stem}.zip", packed.getvalue())
    return f"{stem}.params"


def test_parameters_of_networks_are_fetched_once(store, tmp_path, monkeypatch, caplog):
    folder, asked = store
    net = vision.mobilenet0_25(classes=2)
    net.initialize()
    net(mx.nd.zeros((1, 3, 32, 32)))
    file = published_network(folder, monkeypatch, "mobilenet0.25", net)
    root = tmp_path / "models"
    for _ in range(2):
        other = vision.mobilenet0_25(pretrained=True, classes=2, root=str(root))
    assert (other.output.weight.data() == net.output.weight.data()).asnumpy().all()
    assert len(asked) == 1 and [path.name for path in root.iterdir()] == [file]
    (root / file).write_bytes(b"damaged")
    with caplog.at_level(logging.WARNING):
        path = model_store.get_model_file("mobilenet0.25", str(root))
    assert path == str(root / file) and "does not have its checksum" in caplog.text and len(asked) == 2
    assert mx.gluon.utils.check_sha1(path, model_store._model_sha1["mobilenet0.25"])


def test_a_file_with_another_checksum_is_refused(store, tmp_path, monkeypatch):
    folder, _ = store
    net = mx.gluon.nn.Dense(1, in_units=1)
    net.initialize()
    published_network(folder, monkeypatch, "alexnet", net)
    name = "alexnet-0123abcd"
    monkeypatch.setitem(model_store._model_sha1, "alexnet", "0123abcd" * 5)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"{name}.params", b"other")
    put(folder, f"gluon/models/{name}.zip", packed.getvalue())
    with pytest.raises(ValueError, match="does not have the SHA-1 sum"):
        model_store.get_model_file("alexnet", str(tmp_path / "models"))
    assert list((tmp_path / "models").iterdir()) == []
    put(folder, f"gluon/models/{name}.zip", b"no archive")
    with pytest.raises(OSError, match="holds no such file"):
        model_store.get_model_file("alexnet", str(tmp_path / "models"))


def test_without_a_store_the_error_says_what_to_do(tmp_path):
    with pytest.raises(OSError, match=r"could not be fetched.*Without a network, put the file at"):
        vision.alexnet(pretrained=True, root=str(tmp_path))
    with pytest.raises(ValueError, match="no SHA-1 sum is known of 'other'"):
        model_store.short_hash("other")


def test_the_function_that_finds_files_can_be_replaced(tmp_path, monkeypatch):
    net = vision.mobilenet0_25(classes=2)
    net.initialize()
    net(mx.nd.zeros((1, 3, 32, 32)))
    net.save_parameters(str(tmp_path / "own.params"))
    monkeypatch.setattr(model_store, "get_model_file", lambda name, root: str(tmp_path / "own.params"))
    other = vision.mobilenet0_25(classes=2, pretrained=True)
    assert (other.output.weight.data() == net.output.weight.data()).asnumpy().all()


def test_all_published_networks_have_a_sum():
    assert len(model_store._model_sha1) == 34
    assert model_store.short_hash("resnet18_v1") == "a0666292"


def idx(array):
    return gzip.compress(
        struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()
    )


@pytest.mark.parametrize("kind", [data.vision.MNIST, data.vision.FashionMNIST])
def test_digits_and_clothes_are_fetched(store, tmp_path, monkeypatch, kind):
    folder, asked = store
    sums = {}
    pictures = np.arange(2 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(2, 28, 28)
    for name, array in (("images-idx3", pictures), ("labels-idx1", np.array([4, 9], np.uint8))):
        content = idx(array)
        sums[f"train-{name}-ubyte.gz"] = hashlib.sha1(content).hexdigest()
        put(folder, f"gluon/dataset/{kind._namespace}/train-{name}-ubyte.gz", content)
    monkeypatch.setattr(kind, "_sums", sums)
    monkeypatch.setattr(kind, "_folders", ())
    for _ in range(2):
        found = kind(str(tmp_path / "root"))
        assert (found[1][0].asnumpy()[..., 0] == pictures[1]).all() and found[1][1] == 9
    assert len(asked) == 2
    with pytest.raises(OSError, match="could not be fetched"):
        monkeypatch.setattr(kind, "_sums", dict.fromkeys(sums, "0" * 40))
        monkeypatch.setattr("time.sleep", lambda seconds: None)
        kind(str(tmp_path / "other"))


def test_small_pictures_are_fetched_in_an_archive(store, tmp_path, monkeypatch):
    folder, asked = store
    rows = np.random.default_rng(1).integers(0, 255, (4, 3074), np.uint8)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in ("train", "test"):
            info = tarfile.TarInfo(f"cifar-100-binary/{name}.bin")
            info.size = rows.nbytes
            archive.addfile(info, io.BytesIO(rows.tobytes()))
    content = packed.getvalue()
    put(folder, "gluon/dataset/cifar100/cifar-100-binary.tar.gz", content)
    monkeypatch.setattr(
        data.vision.CIFAR100, "_sums", {"cifar-100-binary.tar.gz": hashlib.sha1(content).hexdigest()}
    )
    for train in (True, False):
        found = data.vision.CIFAR100(str(tmp_path / "root"), fine_label=True, train=train)
        assert len(found) == 4 and found[2][1] == rows[2, 1]
    assert len(asked) == 1


def test_vectors_of_words_come_from_the_same_store(store, tmp_path, monkeypatch):
    folder, asked = store
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("glove.6B.50d.txt", "a 1 2\n")
    put(folder, "gluon/embeddings/glove/glove.6B.zip", packed.getvalue())
    glove = mx.contrib.text.embedding.GloVe
    sha1 = hashlib.sha1(packed.getvalue()).hexdigest()
    monkeypatch.setattr(glove, "pretrained_archive_name_sha1", {"glove.6B.zip": sha1})
    found = glove("glove.6B.50d.txt", embedding_root=str(tmp_path / "root"))
    assert found.idx_to_token == ["<unk>", "a"] and len(asked) == 1


def test_a_missing_file_is_not_asked_for_again(store, tmp_path, capsys):
    _, asked = store
    with pytest.raises(OSError, match="404"):
        data.vision.MNIST(str(tmp_path / "root"))
    assert len(asked) == 1
    assert "Downloading" in capsys.readouterr().out
