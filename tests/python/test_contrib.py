# SPDX-License-Identifier: Apache-2.0
"""mx.contrib: text, variance reduction, TensorBoard, the first autograd, loaders as iterators."""

import struct
import sys
import zipfile
from collections import Counter

import loomix as mx
import numpy as np
import pytest
from loomix.contrib import text
from loomix.contrib.svrg_optimization.svrg_module import SVRGModule
from loomix.contrib.tensorboard import LogMetricsCallback

# Text


def test_tokens_are_counted():
    count = text.utils.count_tokens_from_str
    source = " Life is great ! \n life is good . \n"
    assert count(source, to_lower=True) == Counter(
        {"life": 2, "is": 2, "great": 1, "!": 1, "good": 1, ".": 1}
    )
    assert count("*a*b*\n*b*", "*", "\n", False, Counter(b=2)) == Counter(a=1, b=4)
    assert count("a  b\tc", r"\s+") == Counter("abc")


def test_vocabularies():
    counter = Counter({"is": 2, "life": 2, "!": 1, ".": 1, "good": 1})
    words = text.vocab.Vocabulary(counter, reserved_tokens=["<pad>"])
    assert words.idx_to_token == ["<unk>", "<pad>", "is", "life", "!", ".", "good"]
    assert len(words) == 7 and words.token_to_idx["is"] == 2 and words.reserved_tokens == ["<pad>"]
    assert words.to_indices("life") == 3 and words.to_indices(["life", "none"]) == [3, 0]
    assert words.to_tokens(1) == "<pad>" and words.to_tokens([0, 2]) == ["<unk>", "is"]
    for wrong in (7, [1, -1], "a"):
        with pytest.raises(ValueError, match="no token has the number"):
            words.to_tokens(wrong)
    assert text.vocab.Vocabulary(counter, most_freq_count=1).idx_to_token == ["<unk>", "is"]
    assert text.vocab.Vocabulary(counter, min_freq=2, unknown_token="?").idx_to_token == ["?", "is", "life"]
    assert text.vocab.Vocabulary(counter, 2, reserved_tokens=["life"]).idx_to_token == [
        "<unk>",
        "life",
        "is",
        "!",
    ]
    assert text.vocab.Vocabulary().idx_to_token == ["<unk>"]
    for settings in ({"min_freq": 0}, {"reserved_tokens": ["<unk>"]}, {"reserved_tokens": ["a", "a"]}):
        with pytest.raises(AssertionError):
            text.vocab.Vocabulary(counter, **settings)
    with pytest.raises(AssertionError):
        text.vocab.Vocabulary({"a": 1})
    assert text.vocab.Vocabulary(counter, reserved_tokens=[]).reserved_tokens == []


@pytest.fixture
def vectors(tmp_path):
    def write(content, name="vectors.txt"):
        (tmp_path / name).write_text(content)
        return str(tmp_path / name)

    return write


def test_vectors_of_a_file(vectors):
    path = vectors("4 3\na 1 2 3\nb 4 5 6\n<unk> 7 8 9\nc 1 1 1\na 9 9 9\n")
    with pytest.warns(UserWarning, match="line 6: token a has a vector already"):
        found = text.embedding.create("CustomEmbedding", pretrained_file_path=path)
    assert found.idx_to_token == ["<unk>", "a", "b", "c"] and found.vec_len == 3
    assert found.idx_to_vec.asnumpy().tolist() == [[7, 8, 9], [1, 2, 3], [4, 5, 6], [1, 1, 1]]
    assert found.get_vecs_by_tokens("b").asnumpy().tolist() == [4, 5, 6]
    assert found.get_vecs_by_tokens(["A", "z"]).asnumpy().tolist() == [[7, 8, 9]] * 2
    lower = found.get_vecs_by_tokens(["A", "z"], lower_case_backup=True)
    assert lower.asnumpy().tolist() == [[1, 2, 3], [7, 8, 9]]
    found.update_token_vectors("a", mx.nd.array([5, 5, 5]))
    found.update_token_vectors(["b", "c"], mx.nd.zeros((2, 3)))
    assert found.idx_to_vec.asnumpy().tolist() == [[7, 8, 9], [5, 5, 5], [0, 0, 0], [0, 0, 0]]
    with pytest.raises(ValueError, match="unknown"):
        found.update_token_vectors("z", mx.nd.zeros((3,)))
    with pytest.raises(ValueError, match="shape"):
        found.update_token_vectors("a", mx.nd.zeros((2,)))


