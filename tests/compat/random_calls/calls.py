# SPDX-License-Identifier: Apache-2.0
"""Random calls of every operator: a function for each family, which draws shapes, types and parameters."""

from draw import NUMBERS, Array, Call

MAKERS = {}  # operator's name below mx.nd -> function(draw, name)


def makes(*names):
    """The function draws calls of these operators."""

    def register(function):
        for name in " ".join(names).split():
            MAKERS[name] = function
        return function

    return register


RANGES = {  # where a function is defined; others take any number
    "arccos": (-0.99, 0.99), "arcsin": (-0.99, 0.99), "arctanh": (-0.95, 0.95), "arccosh": (1.1, 9),
    "erfinv": (-0.95, 0.95), "log": (0.1, 9), "log2": (0.1, 9), "log10": (0.1, 9), "log1p": (-0.8, 9),
    "sqrt": (0.1, 9), "rsqrt": (0.1, 9), "gamma": (0.2, 6), "gammaln": (0.2, 6), "tan": (-1.4, 1.4),
    "cosh": (-4, 4), "sinh": (-4, 4),
}  # fmt: skip


WHOLE = (
    "abs ceil fix floor logical_not negative relu rint round sign square trunc BlockGrad make_loss identity "
    "zeros_like ones_like shape_array size_array Flatten"
).split()


@makes(
    "abs arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh degrees erf erfinv exp expm1 fix floor gamma",
    "gammaln hard_sigmoid log log10 log1p log2 logical_not negative radians rcbrt reciprocal relu rint round rsqrt",
    "sigmoid sign sin sinh sqrt square tan tanh trunc softsign BlockGrad make_loss identity zeros_like ones_like",
    "shape_array size_array Flatten contrib.round_ste contrib.sign_ste contrib.div_sqrt_dim",
)
def unary(draw, name):
    # Of functions whose values are no whole numbers integers say little, and MXNet gives what its compiler makes of
    # NaN.
    whole = name in WHOLE or draw.chance(0.02)
    dtype = draw.dtype() if whole else draw.floating()
    fill = Array(draw.shape(), dtype)
    if name in RANGES:
        low, high = RANGES[name]
        fill = Array(draw.shape(), dtype, "uniform", low, high)
    elif dtype in ("int8", "uint8", "int32", "int64"):
        fill = Array(draw.shape(), dtype, "whole", -4, 5)
    return Call(name, [fill])


def pair(draw, shape, other, floats=False):
    dtype = draw.floating() if floats else draw.dtype()
    if dtype in ("int8", "uint8", "int32", "int64"):
        return [Array(shape, dtype, "whole", -4, 5), Array(other, dtype, "whole", 1, 5)]
    return [Array(shape, dtype), Array(other, dtype)]


def broadcast_pair(draw):
    """Two shapes of the same rank that broadcast."""
    shape = draw.shape()
    one = tuple(1 if draw.chance(0.25) else n for n in shape)
    other = tuple(1 if draw.chance(0.25) else n for n in shape)
    return one, other


@makes(
    "broadcast_add broadcast_div broadcast_equal broadcast_greater broadcast_greater_equal broadcast_hypot",
    "broadcast_lesser broadcast_lesser_equal broadcast_logical_and broadcast_logical_or broadcast_logical_xor",
    "broadcast_maximum broadcast_minimum broadcast_mod broadcast_mul broadcast_not_equal broadcast_power broadcast_sub",
)
def broadcast(draw, name):
    inputs = pair(draw, *broadcast_pair(draw))
    if name == "broadcast_power":
        inputs[0] = Array(inputs[0].shape, inputs[0].dtype, "uniform", 0.2, 4)
    if draw.chance(0.03):
        inputs[1] = Array((*inputs[1].shape, 7), inputs[1].dtype)  # refused
    return Call(name, inputs)


@makes(
    "elemwise_add elemwise_div elemwise_mul elemwise_sub _internal._equal _internal._greater _internal._greater_equal",
    "_internal._grad_add _internal._hypot _internal._lesser _internal._lesser_equal _internal._logical_and",
    "_internal._logical_or _internal._logical_xor _internal._maximum _internal._minimum _internal._mod",
    "_internal._not_equal _internal._power _internal._identity_with_attr_like_rhs",
)
def elementwise(draw, name):
    shape = draw.shape()
    inputs = pair(draw, shape, shape)
    if name == "_internal._power":
        inputs[0] = Array(shape, inputs[0].dtype, "uniform", 0.2, 4)
    if draw.chance(0.03):
        inputs[1] = Array((*shape, 3), inputs[1].dtype)
    return Call(name, inputs, grad=name != "_internal._grad_add")


