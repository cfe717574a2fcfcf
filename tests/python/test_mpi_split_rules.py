# SPDX-License-Identifier: Apache-2.0
"""Rules of operators for values that are cut over ranks: outputs and gradients are those of one process."""

import pytest
from test_mpi_kvstore import no_mpi as no_mpi  # a fixture
from test_mpi_kvstore import with_mpi as run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


@pytest.fixture(autouse=True)
def needs_mpi(no_mpi):
    if no_mpi:
        pytest.skip(no_mpi)


HARNESS = """
import loomix as mx, numpy as np
from loomix import parallel
from loomix.parallel.split_pass import split_symbol
from loomix.parallel.splits import Cut
mesh = parallel.Mesh(model=parallel.size())
v = mx.sym.Variable

def check(name, out, shapes, cuts, moves=None, ints=(), dtype="float32", rtol=1e-4, low=-1, without=(), trained=None):
    '''`moves`: the operators that move data; None: whatever they are.'''
    known, r = shapes, np.random.RandomState(len(name))
    arg_shapes, out_shapes, aux_shapes = out.infer_shape(**known)
    names = out.list_arguments()
    shapes = dict(zip(names, arg_shapes))
    values = {}
    for key, shape in shapes.items():
        if key in ints:
            values[key] = mx.nd.array(r.randint(low, ints[key], shape), dtype=dtype)
        else:
            values[key] = mx.nd.array(r.uniform(-1, 1, shape) * 3, dtype=dtype)
    heads = [mx.nd.array(r.uniform(0, 1, shape), dtype=dtype) for shape in out_shapes]
    aux = {key: mx.nd.ones(shape) for key, shape in zip(out.list_auxiliary_states(), aux_shapes)}

    def passes(symbol, args, states):
        grads = {key: mx.nd.zeros(array.shape, dtype=dtype) for key, array in args.items() if key in (trained or args)}
        run = symbol.bind(mx.cpu(), args, grads, aux_states=states)
        mx.random.seed(5)
        found = [array.copy() for array in run.forward(is_train=True)]
        run.backward(heads)
        return found + run.forward(is_train=False), grads
    made_cuts = {key: Cut(mesh, "model", axis) for key, axis in cuts.items()}
    all_shapes = {**shapes, **{key: array.shape for key, array in aux.items()}}
    made = split_symbol(out, all_shapes, dict.fromkeys(names, np.dtype(dtype).type), made_cuts)
    part = lambda key, array: made_cuts[key].part(array) if key in made_cuts else array.copy()
    own = {key: part(key, array) for key, array in values.items()}
    own_aux = {key: part(key, array) for key, array in aux.items()}
    expected, wanted = passes(out, values, aux)
    found, grads = passes(made.symbol, own, own_aux)
    for key, array in {**values, **aux}.items():  # operators write some of them
        np.testing.assert_allclose(
            {**own, **own_aux}[key].asnumpy(), part(key, array).asnumpy(), rtol=rtol, err_msg=name + " " + key)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=rtol, atol=rtol, err_msg=name)
    for key, array in wanted.items():
        if key not in ints:
            np.testing.assert_allclose(
                grads[key].asnumpy(), part(key, array).asnumpy(), rtol=rtol, atol=rtol, err_msg=name + " " + key)
    assert made.without_rule == list(without), (name, made.without_rule)
    if moves is not None and parallel.size() > 1:
        got = [move.operator.removeprefix("_parallel_") for move in made.moves]
        assert got == moves.split(), (name, got)
    return made
"""

