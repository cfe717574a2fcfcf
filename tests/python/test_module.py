# SPDX-License-Identifier: Apache-2.0
"""Modules: training against formulas, several devices, checkpoints, shapes, buckets, chains."""

import logging

import loomix as mx
import numpy as np
import pytest

CPUS = [mx.cpu(0), mx.cpu(1)]


def network(hidden=8):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=hidden, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh", name="act")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def samples(count=24, seed=0):
    random = np.random.RandomState(seed)
    x = random.randn(count, 4).astype("float32")
    return x, np.argmax(x[:, :3] + x[:, 1:], axis=1).astype("float32")


def iterator(count=24, batch_size=8, **settings):
    return mx.io.NDArrayIter(*samples(count), batch_size, **settings)


def trained(context=None, epochs=3, kvstore="local", optimizer="sgd", module=None, **settings):
    mx.random.seed(1)
    module = module or mx.mod.Module(network(), context=context or mx.cpu())
    params = {"learning_rate": 0.5, "momentum": 0.9} if optimizer == "sgd" else {"learning_rate": 0.05}
    module.fit(
        iterator(),
        num_epoch=epochs,
        kvstore=kvstore,
        optimizer=optimizer,
        optimizer_params=params,
        initializer=mx.init.Xavier(),
        **settings,
    )
    return module


def numpy_params(module):
    arg, aux = module.get_params()
    return {name: array.asnumpy() for name, array in {**arg, **aux}.items()}


def assert_same(one, two, rtol=0):
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_allclose(one[name], two[name], rtol=rtol, atol=rtol * 0.1, err_msg=name)