def test_vectors_of_several_files_for_a_vocabulary(vectors):
    one = text.embedding.CustomEmbedding(vectors("a 1 2\nb 3 4\n", "one"), init_unknown_vec=mx.nd.ones)
    two = text.embedding.CustomEmbedding(vectors("b,5,6\nq,7,8\n", "two"), elem_delim=",")
    words = text.vocab.Vocabulary(Counter(["a", "b", "x"]))
    both = text.embedding.CompositeEmbedding(words, [one, two])
    assert both.vec_len == 4 and both.idx_to_token == ["<unk>", "a", "b", "x"]
    assert both.idx_to_vec.asnumpy().tolist() == [[1, 1, 0, 0], [1, 2, 0, 0], [3, 4, 5, 6], [1, 1, 0, 0]]
    some = text.embedding.CustomEmbedding(vectors("a 1 2\nb 3 4\n", "one"), vocabulary=words)
    assert len(some) == 4 and some.get_vecs_by_tokens("b").asnumpy().tolist() == [3, 4]


def test_files_are_fetched_and_unpacked(tmp_path, monkeypatch):
    class Published(text.embedding.GloVe):
        pretrained_archive_name_sha1 = {}
        _address = tmp_path.as_uri() + "/"

    monkeypatch.delenv("MXNET_GLUON_REPO")
    with zipfile.ZipFile(tmp_path / "glove.6B.zip", "w") as archive:
        archive.writestr("glove.6B.50d.txt", "a 1 2\n")
    found = Published("glove.6B.50d.txt", str(tmp_path / "root"))
    assert found.idx_to_token == ["<unk>", "a"]
    assert (tmp_path / "root" / "published" / "glove.6B.50d.txt").exists()
    Published.pretrained_archive_name_sha1 = {"glove.6B.zip": "0" * 40}
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(OSError, match="SHA-1"):
        Published("glove.6B.100d.txt", str(tmp_path / "root"))


def test_bad_vectors_are_errors(vectors, tmp_path):
    make = text.embedding.CustomEmbedding
    with pytest.raises(ValueError, match="line 2: token b has 2 numbers"):
        make(vectors("a 1 2 3\nb 1 2\n"))
    with pytest.raises(OSError, match="line 1: expected a token and numbers"):
        make(vectors("a 1 x\n"))
    with pytest.raises(OSError, match="no vectors"):
        make(vectors(""))
    with pytest.raises(OSError, match="no file"):
        make(str(tmp_path / "none"))
    with pytest.raises(KeyError, match="not registered"):
        text.embedding.create("other")


def test_known_files_are_found_where_they_lie(tmp_path):
    names = text.embedding.get_pretrained_file_names()
    assert "glove.6B.50d.txt" in names["glove"] and "wiki.simple.vec" in names["fasttext"]
    assert text.embedding.get_pretrained_file_names("glove") == names["glove"]
    with pytest.raises(KeyError, match="Valid pretrained files"):
        text.embedding.GloVe("other.txt", embedding_root=str(tmp_path))
    (tmp_path / "glove").mkdir()
    (tmp_path / "glove" / "glove.6B.50d.txt").write_text("a 1 2\n")
    assert text.embedding.GloVe("glove.6B.50d.txt", str(tmp_path)).vec_len == 2
    (tmp_path / "fasttext").mkdir()
    (tmp_path / "fasttext" / "wiki.simple.vec").write_text("1 2\na 1 2\n")
    assert text.embedding.FastText(embedding_root=str(tmp_path)).idx_to_token == ["<unk>", "a"]
    assert text.embedding.GloVe._download_name("glove.6B.50d.txt") == "glove.6B.zip"
    assert text.embedding.GloVe._download_name("glove.42B.300d.txt") == "glove.42B.300d.zip"


# Variance reduction


def regression(context=None):
    data, label = mx.sym.Variable("data"), mx.sym.Variable("lin_label")
    net = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(data, num_hidden=1, no_bias=True, name="fc"), label, name="lin"
    )
    return SVRGModule(net, label_names=["lin_label"], context=context or mx.cpu(), update_freq=1)


def samples(count=24):
    x = np.random.RandomState(0).randn(count, 3).astype("float32")
    return x, (x @ [[1.0], [-2.0], [0.5]]).astype("float32")