LOSSES = """
x, y = v("data"), v("label")
logits = mx.sym.FullyConnected(x, num_hidden=10, name="fc")
cut = {"fc_weight": 0, "fc_bias": 0}
shapes = {"data": (6, 5)}
ints = {"label": 10}
for axis in (1, -1):
    check("softmax", mx.sym.softmax(logits, axis=axis), shapes, cut, "share gather gather")
check("softmax over rows", mx.sym.softmax(logits, axis=0), shapes, cut, "share gather")
check("warm softmax", mx.sym.softmax(logits, temperature=2.5), shapes, cut)
check("log_softmax", mx.sym.log_softmax(logits), shapes, cut, "share gather gather")
check("float16", mx.sym.log_softmax(logits), shapes, cut, dtype="float16", rtol=2e-2)
check("pick", mx.sym.pick(mx.sym.log_softmax(logits), y, axis=-1, keepdims=True), {**shapes, "label": (6,)}, cut,
      "share gather all_reduce", ints, low=0)
check("pick by rows", mx.sym.pick(logits, y, axis=0), {**shapes, "label": (10,)}, cut, None, {"label": 6}, low=0)
check("cross entropy", mx.sym.softmax_cross_entropy(logits, y), {**shapes, "label": (6,)}, cut,
      "share gather all_reduce", ints, low=0)
more = [
    {}, {"grad_scale": 0.7}, {"normalization": "batch"}, {"normalization": "valid", "use_ignore": True},
    {"use_ignore": True, "ignore_label": 3}, {"use_ignore": True, "ignore_label": -1, "normalization": "batch"},
    {"out_grad": True}, {"preserve_shape": True},
]
for attrs in more:
    made = check(f"SoftmaxOutput {attrs}", mx.sym.SoftmaxOutput(logits, y, **attrs), {**shapes, "label": (6,)}, cut,
                 "share gather gather", ints)
check("smooth", mx.sym.SoftmaxOutput(logits, y, smooth_alpha=0.1), {**shapes, "label": (6,)}, cut, None, ints)
check("probabilities", mx.sym.SoftmaxOutput(logits, y), {**shapes, "label": (6, 10)}, cut, None)
images = mx.sym.Convolution(x, num_filter=7, kernel=(1, 1), name="conv")
for attrs in ({}, {"normalization": "batch"}, {"normalization": "valid"}):
    check(f"multi_output {attrs}", mx.sym.SoftmaxOutput(images, y, multi_output=True, **attrs),
          {"data": (3, 4, 2, 5)}, {"conv_weight": 0, "conv_bias": 0}, "share gather gather", {"label": 7})
for attrs in ({}, {"normalization": "batch", "grad_scale": 3}):
    check(f"examples {attrs}", mx.sym.SoftmaxOutput(logits, y, **attrs), {**shapes, "label": (6,)},
          {"data": 0, "label": 0}, "share share gather", ints)
check("both", mx.sym.SoftmaxOutput(logits, y), {**shapes, "label": (6,)}, {**cut, "data": 0, "label": 0},
      "gather all_to_all gather", ints)
check("examples in cross entropy", mx.sym.softmax_cross_entropy(logits, y), {**shapes, "label": (6,)},
      {"data": 0, "label": 0}, "share share all_reduce", ints, low=0)
for name in ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"):
    made = getattr(mx.sym, name)(logits, y, grad_scale=2)
    check(name, made, {**shapes, "label": (6, 10)}, cut, "share own gather")
    check(name, made, {**shapes, "label": (6, 10)}, {"data": 0, "label": 0}, "share share gather")
for keepdims in (True, False):
    for axis in (0, 1, (0, 1), ()):
        for name in ("sum", "mean"):
            check(name, getattr(mx.sym, name)(logits, axis=axis, keepdims=keepdims), shapes, cut)
    check("max", mx.sym.max(logits, axis=0, keepdims=keepdims), shapes, cut, "share gather")
check("exclude", mx.sym.mean(logits, axis=1, exclude=True), shapes, cut, "share gather")
check("MakeLoss", mx.sym.MakeLoss(mx.sym.square(logits)), shapes, cut, "share gather")
print("good")
"""

