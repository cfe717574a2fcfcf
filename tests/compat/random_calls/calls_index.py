# SPDX-License-Identifier: Apache-2.0
"""Random calls of operators that index, of sequences, matrices and optimizers."""

from calls import makes
from draw import Array, Call


@makes("take")
def take(draw, name):
    shape = draw.shape(1, 3)
    axis = draw.axis(len(shape))
    indices = Array(draw.shape(1, 2), draw.of("float32", "int32", "int64"), "whole", -2, shape[axis] + 2)
    attrs = {"axis": axis, **draw.some(mode=draw.of("clip", "wrap"))}
    return Call(name, [Array(shape, draw.floating()), indices], attrs)


@makes("batch_take pick")
def pick(draw, name):
    shape = draw.shape(2, 3 if name == "pick" else 2)
    axis = draw.axis(len(shape)) if name == "pick" else -1
    index = list(shape)
    size = index.pop(axis)
    indices = Array(index, "int32" if name == "batch_take" else draw.of("float32", "int32"), "whole", 0, size)
    attrs = (
        {}
        if name == "batch_take"
        else {"axis": axis, **draw.some(keepdims=draw.chance(0.5), mode=draw.of("clip", "wrap"))}
    )
    return Call(name, [Array(shape, draw.floating()), indices], attrs, grad=name == "pick")


@makes("one_hot")
def one_hot(draw, name):
    attrs = {"depth": draw.whole(1, 5), **draw.some(on_value=2.0, off_value=-1.0, dtype=draw.dtype())}
    return Call(
        name, [Array(draw.shape(1, 3), draw.of("float32", "int32"), "whole", -1, 6)], attrs, grad=False
    )


@makes("Embedding contrib.SparseEmbedding")
def embedding(draw, name):
    rows, width = draw.whole(1, 6), draw.whole(1, 4)
    attrs = {"input_dim": rows, "output_dim": width}
    data = Array(draw.shape(1, 3), draw.of("float32", "int32"), "whole", 0, rows)
    return Call(
        name,
        [data, Array((rows, width), draw.floating() if name == "Embedding" else "float32")],
        attrs,
        grad=False,
    )


@makes("gather_nd scatter_nd")
def gather(draw, name):
    shape = draw.shape(2, 3)
    count, lead = draw.whole(1, 4), draw.whole(1, 2)
    rows = [[draw.whole(0, shape[axis] - 1) for _ in range(count)] for axis in range(lead)]
    if name == "scatter_nd":  # which of two values of one place is kept is not defined
        places = draw.order(range(shape[0]))[:count]
        count, rows = len(places), [places] + [[row[i] for i in range(len(places))] for row in rows[1:]]
    indices = Array((lead, count), draw.of("int32", "float32"), tuple(map(tuple, rows)))
    if name == "gather_nd":
        return Call(name, [Array(shape, draw.floating()), indices])
    return Call(name, [Array((count, *shape[lead:]), draw.floating()), indices], {"shape": shape})


@makes("_internal._ravel_multi_index _internal._unravel_index")
def ravel(draw, name):
    shape = draw.shape(2, 3)
    size = 1
    for n in shape:
        size *= n
    dtype = draw.of("float32", "int32", "int64")
    if name == "_internal._unravel_index":
        return Call(name, [Array((draw.whole(1, 5),), dtype, "whole", 0, size)], {"shape": shape}, grad=False)
    return Call(
        name,
        [Array((len(shape), draw.whole(1, 5)), dtype, "whole", 0, min(shape))],
        {"shape": shape},
        grad=False,
    )


@makes("contrib.boolean_mask contrib.index_copy contrib.allclose")
def contrib_index(draw, name):
    shape = draw.shape(1, 3)
    data = Array(shape, draw.of("float32", "float64"))
    if name == "contrib.allclose":
        return Call(name, [data, Array(shape, data.dtype)], draw.some(rtol=0.1, atol=9.0), grad=False)
    if name == "contrib.boolean_mask":
        mask = [1] + [draw.whole(0, 1) for _ in range(shape[0] - 1)]
        return Call(name, [data, Array((shape[0],), "float32", tuple(mask))])
    rows = draw.order(range(shape[0]))[: draw.whole(1, shape[0])]
    return Call(
        name, [data, Array((len(rows),), "int32", tuple(rows)), Array((len(rows), *shape[1:]), data.dtype)]
    )


