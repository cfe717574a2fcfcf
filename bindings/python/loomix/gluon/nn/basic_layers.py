# SPDX-License-Identifier: Apache-2.0
"""Containers, dense layers, normalisation, and functions as layers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

from ... import _core
from ... import ndarray as nd
from ... import symbol as sym
from ..._arguments import as_number, as_whole, expect
from ...base import AssertedError, MXNetTypeError
from ..block import Block, HybridBlock
from ..error_place import returned_nothing
from ..utils import indented
from .activations import Activation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import DTypeLike
    from typing_extensions import Unpack

    from ..base_block import BlockNames
    from ..parameter import ParameterDict

__all__ = [
    "BatchNorm",
    "BatchNormReLU",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "HybridLambda",
    "HybridSequential",
    "InstanceNorm",
    "Lambda",
    "LayerNorm",
    "Sequential",
]


class _Stack:
    """What both kinds of stacks have: children in order, by number."""

    _children: Any
    prefix: str

    def add(self, *blocks: Any) -> None:
        """Puts blocks on top."""
        for block in blocks:
            right = callable(block) and not isinstance(block, type)
            expect(right, f"{type(self).__name__}.add", "what came", block, "blocks: net.add(block, another)")
            self.register_child(block)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        lines = "\n".join(
            f"  ({key}): {indented(block._described(), 2)}" for key, block in self._children.items()
        )
        return f"{type(self).__name__}(\n{lines}\n)"

    def __getitem__(self, key: Any) -> Any:
        layers = list(self._children.values())[key]
        if not isinstance(layers, list):
            return layers
        net = type(self)(prefix=self.prefix)  # type: ignore[call-arg]
        with net.name_scope():  # type: ignore[attr-defined]
            net.add(*layers)
        return net

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._children.values())


class Sequential(_Stack, Block):
    """A stack of blocks, each of which gets what the one before returns.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon import nn
    >>> net = nn.Sequential()
    >>> net.add(nn.Dense(10, activation="relu"), nn.Dense(20))
    >>> net.initialize()
    >>> net(mx.nd.ones((2, 5))).shape
    (2, 20)
    """

    def forward(self, x: Any, *args: Any) -> Any:
        """Runs the blocks, one after the other."""
        for block in self._children.values():
            x = block(x, *args)
            args = ()
            if isinstance(x, (tuple, list)):
                x, args = x[0], tuple(x[1:])
            elif x is None:
                raise returned_nothing(block, "forward", "an NDArray, or a list of them")
        return [x, *args] if args else x

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Compiles the children; a HybridSequential of the same layers would be one graph."""
        if self._children and all(isinstance(child, HybridBlock) for child in self._children.values()):
            warnings.warn(
                f"[Sequential] the children of block '{self.name}' are hybrid blocks, each of which is compiled on "
                "its own; in a HybridSequential they would be one graph.",
                stacklevel=2,
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_Stack, HybridBlock):
    """A stack of hybrid blocks, which can be compiled as one graph; see :class:`Sequential`.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.nn.HybridSequential()
    >>> net.add(mx.gluon.nn.Dense(8, activation="relu"), mx.gluon.nn.Dense(2))
    >>> net.initialize()
    >>> net.hybridize()  # the next call compiles the network
    >>> net(mx.nd.ones((1, 4))).shape
    (1, 2)
    """

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        for block in self._children.values():
            x = block(x, *args)
            args = ()
            if isinstance(x, (tuple, list)):
                x, args = x[0], tuple(x[1:])
        return [x, *args] if args else x