@makes(*(f"_internal._{name}_scalar" for name in (
    "div equal greater_equal greater hypot lesser_equal lesser logical_and logical_or logical_xor maximum minimum "
    "minus mod mul not_equal plus power rdiv rminus rmod rpower"
).split()))  # fmt: skip
def with_scalar(draw, name):
    dtype = draw.dtype()
    data = Array(draw.shape(), dtype, "uniform", 0.3, 4)
    if dtype in ("int8", "uint8", "int32", "int64"):
        return Call(
            name, [Array(data.shape, dtype, "whole", 1, 5)], {"scalar": draw.of(1, 2, 3, -1, 0.5, 2.5)}
        )
    return Call(name, [data], {"scalar": draw.of(draw.number(0.3, 3), 1, 2, -1.5)})


@makes("sum mean prod max min nansum nanprod")
def reduction(draw, name):
    shape = draw.shape()
    attrs = draw.some(keepdims=draw.chance(0.5))
    if draw.chance(0.8):
        attrs["axis"] = draw.of(draw.axis(len(shape)), draw.axes(len(shape)), None)
        attrs.update(draw.some(exclude=draw.chance(0.3)))
    if draw.chance(0.04):
        attrs["axis"] = 9
    dtype = draw.dtype()
    # Types of one byte overflow in products and sums.
    data = (
        Array(shape, dtype, "distinct") if name in ("max", "min") else Array(shape, dtype, "uniform", 0.5, 2)
    )
    return Call(name, [data], attrs)


@makes("norm")
def norm(draw, name):
    shape = draw.shape()
    attrs = draw.some(ord=draw.of(1, 2), keepdims=draw.chance(0.5), axis=draw.axis(len(shape)))
    return Call(name, [Array(shape, draw.floating())], attrs)


@makes("moments")
def moments(draw, name):
    shape = draw.shape()
    return Call(
        name,
        [Array(shape, draw.of("float32", "float64"))],
        {"axes": draw.axes(len(shape)), **draw.some(keepdims=True)},
    )


@makes("argmax argmin")
def argument(draw, name):
    shape = draw.shape()
    attrs = draw.some(axis=draw.axis(len(shape)), keepdims=draw.chance(0.5))
    return Call(name, [Array(shape, draw.dtype(), "distinct")], attrs, grad=False)


@makes("argmax_channel")
def argmax_channel(draw, name):
    return Call(name, [Array(draw.shape(2, 2), draw.floating(), "distinct")], grad=False)


@makes("sort argsort topk")
def sorting(draw, name):
    shape = draw.shape()
    dtype = draw.of("float32", "float64", "int32")
    attrs = draw.some(is_ascend=draw.chance(0.5))
    attrs["axis"] = axis = draw.axis(len(shape))
    if name != "sort":
        attrs.update(draw.some(dtype=draw.of("int32", "float32", "float64")))
    if name == "topk":
        attrs["k"] = draw.whole(1, shape[axis])
        attrs["ret_typ"] = draw.of("value", "indices", "both", "mask")
    return Call(name, [Array(shape, dtype, "distinct")], attrs, grad=name == "sort")


@makes("Cast amp_cast")
def cast(draw, name):
    floating = name == "amp_cast" and draw.chance(0.98)  # of others oneDNN refuses some there, and rounds
    kinds = ("float32", "float16") if floating else NUMBERS
    return Call(
        name, [Array(draw.shape(), draw.dtype(kinds), "uniform", 0, 90)], {"dtype": draw.dtype(kinds)}
    )


@makes("clip")
def clip(draw, name):
    low = draw.whole(-2, 1)
    return Call(name, [Array(draw.shape(), draw.dtype())], {"a_min": low, "a_max": low + draw.whole(0, 2)})


@makes("smooth_l1")
def smooth_l1(draw, name):
    return Call(name, [Array(draw.shape(), draw.floating())], draw.some(scalar=draw.of(1.0, 2.0, 0.5)))


@makes("contrib.quadratic")
def quadratic(draw, name):
    return Call(
        name,
        [Array(draw.shape(), draw.floating())],
        draw.some(a=draw.number(), b=draw.number(), c=draw.number()),
    )


@makes("contrib.gradientmultiplier")
def gradientmultiplier(draw, name):
    return Call(name, [Array(draw.shape(), draw.floating())], {"scalar": draw.number()})


# Shapes ------------------------------------------------------------------------------------------


@makes("Reshape")
def reshape(draw, name):
    shape = draw.shape()
    size = 1
    for n in shape:
        size *= n
    kinds = [
        (-1,),
        (0, -1),
        (-2,),
        (-3, -2),
        (size,),
        (1, size),
        (-4, 1, -1, -2),
        (0, 0, -1),
        (-1, 0),
        (-4, -1, 1, -2),
        (2, -1),
    ]
    return Call(
        name, [Array(shape, draw.dtype())], {"shape": draw.of(*kinds), **draw.some(reverse=draw.chance(0.4))}
    )


