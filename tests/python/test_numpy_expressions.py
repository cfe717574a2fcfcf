# SPDX-License-Identifier: Apache-2.0
"""300 random expressions of ``mx.np`` beside official NumPy: all types, shapes without axes or elements, views, indices
that are read and written, reductions, products, sorting; and their gradients beside numeric ones."""

import numpy as onp
import pytest
from loomix import autograd, np, npx

TYPES = "bool uint8 int8 int32 int64 float32 float64".split()
SHAPES = [(), (1,), (4,), (0,), (2, 3), (3, 1), (1, 3), (0, 3), (2, 0, 2), (2, 1, 3), (3, 2, 4), (2, 3, 1, 2)]


@pytest.fixture(autouse=True)
def numpy_mode():
    npx.set_np()
    yield
    npx.reset_np()


class Draw:
    """Random choices; the arrays that they make are kept."""

    def __init__(self, seed):
        self.rng = onp.random.default_rng(seed)
        self.arrays = []

    def one(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def number(self, low, high):
        return int(self.rng.integers(low, high))

    def yes(self):
        return bool(self.rng.integers(2))

    def shape(self, least=0, filled=False):
        return self.one([s for s in SHAPES if len(s) >= least and not (filled and 0 in s)])

    def values(self, shape, kind):
        if kind == "bool":
            return self.rng.integers(0, 2, shape).astype(bool)
        if kind.startswith(("int", "uint")):
            return self.rng.integers(0 if kind == "uint8" else -5, 6, shape).astype(kind)
        # No two are equal, in other arrays neither, and none is near a corner of a function.
        count = int(onp.prod(shape))
        spread = (
            (self.rng.permutation(count) - count / 2 + 0.3) * (4.0 / max(count, 4))
            + 0.1
            + 0.0137 * len(self.arrays)
        )
        return spread.reshape(shape).astype(kind)

    def array(self, shape=None, kind=None, **more):
        """An array, as a function of the module's arrays: whole, or a part of a larger one."""
        shape = self.shape(**more) if shape is None else shape
        kind = self.one(TYPES) if kind is None else kind
        form = self.number(0, 4) if len(shape) else 0
        place = len(self.arrays)
        if form == 1:
            self.arrays.append(self.values((shape[0] + 2, *shape[1:]), kind))
            return shape, kind, lambda m, xs: xs[place][1:-1]
        if form == 2:
            self.arrays.append(self.values(shape[::-1], kind))
            return shape, kind, lambda m, xs: xs[place].T
        if form == 3:
            self.arrays.append(self.values((*shape[:-1], 2 * shape[-1]), kind))
            return shape, kind, lambda m, xs: xs[place][..., ::2]
        self.arrays.append(self.values(shape, kind))
        return shape, kind, lambda m, xs: xs[place]

    def axis(self, ndim, none=True):
        if ndim == 0 or (none and self.number(0, 4) == 0):
            return None
        return self.number(-ndim, ndim)

    def index(self, shape):
        key = []
        kinds = "int slice step list negative mask array".split()
        axes = list(shape[: self.number(0, len(shape) + 1)])
        while axes:
            n = axes.pop(0)
            kind = self.one(kinds) if n else "slice"
            if kind == "int":
                key.append(self.number(-n, n))
            elif kind == "slice":
                key.append(slice(*sorted((self.number(0, n + 1), self.number(0, n + 1)))))
            elif kind == "step":
                key.append(slice(None, None, self.one([-2, -1, 2])))
            elif kind == "list":
                key.append([self.number(-n, n), self.number(-n, n)])
            elif kind == "negative":
                key.append(slice(-n, None))
            elif kind == "mask":
                if any(isinstance(k, (list, onp.ndarray)) for k in key):
                    key.append(slice(None))
                else:
                    key.append(self.rng.integers(0, 2, n).astype(bool))
                    kinds = "int slice step negative".split()
            else:
                key.append(self.rng.integers(0, n, (2, 1)))
        if self.number(0, 4) == 0:
            key.insert(self.number(0, len(key) + 1), None)
        if self.number(0, 4) == 0:
            key.append(Ellipsis)
        return tuple(key)


UNARY = "exp expm1 sin cos tanh arctan sinh square negative absolute sign ceil floor rint trunc cbrt rad2deg".split()
POSITIVE = "sqrt log log10 log2 log1p reciprocal".split()
JUMPS = "sign ceil floor rint trunc".split()
BINARY = (
    "add subtract multiply true_divide maximum minimum hypot arctan2 copysign power mod floor_divide".split()
)
COMPARISONS = (
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor".split()
)
BITS = "bitwise_and bitwise_or bitwise_xor gcd lcm".split()


def unary(d):
    _, kind, x = d.array()
    name = d.one(UNARY + POSITIVE)
    if kind == "bool" and name in ("negative", "sign"):
        name = "square"
    if name in POSITIVE or kind == "uint8":
        name = "sqrt" if name == "reciprocal" or name == "negative" else name
        return f"{name}(abs)", lambda m, xs: getattr(m, name)(m.abs(x(m, xs) * 1) + 1), name not in JUMPS
    return name, lambda m, xs: getattr(m, name)(x(m, xs) * 1), name not in JUMPS


def binary(d):
    shape, _, x = d.array()
    other = tuple(1 if d.number(0, 3) == 0 else n for n in shape)[d.number(0, len(shape) + 1) :]
    _, _, y = d.array(other)
    name = d.one(BINARY)
    swap = d.yes()

    def compute(m, xs):
        a, b = x(m, xs), y(m, xs)
        a, b = (b, a) if swap else (a, b)
        if name in ("true_divide", "mod", "floor_divide"):
            a, b = m.abs(a * 1) + 1, m.abs(b * 1) + 1
        if name == "power":  # of int8: within its range
            a, b = m.clip(m.abs(a * 1), 1, 2), m.clip(m.abs(b * 1), 1, 3)
        return getattr(m, name)(a * 1, b * 1)

    return f"{name} of {shape}, {other}", compute, name not in ("mod", "floor_divide", "copysign")


def with_number(d):
    shape, kind, x = d.array()
    number = d.one([2, 3.5, -1, 0.25, 7] if kind.startswith("f") else [2, 3, 7])
    name = d.one(["+", "-", "*", "/", "r-", "**", "r/"])
    text = {"+": "x + n", "-": "x - n", "*": "x * n", "/": "x / n", "r-": "n - x"}.get(name)
    text = text or {"**": "(abs(x * 1) + 1) ** 2", "r/": "n / (abs(x * 1) + 1)"}[name]
    code = compile(text, "expression", "eval")
    return f"{text} of {kind} and {number}", lambda m, xs: eval(code, {"x": x(m, xs), "n": number}), True


def comparison(d):
    shape, kind, x = d.array()
    _, _, y = d.array(shape, kind)
    name = d.one(COMPARISONS)
    return name, lambda m, xs: getattr(m, name)(x(m, xs), y(m, xs)), False


def bits(d):
    kind = d.one(["int32", "int64", "uint8", "int8"])
    shape, _, x = d.array(None, kind)
    _, _, y = d.array(shape, kind)
    name = d.one(BITS)
    return f"{name} of {kind}", lambda m, xs: getattr(m, name)(x(m, xs), y(m, xs)), False


def reduction(d):
    name = d.one(
        "sum prod mean max min var std any all cumsum ptp median argmax argmin count_nonzero nansum".split()
    )
    filled = name not in ("sum", "prod", "any", "all", "count_nonzero", "cumsum", "nansum")
    shape, kind, x = d.array(filled=filled)
    if name in ("ptp", "median", "argmax", "argmin") and kind == "bool":
        name = "sum"
    axis = d.axis(len(shape))
    if name not in ("argmax", "argmin", "cumsum", "median", "ptp") and len(shape) > 1 and d.number(0, 3) == 0:
        axis = (0, -1)
    options = {"axis": axis}
    if name != "cumsum" and d.yes():
        options["keepdims"] = True
    if name in ("sum", "prod", "cumsum", "mean") and d.number(0, 3) == 0:
        options["dtype"] = "float64"
    mask = None
    if name in ("sum", "prod") and d.number(0, 3) == 0:
        mask = d.values(shape, "bool")

    def compute(m, xs):
        more = {} if mask is None else {"where": np.array(mask, dtype="bool") if m is np else mask}
        return getattr(m, name)(x(m, xs), **options, **more)

    smooth = name not in ("argmax", "argmin", "count_nonzero")
    return (
        f"{name}({shape} {kind}, {options})",
        compute,
        smooth and not (name == "std" and 1 in (*shape, len(shape) + 1)),
    )


def into_out(d):
    shape, kind, x = d.array(filled=True)
    name = d.one(["sum", "max", "add", "exp", "mean"])

    def compute(m, xs):
        a = x(m, xs) * 1.0
        if name in ("sum", "max", "mean"):
            out = m.zeros(shape[1:] if shape else (), dtype="float64")
            result = getattr(m, name)(a, axis=0 if shape else None, out=out)
        else:
            out = m.zeros(shape, dtype="float64")
            result = m.add(a, a, out=out) if name == "add" else m.exp(a, out=out)
        assert result is out or m is onp  # whose results without axes are numbers
        return result

    return f"{name} into out", compute, False


def index(d):
    shape, kind, x = d.array()
    key = d.index(shape)
    return f"x{shape}[{key}]", lambda m, xs: x(m, xs)[key], True


def mask(d):
    shape, kind, x = d.array(least=1)
    chosen = d.values(shape[: d.number(1, len(shape) + 1)], "bool")
    return (
        f"x{shape}[mask {chosen.shape}]",
        lambda m, xs: x(m, xs)[np.array(chosen, dtype="bool") if m is np else chosen],
        True,
    )


def write(d):
    shape, kind, x = d.array()
    key = d.index(shape)
    part = onp.zeros(shape)[key].shape
    value = d.one(["number", "array", "row"])
    new = d.values(part if value == "array" else part[1:], kind)

    def compute(m, xs):
        y = x(m, xs).copy()
        y[key] = 1 if value == "number" else np.array(new) if m is np else new
        return y

    return f"x{shape}[{key}] = {value}", compute, False


def einsum(d):
    letters = "abcd"[: d.number(2, 5)]
    sizes = {c: d.number(1, 4) for c in letters}
    terms = ["".join(d.one(letters) for _ in range(d.number(1, 4))) for _ in range(d.number(1, 4))]
    inner = "".join(sorted(set("".join(terms))))
    output = "".join(c for c in inner if d.yes())
    arrays = [d.array(tuple(sizes[c] for c in t), "float64")[2] for t in terms]
    text = ",".join(terms) + ("->" + output if d.number(0, 4) else "")
    return f"einsum {text}", lambda m, xs: m.einsum(text, *(x(m, xs) for x in arrays)), True


def product(d):
    n, k, p = d.number(1, 4), d.number(0, 4), d.number(1, 4)
    name = d.one(["dot", "matmul", "tensordot", "inner", "outer", "kron", "vdot"])
    kind = d.one(["float64", "float32", "int32"])
    shapes = {
        "dot": [(n, k), (k, p)],
        "matmul": [d.one([(2, n, k), (1, n, k), (n, k)]), d.one([(2, k, p), (k, p), (k,)])],
        "tensordot": [(n, k, p), (k, p, n)],
        "inner": [(n, k), (p, k)],
        "outer": [(n, k), (p,)],
        "kron": [(n, k), (p, n)],
        "vdot": [(n, k), (n, k)],
    }[name]
    arrays = [d.array(shape, kind)[2] for shape in shapes]
    return f"{name} of {shapes}", lambda m, xs: getattr(m, name)(*(x(m, xs) for x in arrays)), True


def ordering(d):
    shape, kind, x = d.array(least=1, filled=True, kind=d.one(["int32", "float32", "float64", "uint8"]))
    axis = d.number(-len(shape), len(shape))
    name = d.one(
        [
            "sort",
            "argsort",
            "take_along_axis",
            "unique",
            "searchsorted",
            "partition",
            "nonzero",
            "flatnonzero",
        ]
    )
    if name == "take_along_axis":
        places = d.rng.integers(0, shape[axis], shape)
        return (
            f"take_along_axis {shape} {axis}",
            lambda m, xs: m.take_along_axis(
                x(m, xs), np.array(places, dtype="int64") if m is np else places, axis
            ),
            True,
        )
    if name == "argsort":
        return "argsort", lambda m, xs: m.take_along_axis(x(m, xs), m.argsort(x(m, xs), axis), axis), False
    if name == "searchsorted":
        return name, lambda m, xs: m.searchsorted(m.sort(m.ravel(x(m, xs))), m.ravel(x(m, xs))), False
    if name == "partition":
        return name, lambda m, xs: m.sort(m.partition(x(m, xs), 0, axis), axis), False
    if name in ("nonzero", "flatnonzero", "unique"):
        return name, lambda m, xs: getattr(m, name)(x(m, xs)), False
    return f"sort {shape} {axis}", lambda m, xs: m.sort(x(m, xs), axis), True


def movement(d):
    shape, kind, x = d.array(least=1)
    n = len(shape)
    axis, other = d.number(-n, n), d.number(-n, n)
    size = shape[axis]
    name, call = d.one([
        ("swapaxes", lambda m, a: m.swapaxes(a, axis, other)),
        ("moveaxis", lambda m, a: m.moveaxis(a, axis, other)),
        ("transpose", lambda m, a: m.transpose(a)),
        ("flip", lambda m, a: m.flip(a, axis)),
        ("roll", lambda m, a: m.roll(a, 2, axis)),
        ("roll all", lambda m, a: m.roll(a, -1)),
        ("tile", lambda m, a: m.tile(a, (2, 1))),
        ("repeat", lambda m, a: m.repeat(a, 2, axis)),
        ("repeat by counts", lambda m, a: m.repeat(a, list(range(size)), axis)),
        ("stack", lambda m, a: m.stack([a, a * 1], axis)),
        ("concatenate", lambda m, a: m.concatenate([a, a * 1], axis)),
        ("split", lambda m, a: m.array_split(a, 2, axis)),
        ("split at", lambda m, a: m.split(a, [1, 2], axis)),
        ("expand_dims", lambda m, a: m.expand_dims(a, axis)),
        ("squeeze", lambda m, a: m.squeeze(a)),
        ("ravel", lambda m, a: m.ravel(a)),
        ("reshape", lambda m, a: m.reshape(a, (a.size, 1))),
        ("broadcast_to", lambda m, a: m.broadcast_to(a, (2, *shape))),
        ("atleast_3d", lambda m, a: m.atleast_3d(a)),
        ("diff", lambda m, a: m.diff(a * 1, axis=axis)),
        ("delete", lambda m, a: m.delete(a, 0, axis) if size else a),
        ("insert", lambda m, a: m.insert(a, 0, 1, axis)),
        ("append", lambda m, a: m.append(a, a)),
        ("take", lambda m, a: m.take(a, [0, -1], axis) if size else a),
        ("where", lambda m, a: m.where(a > 0, a, 1)),
        ("clip", lambda m, a: m.clip(a * 1, 1, 3)),
        ("pad", lambda m, a: m.pad(a, 1)),
        ("tril", lambda m, a: m.tril(a.reshape(-1, 1) * 1)),
        ("full_like", lambda m, a: m.full_like(a, 1)),
        ("cumsum", lambda m, a: m.cumsum(a * 1, axis)),
        ("nan_to_num", lambda m, a: m.nan_to_num(a * 1)),
        ("round", lambda m, a: m.around(a * 1.0, 1)),
        ("trace", lambda m, a: m.trace(a.reshape(-1, 1) * 1)),
        ("meshgrid", lambda m, a: m.meshgrid(a.ravel(), m.ravel(a)[:2])),
        ("astype", lambda m, a: a.astype("float64")),
        ("isclose", lambda m, a: m.isclose(a * 1.0, 1.0, atol=0.5)),
    ])  # fmt: skip
    return (
        f"{name} of {shape} {kind}",
        lambda m, xs: call(m, x(m, xs)),
        name not in ("full_like", "round", "isclose"),
    )


KINDS = [
    unary,
    binary,
    with_number,
    comparison,
    bits,
    reduction,
    reduction,
    into_out,
    index,
    mask,
    write,
    einsum,
]
KINDS += [product, ordering, movement, movement, movement]


def parts(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def compare(got, expected, text, double):
    assert len(got) == len(expected), text
    for x, y in zip(got, expected):
        y = onp.asarray(y)
        assert onp.shape(x) == y.shape, f"{text}: {onp.shape(x)}, expected {y.shape}"
        values = x.asnumpy() if hasattr(x, "asnumpy") else onp.asarray(x)
        # Types follow MXNet's rules: functions of integers are computed in float32, NumPy's in float16 or float64.
        exact = values.dtype.kind in "biu"
        if exact and y.dtype.kind in "biu":
            onp.testing.assert_array_equal(values, y.astype(values.dtype), err_msg=text)
        else:
            near = 1e-9 if double else 2e-3 if y.dtype == "float16" else 2e-5
            onp.testing.assert_allclose(values, y, rtol=near, atol=near, err_msg=text)


@pytest.mark.parametrize("seed", range(300))
def test_expression(seed):
    d = Draw(seed)
    text, compute, smooth = KINDS[seed % len(KINDS)](d)
    double = all(x.dtype == "float64" for x in d.arrays)
    with onp.errstate(all="ignore"):
        expected = parts(compute(onp, d.arrays))
    xs = [np.array(x, dtype=x.dtype) for x in d.arrays]
    wanted = [x for x in xs if x.dtype == "float64" and x.size]
    for x in wanted:
        x.attach_grad()
    if not smooth or not wanted:
        return compare(parts(compute(np, xs)), expected, text, double)
    with autograd.record():
        got = parts(compute(np, xs))
        weights = [onp.random.default_rng(i).uniform(0.5, 1.5, y.shape) for i, y in enumerate(got)]
        total = sum((y.astype("float64") * np.array(w, dtype="float64")).sum() for y, w in zip(got, weights))
    compare(got, expected, text, double)
    total.backward()
    step = 1e-6
    for k, x in enumerate(xs):
        if x.dtype != "float64" or not x.size:
            continue
        direction = d.rng.uniform(-1, 1, x.shape)
        sides = []
        for sign in (1, -1):
            moved = [y.copy() for y in d.arrays]
            moved[k] = moved[k] + sign * step * direction
            with onp.errstate(all="ignore"):
                sides.append(sum((y * w).sum() for y, w in zip(parts(compute(onp, moved)), weights)))
        numeric = (sides[0] - sides[1]) / (2 * step)
        slope = float((x.grad.asnumpy() * direction).sum())
        # Beside a float32 operand, which NumPy promotes and MXNet does not, differences are those of float32.
        onp.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-5, err_msg=text)


def test_what_random_expressions_found():
    plain = onp.arange(12.0).reshape(3, 4)
    x = np.array(plain, dtype="float64")
    rows = onp.array([[0], [2]])
    onp.testing.assert_array_equal(x[[0, -1], np.array(rows)].asnumpy(), plain[[0, -1], rows])
    y = x.copy()
    y[rows] = 1  # a key that is compared with nothing
    assert y.sum() == 8 + plain[1].sum()
    assert np.delete(x, [0, 1, 2], -2).shape == (0, 4)
    assert np.repeat(np.zeros((0, 2)), [], 0).shape == (0, 2)
    assert np.matmul(np.ones((2, 3, 0)), np.ones((2, 0, 2))).tolist() == onp.zeros((2, 3, 2)).tolist()
    assert x.ravel().shape == (12,)
    x.attach_grad()
    with autograd.record():
        total = x[:0][:0].sum()
    total.backward()
    assert (x.grad == 0).all()


def test_masks_are_as_long_as_their_axes():
    x = np.zeros((3, 2))
    for mask in ([True], [[False]], [True, False, True, False]):
        for value in (mask, np.array(mask, dtype="bool")):
            with pytest.raises(IndexError, match=r"a mask of shape .* an array of shape \(3, 2\)"):
                x[value]
            with pytest.raises(IndexError, match="a mask of shape"):
                x[value] = 1
    assert x[[True, False, True]].shape == (2, 2)
    assert x[..., [True, False]].shape == (3, 1)
    y = np.zeros((), dtype="float64")
    y[np.array(True, dtype="bool")] = 1.1
    assert y == 1.1


def test_extrema_of_no_rows():
    x = np.zeros((0, 2))
    assert np.max(x, axis=1).shape == (0,) and np.argmin(x, axis=1, keepdims=True).shape == (0, 1)
    with pytest.raises(ValueError, match="no element"):
        np.max(x, axis=0)


def test_halves_are_rounded_to_even_numbers():
    halves = onp.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, onp.inf, onp.nan, 3.2])
    onp.testing.assert_array_equal(np.around(np.array(halves)).asnumpy(), onp.around(halves))
    onp.testing.assert_array_equal(np.around(np.array([0.25, 0.75]), 1).asnumpy(), onp.float32([0.2, 0.8]))
