# SPDX-License-Identifier: Apache-2.0
"""Convolutions that learn where to read."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base import MXNetValueError
from ...block import HybridBlock
from ...nn import Activation

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


def _pair(value: Any, who: str, what: str) -> tuple[int, ...]:
    """One size for each of the two axes."""
    sizes = (int(value),) * 2 if isinstance(value, (int, np.integer)) else tuple(value)
    if len(sizes) != 2:
        raise MXNetValueError(f"[{who}] {what} is {value!r}; expected a number or 2 of them.")
    return sizes


class _Deformable(HybridBlock):
    """What both convolutions share: one that gives the offsets, and the one that reads by them."""

    _offsets: int  # numbers that each element of a window gets
    _hint: str
    _order: tuple[str, str]  # of the parameters, in files as well

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        num_deformable_group: int,
        layout: str,
        use_bias: bool,
        in_channels: int,
        activation: str | None,
        weight_initializer: Any,
        bias_initializer: Any,
        offset_weight_initializer: Any,
        offset_bias_initializer: Any,
        offset_use_bias: bool,
        op_name: str,
        adj: Any,
        prefix: str | None,
        params: Any,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        who = type(self).__name__
        if layout != "NCHW":
            raise MXNetValueError(f"[{who}] layout is {layout!r}; expected 'NCHW'.")
        if adj is not None:
            raise MXNetValueError(f"[{who}] adj is {adj!r}; it belongs to transposed convolutions.")
        kernel = _pair(kernel_size, who, "kernel_size")
        self._op_name = op_name
        self._offset_kwargs: dict[str, Any] = {
            "kernel": kernel,
            "stride": _pair(strides, who, "strides"),
            "dilate": _pair(dilation, who, "dilation"),
            "pad": _pair(padding, who, "padding"),
            "num_filter": self._offsets * kernel[0] * kernel[1] * num_deformable_group,
            "num_group": groups,
            "no_bias": not offset_use_bias,
            "layout": layout,
        }
        self._kwargs = {
            **self._offset_kwargs,
            "num_filter": channels,
            "num_deformable_group": num_deformable_group,
            "no_bias": not use_bias,
        }
        with self.name_scope():
            self._in_channels = in_channels
            settings = {
                "offset": (
                    self._offset_kwargs["num_filter"],
                    offset_use_bias,
                    (offset_weight_initializer, offset_bias_initializer),
                ),
                "deformable_conv": (channels, use_bias, (weight_initializer, bias_initializer)),
            }
            for name in self._order:
                filters, bias, inits = settings[name]
                shapes = {"weight": (filters, in_channels // groups, *kernel), "bias": (filters,)}
                for (kind, shape), init in zip(shapes.items(), inits):
                    param = None
                    if kind == "weight" or bias:
                        param = self.params.get(
                            f"{name}_{kind}", shape=shape, init=init, allow_deferred_init=True
                        )
                    setattr(self, f"{name}_{kind}", param)
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def _alias(self) -> str:
        return self._hint

    def __repr__(self) -> str:
        settings = self._kwargs
        texts = [
            f"{self._in_channels or None} -> {settings['num_filter']}",
            f"kernel_size={settings['kernel']}",
            f"stride={settings['stride']}",
        ]
        if settings["pad"] != (0, 0):
            texts.append(f"padding={settings['pad']}")
        if settings["dilate"] != (1, 1):
            texts.append(f"dilation={settings['dilate']}")
        if settings["num_group"] != 1:
            texts.append(f"groups={settings['num_group']}")
        if settings["no_bias"]:
            texts.append("bias=False")
        if self.act is not None:
            texts.append(repr(self.act))
        return f"{type(self).__name__}({', '.join(texts)})"

    def _inputs(self, F: Any, x: Any, offset: Any) -> tuple[Any, ...]:
        """What the convolution reads, from what the first one gave."""
        return x, offset

    def hybrid_forward(
        self,
        F: Any,
        x: Any,
        offset_weight: Any,
        deformable_conv_weight: Any,
        offset_bias: Any = None,
        deformable_conv_bias: Any = None,
    ) -> Any:
        arrays = (x, offset_weight) if offset_bias is None else (x, offset_weight, offset_bias)
        offset = F.Convolution(*arrays, **self._offset_kwargs)
        inputs = (*self._inputs(F, x, offset), deformable_conv_weight)
        if deformable_conv_bias is not None:
            inputs = (*inputs, deformable_conv_bias)
        out = getattr(F.contrib, self._op_name)(*inputs, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)


class DeformableConvolution(_Deformable):
    """A convolution whose windows read at places moved by offsets, which a convolution of the same input gives
    (Dai et al., 2017).

    Parameters
    ----------
    channels : int
        Outputs.
    kernel_size, strides, padding, dilation : int or tuple of 2 int
    groups : int
        Channels are split into so many parts, each convolved on its own.
    num_deformable_group : int
        Channels are split into so many parts, each with offsets of its own.
    layout : {'NCHW'}
    use_bias : bool
    in_channels : int
        0 lets the first forward pass find out.
    activation : str, optional
        See :class:`nn.Activation`.
    weight_initializer, bias_initializer : Initializer or str
    offset_weight_initializer, offset_bias_initializer : Initializer or str
        Of the convolution that gives the offsets; with zeros, training begins as a plain convolution.
    offset_use_bias : bool
    op_name : str
        Operator of ``contrib`` that takes data, offsets, weight and bias.
    adj : None
        Of transposed convolutions; this is none.
    prefix : str, optional
        Start of the names.
    params : ParameterDict, optional
        Parameters to share.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = DeformableConvolution(4, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 8, 8))).shape
    (2, 4, 8, 8)
    """

    _offsets = 2
    _hint = "deformable_conv"
    _order = ("offset", "deformable_conv")

    def __init__(
        self,
        channels: int,
        kernel_size: Any = (1, 1),
        strides: Any = (1, 1),
        padding: Any = (0, 0),
        dilation: Any = (1, 1),
        groups: int = 1,
        num_deformable_group: int = 1,
        layout: str = "NCHW",
        use_bias: bool = True,
        in_channels: int = 0,
        activation: str | None = None,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        offset_weight_initializer: Any = "zeros",
        offset_bias_initializer: Any = "zeros",
        offset_use_bias: bool = True,
        op_name: str = "DeformableConvolution",
        adj: Any = None,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            num_deformable_group,
            layout,
            use_bias,
            in_channels,
            activation,
            weight_initializer,
            bias_initializer,
            offset_weight_initializer,
            offset_bias_initializer,
            offset_use_bias,
            op_name,
            adj,
            prefix,
            params,
        )


class ModulatedDeformableConvolution(_Deformable):
    """A :class:`DeformableConvolution` that also weighs what it reads, by a mask of numbers from 0 to 2, which the same
    convolution gives as the offsets (Zhu et al., 2018). Parameters as of :class:`DeformableConvolution`.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = ModulatedDeformableConvolution(4, kernel_size=3, padding=1, activation="relu")
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 8, 8))).shape
    (2, 4, 8, 8)
    """

    _offsets = 3
    _hint = "modulated_deformable_conv"
    _order = ("deformable_conv", "offset")

    def __init__(
        self,
        channels: int,
        kernel_size: Any = (1, 1),
        strides: Any = (1, 1),
        padding: Any = (0, 0),
        dilation: Any = (1, 1),
        groups: int = 1,
        num_deformable_group: int = 1,
        layout: str = "NCHW",
        use_bias: bool = True,
        in_channels: int = 0,
        activation: str | None = None,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        offset_weight_initializer: Any = "zeros",
        offset_bias_initializer: Any = "zeros",
        offset_use_bias: bool = True,
        op_name: str = "ModulatedDeformableConvolution",
        adj: Any = None,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            num_deformable_group,
            layout,
            use_bias,
            in_channels,
            activation,
            weight_initializer,
            bias_initializer,
            offset_weight_initializer,
            offset_bias_initializer,
            offset_use_bias,
            op_name,
            adj,
            prefix,
            params,
        )

    def _inputs(self, F: Any, x: Any, offset: Any) -> tuple[Any, ...]:
        moves = self._offset_kwargs["num_filter"] // 3 * 2
        mask = F.slice_axis(offset, axis=1, begin=moves, end=None)
        return x, F.slice_axis(offset, axis=1, begin=0, end=moves), F.sigmoid(mask) * 2