@pytest.mark.parametrize("context", [mx.cpu(), [mx.cpu(0), mx.cpu(1)]])
def test_gradients_with_reduced_variance(context):
    x, y = samples()
    source = mx.io.NDArrayIter(x, y, batch_size=8, label_name="lin_label")
    module = regression(context)
    module.bind(source.provide_data, source.provide_label)
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    module.update_full_grads(source)
    then = module.get_params()[0]["fc_weight"].asnumpy()

    def gradient(weight, rows):  # of the sum of half the squares
        return ((x[rows] @ weight.T - y[rows]) * x[rows]).sum(axis=0)

    source.reset()
    batch = source.next()
    for rows in (slice(0, 8), slice(8, 16)):
        now = module.get_params()[0]["fc_weight"].asnumpy()
        module.forward_backward(batch)
        module.update()
        step = gradient(now, rows) - gradient(then, rows) + gradient(then, slice(None)) / 3
        found = module.get_params()[0]["fc_weight"].asnumpy()
        np.testing.assert_allclose(found, now - 0.1 * step / 8, rtol=1e-4, atol=1e-5)
        batch = source.next()


def test_it_learns():
    x, y = samples()
    source = mx.io.NDArrayIter(x, y, batch_size=8, shuffle=True, label_name="lin_label")
    module = regression()
    module.fit(source, eval_metric="mse", num_epoch=30, optimizer_params={"learning_rate": 0.3})
    weight = module.get_params()[0]["fc_weight"].asnumpy()
    np.testing.assert_allclose(weight, [[1, -2, 0.5]], atol=1e-3)
    for wrong in (None, 0):
        with pytest.raises((TypeError, ValueError)):
            SVRGModule(module.symbol, label_names=["lin_label"], update_freq=wrong)


# The others


def test_metrics_for_tensorboard(tmp_path, monkeypatch):
    from tensorboardX.proto.event_pb2 import Event

    callback = LogMetricsCallback(str(tmp_path), prefix="train")
    metric = mx.metric.Accuracy()
    metric.update([mx.nd.array([1, 0])], [mx.nd.array([[0, 1], [0, 1]])])
    param = mx.model.BatchEndParam(0, 0, metric, None)
    callback(param)
    callback(param)
    callback.summary_writer.close()
    (path,) = tmp_path.glob("events.out.tfevents.*")
    content, events = path.read_bytes(), []
    while content:  # length and its checksum, an event and its checksum
        end = 12 + struct.unpack("<Q", content[:8])[0]
        events.append(Event.FromString(content[12:end]))
        content = content[end + 4 :]
    found = [(event.step, value.tag, value.simple_value) for event in events for value in event.summary.value]
    assert found == [(1, "train-accuracy", 0.5), (2, "train-accuracy", 0.5)]
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match="pip install tensorboardX"):
        LogMetricsCallback(str(tmp_path))


def test_the_first_autograd():
    from loomix.contrib import autograd

    x, y = mx.nd.array([1.0, 2.0]), mx.nd.array([3.0, 4.0])
    grads, value = autograd.grad_and_loss(lambda a, b: a * b)(x, y)
    assert [g.asnumpy().tolist() for g in grads] == [[3, 4], [1, 2]]
    assert value.asnumpy().tolist() == [3, 8]
    assert autograd.grad(lambda a, b: a * b, argnum=1)(x, y)[0].asnumpy().tolist() == [1, 2]
    gradient = mx.nd.zeros((2,))
    autograd.mark_variables([x], [gradient])
    with autograd.train_section():
        assert mx.autograd.is_training() and mx.autograd.is_recording()
        with autograd.test_section():
            assert not mx.autograd.is_recording()
        z = x * x
    autograd.compute_gradient([z])
    assert gradient.asnumpy().tolist() == [2, 4]
    assert autograd.set_is_training(False) is False
    with pytest.raises(TypeError):
        autograd.backward(z)
    with pytest.raises(TypeError):
        autograd.grad(lambda a: a)(3)