LAYERS = """
x = v("data")
fc = mx.sym.FullyConnected(x, num_hidden=12, name="fc")
cut = {"fc_weight": 0, "fc_bias": 0}
small = {"data": (6, 5)}
images = {"data": (5, 12, 7, 6)}
conv, deconv = mx.sym.Convolution, mx.sym.Deconvolution
filters = {"c_weight": 0, "c_bias": 0}
# products
check("columns", fc, small, cut, "share gather")
check("rows", mx.sym.FullyConnected(fc, num_hidden=4, name="b"), small, {**cut, "b_weight": 1}, "share all_reduce")
check("rows alone", fc, small, {"fc_weight": 1}, "own all_reduce")
check("examples", fc, small, {"data": 0}, "share share gather")
check("dot", mx.sym.dot(x, v("w")), {"data": (4, 6), "w": (6, 7)}, {"w": 1}, "share gather")
check("dot, inner", mx.sym.dot(x, v("w")), {"data": (4, 6), "w": (6, 7)}, {"w": 0}, "own all_reduce")
check("dot, outer", mx.sym.dot(x, v("w"), transpose_b=True), {"data": (4, 6), "w": (7, 6)}, {"data": 0}, "share gather")
check("batch_dot", mx.sym.batch_dot(x, v("w")), {"data": (4, 3, 2), "w": (4, 2, 5)}, {"data": 0}, "own gather")
words = mx.sym.Embedding(x, input_dim=9, output_dim=8, name="e")
check("Embedding", words, {"data": (3, 2)}, {"e_weight": 1}, "gather", {"data": 9}, low=0)
check("Embedding by words", words, {"data": (3, 2)}, {"e_weight": 0}, "all_reduce", {"data": 9}, low=0)
check("Embedding, examples", words, {"data": (5, 2)}, {"data": 0}, "share gather", {"data": 9}, low=0)
# convolutions
plain = conv(x, num_filter=8, kernel=(3, 3), pad=(1, 1), name="c")
check("conv", plain, images, filters, "share gather")
check("conv, rows", plain, images, {"c_weight": 1}, "own all_reduce")
check("conv, examples", plain, images, {"data": 0}, "share share gather")
up = deconv(x, num_filter=8, kernel=(3, 2), stride=(2, 2), no_bias=False, name="c")
check("deconv", up, images, {"c_weight": 1, "c_bias": 0}, "share gather")
check("deconv, rows", up, images, {"c_weight": 0}, "own all_reduce")
check("deconv, examples", up, images, {"data": 0}, "share share gather")
for groups, number in ((12, 24), (12, 12)):
    grouped = conv(x, num_filter=number, num_group=groups, kernel=(3, 3), name="c")
    check("groups", grouped, images, filters, "own gather")
    check("groups after columns", conv(x, num_filter=number,
          num_group=groups, kernel=(3, 3), name="c"), images, {"data": 1}, "own own gather")
    up = deconv(x, num_filter=number, num_group=groups, kernel=(2, 2), no_bias=False, name="c")
    check("groups of deconv", up, images, filters, "own gather")
uneven = conv(x, num_filter=10, num_group=2, kernel=(3, 3), name="c")
check("groups that do not divide", uneven, images, filters, None)
check("groups, examples", uneven, images, {"data": 0}, "share share gather")
# what is less travels: the weights, or the examples
wide = {"data": (40, 5)}
check("weights are less", fc, wide, {**cut, "data": 0}, "gather gather gather")
check("examples are less", fc, small, {**cut, "data": 0}, "gather gather")
check("filters are less", plain, {"data": (6, 3, 8, 9)}, {**filters, "data": 0}, "gather gather gather")
check("images are less", plain, {"data": (6, 3, 1, 1)}, {**filters, "data": 0}, "gather gather")
# after a cut of channels, and of examples
for start, cuts in ((plain, filters), (plain, {"data": 0})):
    channels = cuts is filters
    after = "share gather" if channels else "share share gather"
    for kind in ("max", "avg"):
        check("pooling", mx.sym.Pooling(start, kernel=(2, 2), stride=(2, 2), pool_type=kind), images, cuts, after)
    check("global", mx.sym.Pooling(start, global_pool=True, kernel=(1, 1), pool_type="avg"), images, cuts, after)
    for one in (
        mx.sym.Activation(start, act_type="softrelu"), mx.sym.relu(start), mx.sym.sin(start), mx.sym.arctan(start),
        mx.sym.LeakyReLU(start, act_type="elu"), mx.sym.LeakyReLU(start, act_type="gelu"), start * 2 + 1,
        1 / (3 + mx.sym.square(start)), start + mx.sym.sigmoid(start), mx.sym.add_n(start, start),
        mx.sym.clip(start, -1, 1),
        mx.sym.where(start > 0, start, start * 0.1), mx.sym.broadcast_power(mx.sym.abs(start) + 1, mx.sym.tanh(start)),
        mx.sym.broadcast_mul(start, mx.sym.mean(start, axis=(2, 3), keepdims=True)), mx.sym.erf(start),
        mx.sym.Dropout(start, p=0.4), mx.sym.BlockGrad(start) * start, mx.sym.smooth_l1(start, scalar=1),
        mx.sym.expand_dims(start, axis=1), mx.sym.slice_axis(start, axis=2, begin=1, end=3),
        mx.sym.Concat(start, start * 2, dim=2), mx.sym.transpose(start, axes=(3, 1, 0, 2)),
        mx.sym.Cast(start, dtype="float32"), mx.sym.Reshape(start, shape=(0, 0, -1)),
    ):
        check(one.name, one, images, cuts, after)
    flat = mx.sym.Flatten(start)
    check("Flatten", flat, images, cuts)
    check("Reshape", mx.sym.Reshape(start, shape=(-1, 4)), images, cuts)
check("LRN", mx.sym.LRN(plain, nsize=3), images, {"data": 0}, "share share gather")
check("LRN of channels", mx.sym.LRN(plain, nsize=3), images, filters, None)
check("LayerNorm", mx.sym.LayerNorm(fc, name="n"), small, {"data": 0}, "share share share share gather")
check("LayerNorm of what is cut", mx.sym.LayerNorm(fc, name="n"), small, cut, None)
norm = mx.sym.BatchNorm(plain, fix_gamma=False, name="n")
states = {"n_moving_mean": 0, "n_moving_var": 0}
check("BatchNorm", norm, images, {**filters, "n_gamma": 0, "n_beta": 0, **states}, "share gather")
sync = lambda data, **more: mx.sym.contrib.SyncBatchNorm(data, key="k", name="n", **more)
one_sum = "share share share all_reduce all_reduce share gather"
fixed = "share share share gather"
check("SyncBatchNorm", sync(plain, fix_gamma=False, momentum=0.7, eps=0.1), images, {"data": 0}, one_sum)
check("SyncBatchNorm, gamma 1", sync(plain), images, {"data": 0}, one_sum[6:])
check("SyncBatchNorm of dense", sync(fc, fix_gamma=False), {"data": (11, 5)}, {"data": 0}, one_sum)
check("SyncBatchNorm, rows of images", sync(x, fix_gamma=False), images, {"data": 2}, one_sum[12:])
check("SyncBatchNorm, fixed", sync(plain, use_global_stats=True), images, {"data": 0}, fixed)
beta_alone = {"n_beta"}  # averages move all the same
check("SyncBatchNorm, beta", sync(x), images, {"data": 0}, one_sum[18:], trained=beta_alone)
half = mx.sym.Cast(sync(mx.sym.Cast(plain, dtype="float16"), fix_gamma=False), dtype="float32")
check("SyncBatchNorm of float16", half, images, {"data": 0}, one_sum, rtol=2e-2)
check("BatchNorm, fixed", mx.sym.BatchNorm(plain, use_global_stats=True, name="n"), images, {"data": 0}, fixed)
check("rows of images", mx.sym.BatchNorm(x, name="n"), images, {"data": 2}, "gather")
both = {"data": 0, "n_gamma": 0, "n_beta": 0, **states}
check("BatchNorm by channels of all examples", norm, images, both, "share share all_to_all gather")
check("Concat of channels", mx.sym.Concat(plain, x, dim=1), images, {"data": 0}, "share share gather")
one = mx.sym.L2Normalization(fc, name="one")
check("without a rule", one + mx.sym.relu(one), small, cut, "share gather", without=["one (L2Normalization)"])
print("good")
"""