class Dense(HybridBlock):
    """A fully connected layer: ``activation(dot(x, weight.T) + bias)``.

    Parameters
    ----------
    units : int
        Outputs; a layer of none may be made, but not run.
    activation : str, optional
        See :class:`Activation`.
    use_bias : bool
    flatten : bool
        Whether all axes of the input but the first become one.
    dtype : NumPy type or str
    weight_initializer, bias_initializer : Initializer or str
    in_units : int
        Inputs; 0 lets the first forward pass find out.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.Dense(3, activation="relu")
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 5))).shape
    (2, 3)
    >>> layer.weight.shape
    (3, 5)
    """

    _split_axes: ClassVar = {"columns": {"weight": 0, "bias": 0}, "rows": {"weight": 1}}

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: DTypeLike = "float32",
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_units: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        as_whole("Dense", "units", units, least=0)
        as_whole("Dense", "in_units", in_units, least=0)
        super().__init__(**kwargs)
        self._flatten = flatten
        with self.name_scope():
            self._units = units
            self._in_units = in_units
            self.weight = self.params.get(
                "weight",
                shape=(units, in_units),
                init=weight_initializer,
                dtype=dtype,
                allow_deferred_init=True,
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias", shape=(units,), init=bias_initializer, dtype=dtype, allow_deferred_init=True
                )
            self.act = None if activation is None else Activation(activation, prefix=f"{activation}_")

    def __repr__(self) -> str:
        _, inputs = self.weight.shape
        return f"{type(self).__name__}({inputs if inputs > 0 else None} -> {self._units}, {self.act or 'linear'})"

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        out = F.FullyConnected(
            x, weight, bias, no_bias=bias is None, num_hidden=self._units, flatten=self._flatten, name="fwd"
        )
        return out if self.act is None else self.act(out)


class Dropout(HybridBlock):
    """Sets a random share of the elements to 0 in training, and scales the others up.

    Parameters
    ----------
    rate : float
        The share.
    axes : tuple of int
        Axes along which elements are dropped together.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.Dropout(0.5)
    >>> layer(mx.nd.ones((2, 2))).asnumpy()  # drops nothing outside of training
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """

    def __init__(self, rate: float, axes: Any = (), **kwargs: Unpack[BlockNames]) -> None:
        as_number("Dropout", "rate", rate, least=0, most=1)
        super().__init__(**kwargs)
        self._rate, self._axes = rate, axes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.identity(x)


class _Norm(HybridBlock):
    """What normalisations share: a scale and a shift for each channel."""

    def _make(self, kind: str, wanted: bool, shape: Any, init: Any, differentiable: bool = True) -> Any:
        return self.params.get(
            kind,
            grad_req="write" if wanted else "null",
            shape=shape,
            init=init,
            allow_deferred_init=True,
            differentiable=differentiable,
        )


class BatchNorm(_Norm):
    """Normalises each channel over the batch in training, and by moving averages in prediction.

    Parameters
    ----------
    axis : int
        The axis of the channels.
    momentum : float
        Of the moving averages.
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether a shift (beta) and a scale (gamma) are learned.
    use_global_stats : bool
        Whether the moving averages are used in training, too.
    beta_initializer, gamma_initializer : Initializer or str
    running_mean_initializer, running_variance_initializer : Initializer or str
    in_channels : int
        0 lets the first forward pass find out.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.BatchNorm()
    >>> layer.initialize()
    >>> with mx.autograd.record():  # the batch's own mean and variance
    ...     y = layer(mx.nd.array([[1, 10], [3, 30]]))
    >>> y.asnumpy().round(3)
    array([[-1., -1.],
           [ 1.,  1.]], dtype=float32)
    """

    _split_axes: ClassVar = {"columns": {"gamma": 0, "beta": 0, "running_mean": 0, "running_var": 0}}

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros",
        running_variance_initializer: Any = "ones",
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        who = type(self).__name__
        as_whole(who, "axis", axis)
        as_whole(who, "in_channels", in_channels, least=0)
        as_number(who, "epsilon", epsilon, least=0)
        as_number(who, "momentum", momentum, least=0, most=1)
        super().__init__(**kwargs)
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        self._axis = axis
        self._in_channels = in_channels
        shape = (in_channels,)
        self.gamma = self._make("gamma", scale, shape, gamma_initializer, scale)
        self.beta = self._make("beta", center, shape, beta_initializer, center)
        self.running_mean = self._make("running_mean", False, shape, running_mean_initializer, False)
        self.running_var = self._make("running_var", False, shape, running_variance_initializer, False)

    def cast(self, dtype: DTypeLike) -> None:
        """Casts the parameters; those of float16 and bfloat16 networks stay float32."""
        halves = [_core.dtype_number(half) for half in ("float16", "bfloat16")]
        super().cast("float32" if _core.dtype_number(dtype) in halves else dtype)

    def __repr__(self) -> str:
        texts = [f"{key}={value!r}" for key, value in self._kwargs.items()]
        texts.append(f"in_channels={self.gamma.shape[0] if self.gamma.shape[0] > 0 else None}")
        return f"{type(self).__name__}({', '.join(texts)})"

    def hybrid_forward(
        self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any
    ) -> Any:
        return F.BatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)


