# SPDX-License-Identifier: Apache-2.0
"""Sparse batches from LibSVM files."""

import loomix as mx
import numpy as np
import pytest

TEXT = "1.0 0:0.5 2:1.2\n-2.0\n-3.0 0:0.6 1:2.4 2:1.2\n4 2:-1.2\n"
DENSE = np.array([[0.5, 0, 1.2], [0, 0, 0], [0.6, 2.4, 1.2], [0, 0, -1.2]], np.float32)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "data.t").write_text(TEXT)
    return str(tmp_path / "data.t")


def test_rows_labels_and_padding(path):
    iterator = mx.io.LibSVMIter(data_libsvm=path, data_shape=(3,), batch_size=3)
    assert iterator.provide_data == [("data", (3, 3))] and iterator.provide_label == [("softmax_label", (3,))]
    for _ in range(2):
        first, second = iterator
        assert first.data[0].stype == "csr"
        np.testing.assert_array_equal(first.data[0].asnumpy(), DENSE[:3])
        np.testing.assert_array_equal(second.data[0].asnumpy(), DENSE[[3, 0, 1]])
        assert first.label[0].asnumpy().tolist() == [1, -2, -3] and second.label[0].asnumpy().tolist() == [
            4,
            1,
            -2,
        ]
        assert (first.pad, second.pad) == (0, 2)
        iterator.reset()


def test_sparse_labels(tmp_path, path):
    (tmp_path / "label.t").write_text("1.0\n-2.0 0:0.125\n-3.0 2:1.2\n4 1:1.0 2:-1.2\n")
    iterator = mx.io.LibSVMIter(
        data_libsvm=path,
        data_shape=(3,),
        label_libsvm=str(tmp_path / "label.t"),
        label_shape=(3,),
        batch_size=3,
    )
    label = next(iterator).label[0]
    assert label.stype == "csr"
    np.testing.assert_array_equal(
        label.asnumpy(), np.array([[0, 0, 0], [0.125, 0, 0], [0, 0, 1.2]], np.float32)
    )


def test_parts(path):
    parts = [mx.io.LibSVMIter(path, (3,), num_parts=2, part_index=i, batch_size=2) for i in range(2)]
    assert [next(part).label[0].asnumpy().tolist() for part in parts] == [[1, -2], [-3, 4]]


@pytest.mark.parametrize(
    "text, message",
    [
        ("1 0:a\n", "line 1: expected"),
        ("1 0:1\n2 3:1\n", "line 2: column 3 is out of range"),
        ("1 2:1 1:1\n", "do not ascend"),
        ("", "no rows"),
    ],
)
def test_bad_files(tmp_path, text, message):
    (tmp_path / "bad.t").write_text(text)
    with pytest.raises(OSError, match=message):
        mx.io.LibSVMIter(str(tmp_path / "bad.t"), (3,), batch_size=2)


def test_bad_arguments(tmp_path, path):
    with pytest.raises(OSError, match="missing"):
        mx.io.LibSVMIter(str(tmp_path / "missing"), (3,))
    with pytest.raises(ValueError, match="data_shape"):
        mx.io.LibSVMIter(path, (3, 2))
    with pytest.raises(ValueError, match="1 labels; expected 2"):
        mx.io.LibSVMIter(path, (3,), label_shape=(2,))