OWN_STATISTICS = """
norm = mx.sym.BatchNorm(v("data"), fix_gamma=False, momentum=0.5, name="n")
whole, cut = (10, 3, 4), Cut(mesh, "model", 0)
states = {"n_moving_mean": (3,), "n_moving_var": (3,)}
made = split_symbol(norm, {"data": whole, "n_gamma": (3,), "n_beta": (3,), **states},
                    dict.fromkeys(["data", "n_gamma", "n_beta"], np.float32), {"data": cut}, {0: 0})
r = np.random.RandomState(3)
x, gamma, beta, head = (mx.nd.array(r.rand(*shape)) for shape in (whole, (3,), (3,), whole))

def passes(symbol):
    args = {"data": cut.part(x), "n_gamma": gamma, "n_beta": beta}
    grads = {key: mx.nd.zeros(array.shape) for key, array in args.items()}
    own = {key: mx.nd.ones(shape) for key, shape in states.items()}
    run = symbol.bind(mx.cpu(), args, grads, aux_states=own)
    run.forward(is_train=True)
    run.backward([cut.part(head)])
    return run.outputs[0], grads["data"], own["n_moving_mean"], own["n_moving_var"], grads["n_gamma"], grads["n_beta"]
found, expected = passes(made.symbol), passes(norm)  # the second: of the own examples alone
for one, other in zip(found[:4], expected[:4]):
    np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
for one, other in zip(found[4:], expected[4:]):  # of parameters that all ranks have
    total = parallel.all_reduce(other, mesh.axis("model"))
    np.testing.assert_allclose(one.asnumpy(), total.asnumpy(), rtol=1e-6)
assert [move.operator for move in made.moves] == ["_parallel_share"] * 2 and not made.without_rule
print("good")
"""