@makes("SequenceMask SequenceLast SequenceReverse")
def sequences(draw, name):
    steps, batch = draw.whole(1, 5), draw.whole(1, 4)
    shape = (steps, batch, *draw.shape(1 if name != "SequenceMask" else 0, 2))
    axis = draw.of(0, 0, 1) if name != "SequenceReverse" else 0
    if axis:
        shape = (batch, steps, *shape[2:])
    data = Array(shape, draw.floating())
    attrs = {"axis": axis}
    if name == "SequenceMask":
        attrs.update(draw.some(value=-1.0))
    if draw.chance(0.75) or name == "SequenceLast":  # without lengths its gradient writes other memory there
        attrs["use_sequence_length"] = True
        return Call(
            name, [data, Array((batch,), draw.of("float32", data.dtype), "whole", 1, steps + 1)], attrs
        )
    return Call(name, [data], attrs)


@makes("dot batch_dot")
def products(draw, name):
    a, b, c = draw.whole(1, 5), draw.whole(1, 5), draw.whole(1, 5)
    ta, tb = draw.chance(0.4), draw.chance(0.4)
    lead = (draw.whole(1, 3),) if name == "batch_dot" else ()
    lhs, rhs = (*lead, b, a) if ta else (*lead, a, b), (*lead, c, b) if tb else (*lead, b, c)
    if name == "dot" and draw.chance(0.25):
        lhs, rhs, ta, tb = draw.of(((b,), (b,)), ((a, b), (b,)), ((a, c, b), (b, c)), ((b,), (b, c))) + (
            False,
            False,
        )
    dtype = draw.of("float32", "float32", "float64")
    return Call(
        name,
        [Array(lhs, dtype), Array(rhs, dtype)],
        {"transpose_a": ta, "transpose_b": tb} if ta or tb else {},
    )


@makes("linalg.gemm linalg.gemm2")
def gemm(draw, name):
    a, b, c = draw.whole(1, 4), draw.whole(1, 4), draw.whole(1, 4)
    ta, tb = draw.chance(0.4), draw.chance(0.4)
    lead, dtype = draw.of((), (2,), (2, 1)), draw.of("float32", "float64")
    inputs = [(*lead, b, a) if ta else (*lead, a, b), (*lead, c, b) if tb else (*lead, b, c)]
    attrs = {"transpose_a": ta, "transpose_b": tb, **draw.some(alpha=draw.number())}
    if name == "linalg.gemm":
        inputs.append((*lead, a, c))
        attrs.update(draw.some(beta=draw.number()))
    return Call(name, [Array(shape, dtype) for shape in inputs], attrs)


@makes(
    "linalg.det linalg.inverse linalg.slogdet linalg.potrf linalg.sumlogdiag linalg.potri linalg.extractdiag",
    "linalg.extracttrian linalg.syrk",
)
def square(draw, name):
    n, lead = draw.whole(1, 4), draw.of((), (2,), (2, 1))
    attrs = {}
    if name in ("linalg.extractdiag", "linalg.extracttrian"):
        attrs = draw.some(offset=draw.whole(1 - n, n - 1))
    if name == "linalg.extracttrian":
        attrs.update(draw.some(lower=draw.chance(0.5)))
    if name == "linalg.syrk":
        attrs = draw.some(transpose=draw.chance(0.5), alpha=draw.number())
    return Call(name, [Array((*lead, n, n), draw.of("float32", "float64"), "matrix")], attrs)


@makes("linalg.makediag linalg.maketrian")
def make(draw, name):
    lead = draw.of((), (2,))
    n = draw.of(1, 3, 6) if name == "linalg.maketrian" else draw.whole(1, 4)
    attrs = (
        draw.some(lower=draw.chance(0.5))
        if name == "linalg.maketrian"
        else draw.some(offset=draw.whole(-2, 2))
    )
    return Call(name, [Array((*lead, n), draw.of("float32", "float64"))], attrs)


@makes("linalg.trmm linalg.trsm")
def triangle(draw, name):
    n, m, lead, dtype = draw.whole(1, 4), draw.whole(1, 4), draw.of((), (2,)), draw.of("float32", "float64")
    right = draw.chance(0.4)
    attrs = {
        "rightside": right,
        **draw.some(transpose=draw.chance(0.5), lower=draw.chance(0.5), alpha=draw.number()),
    }
    return Call(
        name,
        [Array((*lead, n, n), dtype, "matrix"), Array((*lead, m, n) if right else (*lead, n, m), dtype)],
        attrs,
    )


