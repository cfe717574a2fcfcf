# SPDX-License-Identifier: Apache-2.0
"""What scripts written for MXNet 1.x expect of modules, metrics and iterators; each answer is that of MXNet 1.9.1."""

import json
import warnings

import loomix as mx
import numpy as np
import pytest
from loomix import nd

# Saved forms and pictures


def test_values_of_constants_are_dumped():
    for value in (nd.array([[1, 2], [3, 4]]), np.array([[1.0, 2.0], [3.0, 4.0]])):
        initializer = mx.init.Constant(value)
        text = initializer.dumps()
        assert json.loads(text) == ["constant", {"value": [[1, 2], [3, 4]]}]
        assert text == json.dumps(["constant", initializer._kwargs])
        weight = nd.zeros((2, 2))
        name, settings = json.loads(text)
        mx.init.create(name, **settings)(mx.init.InitDesc("w_weight"), weight)
        assert weight.asnumpy().tolist() == [[1, 2], [3, 4]]
    assert mx.init.Constant(3).dumps() == '["constant", {"value": 3}]'


def test_pictures_warn_of_two_variables_of_one_name():
    pytest.importorskip("graphviz")
    with pytest.warns(UserWarning, match="Repeated names: a"):
        mx.viz.plot_network(mx.sym.Variable("a") + mx.sym.Variable("a"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source = mx.viz.plot_network(_bucket(5)[0], node_attrs={"shape": "oval", "fixedsize": "false"}).source
    assert source.count("shape=oval") == source.count("fixedsize=false") == 5


# Buckets


def _bucket(key):
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, flatten=False)
    return mx.sym.SoftmaxOutput(mx.sym.mean(x, axis=1), name="softmax"), ("data",), ("softmax_label",)


def _buckets():
    module = mx.mod.BucketingModule(_bucket, default_bucket_key=5)
    module.bind([("data", (2, 5, 3))], [("softmax_label", (2,))])
    module.init_params(mx.init.One())
    return module


def test_buckets_are_saved_and_loaded(tmp_path):
    prefix = str(tmp_path / "model")
    with pytest.raises(AssertionError):
        mx.mod.BucketingModule(_bucket, default_bucket_key=5).save_checkpoint(prefix, 0)
    module = _buckets()
    assert module.symbol.list_arguments()[1] == "fullyconnected0_weight"  # whatever was made before
    module.save_checkpoint(prefix, 1)
    assert nd.load(prefix + ".buckets")[0].asnumpy().tolist() == [5]
    loaded = mx.mod.BucketingModule.load(prefix, 1, sym_gen=_bucket, default_bucket_key=5)
    assert loaded.params_initialized
    loaded.bind([("data", (2, 5, 3))], [("softmax_label", (2,))])
    for one in (loaded, loaded._buckets[5]):
        assert one.get_params()[0]["fullyconnected0_weight"].asnumpy().min() == 1
    module._buckets[5].save_checkpoint(prefix, 2)
    single = mx.mod.Module.load(prefix, 2)
    single.bind([("data", (2, 5, 3))], [("softmax_label", (2,))])
    assert single.get_params()[0]["fullyconnected0_weight"].asnumpy().min() == 1


@pytest.mark.parametrize(("key", "shared"), [(3, True), (9, False)])
def test_buckets_share_the_arrays_that_fit(key, shared):
    module = _buckets()
    module.switch_bucket(key, [("data", (2, key, 3))], [("softmax_label", (2,))])
    first, second = (module._buckets[k]._exec_group.execs[0] for k in (5, key))
    for kind in ("arg_dict", "grad_dict"):
        getattr(second, kind)["fullyconnected0_weight"][:] = 9
        assert getattr(first, kind)["fullyconnected0_weight"].asnumpy().min() == 9
    second.arg_dict["data"][:] = 7
    assert (first.arg_dict["data"].asnumpy().ravel()[0] == 7) == shared
    group = module._buckets[key]._exec_group
    assert group.shared_data_arrays is module._buckets[5]._exec_group.shared_data_arrays
    assert sorted(group.shared_data_arrays[0]) == ["data", "softmax_label"]


def test_executor_groups_take_tuples():
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    group = mx.module.executor_group.DataParallelExecutorGroup(
        *(symbol, [mx.cpu()], [1], [("data", (2, 3))], None, ["fc_weight", "fc_bias"], True, False)
    )
    assert group.execs[0].arg_dict["data"].shape == (2, 3)


# Metrics and iterators


def _accuracy(labels, predictions, **settings):
    metric = mx.metric.Accuracy(**settings)
    metric.update(labels, predictions)
    return metric.get()[1]


def test_accuracy_of_labels_of_several_axes():
    scores = nd.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]])
    assert _accuracy([nd.array([[1], [0], [1]])], [scores]) == pytest.approx(2 / 3)
    assert _accuracy([nd.array([[1, 0, 1]])], [scores]) == pytest.approx(2 / 3)
    assert _accuracy([nd.array([[1, 0], [0, 1]])], [nd.array([[1, 0], [0, 0]])]) == 0.75
    assert _accuracy(nd.array([1, 0, 1]), scores) == pytest.approx(2 / 3)
    assert _accuracy([nd.array([1, 0, 0])], [nd.array([[0.1], [0.2], [0.3]])]) == pytest.approx(2 / 3)
    with pytest.raises(ValueError):
        _accuracy([nd.array([1, 0])], [scores])


def test_iterators_of_sparse_arrays():
    rows = np.arange(1, 16, dtype="float32").reshape(5, 3)
    sparse = nd.array(rows).tostype("csr")
    batches = list(mx.io.NDArrayIter(sparse, nd.arange(5), 2, last_batch_handle="discard"))
    assert [b.data[0].asnumpy()[:, 0].tolist() for b in batches] == [[1, 4], [7, 10]]
    assert [b.label[0].asnumpy().tolist() for b in batches] == [[0, 1], [2, 3]]
    for handle in ("pad", "roll_over"):
        with pytest.raises(NotImplementedError):
            mx.io.NDArrayIter(sparse, nd.arange(5), 2, last_batch_handle=handle)
    scipy_sparse = pytest.importorskip("scipy.sparse")
    (first, _) = mx.io.NDArrayIter(
        {"data": scipy_sparse.csr_matrix(rows)}, nd.arange(5), 2, last_batch_handle="discard"
    )
    assert first.data[0].asnumpy().tolist() == rows[:2].tolist()


def test_iterators_leave_out_what_the_first_array_does_not_have():
    rows = np.arange(1, 16, dtype="float32").reshape(5, 3)
    for handle in ("pad", "discard", "roll_over"):
        batches = list(mx.io.NDArrayIter(rows[:4], np.arange(6), 2, last_batch_handle=handle))
        assert [b.data[0].asnumpy()[:, 0].tolist() for b in batches] == [[1, 4], [7, 10]]
        assert [b.label[0].asnumpy().tolist() for b in batches] == [[0, 1], [2, 3]]
        with pytest.raises(mx.MXNetError, match="differ in length"):
            mx.io.NDArrayIter(rows, np.arange(4), 2, last_batch_handle=handle)
