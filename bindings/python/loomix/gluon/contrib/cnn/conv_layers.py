# SPDX-License-Identifier: Apache-2.0
"""Convolutions that learn where to read."""

from __future__ import annotations

from typing import Any

from ....base import MXNetValueError
from ...block import HybridBlock
from ...nn import Activation
from ...nn.conv_layers import axis_sizes, check_channels, conv_text

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


class DeformableConvolution(HybridBlock):
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

    _offsets = 2  # numbers that each element of a window gets
    _hint = "deformable_conv"
    _order = ("offset", "deformable_conv")  # of the parameters, in files as well

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
        super().__init__(prefix=prefix, params=params)
        who = type(self).__name__
        if layout != "NCHW":
            raise MXNetValueError(f"[{who}] layout is {layout!r}; expected 'NCHW'.")
        if adj is not None:
            raise MXNetValueError(f"[{who}] adj is {adj!r}; it belongs to transposed convolutions.")
        check_channels(who, channels, in_channels, groups)
        kernel = axis_sizes(kernel_size, 2, who, "kernel_size")
        self._op_name = op_name
        self._offset_kwargs: dict[str, Any] = {
            "kernel": kernel,
            "stride": axis_sizes(strides, 2, who, "strides"),
            "dilate": axis_sizes(dilation, 2, who, "dilation"),
            "pad": axis_sizes(padding, 2, who, "padding", least=0),
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
        self._in_channels = in_channels
        offset_inits = (offset_weight_initializer, offset_bias_initializer)
        with self.name_scope():
            for name in self._order:
                if name == "offset":
                    self._add(name, self._offset_kwargs, offset_inits)
                else:
                    self._add(name, self._kwargs, (weight_initializer, bias_initializer))
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def _add(self, name: str, settings: dict[str, Any], inits: tuple[Any, Any]) -> None:
        """The parameters of one of the two convolutions."""
        filters = settings["num_filter"]
        weight = (filters, self._in_channels // settings["num_group"], *settings["kernel"])
        for kind, shape, init in zip(("weight", "bias"), (weight, (filters,)), inits):
            param = None
            if kind == "weight" or not settings["no_bias"]:
                param = self.params.get(f"{name}_{kind}", shape=shape, init=init, allow_deferred_init=True)
            setattr(self, f"{name}_{kind}", param)

    def _alias(self) -> str:
        return self._hint

    def __repr__(self) -> str:
        return conv_text(self, self._in_channels, self._kwargs["num_filter"])

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


class ModulatedDeformableConvolution(DeformableConvolution):
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
