# SPDX-License-Identifier: Apache-2.0
"""The interfaces from before modules: FeedForward, executor managers, the functions of model, misc's schedules."""

import logging
import warnings

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:FeedForward is deprecated")


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


@pytest.fixture
def data():
    random = np.random.RandomState(0)
    x = random.randn(30, 3).astype("float32")
    return x, (x[:, 0] > 0).astype("float32")


def trained(data, **settings):
    np.random.seed(0)
    mx.random.seed(0)
    model = mx.model.FeedForward(
        network(),
        num_epoch=20,
        numpy_batch_size=8,
        learning_rate=0.5,
        initializer=mx.init.Xavier(),
        **settings,
    )
    model.fit(*data)
    return model


def test_arrays_are_trained_on(data):
    x, y = data
    model = trained(data)
    found = model.predict(x)
    assert isinstance(found, np.ndarray) and found.shape == (30, 2)
    assert (found.argmax(axis=1) == y).mean() > 0.9
    assert model.score(mx.io.NDArrayIter(x, y, batch_size=10)) > 0.9
    several = model.score(mx.io.NDArrayIter(x, y, batch_size=10), ["acc", "ce"])
    assert several[0] > 0.9 and 0 < several[1] < 0.5
    with pytest.raises(ValueError, match="y is missing"):
        model.fit(x)
    with pytest.raises(ValueError, match="expected one label a sample"):
        model.fit(x, np.ones((30, 2)))
    with pytest.raises(TypeError, match="X is of type list"):
        model.fit(x.tolist(), y)


def test_predictions_leave_padding_out_and_may_bring_their_data(data):
    x, y = data
    model = trained(data)
    outputs, inputs, labels = model.predict(mx.io.NDArrayIter(x, y, batch_size=8), return_data=True)
    np.testing.assert_array_equal(inputs, x)
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_allclose(outputs, model.predict(x), rtol=1e-6)
    assert model.predict(mx.io.NDArrayIter(x, y, batch_size=8), num_batch=2).shape == (16, 2)


def test_files_keep_a_model(data, tmp_path):
    model = trained(data)
    model.save(str(tmp_path / "net"))
    again = mx.model.FeedForward.load(str(tmp_path / "net"), 20)
    assert again.begin_epoch == 20
    np.testing.assert_allclose(again.predict(data[0]), model.predict(data[0]), rtol=1e-5)
    with pytest.raises(mx.MXNetError, match="no parameters"):
        mx.model.FeedForward(network()).predict(data[0])
    with pytest.raises(TypeError, match="num_epoch"):
        mx.model.FeedForward(network()).fit(*data)


def test_create_trains_and_checks(data):
    seen = []
    model = mx.model.FeedForward.create(
        network(),
        *data,
        ctx=[mx.cpu(0), mx.cpu(1)],
        num_epoch=2,
        epoch_size=3,
        learning_rate=0.1,
        eval_data=data,
        batch_end_callback=lambda param: seen.append((param.epoch, param.nbatch)),
    )
    assert model.predict(data[0]).shape == (30, 2)
    assert seen == [(epoch, batch) for epoch in range(2) for batch in (1, 2, 3)]  # counted from one


def test_parameters_may_be_given(data):
    params = dict(trained(data).arg_params, other=mx.nd.ones((1,)))
    with pytest.raises(ValueError, match="other"):
        mx.model.FeedForward(network(), arg_params=params)
    model = mx.model.FeedForward(network(), arg_params=params, allow_extra_params=True)
    assert sorted(model.arg_params) == ["fc_bias", "fc_weight"]
    assert model.predict(data[0]).shape == (30, 2)


def test_a_function_may_give_the_symbol(data):
    class Buckets(mx.io.NDArrayIter):
        default_bucket_key = 3

    model = mx.model.FeedForward(lambda key: network(), num_epoch=1)
    model.fit(Buckets(*data, batch_size=10))
    assert model.predict(data[0]).shape == (30, 2)


def test_it_says_that_it_is_old():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mx.model.FeedForward(network())
    assert [item.category for item in caught] == [DeprecationWarning]