@makes("transpose")
def transpose(draw, name):
    shape = draw.shape()
    return Call(name, [Array(shape, draw.dtype())], draw.some(axes=tuple(draw.order(range(len(shape))))))


@makes("SwapAxis")
def swap_axis(draw, name):
    shape = draw.shape(2)
    return Call(
        name, [Array(shape, draw.dtype())], {"dim1": draw.axis(len(shape)), "dim2": draw.axis(len(shape))}
    )


@makes("expand_dims")
def expand_dims(draw, name):
    shape = draw.shape(1, 3)
    return Call(name, [Array(shape, draw.dtype())], {"axis": draw.whole(-len(shape) - 2, len(shape) + 1)})


@makes("squeeze")
def squeeze(draw, name):
    shape = tuple(1 if draw.chance(0.5) else n for n in draw.shape())
    return Call(name, [Array(shape, draw.dtype())], draw.some(axis=draw.axis(len(shape))))


@makes("tile")
def tile(draw, name):
    reps = tuple(draw.whole(1, 3) for _ in range(draw.whole(1, 4)))
    if draw.chance(0.1):
        reps = draw.of((), (0, 2), (-1, 1), (2, -3))
    return Call(name, [Array(draw.shape(1, 3), draw.dtype())], {"reps": reps})


@makes("repeat")
def repeat(draw, name):
    shape = draw.shape(1, 3)
    return Call(
        name,
        [Array(shape, draw.dtype())],
        {"repeats": draw.whole(1, 3), **draw.some(axis=draw.axis(len(shape)))},
    )


@makes("reverse")
def reverse(draw, name):
    shape = draw.shape()
    return Call(
        name,
        [Array(shape, draw.dtype())],
        {"axis": draw.of(draw.whole(0, len(shape) - 1), draw.axes(len(shape)))},
    )


@makes("Pad")
def pad(draw, name):
    shape = tuple(draw.whole(2, 5) for _ in range(draw.of(*(4,) * 30, *(5,) * 9, 3)))
    width = [0, 0, 0, 0] + [draw.whole(0, 1 if n < 3 else 2) for n in shape[2:] for _ in range(2)]
    mode = draw.of("constant", "edge", "reflect")
    return Call(
        name,
        [Array(shape, draw.floating())],
        {"mode": mode, "pad_width": tuple(width), **draw.some(constant_value=1.5)},
    )


@makes("slice")
def slicing(draw, name):
    shape = draw.shape(1, 4, 6)
    count = draw.whole(1, len(shape))
    begin, end, step = [], [], []
    for n in shape[:count]:
        stride = draw.of(1, 1, 1, 2, -1, -2, None)
        at, to = draw.whole(-n, n), draw.whole(-n, n + 1)
        begin.append(draw.of(at, None))
        end.append(draw.of(to, None))
        step.append(stride)
    attrs = {"begin": tuple(begin), "end": tuple(end), **draw.some(step=tuple(step))}
    return Call(name, [Array(shape, draw.dtype())], attrs)


@makes("slice_axis")
def slice_axis(draw, name):
    shape = draw.shape(1, 4, 6)
    axis = draw.axis(len(shape))
    n = shape[axis]
    begin = draw.whole(0, n - 1)
    end = draw.of(None, draw.whole(begin + 1, n), draw.whole(begin - n + 1, 0) or None)
    if draw.chance(0.02):
        begin, end = n, 0  # refused there
    return Call(
        name,
        [Array(shape, draw.dtype())],
        {"axis": axis, "begin": begin - draw.of(0, n), "end": end},
    )


@makes("slice_like")
def slice_like(draw, name):
    shape = draw.shape(1, 4, 6)
    axes = draw.axes(len(shape))
    other = tuple(draw.whole(1, n) for n in shape)
    dtype = draw.floating()
    return Call(name, [Array(shape, dtype), Array(other, dtype)], draw.some(axes=axes))


@makes("SliceChannel")
def slice_channel(draw, name):
    parts = draw.whole(1, 3)
    shape = list(draw.shape(2))
    axis = draw.axis(len(shape))
    shape[axis] = parts * draw.of(1, 1, 2)
    attrs = {"num_outputs": parts, "axis": axis, **draw.some(squeeze_axis=draw.chance(0.5))}
    return Call(name, [Array(shape, draw.floating())], attrs)