class BatchNormReLU(BatchNorm):
    """A :class:`BatchNorm` with a ReLU behind it.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.BatchNormReLU()
    >>> layer.initialize()
    >>> with mx.autograd.record():
    ...     y = layer(mx.nd.array([[1, 10], [3, 30]]))
    >>> y.asnumpy().round(3)
    array([[0., 0.],
           [1., 1.]], dtype=float32)
    """

    def hybrid_forward(
        self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any
    ) -> Any:
        out = F.BatchNorm(x, gamma, beta, running_mean, running_var, **self._kwargs)
        return F.Activation(out, act_type="relu", name="fwd")


class Embedding(HybridBlock):
    """Rows of a table, by their numbers.

    Parameters
    ----------
    input_dim : int
        Rows.
    output_dim : int
        Their length.
    dtype : NumPy type or str
    weight_initializer : Initializer or str, optional
    sparse_grad : bool
        Whether the gradient is row_sparse: rows that a batch does not use cost nothing, and lazy optimizers leave
        them alone.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.Embedding(10, 4)
    >>> layer.initialize()
    >>> layer(mx.nd.array([1, 2, 3])).shape
    (3, 4)
    """

    _split_axes: ClassVar = {"columns": {"weight": 1}, "rows": {"weight": 0}}

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: Any = None,
        sparse_grad: bool = False,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        as_whole("Embedding", "input_dim", input_dim, least=1)
        as_whole("Embedding", "output_dim", output_dim, least=1)
        super().__init__(**kwargs)
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype,
            "sparse_grad": sparse_grad,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            allow_deferred_init=True,
            grad_stype="row_sparse" if sparse_grad else "default",
        )

    def __repr__(self) -> str:
        settings = self._kwargs
        return (
            f"{type(self).__name__}({settings['input_dim']} -> {settings['output_dim']}, {settings['dtype']})"
        )

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        return F.Embedding(x, weight, name="fwd", **self._kwargs)


class Flatten(HybridBlock):
    """Makes all axes but the first one.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.Flatten()(mx.nd.zeros((2, 3, 4))).shape
    (2, 12)
    """

    def __repr__(self) -> str:
        return type(self).__name__

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Flatten(x)


class InstanceNorm(_Norm):
    """Normalises each channel of each sample.

    Parameters
    ----------
    axis : int
        The axis of the channels.
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether a shift (beta) and a scale (gamma) are learned.
    beta_initializer, gamma_initializer : Initializer or str
    in_channels : int
        0 lets the first forward pass find out.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.InstanceNorm()
    >>> layer.initialize()
    >>> layer(mx.nd.array([[[1, 3], [10, 30]]])).asnumpy().round(3)
    array([[[-1.,  1.],
            [-1.,  1.]]], dtype=float32)
    """

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        as_whole("InstanceNorm", "axis", axis)
        as_number("InstanceNorm", "epsilon", epsilon, least=0)
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        self.gamma = self._make("gamma", scale, (in_channels,), gamma_initializer)
        self.beta = self._make("beta", center, (in_channels,), beta_initializer)

    def __repr__(self) -> str:
        texts = [f"{key}={value!r}" for key, value in self._kwargs.items()]
        texts.append(f"in_channels={self.gamma.shape[0]}")
        return f"{type(self).__name__}({', '.join(texts)})"

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        x = x.swapaxes(1, self._axis)
        out = F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        return out.swapaxes(1, self._axis)


