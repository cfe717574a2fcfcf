# SPDX-License-Identifier: Apache-2.0
"""Checks of symbols: outputs, gradients, devices and dtypes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import MXNetValueError
from .compare import (
    as_numpy,
    assert_almost_equal,
    default_atols,
    default_context,
    default_dtype,
    default_numeric_eps,
    default_rtols,
    tolerance_for,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..context import Context
    from ..executor import Executor
    from ..ndarray import NDArray
    from ..symbol import Symbol

__all__ = [
    "check_consistency",
    "check_gluon_hybridize_consistency",
    "check_numeric_gradient",
    "check_speed",
    "check_symbolic_backward",
    "check_symbolic_forward",
    "numeric_grad",
    "same_symbol_structure",
    "simple_forward",
]


def _as_dict(names: Any, values: Any, what: str) -> dict[Any, Any]:
    """Values by name, from a dict or a list in the order of ``names``."""
    if values is None:
        return {}
    if isinstance(values, dict):
        unknown = sorted(set(values) - set(names))
        if unknown:
            raise MXNetValueError(
                f"[test_utils] {what} has no names {unknown}; expected some of {list(names)}."
            )
        return dict(values)
    if len(values) != len(names):
        raise MXNetValueError(
            f"[test_utils] {len(values)} values came for {what} {list(names)}; expected one for each."
        )
    return dict(zip(names, values))


def _arrays(names: Any, values: Any, what: str, ctx: Context, dtype: DTypeLike | None) -> dict[Any, Any]:
    """NDArrays by name; ``dtype`` ``"asnumpy"`` keeps each value's own."""
    from ..ndarray import NDArray, array

    result = {}
    for name, value in _as_dict(names, values, what).items():
        if isinstance(value, NDArray):
            result[name] = value.copyto(ctx)
        else:
            value = np.asarray(value)
            result[name] = array(value, ctx=ctx, dtype=value.dtype if dtype == "asnumpy" else dtype)
    return result