def test_functions_of_model_are_a_training_step():
    """Two devices, by hand, as old scripts do it."""
    weights = [[mx.nd.ones((2,), ctx=mx.cpu(k)) for k in range(2)]]
    grads = [[mx.nd.full((2,), k + 1, ctx=mx.cpu(k)) for k in range(2)]]
    names, params = ["w"], {"w": mx.nd.ones((2,))}
    store, on_store = mx.model._create_kvstore("local", 2, params)
    assert on_store
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1))
    mx.model._initialize_kvstore(store, weights, params, names, on_store)
    mx.model._update_params_on_kvstore(weights, grads, store, names)
    assert [w.asnumpy().tolist() for w in weights[0]] == [[pytest.approx(0.7)] * 2] * 2
    store, _ = mx.model._create_kvstore("local", 2, params)
    mx.model._initialize_kvstore(store, weights, params, names, False)
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1))
    mx.model._update_params(weights, grads, updater, 2, store, names)
    assert [w.asnumpy().tolist() for w in weights[0]] == [[pytest.approx(0.4)] * 2] * 2


def test_a_manager_trains_like_a_module(data):
    from loomix.executor_manager import DataParallelExecutorManager, _split_input_slice

    assert _split_input_slice(10, [1, 4]) == [slice(0, 2), slice(2, 10)]
    source = mx.io.NDArrayIter(*data, batch_size=10)
    manager = DataParallelExecutorManager(network(), [mx.cpu(0), mx.cpu(1)], source, None, None, None)
    assert manager.param_names == ["fc_weight", "fc_bias"]
    manager.set_params({"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros((2,))}, {})
    metric = mx.metric.Accuracy()
    monitor = mx.mon.Monitor(1, pattern=".*output")
    manager.install_monitor(monitor)
    batch = source.next()
    monitor.tic()
    manager.load_data_batch(batch)
    manager.forward(is_train=True)
    manager.backward()
    manager.update_metric(metric, batch.label)
    assert metric.get()[1] >= 0 and len(monitor.toc()) >= 2
    module = mx.mod.Module(network())
    module.bind(source.provide_data, source.provide_label)
    module.init_params(arg_params={"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros((2,))})
    module.forward_backward(batch)
    expected = module._exec_group.grad_arrays[0][0].asnumpy()
    found = sum(grad.asnumpy() for grad in manager.grad_arrays[0])
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    copied = {"fc_weight": mx.nd.zeros((2, 3)), "fc_bias": mx.nd.zeros((2,))}
    manager.copy_to(copied, {})
    assert (copied["fc_weight"].asnumpy() == 1).all()
    with pytest.raises(ValueError, match="work_load_list"):
        DataParallelExecutorManager(network(), [mx.cpu()], source, None, None, None, work_load_list=[1, 1])


def test_groups_show_their_inputs(data):
    module = mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (10, 3))], [("softmax_label", (10,))])
    group = module._exec_group
    assert [rows for rows, _ in group.data_arrays[0]] == [slice(0, 5), slice(5, 10)]
    assert [array.shape for _, array in group.data_arrays[0]] == [(5, 3), (5, 3)]
    assert [array.shape for _, array in group.label_arrays[0]] == [(5,), (5,)]
    module.init_params()
    module._sync_params_from_devices()
    assert group.decide_slices([mx.io.DataDesc("data", (6, 3))]) == [0]
    group.bind_exec([mx.io.DataDesc("data", (6, 3))], [mx.io.DataDesc("softmax_label", (6,))], reshape=True)
    assert [array.shape for _, array in group.data_arrays[0]] == [(3, 3), (3, 3)]


def test_the_first_schedules(caplog):
    from loomix import misc

    schedule = misc.FactorScheduler(10, 0.5)
    schedule.base_lr = 1.0
    with caplog.at_level(logging.INFO):
        assert [schedule(n) for n in (1, 9, 10, 25)] == [1, 1, 0.5, 0.25]
    assert len(caplog.records) == 2
    with pytest.raises(ValueError, match="less than 1"):
        misc.FactorScheduler(1, 1.0)
    with pytest.raises(NotImplementedError):
        misc.LearningRateScheduler()(1)


def test_kernels_at_run_time_say_what_to_use():
    with pytest.raises(NotImplementedError, match="CustomOp"):
        mx.rtc.CudaModule("__global__ void f() {}")