class LayerNorm(_Norm):
    """Normalises along one axis.

    Parameters
    ----------
    axis : int
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether a shift (beta) and a scale (gamma) are learned.
    beta_initializer, gamma_initializer : Initializer or str
    in_channels : int
        The size of the axis; 0 lets the first forward pass find out.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.LayerNorm()
    >>> layer.initialize()
    >>> layer(mx.nd.array([[1, 2, 3]])).asnumpy().round(3)
    array([[-1.225,  0.   ,  1.225]], dtype=float32)
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        as_whole("LayerNorm", "axis", axis)
        as_number("LayerNorm", "epsilon", epsilon, least=0)
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        self.gamma = self._make("gamma", scale, (in_channels,), gamma_initializer)
        self.beta = self._make("beta", center, (in_channels,), beta_initializer)

    def __repr__(self) -> str:
        texts = [f"{key}={value!r}" for key, value in self._kwargs.items()]
        texts.append(f"in_channels={self.gamma.shape[0]}")
        return f"{type(self).__name__}({', '.join(texts)})"

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        return F.LayerNorm(data, gamma=gamma, beta=beta, axis=self._axis, eps=self._epsilon)


class GroupNorm(_Norm):
    """Normalises groups of channels (the second axis) of each sample.

    Parameters
    ----------
    num_groups : int
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether a shift (beta) and a scale (gamma) of each group are learned.
    beta_initializer, gamma_initializer : Initializer or str

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.GroupNorm(num_groups=2)
    >>> layer.initialize()
    >>> layer(mx.nd.array([[[1, 3], [10, 30]]])).asnumpy().round(3)
    array([[[-1.,  1.],
            [-1.,  1.]]], dtype=float32)
    """

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        as_whole("GroupNorm", "num_groups", num_groups, least=1)
        as_number("GroupNorm", "epsilon", epsilon, least=0)
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale}
        self._num_groups, self._epsilon = num_groups, epsilon
        self.gamma = self._make("gamma", scale, (num_groups,), gamma_initializer)
        self.beta = self._make("beta", center, (num_groups,), beta_initializer)

    def __repr__(self) -> str:
        texts = ", ".join(f"{key}={value!r}" for key, value in self._kwargs.items())
        return f"{type(self).__name__}({texts})"

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        return F.GroupNorm(data, gamma=gamma, beta=beta, num_groups=self._num_groups, eps=self._epsilon)


class Lambda(Block):
    """A function as a block.

    Parameters
    ----------
    function : str or function
        The name of an operator of ``mx.nd``, or a function of arrays.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.Lambda(lambda x: x * 2)(mx.nd.ones(2)).asnumpy()
    array([2., 2.], dtype=float32)
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            if not hasattr(nd, function):
                raise AssertedError(f"[Lambda] mx.nd has no function {function!r}.")
            self._func_impl: Any = getattr(nd, function)
        elif callable(function):
            self._func_impl = function
        else:
            raise MXNetTypeError(
                f"[Lambda] function {function!r} is of type {type(function).__name__}; expected a name or a function."
            )
        self._func_name = function if isinstance(function, str) else getattr(function, "__name__", "function")

    def forward(self, *args: Any) -> Any:
        """Calls the function."""
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


class HybridLambda(HybridBlock):
    """A function as a hybrid block.

    Parameters
    ----------
    function : str or function
        The name of an operator that ``mx.nd`` and ``mx.sym`` have, or a function of `F` and its inputs.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.HybridLambda(lambda F, x: F.relu(x))(mx.nd.array([-1.0])).asnumpy()
    array([0.], dtype=float32)
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            if not (hasattr(nd, function) and hasattr(sym, function)):
                raise AssertedError(
                    f"[HybridLambda] mx.nd and mx.sym do not both have a function {function!r}."
                )
            self._func_name = function
            self._func: Any = lambda F, *args: getattr(F, function)(*args)
        elif callable(function):
            self._func = function
            self._func_name = getattr(function, "__name__", "function")
        else:
            raise MXNetTypeError(
                f"[HybridLambda] function {function!r} is of type {type(function).__name__}; expected a name or a "
                "function."
            )

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        return self._func(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"