# In training sums of a number a channel travel; in prediction, which takes the moving statistics, nothing does.
OF_ALL = """
from loomix import _parallel
norm = mx.sym.contrib.SyncBatchNorm(v("data"), fix_gamma=False, key="k", name="n")
whole, cut = (12, 3, 4), Cut(mesh, "model", 0)
states = {"n_moving_mean": (3,), "n_moving_var": (3,)}
made = split_symbol(norm, {"data": whole, "n_gamma": (3,), "n_beta": (3,), **states},
                    dict.fromkeys(["data", "n_gamma", "n_beta"], np.float32), {"data": cut}, {0: 0})
args = {"data": cut.part(mx.nd.random.uniform(shape=whole)), "n_gamma": mx.nd.ones(3), "n_beta": mx.nd.zeros(3)}
own = {"n_moving_mean": mx.nd.array([1, 2, 3]), "n_moving_var": mx.nd.array([4, 5, 6])}
run = made.symbol.bind(mx.cpu(), args, {key: mx.nd.zeros(array.shape) for key, array in args.items()}, aux_states=own)
plain = norm.bind(mx.cpu(), args, aux_states={key: array.copy() for key, array in own.items()})

def sent(is_train):
    total = lambda: sum(_parallel.group_traffic(cut.group)["sent"]) if cut.group else 0
    mx.nd.waitall()
    before = total()
    out = run.forward(is_train=is_train)[0]
    mx.nd.waitall()
    return total() - before, out
for _ in range(2):
    bytes, out = sent(False)
    assert bytes == 0, bytes
    np.testing.assert_allclose(out.asnumpy(), plain.forward(is_train=False)[0].asnumpy(), rtol=1e-5)
    bytes, out = sent(True)
    assert (bytes > 0) == (parallel.size() > 1), bytes
print("good")
"""


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "program", [LOSSES, LAYERS, OWN_STATISTICS, OF_ALL], ids=["losses", "layers", "own statistics", "of all"]
)
def test_rules(ranks, program):
    done = run(HARNESS + program, "-n", str(ranks))
    assert done.returncode == 0 and done.stdout.count("good") == ranks, done.stdout + done.stderr[-3000:]