@makes("khatri_rao")
def khatri_rao(draw, name):
    columns = draw.whole(1, 3)
    return Call(name, [Array((draw.whole(1, 3), columns)) for _ in range(draw.whole(1, 3))], grad=False)


@makes("_internal._histogram")
def histogram(draw, name):
    return Call(
        name,
        [Array(draw.shape(), "float32", "distinct")],
        {"bin_cnt": draw.whole(1, 5), "range": (-3.1, 4.3)},
        grad=False,
    )


@makes("cumsum")
def cumsum(draw, name):
    shape = draw.shape()
    return Call(
        name,
        [Array(shape, draw.of("float32", "float64"))],
        draw.some(axis=draw.whole(-draw.chance(0.05), len(shape) - 1)),
    )


@makes("_internal._slice_assign _internal._slice_assign_scalar")
def slice_assign(draw, name):
    shape = draw.shape(1, 3, 6)
    begin = tuple(draw.whole(0, n - 1) for n in shape)
    end = tuple(draw.whole(b + 1, n) for b, n in zip(begin, shape))
    data, attrs = Array(shape, draw.floating()), {"begin": begin, "end": end}
    if name == "_internal._slice_assign":
        return Call(
            name, [data, Array(tuple(e - b for b, e in zip(begin, end)), data.dtype)], attrs, grad=False
        )
    return Call(name, [data], {**attrs, "scalar": draw.number()}, grad=False)


UPDATES = {  # operator -> (states, required and usual parameters)
    "sgd_update": (0, "wd"), "sgd_mom_update": (1, "momentum wd"), "nag_mom_update": (1, "momentum wd"),
    "signsgd_update": (0, "wd"), "signum_update": (1, "momentum wd wd_lh"), "adam_update": (2, "beta1 beta2 wd"),
    "rmsprop_update": (1, "gamma1 wd"), "rmspropalex_update": (3, "gamma1 gamma2 wd"),
    "ftrl_update": (2, "lamda1 beta wd"), "ftml_update": (3, "beta1 beta2 wd"),
}  # fmt: skip


@makes(*UPDATES)
def update(draw, name):
    states, usual = UPDATES[name]
    shape, dtype = draw.shape(), draw.of("float32", "float32", "float64")
    attrs = {
        "lr": draw.number(0.01, 0.5),
        **draw.some(**{key: draw.number(0.1, 0.9) for key in usual.split()}),
    }
    attrs.update(draw.some(rescale_grad=draw.number(0.5, 2)))
    clip = "clip_grad" if name == "ftml_update" else "clip_gradient"
    attrs.update(draw.some(**{clip: draw.number(0.5, 2)}))
    if name == "ftml_update":
        attrs["t"] = draw.whole(1, 9)
    first = "uniform", 0.5, 1.5
    inputs = [Array(shape, dtype), Array(shape, dtype)] + [Array(shape, dtype, *first) for _ in range(states)]
    if name == "rmspropalex_update":  # the mean of squares is not less than the square of the mean
        inputs[2:4] = [Array(shape, dtype, "uniform", 2, 3), Array(shape, dtype, "uniform", -0.5, 0.5)]
    return Call(name, inputs, attrs, grad=False, mutates=range(2, len(inputs)))


@makes("lamb_update_phase1")
def lamb(draw, name):
    shape = draw.shape()
    attrs = {"t": draw.whole(1, 5), "wd": draw.number(0, 0.5), **draw.some(bias_correction=draw.chance(0.5))}
    return Call(
        name,
        [Array(shape), Array(shape), Array(shape), Array(shape, "float32", "uniform", 0.5, 1.5)],
        attrs,
        grad=False,
        mutates=(2, 3),
    )


@makes("multi_sum_sq multi_all_finite all_finite")
def several(draw, name):
    count = 1 if name == "all_finite" else draw.whole(1, 3)
    inputs = [Array(draw.shape(), draw.of("float32", "float64")) for _ in range(count)]
    if count > 1:
        inputs = [Array(x.shape, inputs[0].dtype) for x in inputs]
    return Call(name, inputs, {} if name == "all_finite" else {"num_arrays": count}, grad=False)