@makes("_internal._split_v2")
def split_v2(draw, name):
    shape = draw.shape(2, 3, 6)
    axis = draw.whole(0, len(shape) - 1)
    attrs = {"indices": (0, *sorted({draw.whole(0, shape[axis]) for _ in range(2)} - {0})), "axis": axis}
    if draw.chance(0.4):
        attrs = {"indices": (), "sections": draw.whole(1, shape[axis]), "axis": axis}
    return Call(name, [Array(shape, draw.floating())], attrs)


@makes("Concat stack add_n")
def joining(draw, name):
    shape = draw.shape()
    count = draw.whole(1, 4)
    dtype = draw.dtype(("float32", "float32", "float64", "int32", "float16"))
    axis = draw.axis(len(shape))
    if name == "add_n":
        return Call(name, [Array(shape, dtype) for _ in range(count)])
    if name == "stack":
        return Call(name, [Array(shape, dtype) for _ in range(count)], {"axis": axis})
    inputs = []
    for _ in range(count):
        own = list(shape)
        own[axis] = draw.whole(1, 4)
        inputs.append(Array(own, dtype))
    return Call(name, inputs, {"dim": axis})


@makes("broadcast_to")
def broadcast_to(draw, name):
    shape = draw.shape()
    one = tuple(1 if draw.chance(0.4) else n for n in shape)
    return Call(
        name,
        [Array(one, draw.dtype())],
        {"shape": tuple(0 if draw.chance(0.2) and a == b else b for a, b in zip(one, shape))},
    )


@makes("broadcast_axis")
def broadcast_axis(draw, name):
    shape = list(draw.shape())
    axes = draw.axes(len(shape))
    for axis in axes:
        shape[axis] = 1
    return Call(
        name, [Array(shape, draw.dtype())], {"axis": axes, "size": tuple(draw.whole(1, 4) for _ in axes)}
    )


@makes("broadcast_like")
def broadcast_like(draw, name):
    one, other = broadcast_pair(draw)
    other = tuple(max(a, b) for a, b in zip(one, other))
    dtype = draw.floating()
    return Call(name, [Array(one, dtype), Array(other, dtype)])


@makes("reshape_like")
def reshape_like(draw, name):
    shape = draw.shape()
    other = tuple(draw.order(shape))
    return Call(name, [Array(shape), Array(other)])


@makes("depth_to_space space_to_depth")
def blocks(draw, name):
    block = draw.of(1, 2, 3)
    n, c, h, w = draw.whole(1, 2), draw.whole(1, 3), draw.whole(1, 3), draw.whole(1, 3)
    shape = (n, c * block**2, h, w) if name == "depth_to_space" else (n, c, h * block, w * block)
    return Call(
        name, [Array(shape, draw.floating())], {"block_size": block if draw.chance(0.9) else draw.of(0, 5)}
    )


@makes("diag")
def diag(draw, name):
    shape = draw.shape(1, 3)
    return Call(name, [Array(shape, draw.dtype())], draw.some(k=draw.whole(-4, 4)))


@makes("where")
def where(draw, name):
    shape = draw.shape()
    dtype = draw.floating()
    condition = Array(draw.of(shape, shape[:1]), draw.of("float32", "int32"), "whole", 0, 2)
    return Call(name, [condition, Array(shape, dtype), Array(shape, dtype)])


@makes("contrib.arange_like contrib.index_array")
def like(draw, name):
    shape = draw.shape()
    if name == "contrib.index_array":
        return Call(name, [Array(shape)], draw.some(axes=draw.axes(len(shape))), grad=False)
    attrs = draw.some(axis=draw.axis(len(shape)), start=draw.number(), step=draw.of(1, 2, 0.5))
    return Call(name, [Array(shape)], attrs, grad=False)


@makes("_internal._arange")
def arange(draw, name):
    start = draw.of(0, draw.whole(-5, 5), draw.number())
    step = draw.of(1, 2, 0.5, draw.number(0.2, 2))
    attrs = {
        "start": start,
        "stop": start + draw.whole(1, 9),
        "step": step,
        **draw.some(repeat=draw.whole(1, 3)),
    }
    return Call(name, [], {**attrs, "dtype": draw.of("float32", "float64", "int32", "int64")})


@makes("_internal._eye _internal._full _internal._zeros _internal._ones")
def filled(draw, name):
    dtype = draw.dtype()
    if name == "_internal._eye":
        return Call(
            name, [], {"N": draw.whole(1, 5), "M": draw.whole(0, 5), "k": draw.whole(-3, 3), "dtype": dtype}
        )
    extra = {"value": draw.whole(-9, 9)} if name == "_internal._full" else {}
    return Call(name, [], {"shape": draw.shape(), "dtype": dtype, **extra})