def test_loaders_are_iterators():
    x = np.arange(10, dtype="float64").reshape(5, 2)
    loader = [(mx.nd.array(x[i : i + 2]), mx.nd.array([i, i + 1][: len(x[i : i + 2])])) for i in (0, 2, 4)]
    source = mx.contrib.io.DataLoaderIter(loader)
    assert source.provide_data[0].shape == (2, 2) and source.provide_label[0].name == "softmax_label"
    for _ in range(2):
        batches = list(source)
        assert [batch.pad for batch in batches] == [0, 0, 1]
        assert batches[2].data[0].asnumpy().tolist() == [[8, 9], [0, 0]]
        source.reset()
    with pytest.raises(ValueError, match="no batches"):
        mx.contrib.io.DataLoaderIter([])
    data = mx.gluon.data.ArrayDataset(x.astype("float32"), np.arange(5, dtype="float32"))
    source = mx.contrib.io.DataLoaderIter(mx.gluon.data.DataLoader(data, batch_size=2))
    assert [batch.label[0].asnumpy().tolist() for batch in source] == [[0, 1], [2, 3], [4, 0]]


def test_operators_have_their_place_in_contrib():
    assert mx.contrib.nd is mx.nd.contrib and mx.contrib.sym is mx.sym.contrib
    import loomix.contrib.ndarray as operators

    assert operators.boolean_mask is mx.nd.contrib.boolean_mask
    with pytest.raises(AttributeError, match="its parts are"):
        _ = mx.contrib.none


def test_candidates_are_drawn():
    mx.random.seed(1)
    true = mx.nd.array([3, 0])
    samples, expected_true, expected = mx.nd.contrib.rand_zipfian(true, 20000, 5)
    assert samples.dtype == np.int64 and expected_true.dtype == expected.dtype == np.float64
    probabilities = np.log(np.arange(2, 7) / np.arange(1, 6)) / np.log(6)
    np.testing.assert_allclose(expected_true.asnumpy(), 20000 * probabilities[[3, 0]], rtol=1e-9)
    drawn = samples.asnumpy()
    np.testing.assert_allclose(expected.asnumpy(), 20000 * probabilities[drawn], rtol=1e-9)
    found = np.bincount(drawn, minlength=5) / 20000
    np.testing.assert_allclose(found, probabilities, atol=0.015)
    parts = mx.sym.Group(list(mx.sym.contrib.rand_zipfian(mx.sym.Variable("true"), 4, 5)))
    outputs = parts.bind(mx.cpu(), {"true": true}).forward()
    assert [output.shape for output in outputs] == [(4,), (2,), (4,)]
    with pytest.raises(ValueError):
        mx.nd.contrib.rand_zipfian(true, 0, 5)


def adamw(weight, grad, mean, var, lr, eta, wd, beta1=0.9, beta2=0.999, epsilon=1e-8):
    """A step of Loshchilov and Hutter's algorithm 2, without its corrections of the first steps."""
    mean, var = beta1 * mean + (1 - beta1) * grad, beta2 * var + (1 - beta2) * grad**2
    return weight - eta * (lr * mean / (np.sqrt(var) + epsilon) + wd * weight), mean, var


@pytest.fixture
def steps():
    """Weights, gradients and averages of two arrays, as NumPy's."""
    random = np.random.RandomState(3)
    return [[random.uniform(0.1, 1, shape).astype("float32") for shape in ((2, 3), (4,))] for _ in range(4)]


def as_arrays(lists, dtype="float32"):
    return [[mx.nd.array(values, dtype=dtype) for values in arrays] for arrays in lists]


@pytest.mark.parametrize("scale", [2.0, "array"])
def test_adamw_of_one_array_and_of_several(steps, scale):
    scale = mx.nd.array([2.0]) if scale == "array" else scale
    lrs, wds, etas = [0.1, 0.2], [0.01, 0.0], [1.0, 0.5]
    weights, grads, means, variances = as_arrays(steps)
    out = mx.nd.contrib.multi_adamw_update(
        weights, grads, means, variances, scale, lrs, wds, etas, out=weights, size=2
    )
    assert out[0] is weights[0]
    for i, values in enumerate(zip(*steps)):
        wanted = adamw(values[0], values[1] * 2, *values[2:], lrs[i], etas[i], wds[i])
        single = [mx.nd.array(array) for array in values]
        result = mx.nd.contrib.adamw_update(*single, scale, lrs[i], etas[i], wd=wds[i], out=single[0])
        assert result is single[0]
        for want, one, many in zip(wanted, (single[0], *single[2:]), (weights[i], means[i], variances[i])):
            np.testing.assert_allclose(one.asnumpy(), want, rtol=1e-5)
            np.testing.assert_allclose(many.asnumpy(), want, rtol=1e-5)


