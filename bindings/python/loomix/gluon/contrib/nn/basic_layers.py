# SPDX-License-Identifier: Apache-2.0
"""Branches side by side, layers that rearrange channels, normalisation over devices, large tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .... import ndarray as nd
from ...block import Block, HybridBlock
from ...nn import BatchNorm, HybridSequential, Sequential

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from typing_extensions import Unpack

    from ...base_block import BlockNames
    from ...parameter import ParameterDict

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SparseEmbedding",
    "SyncBatchNorm",
]


class Concurrent(Sequential):
    """Blocks that all get the same input; their outputs are concatenated.

    Parameters
    ----------
    axis : int
        The axis of the concatenation.

    Examples
    --------
    >>> import loomix as mx
    >>> net = Concurrent(axis=1)
    >>> net.add(Identity(), mx.gluon.nn.Activation("relu"))
    >>> net(mx.nd.array([[-1.0, 2.0]])).asnumpy()
    array([[-1.,  2.,  0.,  2.]], dtype=float32)
    """

    def __init__(
        self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Any) -> Any:
        """Runs all blocks and concatenates what they return."""
        return nd.concat(*(block(x) for block in self._children.values()), dim=self.axis)


class HybridConcurrent(HybridSequential):
    """As :class:`Concurrent`, of hybrid blocks.

    Parameters
    ----------
    axis : int
        The axis of the concatenation.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.contrib.nn.HybridConcurrent(axis=1)
    >>> net.add(mx.gluon.nn.Dense(2), mx.gluon.contrib.nn.Identity())
    >>> net.initialize()
    >>> net(mx.nd.ones((1, 3))).shape
    (1, 5)
    """

    def __init__(
        self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.concat(*(block(x) for block in self._children.values()), dim=self.axis)


class Identity(HybridBlock):
    """Returns what it gets: a branch that changes nothing.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.contrib.nn.Identity()(mx.nd.array([1, 2])).asnumpy()
    array([1., 2.], dtype=float32)
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x


class _PixelShuffle(HybridBlock):
    """Moves groups of channels into space: (N, C * factors, sizes) becomes (N, C, sizes * factors)."""

    _axes: int

    def __init__(self, factor: Any) -> None:
        super().__init__()
        self._factors = (int(factor),) * self._axes if isinstance(factor, int) else tuple(map(int, factor))
        if len(self._factors) != self._axes:
            raise ValueError(
                f"[{type(self).__name__}] factor is {factor!r}; expected a number or {self._axes} of them."
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors if self._axes > 1 else self._factors[0]})"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        # -4: an axis becomes two; 0: as it is; -3: two axes become one
        count = 1
        for factor in self._factors:
            count *= factor
        x = F.reshape(x, (0, -4, -1, count) + (0,) * self._axes)
        for i, factor in enumerate(self._factors[:-1]):
            x = F.reshape(x, (0,) * (2 + i) + (-4, factor, -1) + (0,) * self._axes)
        sizes, factors = 2 + self._axes, 2
        order = [0, 1]
        for i in range(self._axes):
            order += [sizes + i, factors + i]
        x = F.transpose(x, tuple(order))
        return F.reshape(x, (0, 0) + (-3,) * self._axes)


class PixelShuffle1D(_PixelShuffle):
    """(N, C * f, W) becomes (N, C, W * f).

    Parameters
    ----------
    factor : int

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.contrib.nn.PixelShuffle1D(2)(mx.nd.zeros((1, 4, 3))).shape
    (1, 2, 6)
    """

    _axes = 1

    def __init__(self, factor: int) -> None:
        super().__init__(factor)


class PixelShuffle2D(_PixelShuffle):
    """(N, C * f1 * f2, H, W) becomes (N, C, H * f1, W * f2).

    Parameters
    ----------
    factor : int or tuple of 2 int

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.contrib.nn.PixelShuffle2D(2)(mx.nd.zeros((1, 4, 3, 3))).shape
    (1, 1, 6, 6)
    """

    _axes = 2

    def __init__(self, factor: Any) -> None:
        super().__init__(factor)


class PixelShuffle3D(_PixelShuffle):
    """(N, C * f1 * f2 * f3, D, H, W) becomes (N, C, D * f1, H * f2, W * f3).

    Parameters
    ----------
    factor : int or tuple of 3 int

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.contrib.nn.PixelShuffle3D(2)(mx.nd.zeros((1, 8, 3, 3, 3))).shape
    (1, 1, 6, 6, 6)
    """

    _axes = 3

    def __init__(self, factor: Any) -> None:
        super().__init__(factor)


class SparseEmbedding(Block):
    """Rows of a large table, by their numbers. Its gradient is row_sparse, so a step changes the rows that were read.

    Parameters
    ----------
    input_dim : int
        Rows.
    output_dim : int
        Their length.
    dtype : NumPy type or str
    weight_initializer : Initializer or str, optional

    Examples
    --------
    >>> import loomix as mx
    >>> table = SparseEmbedding(1000, 8)
    >>> table.initialize()
    >>> table(mx.nd.array([[1, 2, 3]])).shape
    (1, 3, 8)
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: Any = None,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs: dict[str, Any] = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype,
            "sparse_grad": True,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            grad_stype="row_sparse",
        )

    def __repr__(self) -> str:
        settings = self._kwargs
        return (
            f"{type(self).__name__}({settings['input_dim']} -> {settings['output_dim']}, {settings['dtype']})"
        )

    def forward(self, x: Any) -> Any:
        """The rows with these numbers."""
        return nd.Embedding(x, self.weight.data(x.context), **self._kwargs)


class SyncBatchNorm(BatchNorm):
    """A :class:`nn.BatchNorm` over axis 1 whose batch may lie on several devices.

    Parameters
    ----------
    in_channels : int
        0 lets the first forward pass find out.
    num_devices : int, optional
        Devices that share a batch; 1 is all that is supported, and the default.
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

    Examples
    --------
    >>> import loomix as mx
    >>> layer = SyncBatchNorm(in_channels=3)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    def __init__(
        self,
        in_channels: int = 0,
        num_devices: int | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros",
        running_variance_initializer: Any = "ones",
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(
            1,
            momentum,
            epsilon,
            center,
            scale,
            use_global_stats,
            beta_initializer,
            gamma_initializer,
            running_mean_initializer,
            running_variance_initializer,
            in_channels,
            **kwargs,
        )
        del self._kwargs["axis"]
        settings: dict[str, Any] = {"ndev": num_devices or 1, "key": self.prefix}
        self._kwargs |= settings

    def hybrid_forward(
        self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any
    ) -> Any:
        return F.contrib.SyncBatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)