def simple_forward(sym: Symbol, ctx: Context | None = None, is_train: bool = False, **inputs: Any) -> Any:
    """Outputs of a symbol for NumPy inputs, as one NumPy array or a list of them.

    >>> import loomix as mx
    >>> simple_forward(mx.sym.Variable("a") + 1, a=np.ones(2)).tolist()
    [2.0, 2.0]
    """
    ctx = ctx or default_context()
    executor = sym.bind(ctx, args=_arrays(list(inputs), inputs, "inputs", ctx, default_dtype()))
    outputs = [output.asnumpy() for output in executor.forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def numeric_grad(
    executor: Executor,
    location: Any,
    aux_states: Any = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: DTypeLike | None = np.float32,
) -> Any:
    """Gradients of the sum of an executor's first output by central differences.

    Parameters
    ----------
    executor : Executor
        A bound symbol.
    location : dict of str to numpy.ndarray
        Where; the arguments to differentiate by.
    aux_states : dict of str to numpy.ndarray, optional
        Auxiliary states, set again before each step.
    eps : float
        Distance of the two points.
    use_forward_train : bool
        Whether operators are in training mode.

    Returns
    -------
    dict of str to numpy.ndarray

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> net = mx.sym.square(mx.sym.Variable("x"))
    >>> executor = net.bind(mx.cpu(), {"x": mx.nd.array([1, 2])})
    >>> mx.test_utils.numeric_grad(executor, {"x": np.array([1.0, 2.0])}, eps=0.01)["x"].round(2)
    array([2., 4.], dtype=float32)
    """

    def output(name: str, point: Any) -> Any:
        executor.arg_dict[name][:] = point
        for state, value in (aux_states or {}).items():
            executor.aux_dict[state][:] = value
        executor.forward(is_train=use_forward_train)
        return executor.outputs[0].asnumpy().astype(np.float64)

    gradients = {}
    for name, array in location.items():
        array = np.asarray(array)
        if array.dtype.kind != "f":
            continue
        point = array.astype(dtype)
        gradient = np.zeros(point.shape, dtype)
        flat_point, flat_gradient = point.reshape(-1), gradient.reshape(-1)
        for i in range(flat_point.size):
            centre = flat_point[i]
            flat_point[i] = centre + eps / 2
            right, above = float(flat_point[i]), output(name, point)
            flat_point[i] = centre - eps / 2
            left, below = float(flat_point[i]), output(name, point)
            flat_point[i] = centre
            # What does not depend on this element cancels exactly before the sum, whose rounding would hide the
            # difference; and the points are where `dtype` could put them.
            flat_gradient[i] = (above - below).sum() / (right - left)
        executor.arg_dict[name][:] = point
        gradients[name] = gradient
    return gradients


def check_numeric_gradient(
    sym: Symbol,
    location: Any,
    aux_states: Any = None,
    numeric_eps: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    grad_nodes: Any = None,
    use_forward_train: bool = True,
    ctx: Context | None = None,
    grad_stype_dict: Any = None,
    dtype: DTypeLike | None = np.float32,
) -> None:
    """Compares a symbol's gradients with central differences of a random projection of its output.

    Parameters
    ----------
    sym : Symbol
        A symbol of one output.
    location : list or dict of arrays
        Where: all its arguments.
    aux_states : list or dict of arrays, optional
        Its auxiliary states.
    numeric_eps : float, optional
        Distance of the two points.
    rtol, atol : float, optional
        Tolerances.
    grad_nodes : list, dict or None
        Arguments to check, or by name "write", "add" or "null"; all by default.
    use_forward_train : bool
        Whether operators are in training mode for the differences.
    ctx : Context, optional
        The device.
    grad_stype_dict : dict of str to str, optional
        Storage of gradients.
    dtype : dtype
        float16, float32 or float64.

    Raises
    ------
    AssertionError
        When they differ.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> net = mx.sym.square(mx.sym.Variable("x"))
    >>> mx.test_utils.check_numeric_gradient(net, [np.array([1.0, 2.0])], rtol=0.01)
    """
    from .. import symbol as symbols
    from ..ndarray import array, zeros

    ctx, dtype = ctx or default_context(), np.dtype(dtype)
    eps = default_numeric_eps()[dtype] if numeric_eps is None else numeric_eps
    location = _arrays(sym.list_arguments(), location, "arguments", ctx, dtype)
    aux = _arrays(sym.list_auxiliary_states(), aux_states, "auxiliary states", ctx, dtype)
    if grad_nodes is None:
        requests = dict.fromkeys(sym.list_arguments(), "write")
    elif isinstance(grad_nodes, dict):
        requests = dict(grad_nodes)
    else:
        requests = dict.fromkeys(grad_nodes, "write")
    shapes = {name: value.shape for name, value in location.items()}
    _, out_shapes, _ = sym.infer_shape(**shapes)
    projection = symbols.Variable("__random_proj")
    weights = np.random.rand(*out_shapes[0]) + 0.1
    out = symbols.MakeLoss(sym * projection)
    args = {**location, "__random_proj": array(weights, ctx=ctx, dtype=dtype)}
    old = {name: np.random.normal(size=args[name].shape) for name in requests}
    grads = {}
    for name in requests:
        grads[name] = array(old[name], ctx=ctx, dtype=dtype)
        stype = (grad_stype_dict or {}).get(name, "default")
        if stype != "default":
            grads[name] = zeros(args[name].shape, ctx, dtype=dtype, stype=stype)
    request = {**dict.fromkeys(out.list_arguments(), "null"), **requests}
    executor = out.bind(ctx, args=args, args_grad=grads, grad_req=request, aux_states=aux)
    start = {name: value.asnumpy() for name, value in location.items()}
    states = {name: value.asnumpy() for name, value in aux.items()}
    executor.forward(is_train=True)
    executor.backward()
    symbolic = {name: executor.grad_dict[name].asnumpy() for name in requests if requests[name] != "null"}
    wanted = {name: start[name] for name in symbolic}
    numeric = numeric_grad(executor, wanted, states, eps, use_forward_train, dtype)
    for name, got in symbolic.items():
        if name not in numeric:
            continue
        expected = numeric[name] + (old[name].astype(dtype) if requests[name] == "add" else 0)
        assert_almost_equal(
            expected, got, rtol, atol, names=(f"NUMERICAL_{name}", f"BACKWARD_{name}"), equal_nan=True
        )


def check_symbolic_forward(
    sym: Symbol,
    location: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    aux_states: Any = None,
    ctx: Context | None = None,
    equal_nan: bool = False,
    dtype: DTypeLike | None = np.float32,
) -> Any:
    """Compares a symbol's outputs with expected ones.

    Parameters
    ----------
    sym : Symbol
        The symbol.
    location : list or dict of arrays
        Its arguments.
    expected : list or dict of arrays
        Its outputs.
    rtol, atol, equal_nan
        As for :func:`assert_almost_equal`.
    aux_states : list or dict of arrays, optional
        Its auxiliary states.
    ctx : Context, optional
        The device.
    dtype : dtype or "asnumpy"
        Type of the arguments; "asnumpy" keeps their own.

    Returns
    -------
    list of NDArray
        The outputs.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> net = mx.sym.square(mx.sym.Variable("x"))
    >>> _ = mx.test_utils.check_symbolic_forward(net, [np.array([1.0, 2.0])], [np.array([1.0, 4.0])])
    """
    ctx = ctx or default_context()
    args = _arrays(sym.list_arguments(), location, "arguments", ctx, dtype)
    aux = _arrays(sym.list_auxiliary_states(), aux_states, "auxiliary states", ctx, dtype)
    if isinstance(expected, (list, tuple)):  # MXNet's tests also list what an operator keeps for its gradient
        expected = expected[: len(sym.list_outputs())]
    expected = _as_dict(sym.list_outputs(), expected, "outputs")
    executor = sym.bind(ctx, args=args, aux_states=aux, grad_req="null")
    outputs = executor.forward(is_train=False)
    for name, output in zip(sym.list_outputs(), outputs):
        if name in expected:
            assert_almost_equal(
                expected[name], output, rtol, atol, ("EXPECTED_" + name, "FORWARD_" + name), equal_nan
            )
    return executor.outputs


def check_symbolic_backward(
    sym: Symbol,
    location: Any,
    out_grads: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    aux_states: Any = None,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    ctx: Context | None = None,
    grad_stypes: Any = None,
    equal_nan: bool = False,
    dtype: DTypeLike | None = np.float32,
) -> Any:
    """Compares a symbol's gradients with expected ones.

    Parameters
    ----------
    sym : Symbol
        The symbol.
    location : list or dict of arrays
        Its arguments.
    out_grads : list or dict of arrays, or None
        Gradients of its outputs.
    expected : list or dict of arrays
        Gradients of its arguments.
    rtol, atol, equal_nan
        As for :func:`assert_almost_equal`.
    aux_states : list or dict of arrays, optional
        Its auxiliary states.
    grad_req : str, list or dict
        "write", "add" or "null", for all or for each argument.
    ctx : Context, optional
        The device.
    grad_stypes : dict of str to str, optional
        Storage of gradients.
    dtype : dtype or "asnumpy"
        Type of the arguments.

    Returns
    -------
    dict of str to NDArray
        The gradients.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> net, x = mx.sym.square(mx.sym.Variable("x")), np.array([1.0, 2.0])
    >>> _ = mx.test_utils.check_symbolic_backward(net, [x], [np.ones(2)], [2 * x])
    """
    from ..ndarray import array, zeros

    ctx = ctx or default_context()
    names = sym.list_arguments()
    args = _arrays(names, location, "arguments", ctx, dtype)
    aux = _arrays(sym.list_auxiliary_states(), aux_states, "auxiliary states", ctx, dtype)
    expected = _as_dict(names, expected, "arguments")
    if isinstance(grad_req, str):
        requests = dict.fromkeys(names, grad_req)
    else:
        requests = {**dict.fromkeys(names, "null"), **_as_dict(names, grad_req, "arguments")}
    old = {name: np.random.normal(size=args[name].shape) for name in expected}
    grads = {}
    for name in expected:
        stype = (grad_stypes or {}).get(name, "default")
        grads[name] = array(old[name], ctx=ctx, dtype=args[name].dtype)
        if stype != "default":
            grads[name] = zeros(args[name].shape, ctx, dtype=args[name].dtype, stype=stype)
    before = {name: grad.asnumpy() for name, grad in grads.items()}
    executor = sym.bind(ctx, args=args, args_grad=grads, aux_states=aux, grad_req=requests)
    outputs = executor.forward(is_train=True)
    if out_grads is not None:
        outputs_by_name = dict(zip(sym.list_outputs(), outputs))
        given = _as_dict(sym.list_outputs(), out_grads, "outputs")
        out_grads = [
            array(as_numpy(given[name]), ctx=ctx, dtype=outputs_by_name[name].dtype)
            for name in sym.list_outputs()
        ]
    executor.backward(out_grads)
    for name, want in expected.items():
        got = executor.grad_dict[name].asnumpy()
        label = ("EXPECTED_" + name, "BACKWARD_" + name)
        if requests[name] == "write":
            assert_almost_equal(want, got, rtol, atol, label, equal_nan)
        elif requests[name] == "add":
            assert_almost_equal(want, got - before[name], rtol, atol, label, equal_nan)
        else:
            assert_almost_equal(before[name], got, rtol, atol, label, equal_nan)
    return grads


def check_speed(
    sym: Symbol,
    location: Any = None,
    ctx: Context | None = None,
    N: int = 20,
    grad_req: str | Sequence[str] | Mapping[str, str] | None = None,
    typ: Any = "whole",
    **kwargs: Any,
) -> float:
    """Seconds for one forward and backward pass (``typ`` "whole") or forward pass ("forward"), the mean of
    ``N``.

    Parameters
    ----------
    sym : Symbol
        The symbol.
    location : dict of arrays, optional
        Its arguments; random by default, for shapes given as further keywords.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.sym.square(mx.sym.Variable("x"))
    >>> mx.test_utils.check_speed(net, N=2, x=(2, 2)) < 1
    True
    """
    from ..ndarray import waitall

    if typ not in ("whole", "forward"):
        raise MXNetValueError(f"[check_speed] typ is {typ!r}; expected 'whole' or 'forward'.")
    ctx = ctx or default_context()
    grad_req = grad_req or ("write" if typ == "whole" else "null")
    shapes = kwargs if location is None else {name: np.shape(value) for name, value in location.items()}
    executor = sym.simple_bind(ctx, grad_req=grad_req, **shapes)
    for name, array in executor.arg_dict.items():
        array[:] = np.random.normal(size=array.shape) if location is None else location[name]

    def once() -> None:
        executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(executor.outputs)

    once()
    waitall()
    began = time.perf_counter()
    for _ in range(N):
        once()
    waitall()
    return (time.perf_counter() - began) / N


def check_consistency(
    sym: Symbol,
    ctx_list: Any,
    scale: Any = 1.0,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    arg_params: Mapping[str, NDArray] | None = None,
    aux_params: Mapping[str, NDArray] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    raise_on_err: bool = True,
    ground_truth: Any = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: DTypeLike = np.float64,
) -> Any:
    """Compares outputs and gradients of a symbol over devices and dtypes with those of the most precise
    dtype.

    Parameters
    ----------
    sym : Symbol or list of Symbol
        The symbol, or one for each entry of ``ctx_list``.
    ctx_list : list of dict
        Each with ``ctx``, shapes by input name, and if wanted ``type_dict``.
    scale : float
        Size of the random input.
    grad_req : str or dict
        "write", "add" or "null".
    arg_params, aux_params : dict of arrays, optional
        Input instead of random values.
    rtol, atol : float or dict of dtype to float, optional
        Tolerances.
    raise_on_err : bool
        Whether a difference raises rather than prints.
    ground_truth : dict of arrays, optional
        Expected values by name instead of the most precise dtype's.
    use_uniform : bool
        Whether random input is uniform rather than normal.
    rand_type : dtype
        Random input is rounded to it.

    Returns
    -------
    dict of str to NDArray
        What the others were compared with.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.sym.square(mx.sym.Variable("x"))
    >>> places = [{"ctx": mx.cpu(), "x": (2, 2), "type_dict": {"x": dtype}} for dtype in ("float64", "float32")]
    >>> _ = mx.test_utils.check_consistency(net, places)
    """
    if len(ctx_list) < 2 and ground_truth is None:
        raise MXNetValueError(
            "[check_consistency] ctx_list has fewer than two entries; there is nothing to compare."
        )
    syms = list(sym) if isinstance(sym, (list, tuple)) else [sym] * len(ctx_list)
    executors = []
    for one, entry in zip(syms, ctx_list):
        executors.append(one.simple_bind(grad_req=grad_req, **entry))
    arg_params = dict(arg_params or {})
    states: dict[str, Any] = dict(aux_params or {})
    for name, array in executors[0].arg_dict.items():
        if name not in arg_params:
            draw = np.random.uniform(-scale, scale, array.shape) if use_uniform else None
            draw = np.random.normal(scale=scale, size=array.shape) if draw is None else draw
            arg_params[name] = draw.astype(rand_type)
    for name in executors[0].aux_dict:
        states.setdefault(name, 0)
    training = grad_req != "null"
    for executor in executors:
        for name, array in executor.arg_dict.items():
            array[:] = arg_params[name]
        for name, array in executor.aux_dict.items():
            array[:] = states[name]
        for array in executor.grad_dict.values():
            if array is not None:
                array[:] = 0
        executor.forward(is_train=training)
        if training:
            executor.backward(executor.outputs)

    def results(executor: Executor, names: Any) -> dict[Any, Any]:
        found = dict(zip(names, executor.outputs))
        if training:
            found.update((name, grad) for name, grad in executor.grad_dict.items() if grad is not None)
        return {name: array.asnumpy() for name, array in found.items()}

    found = [results(executor, one.list_outputs()) for executor, one in zip(executors, syms)]
    precision = [
        min(np.finfo(e.outputs[0].dtype).precision, 15) if np.dtype(e.outputs[0].dtype).kind == "f" else 0
        for e in executors
    ]
    best = int(np.argmax(precision))
    truth = ground_truth or found[best]
    for i, values in enumerate(found):
        if i == best and ground_truth is None:
            continue
        dtype = np.dtype(executors[i].outputs[0].dtype)
        allowed = [tolerance_for(dtype, rtol, default_rtols()), tolerance_for(dtype, atol, default_atols())]
        for name, value in values.items():
            if name not in truth:
                continue
            try:
                assert_almost_equal(
                    value,
                    truth[name],
                    allowed[0],
                    allowed[1],
                    names=(f"{ctx_list[i]['ctx']}_{name}", "TRUTH"),
                    equal_nan=equal_nan,
                )
            except AssertionError as error:
                if raise_on_err:
                    raise
                print(error)
    return truth


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Whether two symbols apply the same operators to the same places; names and attributes do not count.

    Examples
    --------
    >>> import loomix as mx
    >>> a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    >>> mx.test_utils.same_symbol_structure(a + 1, b + 1)
    True
    """
    import json

    one, two = (json.loads(sym.tojson()) for sym in (sym1, sym2))
    if len(one["nodes"]) != len(two["nodes"]) or len(one["heads"]) != len(two["heads"]):
        return False
    links = [
        [(node["op"], [tuple(place[:2]) for place in node["inputs"]]) for node in graph["nodes"]]
        for graph in (one, two)
    ]
    heads = [[tuple(head[:2]) for head in graph["heads"]] for graph in (one, two)]
    return links[0] == links[1] and heads[0] == heads[1]


def check_gluon_hybridize_consistency(
    net_builder: Any,
    data_l: Any,
    numpy_func: Any = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Raises AssertionError unless a block gives the same values, and gradients, with and without ``hybridize``.

    Parameters
    ----------
    net_builder : callable
        Makes the block.
    data_l : list of NDArray
        Its inputs.
    numpy_func : callable, optional
        Gives the expected output from the inputs as NumPy arrays.
    test_grad : bool
        Whether gradients of inputs and parameters are compared.
    rtol, atol : float
        Tolerances.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.check_gluon_hybridize_consistency(lambda: mx.gluon.nn.Dense(2), [mx.nd.ones((1, 3))])
    """
    from .. import autograd
    from ..ndarray import array

    saved: Any = None
    results: list[list[Any]] = []
    for hybridize in (False, True):
        net = net_builder()
        net.initialize()
        if hybridize:
            net.hybridize()
        inputs = [value.copy() for value in data_l]
        for value in inputs:
            value.attach_grad()
        net(*inputs)  # shapes of parameters follow from the inputs
        parameters = list(net.collect_params().values())
        if saved is None:
            saved = [parameter.data().asnumpy() for parameter in parameters]
        for parameter, value in zip(parameters, saved):
            parameter.set_data(array(value, dtype=value.dtype))
        with autograd.record(train_mode=test_grad):
            output = net(*inputs)
        found = [output.asnumpy()]
        if test_grad:
            output.backward()
            found += [value.grad.asnumpy() for value in inputs]
            found += [parameter.grad().asnumpy() for parameter in parameters if parameter.grad_req != "null"]
        results.append(found)
    for plain, hybrid in zip(*results):
        assert_almost_equal(plain, hybrid, rtol=rtol, atol=atol)
    if numpy_func is not None:
        expected = numpy_func(*(value.asnumpy() for value in data_l))
        assert_almost_equal(results[0][0], expected, rtol=rtol, atol=atol)
