# SPDX-License-Identifier: Apache-2.0
"""First values of parameters.

An initializer is called with a description (the parameter's name and attributes) and the array to fill. By
default the end of the name decides: biases, betas and minima become 0, gammas and maxima 1, and weights what
the initializer is about. A parameter whose ``__init__`` attribute names an initializer is filled by that one.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _star, registry
from ._arguments import as_number, expect
from ._parts import Part, by_parts, draw_part
from .base import AssertedError, MXNetValueError, ShapeError
from .base import string_types as string_types
from .log import note
from .ndarray import NDArray
from .ndarray import load as load
from .util import is_np_array as is_np_array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

__all__ = [
    "Bilinear",
    "Constant",
    "FusedRNN",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "create",
    "register",
]


class InitDesc(str):
    """A parameter's name that also carries what an initializer should know.

    Parameters
    ----------
    name : str
        The name.
    attrs : dict, optional
        The attributes of the variable (as in ``Symbol.attr_dict()``).
    global_init : Initializer, optional
        What to use for parts without an initializer of their own.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.init.InitDesc("fc_weight", attrs={"lr_mult": "2"}).attrs
    {'lr_mult': '2'}
    """

    attrs: Mapping[str, str]
    global_init: Any
    part: Part | None = None  # which part of the parameter is to be filled; None: all of it

    def __new__(cls, name: str, attrs: Mapping[str, str] | None = None, global_init: Any = None) -> Self:
        self = super().__new__(cls, name)
        self.attrs = attrs or {}
        self.global_init = global_init
        return self


def _root_mean_square(array: NDArray) -> str:
    """Default text of the verbose mode: the root of the mean square of the values."""
    values = array.asnumpy().astype("float64")
    return str(float(np.sqrt(np.mean(values**2)))) if values.size else "nan"


class Initializer:
    """Base of the initializers; subclasses fill weights in ``_init_weight(name, array)``.

    Examples
    --------
    >>> import loomix as mx
    >>> @mx.init.register
    ... class Ones(mx.init.Initializer):
    ...     def _init_weight(self, name, array):
    ...         array[:] = 1
    >>> array = mx.nd.zeros((2,))
    >>> mx.init.create("ones")("fc_weight", array)
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Any = None

    def set_verbosity(self, verbose: bool = False, print_func: Callable[[NDArray], Any] | None = None) -> Any:
        """Logs for each array what filled it, and ``print_func(array)`` (by default the root mean square)."""
        self._verbose = verbose
        self._print_func = print_func or _root_mean_square
        return self

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._kwargs.items())})"
        )

    def dumps(self) -> Any:
        """JSON text that :func:`create` turns into an equal initializer.

        >>> Normal(0.5).dumps()
        '["normal", {"sigma": 0.5}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and self._kwargs == other._kwargs

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, desc: Any, arr: NDArray) -> None:
        """Fills ``arr``, an NDArray, as the name and attributes of ``desc`` ask for.

        Raises
        ------
        ValueError
            When no rule fits the name.
        """
        if not isinstance(desc, InitDesc):
            self._fill(desc, desc, arr, _LEGACY_RULES)
            return
        if desc.global_init is None:
            desc.global_init = self
        init = desc.attrs.get("__init__", "")
        if init:
            create(init)._init_weight(desc, arr)
            self._report(desc, init, arr)
        else:
            self._fill(desc, desc, arr, _RULES)

    def _fill(self, name: str, desc: Any, arr: NDArray, rules: Any) -> None:
        if not isinstance(name, str):
            raise MXNetValueError(
                f"[Initializer] the name is of type {type(name).__name__}; expected a str or an InitDesc."
            )
        method = _method_for(name, rules)
        getattr(self, method)(desc, arr)
        if method != "_init_default":
            self._report(desc, method.removeprefix("_init_"), arr)

    def _fills_parts(self, desc: InitDesc) -> bool:
        """Whether it can be called with a part of this parameter (``desc.part``), and needs no whole array."""
        if self._verbose or type(self).__call__ is not Initializer.__call__:
            return False
        init = desc.attrs.get("__init__", "")
        owner, method = (create(init), "_init_weight") if init else (self, _method_for(desc, _RULES))
        return getattr(getattr(owner, method, None), "by_parts", False)

    def _report(self, desc: Any, how: str, arr: NDArray) -> None:
        if self._verbose and self._print_func:
            note(logging, "Initialized %s as %s: %s", desc, how, self._print_func(arr))

    def _init_bilinear(self, _: Any, arr: NDArray) -> None:
        arr[:] = _bilinear_kernel(arr.shape)

    def _init_loc_bias(self, _: Any, arr: NDArray) -> None:
        if arr.shape != (6,):
            raise ShapeError(f"[Initializer] the bias of a locator has shape {arr.shape}; expected (6,).")
        arr[:] = np.array([1.0, 0, 0, 0, 1.0, 0])

    @by_parts
    def _init_zero(self, _: Any, arr: NDArray) -> None:
        arr[:] = 0.0

    @by_parts
    def _init_one(self, _: Any, arr: NDArray) -> None:
        arr[:] = 1.0

    @by_parts
    def _init_bias(self, _: Any, arr: NDArray) -> None:
        arr[:] = 0.0

    @by_parts
    def _init_beta(self, _: Any, arr: NDArray) -> None:
        arr[:] = 0.0

    @by_parts
    def _init_gamma(self, _: Any, arr: NDArray) -> None:
        arr[:] = 1.0

    def _init_weight(self, name: str, arr: NDArray) -> Any:
        raise NotImplementedError(f"[{type(self).__name__}] _init_weight is not implemented.")

    def _init_default(self, name: str, _: Any) -> Any:
        if name.endswith("label"):
            raise MXNetValueError(
                f"[{type(self).__name__}] {name!r} is the label of a loss, but counts as a parameter, since no label "
                "of the Module is called so. Name the loss after its label, as in SoftmaxOutput(..., name='softmax') "
                f"for 'softmax_label', or say label_names=[{name!r}] to the Module and label_name={name!r} to the "
                "NDArrayIter."
            )
        raise MXNetValueError(
            f"[{type(self).__name__}] no rule for the parameter name {name!r}; expected it to end in "
            f"weight, bias, "
            "gamma or beta, or an initializer of its own: mx.sym.Variable(name, init=mx.init.One())."
        )


def _ends(*endings: Any) -> Any:
    return lambda name: name.endswith(endings)


def _method_for(name: str, rules: Any) -> str:
    return next((method for matches, method in rules if matches(name)), "_init_default")


_RULES = (
    (_ends("weight"), "_init_weight"),
    (_ends("bias"), "_init_bias"),
    (_ends("gamma"), "_init_gamma"),
    (_ends("beta"), "_init_beta"),
    (_ends("min", "moving_mean", "running_mean"), "_init_zero"),
    (_ends("max", "moving_var", "running_var"), "_init_one"),
)
_LEGACY_RULES = (
    (lambda name: name.startswith("upsampling"), "_init_bilinear"),
    (lambda name: name.startswith("stn_loc") and name.endswith("weight"), "_init_zero"),
    (lambda name: name.startswith("stn_loc") and name.endswith("bias"), "_init_loc_bias"),
    (_ends("moving_inv_var", "moving_avg"), "_init_zero"),
    *_RULES,
)

register = registry.get_register_func(Initializer, "initializer")
alias = registry.get_alias_func(Initializer, "initializer")
create = registry.get_create_func(Initializer, "initializer")


def fills_parts(init: Any, desc: InitDesc) -> bool:
    """Whether an initializer can be called with a part of this parameter; others fill the whole one.

    >>> fills_parts(Uniform(), InitDesc("fc_weight")), fills_parts(Orthogonal(), InitDesc("fc_weight"))
    (True, False)
    """
    answers = getattr(init, "_fills_parts", None)
    return answers is not None and answers(desc)


class Load:
    """Takes values from a file or a dict, and leaves the rest to ``default_init``.

    Parameters
    ----------
    param : str or dict of str to NDArray
        Path of a ``.params`` file, or the arrays. A leading ``arg:`` or ``aux:`` of a name is dropped.
    default_init : Initializer, optional
        For names that are not in ``param``.
    verbose : bool
        Whether to log where each array came from.

    Examples
    --------
    >>> import loomix as mx
    >>> init = mx.init.Load({"fc_weight": mx.nd.array([1, 2])}, default_init=mx.init.Zero())
    >>> x = mx.nd.zeros(2)
    >>> init("fc_weight", x)
    >>> x.asnumpy()
    array([1., 2.], dtype=float32)
    """

    def __init__(self, param: Any, default_init: Any = None, verbose: bool = False) -> None:
        if isinstance(param, (str, os.PathLike)):
            param = load(os.fspath(param))
        if not isinstance(param, dict):
            raise MXNetValueError("[Load] the parameters have no names; expected a file or dict with names.")
        right = default_init is None or (callable(default_init) and not isinstance(default_init, type))
        expect(right, "Load", "default_init", default_init, "an Initializer")
        self.param = {re.sub("^(arg|aux):", "", name): array for name, array in param.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        if name in self.param:
            value, part = self.param[name], getattr(name, "part", None)
            shape = arr.shape if part is None else part.shape
            if value.shape != shape:
                raise ShapeError(f"[Load] {name} has shape {shape} but was saved with shape {value.shape}.")
            arr[:] = value if part is None else part.of(value, arr.shape[part.axis])
        elif self.default_init is not None:
            self.default_init(name, arr)
        else:
            raise AssertedError(
                f"[Load] {name} is not among the loaded parameters, and no default_init was given."
            )
        if self.verbose:
            note(logging, "Initialized %s by %s", name, "loading" if name in self.param else "default")

    def _fills_parts(self, desc: InitDesc) -> bool:
        return desc in self.param or fills_parts(self.default_init, desc)


class Mixed:
    """Chooses among initializers by regular expressions, the first that matches the name.

    >>> mixed = Mixed([".*bias", ".*"], [Zero(), Uniform(0.1)])

    Raises
    ------
    ValueError
        When the two lists differ in length, or (at a call) when no pattern matches.
    """

    def __init__(self, patterns: Sequence[str], initializers: Any) -> None:
        for what, given in (("patterns", patterns), ("initializers", initializers)):
            expect(isinstance(given, (list, tuple)), "Mixed", what, given, "a list")
        if len(patterns) != len(initializers):
            raise MXNetValueError(
                f"[Mixed] {len(patterns)} patterns came with {len(initializers)} initializers; expected one "
                f"for each."
            )
        for init in initializers:
            right = callable(init) and not isinstance(init, type)
            expect(right, "Mixed", "one of the initializers", init, "an Initializer")
        self.map = [(re.compile(pattern), init) for pattern, init in zip(patterns, initializers)]

    def __call__(self, name: str, arr: NDArray) -> None:
        for pattern, init in self.map:
            if pattern.match(name):
                init(name, arr)
                return
        raise MXNetValueError(
            f"[Mixed] no pattern matches the parameter name {name!r}; '.*' as the last one would."
        )

    def _fills_parts(self, desc: InitDesc) -> bool:
        return next((fills_parts(init, desc) for pattern, init in self.map if pattern.match(desc)), False)


class _Everywhere(Initializer):
    """Fills parameters of every unknown name, too, like a weight."""

    def _init_default(self, name: str, arr: NDArray) -> None:
        self._init_weight(name, arr)


@alias("zeros")
@register
class Zero(_Everywhere):
    """All 0.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.ones(2)
    >>> mx.init.Zero()(mx.init.InitDesc("fc_weight"), x)
    >>> x.asnumpy()
    array([0., 0.], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__()

    @by_parts
    def _init_weight(self, _: Any, arr: NDArray) -> None:
        arr[:] = 0


@alias("ones")
@register
class One(_Everywhere):
    """All 1.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.zeros(2)
    >>> mx.init.One()(mx.init.InitDesc("fc_weight"), x)
    >>> x.asnumpy()
    array([1., 1.], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__()

    @by_parts
    def _init_weight(self, _: Any, arr: NDArray) -> None:
        arr[:] = 1


@register
class Constant(_Everywhere):
    """One value everywhere, or an array of values of the parameter's shape.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.zeros(2)
    >>> mx.init.Constant(7)(mx.init.InitDesc("fc_weight"), x)
    >>> x.asnumpy()
    array([7., 7.], dtype=float32)
    """

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    @by_parts
    def _init_weight(self, desc: Any, arr: NDArray) -> None:
        part = getattr(desc, "part", None)
        arr[:] = self.value if part is None else part.of(self.value, arr.shape[part.axis])

    def dumps(self) -> Any:
        value = self.value
        for convert in ("asnumpy", "tolist"):
            value = getattr(value, convert)() if hasattr(value, convert) else value
        self._kwargs = {"value": value}
        return json.dumps([type(self).__name__.lower(), {"value": value}])


def _draw_uniform(low: Any, high: Any, desc: Any, arr: NDArray) -> None:
    from .ndarray import random

    if getattr(desc, "part", None) is None:
        random.uniform(low, high, shape=arr.shape, dtype=arr.dtype, out=arr)
    else:
        draw_part("uniform", {"low": low, "high": high}, desc.part, arr)


def _draw_normal(sigma: Any, desc: Any, arr: NDArray) -> None:
    from .ndarray import random

    if getattr(desc, "part", None) is None:
        random.normal(0, sigma, shape=arr.shape, dtype=arr.dtype, out=arr)
    else:
        draw_part("normal", {"loc": 0, "scale": sigma}, desc.part, arr)


@register
class Uniform(Initializer):
    """Uniform between ``-scale`` and ``scale``.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.zeros((100,))
    >>> mx.init.Uniform(0.5)(mx.init.InitDesc("fc_weight"), x)
    >>> bool(x.abs().max().asscalar() <= 0.5)
    True
    """

    def __init__(self, scale: Any = 0.07) -> None:
        super().__init__(scale=as_number("Uniform", "scale", scale))
        self.scale = scale

    @by_parts
    def _init_weight(self, desc: Any, arr: NDArray) -> None:
        _draw_uniform(-self.scale, self.scale, desc, arr)


@register
class Normal(Initializer):
    """Normal around 0 with the standard deviation ``sigma``.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.zeros((100,))
    >>> mx.init.Normal(0.01)(mx.init.InitDesc("fc_weight"), x)
    >>> bool(x.abs().max().asscalar() < 0.1)
    True
    """

    def __init__(self, sigma: Any = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    @by_parts
    def _init_weight(self, desc: Any, arr: NDArray) -> None:
        _draw_normal(self.sigma, desc, arr)


@register
class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns, times ``scale`` (Saxe et al., arXiv:1312.6120).

    Parameters
    ----------
    scale : float
        Factor.
    rand_type : {"uniform", "normal"}
        Distribution of the random matrix whose singular vectors are taken; drawn from NumPy's generator.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.zeros((2, 4))
    >>> mx.init.Orthogonal(scale=1)(mx.init.InitDesc("fc_weight"), x)
    >>> mx.nd.dot(x, x.T).asnumpy().round(2) + 0.0
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    def __init__(self, scale: Any = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        if rand_type not in ("uniform", "normal"):
            raise MXNetValueError(f"[Orthogonal] rand_type is {rand_type!r}; expected 'uniform' or 'normal'.")
        self.scale = as_number("Orthogonal", "scale", scale)
        self.rand_type = rand_type

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        shape = (arr.shape[0], int(np.prod(arr.shape[1:])))
        if self.rand_type == "uniform":
            matrix = np.random.uniform(-1.0, 1.0, shape)
        else:
            matrix = np.random.normal(0.0, 1.0, shape)
        left, _, right = np.linalg.svd(matrix, full_matrices=False)
        basis = left if left.shape == shape else right
        arr[:] = (self.scale * basis).reshape(arr.shape)


@register
class Xavier(Initializer):
    """Keeps the size of activations, or of gradients, about the same over the layers (Glorot and Bengio
    2010).

    Parameters
    ----------
    rnd_type : {"uniform", "gaussian"}
        The distribution.
    factor_type : {"avg", "in", "out"}
        Which number of connections counts: that into a unit, out of it, or their mean.
    magnitude : float
        The variance is ``magnitude / count``, or a third of it for the uniform distribution.

    Raises
    ------
    ValueError
        For other values, or (at a call) for a weight of fewer than two dimensions.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.zeros((50, 100))
    >>> mx.init.Xavier()(mx.init.InitDesc("fc_weight"), x)  # within sqrt(3 / ((50 + 100) / 2))
    >>> bool(x.abs().max().asscalar() <= 0.2)
    True
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(as_number("Xavier", "magnitude", magnitude, least=0))

    @by_parts
    def _init_weight(self, name: str, arr: NDArray) -> None:
        part = getattr(name, "part", None)
        shape = arr.shape if part is None else part.shape
        if len(shape) < 2:
            raise MXNetValueError(f"[Xavier] {name} has shape {shape}; expected at least 2 dimensions.")
        area = np.prod(shape[2:]) if len(shape) > 2 else 1.0
        fan_in, fan_out = shape[1] * area, shape[0] * area
        counts = {"avg": (fan_in + fan_out) / 2.0, "in": fan_in, "out": fan_out}
        if self.factor_type not in counts:
            raise MXNetValueError(
                f"[Xavier] factor_type is {self.factor_type!r}; expected 'avg', 'in' or 'out'."
            )
        scale = float(np.sqrt(self.magnitude / counts[self.factor_type]))
        if self.rnd_type == "uniform":
            _draw_uniform(-scale, scale, name, arr)
        elif self.rnd_type == "gaussian":
            _draw_normal(scale, name, arr)
        else:
            raise MXNetValueError(
                f"[Xavier] rnd_type is {self.rnd_type!r}; expected 'uniform' or 'gaussian'."
            )


@register
class MSRAPrelu(Xavier):
    """For layers followed by (leaky) rectifiers of this slope (He et al., arXiv:1502.01852).

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.zeros((50, 100))
    >>> mx.init.MSRAPrelu()(mx.init.InitDesc("fc_weight"), x)
    >>> bool(x.abs().max().asscalar() > 0)
    True
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        as_number("MSRAPrelu", "slope", slope)
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


def _bilinear_kernel(shape: Sequence[int]) -> Any:
    """The weight, of shape (..., height, width), that makes a deconvolution interpolate linearly."""
    half = np.ceil(shape[3] / 2.0)
    centre = (2 * half - 1 - half % 2) / (2.0 * half)
    column = 1 - np.abs(np.arange(shape[3]) / half - centre)
    row = 1 - np.abs(np.arange(shape[2]) / half - centre)
    return np.broadcast_to(np.outer(row, column), shape).astype("float32")


@register
class Bilinear(Initializer):
    """The weight of an up-sampling deconvolution: linear interpolation.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.zeros((1, 1, 4, 4))
    >>> mx.init.Bilinear()(mx.init.InitDesc("up_weight"), x)
    >>> x[0, 0, 0].asnumpy()
    array([0.0625, 0.1875, 0.1875, 0.0625], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        arr[:] = _bilinear_kernel(arr.shape)


@register
class LSTMBias(Initializer):
    """The bias of an LSTM cell: 0, but ``forget_bias`` for the forget gate (the second quarter).

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.zeros(8)
    >>> mx.init.LSTMBias(forget_bias=1.0)("lstm_i2h_bias", x)
    >>> x.asnumpy()
    array([0., 0., 1., 1., 0., 0., 0., 0.], dtype=float32)
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=as_number("LSTMBias", "forget_bias", forget_bias))
        self.forget_bias = forget_bias

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        quarter = arr.shape[0] // 4
        values = np.zeros(arr.shape, "float32")
        values[quarter : 2 * quarter] = self.forget_bias
        arr[:] = values

    def _init_bias(self, desc: Any, arr: NDArray) -> None:
        self._init_weight(desc, arr)


_RNN_GATES = {
    "rnn_relu": ("",),
    "rnn_tanh": ("",),
    "lstm": ("_i", "_f", "_c", "_o"),
    "gru": ("_r", "_z", "_o"),
}


@register
class FusedRNN(Initializer):
    """The one parameter vector of the fused ``RNN`` operator, part by part.

    Parameters
    ----------
    init : Initializer or None
        For the weights and biases of each gate; None takes the global initializer.
    num_hidden, num_layers, mode, bidirectional
        As for the operator; ``mode`` is "rnn_relu", "rnn_tanh", "lstm" or "gru".
    forget_bias : float
        Bias of the forget gates of an LSTM.

    Examples
    --------
    >>> import loomix as mx
    >>> init = mx.init.FusedRNN(mx.init.Zero(), num_hidden=2, num_layers=1, mode="lstm", forget_bias=1.0)
    >>> init.dumps()[:9]
    '["fusedrn'
    """

    def __init__(
        self,
        init: Any,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        if isinstance(init, str):
            init = create(init)
        super().__init__(
            init=init.dumps() if init is not None else None,
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        if mode not in _RNN_GATES:
            raise MXNetValueError(f"[FusedRNN] mode is {mode!r}; expected one of {', '.join(_RNN_GATES)}.")
        self._init = init
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode = mode
        self._bidirectional = bidirectional
        self._forget_bias = forget_bias

    def _parts(self, size: Any) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of every part, in the order in which the vector of ``size`` values holds them."""
        hidden, gates = self._num_hidden, _RNN_GATES[self._mode]
        directions = "lr" if self._bidirectional else "l"
        ways = len(directions)
        per_unit = size // ways // hidden // len(gates)
        inputs = per_unit - (self._num_layers - 1) * (hidden + ways * hidden + 2) - hidden - 2
        parts: list[tuple[str, tuple[int, ...]]] = []
        for layer in range(self._num_layers):
            width = inputs if layer == 0 else ways * hidden
            for way in directions:
                parts += [(f"{way}{layer}_i2h{gate}_weight", (hidden, width)) for gate in gates]
                parts += [(f"{way}{layer}_h2h{gate}_weight", (hidden, hidden)) for gate in gates]
        for layer in range(self._num_layers):
            for way in directions:
                parts += [
                    (f"{way}{layer}_{kind}{gate}_bias", (hidden,))
                    for kind in ("i2h", "h2h")
                    for gate in gates
                ]
        if inputs < 1 or sum(int(np.prod(shape)) for _, shape in parts) != size:
            raise ShapeError(
                f"[FusedRNN] {size} values do not fit {self._num_layers} layers of {hidden} units."
            )
        return parts

    def _init_weight(self, desc: Any, arr: NDArray) -> None:
        offset = 0
        outer = getattr(desc, "global_init", None)
        for name, shape in self._parts(arr.size):
            count = int(np.prod(shape))
            part = arr[offset : offset + count].reshape(shape)  # shares memory with arr
            offset += count
            if self._mode == "lstm" and name.endswith("_f_bias"):
                part[:] = self._forget_bias
            elif self._init is not None:
                self._init(InitDesc(name, global_init=outer), part)
            elif outer is not None:
                outer(InitDesc(name, global_init=outer), part)
            else:
                raise MXNetValueError(
                    "[FusedRNN] init is None and there is no global initializer to use instead."
                )


_star.complete(
    globals(),
    "NDArray is_np_array json load logging ndarray np random re registry sqrt string_types warnings",
)