def test_adamw_in_half_precision(steps):
    halves = as_arrays(steps[:2], "float16")
    masters, _, means, variances = as_arrays(steps)
    arguments = [[0.1, 0.1], [0.0, 0.0], [1.0, 1.0]]
    mx.nd.contrib.multi_mp_adamw_update(
        *halves, means, variances, masters, 1.0, *arguments, out=halves[0], beta1=0.5
    )
    for i, values in enumerate(zip(*steps)):
        grad = values[1].astype("float16").astype("float32")
        wanted = adamw(values[0], grad, *values[2:], 0.1, 1.0, 0.0, beta1=0.5)[0]
        np.testing.assert_allclose(masters[i].asnumpy(), wanted, rtol=1e-5)
        assert (halves[0][i].asnumpy() == masters[i].asnumpy().astype("float16")).all()
        half, master = mx.nd.array(values[0], dtype="float16"), mx.nd.array(values[0])
        rest = [mx.nd.array(array) for array in values[2:]]
        gradient = mx.nd.array(values[1], dtype="float16")
        mx.nd.contrib.mp_adamw_update(half, gradient, *rest, master, 1.0, 0.1, 1.0, beta1=0.5, out=half)
        np.testing.assert_allclose(master.asnumpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("scale", [0.0, float("inf"), float("nan")])
def test_adamw_leaves_out_steps_that_overflowed(scale):
    weight, mean, var = mx.nd.ones(2), mx.nd.zeros(2), mx.nd.zeros(2)
    mx.nd.contrib.adamw_update(weight, mx.nd.ones(2), mean, var, scale, 0.1, 1.0, out=weight)
    assert weight.asnumpy().tolist() == [1, 1] and mean.asnumpy().tolist() == [0, 0]


def test_lamb_of_several_arrays(steps):
    """You et al. 2020, algorithm 2."""
    counts, lrs, wds = [1, 3], [0.1, 0.2], [0.01, 0.0]
    weights, grads, means, variances = as_arrays(steps)
    mx.nd.contrib.multi_lamb_update(weights, grads, means, variances, counts, lrs, wds, out=weights)
    halves = as_arrays(steps[:2], "float16")
    masters, _, *others = as_arrays(steps)
    mx.nd.contrib.multi_mp_lamb_update(*halves, *others, masters, counts, lrs, wds, out=halves[0])
    for i, (weight, grad, mean, var) in enumerate(zip(*steps)):
        mean, var = 0.9 * mean + 0.1 * grad, 0.999 * var + 0.001 * grad**2
        step = mean / (1 - 0.9 ** counts[i]) / (np.sqrt(var / (1 - 0.999 ** counts[i])) + 1e-6)
        step += wds[i] * weight
        wanted = weight - lrs[i] * np.linalg.norm(weight) / np.linalg.norm(step) * step
        np.testing.assert_allclose(weights[i].asnumpy(), wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(masters[i].asnumpy(), wanted, rtol=3e-3)  # of gradients in half precision
        np.testing.assert_allclose(means[i].asnumpy(), mean, rtol=1e-5)


def test_lamb_of_many_arrays():
    """As many as MXNet takes, which are more than a shape has axes."""
    count = 45
    lists = [[mx.nd.ones(2) for _ in range(count)] for _ in range(4)]
    steps = list(range(1, count + 1))
    mx.nd.contrib.multi_lamb_update(*lists, steps, [0.1] * count, [0.0] * count, out=lists[0])
    for step in (1, count):
        alone = [[mx.nd.ones(2)] for _ in range(4)]
        mx.nd.contrib.multi_lamb_update(*alone, [step], [0.1], [0.0], out=alone[0])
        assert lists[0][step - 1].asnumpy().tolist() == alone[0][0].asnumpy().tolist() != [1, 1]


def test_lists_of_other_lengths():
    one = [mx.nd.ones(2)]
    with pytest.raises(ValueError, match=r"lengths \[1, 2, 1, 1\]"):
        mx.nd.contrib.multi_lamb_update(one, one * 2, one, one, [1], [0.1], [0.0])
    with pytest.raises(ValueError, match="expected 2"):
        mx.nd.contrib.multi_adamw_update(one, one, one, one, 1.0, [0.1], [0.0], [1.0], size=2)