def test_parameters_are_copied_when_asked_for_alone():
    module = mx.mod.Module(network())
    module.bind([("data", (8, 4))], [("softmax_label", (8,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"learning_rate": 1.0})
    x, y = samples(8)
    batch = mx.io.DataBatch([mx.nd.array(x)], [mx.nd.array(y)])
    module.forward_backward(batch)
    module.update()
    assert module._params is None  # the copies take as much memory as the parameters
    weight = module.get_params()[0]["fc1_weight"]
    first = weight.asnumpy()
    np.testing.assert_array_equal(first, module._exec_group.execs[0].arg_dict["fc1_weight"].asnumpy())
    module.forward_backward(batch)
    module.update()
    np.testing.assert_array_equal(weight.asnumpy(), first)  # until they are asked for again
    assert module.get_params()[0]["fc1_weight"] is weight
    assert not np.array_equal(weight.asnumpy(), first)
    module.bind([("data", (2, 4))], [("softmax_label", (2,))], force_rebind=True)
    np.testing.assert_array_equal(
        module._exec_group.execs[0].arg_dict["fc1_weight"].asnumpy(), weight.asnumpy()
    )


def test_training_is_gradient_descent():
    """Softmax regression, three steps, against NumPy."""
    x, y = samples(16)
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc"), name="softmax"
    )
    module = mx.mod.Module(net)
    start = np.random.RandomState(2).randn(3, 4).astype("float32")
    module.fit(
        mx.io.NDArrayIter(x, y, 8),
        num_epoch=2,
        arg_params={"fc_weight": mx.nd.array(start), "fc_bias": mx.nd.zeros((3,))},
        optimizer_params={"learning_rate": 0.3, "momentum": 0.5, "wd": 0.01},
    )
    w, b, vw, vb = start.astype("float64"), np.zeros(3), 0, 0
    for k in (0, 8, 0, 8):
        part, label = x[k : k + 8].astype("float64"), y[k : k + 8].astype(int)
        scores = part @ w.T + b
        prob = np.exp(scores - scores.max(axis=1, keepdims=True))
        prob /= prob.sum(axis=1, keepdims=True)
        prob[np.arange(8), label] -= 1
        vw = 0.5 * vw - 0.3 * (prob.T @ part / 8 + 0.01 * w)
        vb = 0.5 * vb - 0.3 * prob.mean(axis=0)
        w, b = w + vw, b + vb
    got = numpy_params(module)
    np.testing.assert_allclose(got["fc_weight"], w, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(got["fc_bias"], b, rtol=1e-4, atol=1e-5)


def test_it_learns():
    module = trained(epochs=30)
    assert module.score(iterator(), "acc")[0][1] > 0.9
    prob = module.predict(iterator(20, 8))
    assert prob.shape == (20, 3)
    np.testing.assert_allclose(prob.asnumpy().sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("kvstore", ["local", "device"])
def test_two_devices_are_as_one(kvstore, optimizer):
    assert_same(
        numpy_params(trained(CPUS, kvstore=kvstore, optimizer=optimizer)),
        numpy_params(trained(optimizer=optimizer)),
        rtol=2e-4,
    )


def test_two_devices_give_the_same_bits_every_time():
    assert_same(numpy_params(trained(CPUS)), numpy_params(trained(CPUS)))


def test_uneven_shares():
    module = mx.mod.Module(network(), context=CPUS, work_load_list=[1, 3])
    trained(module=module)
    assert [out.shape for out in module.get_outputs(merge_multi_context=False)[0]] == [(2, 3), (6, 3)]
    assert_same(numpy_params(module), numpy_params(trained()), rtol=2e-4)
    with pytest.raises(ValueError):
        mx.mod.Module(network(), context=CPUS, work_load_list=[1])
    small = mx.mod.Module(network(), context=CPUS)
    with pytest.raises(ValueError, match="too small"):
        small.bind([("data", (1, 4))], [("softmax_label", (1,))])


@pytest.mark.parametrize("context", [mx.cpu(), CPUS])
def test_a_resumed_run_is_bit_equal(tmp_path, context):
    prefix = str(tmp_path / "net")
    trained(context, epochs=2).save_checkpoint(prefix, 2, save_optimizer_states=True)
    module = mx.mod.Module.load(prefix, 2, load_optimizer_states=True, context=context)
    trained(module=module, begin_epoch=2, epochs=4)
    assert_same(numpy_params(module), numpy_params(trained(context, epochs=4)))


def test_checkpoint_files(tmp_path):
    prefix = str(tmp_path / "net")
    module = trained()
    module.save_checkpoint(prefix, 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net-0003.params", "net-symbol.json"]
    symbol, arg, aux = mx.model.load_checkpoint(prefix, 3)
    assert symbol.list_arguments() == module.symbol.list_arguments() and aux == {}
    assert_same({name: array.asnumpy() for name, array in arg.items()}, numpy_params(module))
    assert set(mx.nd.load(prefix + "-0003.params")) == {f"arg:{name}" for name in arg}
    module.save_params(str(tmp_path / "p"))
    other = mx.mod.Module(network())
    other.bind([("data", (8, 4))], [("softmax_label", (8,))])
    other.load_params(str(tmp_path / "p"))
    assert_same(numpy_params(other), numpy_params(module))
    mx.nd.save(str(tmp_path / "q"), {"weight": mx.nd.ones((1,))})
    with pytest.raises(ValueError, match="arg:NAME"):
        other.load_params(str(tmp_path / "q"))
    with pytest.raises((OSError, mx.MXNetError)):
        mx.model.load_checkpoint(prefix, 7)


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def fail(name):
        with open(name, "w") as file:
            file.write("half")
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        mx.model.write_whole(str(path), fail)
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_callbacks(tmp_path, caplog, capsys):
    prefix = str(tmp_path / "c")
    module = mx.mod.Module(network())
    epochs, batches, evals = [], [], []
    with caplog.at_level(logging.INFO):
        trained(
            module=module,
            epochs=2,
            eval_data=iterator(),
            epoch_end_callback=[
                mx.callback.do_checkpoint(prefix, 2),
                mx.callback.module_checkpoint(module, prefix + "m", save_optimizer_states=True),
                lambda epoch, symbol, arg, aux: epochs.append((epoch, sorted(arg))),
            ],
            batch_end_callback=[
                mx.callback.Speedometer(8, 2),
                mx.callback.log_train_metric(2),
                mx.callback.ProgressBar(3, 10),
                lambda param: batches.append((param.epoch, param.nbatch, param.eval_metric.get()[0])),
            ],
            eval_end_callback=lambda param: evals.append(param.eval_metric.get_name_value()[0][0]),
            eval_batch_end_callback=mx.callback.LogValidationMetricsCallback(),
        )
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["c-0002.params", "c-symbol.json", "cm-0001.params", "cm-0001.states", "cm-0002.params",
                     "cm-0002.states", "cm-symbol.json"]  # fmt: skip
    assert epochs == [(e, ["fc1_bias", "fc1_weight", "fc2_bias", "fc2_weight"]) for e in (0, 1)]
    assert batches == [(e, n, "accuracy") for e in (0, 1) for n in range(3)]
    assert evals == ["accuracy", "accuracy"]
    for text in ("Speed:", "Epoch[1] Batch [0-2]", "Iter[0] Batch[2] Train-accuracy", "Epoch[0] Time cost",
                 "Epoch[1] Validation-accuracy", "Epoch[0] Train-accuracy"):  # fmt: skip
        assert text in caplog.text
    assert "[=======---] 67%" in capsys.readouterr().out


def test_parameters():
    module = mx.mod.Module(network())
    with pytest.raises(mx.MXNetError, match="bind"):
        module.init_params()
    module.bind([("data", (2, 4))], [("softmax_label", (2,))])
    with pytest.raises(mx.MXNetError, match="init_params"):
        module.forward(mx.io.DataBatch([mx.nd.ones((2, 4))], None))
    given = {"fc1_weight": mx.nd.full((8, 4), 2.0)}
    with pytest.raises(mx.MXNetError, match="fc1_bias"):
        module.init_params(arg_params=given)
    with pytest.raises(ValueError, match="shape"):
        module.init_params(arg_params={"fc1_weight": mx.nd.ones((3, 3))}, allow_missing=True)
    module.init_params(mx.init.One(), arg_params=given, allow_missing=True)
    params = numpy_params(module)
    assert (
        (params["fc1_weight"] == 2).all()
        and (params["fc2_weight"] == 1).all()
        and (params["fc2_bias"] == 0).all()
    )
    module.init_params(mx.init.Zero())
    assert (numpy_params(module)["fc2_weight"] == 1).all()
    module.init_params(mx.init.Zero(), force_init=True)
    assert (numpy_params(module)["fc2_weight"] == 0).all()
    module.set_params(given, {}, allow_missing=True)
    assert (numpy_params(module)["fc1_weight"] == 2).all()


def test_other_batch_sizes():
    module = trained()
    x, y = samples(24)
    whole = module.predict(mx.io.NDArrayIter(x, y, 24)).asnumpy()
    for size in (1, 5, 24, 5):
        module.forward(mx.io.DataBatch([mx.nd.array(x[:size])], None), is_train=False)
        np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), whole[:size], rtol=1e-5)
    before = numpy_params(module)
    module.forward_backward(mx.io.DataBatch([mx.nd.array(x[:5])], [mx.nd.array(y[:5])]))
    module.update()
    assert (numpy_params(module)["fc1_weight"] != before["fc1_weight"]).any()
    module.reshape([("data", (3, 4))], [("softmax_label", (3,))])
    assert module.data_shapes == [("data", (3, 4))] and module.output_shapes == [("softmax_output", (3, 3))]


def test_input_gradients_and_requests():
    x, y = samples(4)
    batch = mx.io.DataBatch([mx.nd.array(x)], [mx.nd.array(y)])
    grads = {}
    for request in ("write", "add"):
        module = mx.mod.Module(network(), fixed_param_names=["fc1_bias"], context=CPUS)
        module.bind([("data", (4, 4))], [("softmax_label", (4,))], inputs_need_grad=True, grad_req=request)
        mx.random.seed(1)
        module.init_params(mx.init.Xavier())
        for _ in range(2):
            module.forward_backward(batch)
        grads[request] = module.get_input_grads()[0].asnumpy()
        assert [part.shape for part in module.get_input_grads(merge_multi_context=False)[0]] == [
            (2, 4),
            (2, 4),
        ]
        assert module._exec_group.grad_arrays[1] == [None, None]
    np.testing.assert_allclose(grads["add"], 2 * grads["write"], rtol=1e-5)
    plain = trained()
    with pytest.raises(ValueError, match="inputs_need_grad"):
        plain.get_input_grads()
    with pytest.raises(ValueError):
        mx.mod.Module(network()).bind([("data", (4, 4))], for_training=False, inputs_need_grad=True)
    with pytest.raises(TypeError):
        mx.mod.Module(network()).bind([("data", (4, 4))], [("softmax_label", (4,))], grad_req=3)


def test_fixed_parameters_stay():
    module = mx.mod.Module(network(), fixed_param_names=["fc1_weight"])
    start = {"fc1_weight": mx.nd.full((8, 4), 0.5)}
    trained(module=module, arg_params=start, allow_missing=True)
    assert (numpy_params(module)["fc1_weight"] == 0.5).all()


def test_backward_from_given_gradients():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(net, label_names=None, context=CPUS)
    module.bind([("data", (4, 3))])
    module.init_params(mx.init.One())
    module.forward(mx.io.DataBatch([mx.nd.ones((4, 3))]), is_train=True)
    module.backward([mx.nd.array([[1, 0]] * 2 + [[2, 0]] * 2)])
    parts = [grad.asnumpy().tolist() for grad in module._exec_group.grad_arrays[0]]
    assert parts == [[[2, 2, 2], [0, 0, 0]], [[4, 4, 4], [0, 0, 0]]]


def test_auxiliary_states_are_averaged_over_devices():
    net = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn", momentum=0.0, fix_gamma=False)
    module = mx.mod.Module(mx.sym.MakeLoss(mx.sym.sum(net)), label_names=None, context=CPUS)
    module.bind([("data", (4, 1))])
    module.init_params()
    assert numpy_params(module)["bn_moving_var"].tolist() == [1]
    module.init_optimizer(kvstore=None)
    module.forward_backward(mx.io.DataBatch([mx.nd.array([[0], [2], [4], [8]])]))
    module.update()
    np.testing.assert_allclose(numpy_params(module)["bn_moving_mean"], [(1 + 6) / 2], rtol=1e-5)


def test_states_go_on():
    state = mx.sym.Variable("state")
    net = mx.sym.Group([mx.sym.Variable("data") + state, mx.sym.BlockGrad(state * 2)])
    module = mx.mod.Module(net, label_names=None, state_names=["state"], context=CPUS)
    module.bind([("data", (4, 1))], for_training=False)
    module.init_params()
    module.set_states(value=3)
    module.forward(mx.io.DataBatch([mx.nd.ones((4, 1))]))
    assert module.get_outputs()[0].asnumpy().ravel().tolist() == [4] * 4
    module.set_states(states=module.get_outputs(merge_multi_context=False)[1:])
    assert module.get_states()[0].asnumpy().ravel().tolist() == [6] * 4
    with pytest.raises(ValueError):
        module.set_states()


def test_predict_forms():
    module = trained()
    x, _ = samples(20)
    assert module.predict(mx.nd.array(x)).shape == (20, 3)
    assert module.predict(x).shape == (20, 3)
    assert [out.shape for out in module.predict(iterator(20), always_output_list=True)] == [(20, 3)]
    assert [out[0].shape for out in module.predict(iterator(20), merge_batches=False)] == [
        (8, 3),
        (8, 3),
        (4, 3),
    ]
    assert module.predict(iterator(20), num_batch=1).shape == (8, 3)
    shapes = [(out[0].shape, n) for out, n, _ in module.iter_predict(iterator(20))]
    assert shapes == [((8, 3), 0), ((8, 3), 1), ((4, 3), 2)]
    with pytest.raises(ValueError):
        module.predict(3)


def test_rebinding_keeps_parameters():
    module = trained()
    before = numpy_params(module)
    module.bind([("data", (2, 4))], [("softmax_label", (2,))], force_rebind=True)
    assert_same(numpy_params(module), before)
    trained(module=module, force_rebind=True, epochs=1)


def test_sharing_parameters():
    first = trained()
    second = mx.mod.Module(network())
    second.bind([("data", (2, 4))], [("softmax_label", (2,))], shared_module=first)
    x, y = samples(2)
    second.forward_backward(mx.io.DataBatch([mx.nd.array(x)], [mx.nd.array(y)]))
    second.update()
    one, two = (m._exec_group.param_arrays[0][0].asnumpy() for m in (first, second))
    assert (one == two).all()
    with pytest.raises(mx.MXNetError):
        mx.mod.Module(network()).bind([("data", (2, 4))], shared_module=mx.mod.Module(network()))


def test_optimizers_as_objects(caplog):
    module = mx.mod.Module(network())
    trained(module=module, epochs=1)
    module.init_optimizer(optimizer=mx.optimizer.Adam(), force_init=True)
    assert "rescale_grad" in caplog.text
    assert module._optimizer.idx2name[0] == "fc1_weight"
    with pytest.raises(TypeError):
        module.init_optimizer(optimizer=3, force_init=True)
    with pytest.raises(TypeError):
        module.init_optimizer(kvstore=3, force_init=True)


def test_wrong_names_and_shapes():
    with pytest.raises(ValueError, match="nothing"):
        mx.mod.Module(network(), data_names=["nothing"])
    with pytest.raises(ValueError):
        mx.mod.Module(network(), fixed_param_names=["nothing"])
    module = mx.mod.Module(network())
    with pytest.raises(ValueError, match="other"):
        module.bind([("other", (2, 4))])
    with pytest.raises(ValueError):
        trained(module=mx.mod.Module(network()), epochs=None)
    with pytest.raises(TypeError):
        mx.mod.Module(network(), context=3)


def test_monitor(caplog):
    monitor = mx.mon.Monitor(2, pattern=".*(fc2|weight).*", sort=True)
    with caplog.at_level(logging.INFO):
        trained(epochs=1, monitor=monitor)
    lines = [
        record.getMessage().split()[1:3]
        for record in caplog.records
        if record.getMessage().startswith("Batch")
    ]
    names = ["fc1_weight", "fc2_bias", "fc2_output", "fc2_weight"]
    forward = [line for line in lines if "backward" not in line[1]]
    assert forward == [[number, name] for number in ("1", "3") for name in names]


# Other modules


def bucketed(length):
    data = mx.sym.sum(mx.sym.Variable("data"), axis=1, keepdims=True) / length
    net = mx.sym.FullyConnected(data, num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)


def bucket_batch(length, size=4):
    random = np.random.RandomState(length)
    x = random.randn(size, length)
    return mx.io.DataBatch(
        [mx.nd.array(x)],
        [mx.nd.array(x.sum(axis=1) > 0)],
        bucket_key=length,
        provide_data=[("data", (size, length))],
        provide_label=[("softmax_label", (size,))],
    )


def test_buckets_share_parameters(tmp_path):
    module = mx.mod.BucketingModule(bucketed, default_bucket_key=10)
    module.bind([("data", (4, 10))], [("softmax_label", (4,))])
    module.init_params(mx.init.Constant(0.1))
    module.init_optimizer(optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
    weight, bias, vw, vb = np.full((3, 1), 0.1), np.zeros(3), 0, 0
    for length in (10, 4, 7, 4, 10):
        batch = bucket_batch(length)
        module.prepare(batch)
        module.forward_backward(batch)
        module.update()
        x = batch.data[0].asnumpy().mean(axis=1, keepdims=True)
        prob = np.exp(x @ weight.T + bias)
        prob /= prob.sum(axis=1, keepdims=True)
        prob[np.arange(4), batch.label[0].asnumpy().astype(int)] -= 1
        vw, vb = 0.9 * vw - 0.5 * prob.T @ x / 4, 0.9 * vb - 0.5 * prob.mean(axis=0)
        weight, bias = weight + vw, bias + vb
    got = numpy_params(module)
    np.testing.assert_allclose(got["fc_weight"], weight, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(got["fc_bias"], bias, rtol=1e-4, atol=1e-6)
    prefix = str(tmp_path / "b")
    module.save_checkpoint(prefix, 1)
    assert (tmp_path / "b-4-symbol.json").exists()
    other = mx.mod.BucketingModule.load(prefix, 1, bucketed, 10)
    other.bind([("data", (4, 10))], [("softmax_label", (4,))], for_training=False)
    other.init_params()
    assert_same(numpy_params(other), got)
    with pytest.raises(ValueError):
        mx.mod.BucketingModule(bucketed)


def chain():
    first = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, name="fc1")
    second = mx.sym.Activation(mx.sym.Variable("data"), act_type="tanh", name="act")
    second = mx.sym.FullyConnected(second, num_hidden=3, name="fc2")
    module = mx.mod.SequentialModule()
    module.add(mx.mod.Module(first, label_names=None))
    return module, mx.sym.SoftmaxOutput(second, name="softmax")


def test_a_chain_is_one_network():
    module, last = chain()
    module.add(mx.mod.Module(last), take_labels=True, auto_wiring=True)
    start = {name: mx.nd.array(value) for name, value in numpy_params(trained(epochs=1)).items()}
    for made in (module, mx.mod.Module(network())):
        made.fit(iterator(), num_epoch=2, arg_params=start, optimizer_params={"learning_rate": 0.5})
        expected = numpy_params(made)
    assert_same(numpy_params(module), expected, rtol=1e-4)
    assert module.score(iterator(), "acc")[0][1] > 0.3
    with pytest.raises(ValueError):
        module.add(mx.mod.Module(last), take_label=True)


def test_a_loss_in_python():
    scores = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")

    def gradient(score, label):
        return (score - label.reshape((-1, 1))) / 4

    module = mx.mod.SequentialModule()
    module.add(mx.mod.Module(scores, label_names=None))
    module.add(mx.mod.PythonLossModule(grad_func=gradient), take_labels=True, auto_wiring=True)
    x = np.random.RandomState(0).randn(16, 2)
    y = x @ [2.0, -1.0]
    module.fit(
        mx.io.NDArrayIter(x, y, 4), num_epoch=60, eval_metric="mse", optimizer_params={"learning_rate": 0.5}
    )
    np.testing.assert_allclose(numpy_params(module)["fc_weight"], [[2, -1]], atol=0.05)


def test_backward_after_prediction_is_the_gradient_of_that_pass():
    net = mx.sym.Dropout(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc"), p=0.9)
    module = mx.mod.Module(net, label_names=None, context=CPUS)
    module.bind([("data", (4, 3))], inputs_need_grad=True)
    module.init_params(mx.init.One())
    for _ in range(2):
        module.forward(mx.io.DataBatch([mx.nd.ones((4, 3))]), is_train=False)
        module.backward([mx.nd.ones((4, 2))])
        assert (module.get_input_grads()[0].asnumpy() == 2).all()


def test_backward_where_no_gradient_was_asked_for_does_nothing():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    batch = mx.io.DataBatch([mx.nd.ones((4, 3))])
    for settings, request in (({"fixed_param_names": ["fc_weight", "fc_bias"]}, "write"), ({}, "null")):
        module = mx.mod.Module(net, label_names=None, **settings)
        module.bind([("data", (4, 3))], grad_req=request)
        module.init_params(mx.init.One())
        module.forward(batch, is_train=True)
        module.backward([mx.nd.ones((4, 2))])
        module.backward()
        assert (module.get_outputs()[0].asnumpy() == 3).all()


def grouped_network():
    with mx.AttrScope(ctx_group="first"):
        hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, name="fc1")
        hidden = mx.sym.Activation(hidden, act_type="relu", name="relu1")
    with mx.AttrScope(ctx_group="second"):
        hidden = mx.sym.BatchNorm(hidden, fix_gamma=False, name="bn")
        hidden = mx.sym.FullyConnected(hidden, num_hidden=3, name="fc2")
        return mx.sym.SoftmaxOutput(hidden, name="softmax")


@pytest.mark.parametrize(
    "context, groups",
    [
        (mx.cpu(), {"first": mx.cpu(1), "second": mx.cpu(2)}),
        (mx.cpu(), [{"first": mx.cpu(1), "second": mx.cpu(2)}]),
        (CPUS, {"first": [mx.cpu(2), mx.cpu(3)], "second": mx.cpu(4)}),
    ],
)
def test_groups_on_devices_of_their_own(context, groups):
    net = grouped_network()
    plain = trained(module=mx.mod.Module(net, context=context), context=context)
    module = mx.mod.Module(net, context=context, group2ctxs=groups)
    spread = trained(module=module, context=context)
    for executor, own in zip(module._exec_group.execs, module._exec_group.group2ctxs):
        places = {
            name: array.context for name, array in (*executor.arg_dict.items(), *executor.aux_dict.items())
        }
        first = {"data", "fc1_weight", "fc1_bias"}
        assert places == {name: own["first" if name in first else "second"] for name in places}
        for name, gradient in executor.grad_dict.items():
            assert gradient is None or gradient.context == places[name]
        assert executor.outputs[0].context == own["second"]
    one, two = numpy_params(plain), numpy_params(spread)
    for name, array in one.items():
        np.testing.assert_allclose(two[name], array, rtol=1e-4, atol=1e-6, err_msg=name)


def test_labels_of_another_name_are_refused_for_training():
    data = mx.sym.Variable("data")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=2), name="softmax")
    batches = mx.io.NDArrayIter(np.zeros((4, 3)), np.zeros(4), 2, label_name="lable")
    module = mx.mod.Module(net)
    with pytest.raises(ValueError, match=r"\['lable'\].*\['softmax_label'\]"):
        module.fit(batches, num_epoch=1)
    module.bind(batches.provide_data, batches.provide_label, for_training=False)  # prediction only warns


def test_steps_of_before_a_restart_are_passed_over_in_every_bucket():
    """What a restarted worker leaves out; tests of the launcher run it with clusters."""

    class Store:
        rank, _steps_passed_over = 1, 0

        def _steps_to_pass_over(self, keys):
            assert keys == ["fc_weight", "fc_bias"]
            return 2 - self._steps_passed_over

    def network(_):
        net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        return mx.sym.LinearRegressionOutput(net, name="out"), ["data"], ["out_label"]

    module = mx.mod.BucketingModule(network, default_bucket_key=1)
    module.bind([("data", (4, 3))], [("out_label", (4, 2))])
    module.init_params()
    module.init_optimizer(kvstore=None)
    assert module._pass_over(iter("ab"), 0) == (0, "a")
    inner = module._default_module
    inner._kvstore, inner._update_on_kvstore = Store(), True
    assert module._pass_over(iter("a"), 0) == (1, None)
    assert module._pass_over(iter("bcd"), 1) == (1, "c")
    assert module._pass_over(iter("e"), 2) == (0, "e")


@pytest.mark.parametrize("allow_missing", [False, True])
def test_parameters_may_be_numpy_arrays(allow_missing):
    data = mx.sym.Variable("data")
    module = mx.mod.Module(mx.sym.FullyConnected(data, num_hidden=2, name="fc"), label_names=None)
    module.bind([("data", (1, 3))], for_training=False)
    weight = np.arange(6, dtype="float32").reshape(2, 3)
    module.set_params({"fc_weight": weight, "fc_bias": [1, 2]}, {}, allow_missing=allow_missing)
    arguments, _ = module.get_params()
    np.testing.assert_array_equal(arguments["fc_weight"].asnumpy(), weight)
    np.testing.assert_array_equal(arguments["fc_bias"].asnumpy(), [1, 2])


def test_fit_says_what_it_ignores(caplog):
    module = trained(epochs=1)
    before, after = ({"learning_rate": rate, "momentum": 0.9} for rate in (0.5, 0.1))
    module.fit(iterator(), num_epoch=1, optimizer_params=before)
    assert "ignoring" not in caplog.text
    for _ in range(2):  # told once
        module.fit(iterator(), num_epoch=1, optimizer_params=after)
    assert (
        caplog.text.count("ignoring learning_rate=0.1 (it has 0.5). init_optimizer(..., force_init=True)")
        == 1
    )
    module.fit(iterator(), num_epoch=1, optimizer="adam", optimizer_params={})
    assert "optimizer='adam' (it has 'sgd'), that learning_rate is not given (it has 0.5)" in caplog.text
    caplog.clear()
    module.init_optimizer("local", "sgd", after, force_init=True)
    module.fit(iterator(), num_epoch=1, optimizer_params=after)
    assert "ignoring" not in caplog.text and module._optimizer.lr == 0.1


def test_fit_without_an_epoch_makes_ready_and_warns(caplog):
    for begin, end in ((0, 0), (3, 3), (4, 2)):
        caplog.clear()
        module = mx.mod.Module(network())
        module.fit(iterator(), begin_epoch=begin, num_epoch=end)
        assert module.binded and module.params_initialized and module.optimizer_initialized
        assert f"no epoch is trained: begin_epoch is {begin} and num_epoch {end}" in caplog.text


def test_score_of_no_batch_warns(caplog):
    module = trained(epochs=1)
    batches = iterator()
    module.score(batches, "acc", num_batch=0)
    assert "no batch" not in caplog.text
    module.score(batches, "acc")
    assert "no batch" not in caplog.text
    module.score(batches, "acc", reset=False)  # at its end
    assert "[score] eval_data gave no batch" in caplog.text


def test_score_leaves_out_what_fills_up_the_last_batch():
    module, metric = trained(epochs=1), mx.metric.create("acc")
    batches = mx.io.NDArrayIter(*samples(5), batch_size=4)
    module.score(batches, metric)
    assert metric.num_inst == 5 and module.predict(batches).shape[0] == 5


def test_one_name_as_a_text(caplog):
    module = mx.mod.Module(
        network(), data_names="data", label_names="softmax_label", fixed_param_names="fc1_bias"
    )
    assert (module.data_names, module.label_names) == (["data"], ["softmax_label"])
    module.fit(iterator(), num_epoch=1)
    assert not numpy_params(module)["fc1_bias"].any() and not caplog.records

    def network_of(key):
        return network(), "data", "softmax_label"

    assert mx.mod.BucketingModule(network_of, default_bucket_key=1).data_names == ["data"]
