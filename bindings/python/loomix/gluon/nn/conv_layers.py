# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._arguments import as_shape, as_whole
from ...base import AssertedError
from ..block import HybridBlock
from .activations import Activation

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..base_block import BlockNames

__all__ = [
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "ReflectionPad2D",
]


def axis_sizes(value: Any, count: int, who: str, what: str, least: int = 1) -> tuple[int, ...]:
    """One size for each spatial axis."""
    sizes = as_shape(who, what, value)
    if len(sizes) == 1 and not isinstance(value, (list, tuple)):
        sizes *= count
    if len(sizes) != count:
        raise AssertedError(f"[{who}] {what} is {value!r}; expected a number or {count} of them.")
    for size in sizes:
        as_whole(who, what, size, least)
    return sizes


def check_channels(who: str, channels: Any, in_channels: Any, groups: Any) -> None:
    """Raises an error unless numbers of channels and groups are such."""
    as_whole(who, "channels", channels, least=1)
    as_whole(who, "in_channels", in_channels, least=0)
    as_whole(who, "groups", groups, least=1)


def check_layout(layout: str, axes: str, who: str, what: str = "layout") -> None:
    """Raises a ValueError unless channels come before or behind the spatial axes."""
    allowed = ("NC" + axes, "N" + axes + "C")
    if layout not in allowed:
        raise AssertedError(f"[{who}] {what} is {layout!r}; expected {allowed[0]!r} or {allowed[1]!r}.")


def conv_text(layer: Any, ins: int, outs: int) -> str:
    """What a convolution is, for people: what differs from the usual is named."""
    settings = layer._kwargs
    count = len(settings["kernel"])
    texts = [
        f"{ins if ins > 0 else None} -> {outs}",
        f"kernel_size={settings['kernel']}",
        f"stride={settings['stride']}",
    ]
    if settings["pad"] != (0,) * count:
        texts.append(f"padding={settings['pad']}")
    if settings["dilate"] != (1,) * count:
        texts.append(f"dilation={settings['dilate']}")
    if settings.get("adj", (0,) * count) != (0,) * count:
        texts.append(f"output_padding={settings['adj']}")
    if settings["num_group"] != 1:
        texts.append(f"groups={settings['num_group']}")
    if settings["no_bias"]:
        texts.append("bias=False")
    if layer.act is not None:
        texts.append(repr(layer.act))
    return f"{type(layer).__name__}({', '.join(texts)})"


class _Conv(HybridBlock):
    """What all convolutions share. `output_padding` makes it a transposed one."""

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        layout: str,
        in_channels: int = 0,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        output_padding: Any = None,
        axes: str = "HW",
        **kwargs: Unpack[BlockNames],
    ) -> None:
        who = type(self).__name__
        check_layout(layout, axes, who)
        check_channels(who, channels, in_channels, groups)
        super().__init__(**kwargs)
        self._channels = channels
        self._in_channels = in_channels
        self._op_name = "Convolution" if output_padding is None else "Deconvolution"
        self._kwargs: dict[str, Any] = {
            "kernel": axis_sizes(kernel_size, len(axes), who, "kernel_size"),
            "stride": axis_sizes(strides, len(axes), who, "strides"),
            "dilate": axis_sizes(dilation, len(axes), who, "dilation"),
            "pad": axis_sizes(padding, len(axes), who, "padding", least=0),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        if output_padding is not None:
            self._kwargs["adj"] = axis_sizes(output_padding, len(axes), who, "output_padding", least=0)
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=self._weight_shape(), init=weight_initializer, allow_deferred_init=True
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True
                )
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def _cuts(self, kind: str) -> dict[str, int] | None:
        if self._kwargs["num_group"] != 1:  # whole groups
            return {"weight": 0, "bias": 0} if kind == "columns" else None
        out, inner = (0, 1) if self._op_name == "Convolution" else (1, 0)
        return {"weight": out, "bias": 0} if kind == "columns" else {"weight": inner}

    def _weight_shape(self) -> tuple[int, ...]:
        outer, inner = self._channels, self._in_channels
        if self._op_name == "Deconvolution":
            outer, inner = inner, outer
        inner //= self._kwargs["num_group"]
        kernel = self._kwargs["kernel"]
        return (outer, *kernel, inner) if self._kwargs["layout"].endswith("C") else (outer, inner, *kernel)

    def _alias(self) -> str:
        return "conv"

    def __repr__(self) -> str:
        outs, ins, *_ = self.weight.shape
        return conv_text(self, ins, outs)

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        arrays = (x, weight) if bias is None else (x, weight, bias)
        out = getattr(F, self._op_name)(*arrays, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)


class Conv1D(_Conv):
    """A convolution along one axis.

    Parameters
    ----------
    channels : int
        Outputs.
    kernel_size, strides, padding, dilation : int
    groups : int
        Channels are split into so many parts, each convolved on its own.
    layout : {'NCW', 'NWC'}
    activation : str, optional
        See :class:`Activation`.
    use_bias : bool
    weight_initializer, bias_initializer : Initializer or str
    in_channels : int
        0 lets the first forward pass find out.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.Conv1D(4, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 8))).shape
    (2, 4, 8)
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            axes="W",
            **kwargs,
        )


class Conv2D(_Conv):
    """A convolution along two axes.

    Parameters
    ----------
    channels : int
        Outputs.
    kernel_size, strides, padding, dilation : int or tuple of 2 int
    groups : int
        Channels are split into so many parts, each convolved on its own.
    layout : {'NCHW', 'NHWC'}
    activation : str, optional
        See :class:`Activation`.
    use_bias : bool
    weight_initializer, bias_initializer : Initializer or str
    in_channels : int
        0 lets the first forward pass find out.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.Conv2D(4, kernel_size=3, strides=2, padding=1)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 8, 8))).shape
    (2, 4, 4, 4)
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = (0, 0),
        dilation: Any = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            axes="HW",
            **kwargs,
        )


class Conv3D(_Conv):
    """A convolution along three axes.

    Parameters
    ----------
    channels : int
        Outputs.
    kernel_size, strides, padding, dilation : int or tuple of 3 int
    groups : int
        Channels are split into so many parts, each convolved on its own.
    layout : {'NCDHW', 'NDHWC'}
    activation : str, optional
        See :class:`Activation`.
    use_bias : bool
    weight_initializer, bias_initializer : Initializer or str
    in_channels : int
        0 lets the first forward pass find out.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.Conv3D(4, kernel_size=3)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 5, 5, 5))).shape
    (2, 4, 3, 3, 3)
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: Any = (0, 0, 0),
        dilation: Any = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            axes="DHW",
            **kwargs,
        )


class Conv1DTranspose(_Conv):
    """The transpose of a convolution along one axis, also called a deconvolution.

    Parameters
    ----------
    channels : int
        Outputs.
    kernel_size, strides, padding, output_padding, dilation : int
    groups : int
        Channels are split into so many parts, each convolved on its own.
    layout : {'NCW', 'NWC'}
    activation : str, optional
        See :class:`Activation`.
    use_bias : bool
    weight_initializer, bias_initializer : Initializer or str
    in_channels : int
        0 lets the first forward pass find out.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.Conv1DTranspose(4, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 8))).shape
    (2, 4, 16)
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            output_padding,
            axes="W",
            **kwargs,
        )


class Conv2DTranspose(_Conv):
    """The transpose of a convolution along two axes, also called a deconvolution.

    Parameters
    ----------
    channels : int
        Outputs.
    kernel_size, strides, padding, output_padding, dilation : int or tuple of 2 int
    groups : int
        Channels are split into so many parts, each convolved on its own.
    layout : {'NCHW', 'NHWC'}
    activation : str, optional
        See :class:`Activation`.
    use_bias : bool
    weight_initializer, bias_initializer : Initializer or str
    in_channels : int
        0 lets the first forward pass find out.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.Conv2DTranspose(4, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 4, 4))).shape
    (2, 4, 8, 8)
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = (0, 0),
        output_padding: Any = (0, 0),
        dilation: Any = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            output_padding,
            axes="HW",
            **kwargs,
        )


class Conv3DTranspose(_Conv):
    """The transpose of a convolution along three axes, also called a deconvolution.

    Parameters
    ----------
    channels : int
        Outputs.
    kernel_size, strides, padding, output_padding, dilation : int or tuple of 3 int
    groups : int
        Channels are split into so many parts, each convolved on its own.
    layout : {'NCDHW', 'NDHWC'}
    activation : str, optional
        See :class:`Activation`.
    use_bias : bool
    weight_initializer, bias_initializer : Initializer or str
    in_channels : int
        0 lets the first forward pass find out.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.Conv3DTranspose(4, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 2, 2, 2))).shape
    (2, 4, 4, 4, 4)
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: Any = (0, 0, 0),
        output_padding: Any = (0, 0, 0),
        dilation: Any = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            output_padding,
            axes="DHW",
            **kwargs,
        )


class _Pool(HybridBlock):
    """What all pools share."""

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: Any,
        ceil_mode: bool,
        global_pool: bool,
        pool_type: str,
        layout: str,
        axes: str,
        count_include_pad: bool | None = None,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        who = type(self).__name__
        check_layout(layout, axes, who)
        super().__init__(**kwargs)
        size = axis_sizes(pool_size, len(axes), who, "pool_size")
        self._kwargs: dict[str, Any] = {
            "kernel": size,
            "stride": size if strides is None else axis_sizes(strides, len(axes), who, "strides"),
            "pad": axis_sizes(padding, len(axes), who, "padding", least=0),
            "global_pool": global_pool,
            "pool_type": pool_type,
            "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self) -> str:
        return "pool"

    def __repr__(self) -> str:
        settings = self._kwargs
        ceil_mode = settings["pooling_convention"] == "full"
        return (
            f"{type(self).__name__}(size={settings['kernel']}, stride={settings['stride']}, "
            f"padding={settings['pad']}, ceil_mode={ceil_mode}, global_pool={settings['global_pool']}, "
            f"pool_type={settings['pool_type']}, layout={settings['layout']})"
        )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Pooling(x, name="fwd", **self._kwargs)


class MaxPool1D(_Pool):
    """The largest element of each window.

    Parameters
    ----------
    pool_size, strides, padding : int
        Windows do not overlap unless `strides` says so.
    layout : {'NCW', 'NWC'}
    ceil_mode : bool
        Whether a window that sticks out at the end counts.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.MaxPool1D(2)(mx.nd.array([[[1, 3, 5, 7]]])).asnumpy()
    array([[[3., 7.]]], dtype=float32)
    """

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: Any = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, False, "max", layout, "W", **kwargs)


class MaxPool2D(_Pool):
    """The largest element of each window.

    Parameters
    ----------
    pool_size, strides, padding : int or tuple of 2 int
        Windows do not overlap unless `strides` says so.
    layout : {'NCHW', 'NHWC'}
    ceil_mode : bool
        Whether a window that sticks out at the end counts.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.MaxPool2D(2)(mx.nd.arange(16).reshape((1, 1, 4, 4))).asnumpy()
    array([[[[ 5.,  7.],
             [13., 15.]]]], dtype=float32)
    """

    def __init__(
        self,
        pool_size: Any = (2, 2),
        strides: Any = None,
        padding: Any = 0,
        layout: str = "NCHW",
        ceil_mode: bool = False,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, False, "max", layout, "HW", **kwargs)


class MaxPool3D(_Pool):
    """The largest element of each window.

    Parameters
    ----------
    pool_size, strides, padding : int or tuple of 3 int
        Windows do not overlap unless `strides` says so.
    layout : {'NCDHW', 'NDHWC'}
    ceil_mode : bool
        Whether a window that sticks out at the end counts.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.MaxPool3D(2)(mx.nd.ones((1, 1, 4, 4, 4))).shape
    (1, 1, 2, 2, 2)
    """

    def __init__(
        self,
        pool_size: Any = (2, 2, 2),
        strides: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, False, "max", layout, "DHW", **kwargs)


class AvgPool1D(_Pool):
    """The mean of each window.

    Parameters
    ----------
    pool_size, strides, padding : int
        Windows do not overlap unless `strides` says so.
    layout : {'NCW', 'NWC'}
    ceil_mode : bool
        Whether a window that sticks out at the end counts.
    count_include_pad : bool
        Whether padding counts for the mean.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.AvgPool1D(2)(mx.nd.array([[[1, 3, 5, 7]]])).asnumpy()
    array([[[2., 6.]]], dtype=float32)
    """

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: Any = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(
            pool_size, strides, padding, ceil_mode, False, "avg", layout, "W", count_include_pad, **kwargs
        )


class AvgPool2D(_Pool):
    """The mean of each window.

    Parameters
    ----------
    pool_size, strides, padding : int or tuple of 2 int
        Windows do not overlap unless `strides` says so.
    layout : {'NCHW', 'NHWC'}
    ceil_mode : bool
        Whether a window that sticks out at the end counts.
    count_include_pad : bool
        Whether padding counts for the mean.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.AvgPool2D(2)(mx.nd.arange(16).reshape((1, 1, 4, 4))).asnumpy()
    array([[[[ 2.5,  4.5],
             [10.5, 12.5]]]], dtype=float32)
    """

    def __init__(
        self,
        pool_size: Any = (2, 2),
        strides: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        layout: str = "NCHW",
        count_include_pad: bool = True,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(
            pool_size, strides, padding, ceil_mode, False, "avg", layout, "HW", count_include_pad, **kwargs
        )


class AvgPool3D(_Pool):
    """The mean of each window.

    Parameters
    ----------
    pool_size, strides, padding : int or tuple of 3 int
        Windows do not overlap unless `strides` says so.
    layout : {'NCDHW', 'NDHWC'}
    ceil_mode : bool
        Whether a window that sticks out at the end counts.
    count_include_pad : bool
        Whether padding counts for the mean.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.AvgPool3D(2)(mx.nd.ones((1, 1, 4, 4, 4))).shape
    (1, 1, 2, 2, 2)
    """

    def __init__(
        self,
        pool_size: Any = (2, 2, 2),
        strides: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        count_include_pad: bool = True,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(
            pool_size, strides, padding, ceil_mode, False, "avg", layout, "DHW", count_include_pad, **kwargs
        )


class GlobalMaxPool1D(_Pool):
    """The largest element of each channel.

    Parameters
    ----------
    layout : {'NCW', 'NWC'}

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.GlobalMaxPool1D()(mx.nd.array([[[1, 3, 5, 7]]])).asnumpy()
    array([[[7.]]], dtype=float32)
    """

    def __init__(self, layout: str = "NCW", **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(1, None, 0, True, True, "max", layout, "W", **kwargs)


class GlobalMaxPool2D(_Pool):
    """The largest element of each channel.

    Parameters
    ----------
    layout : {'NCHW', 'NHWC'}

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.GlobalMaxPool2D()(mx.nd.ones((1, 3, 4, 4))).shape
    (1, 3, 1, 1)
    """

    def __init__(self, layout: str = "NCHW", **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(1, None, 0, True, True, "max", layout, "HW", **kwargs)


class GlobalMaxPool3D(_Pool):
    """The largest element of each channel.

    Parameters
    ----------
    layout : {'NCDHW', 'NDHWC'}

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.GlobalMaxPool3D()(mx.nd.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 1, 1, 1)
    """

    def __init__(self, layout: str = "NCDHW", **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(1, None, 0, True, True, "max", layout, "DHW", **kwargs)


class GlobalAvgPool1D(_Pool):
    """The mean of each channel.

    Parameters
    ----------
    layout : {'NCW', 'NWC'}

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.GlobalAvgPool1D()(mx.nd.array([[[1, 3, 5, 7]]])).asnumpy()
    array([[[4.]]], dtype=float32)
    """

    def __init__(self, layout: str = "NCW", **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(1, None, 0, True, True, "avg", layout, "W", **kwargs)


class GlobalAvgPool2D(_Pool):
    """The mean of each channel.

    Parameters
    ----------
    layout : {'NCHW', 'NHWC'}

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.GlobalAvgPool2D()(mx.nd.ones((1, 3, 4, 4))).shape
    (1, 3, 1, 1)
    """

    def __init__(self, layout: str = "NCHW", **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(1, None, 0, True, True, "avg", layout, "HW", **kwargs)


class GlobalAvgPool3D(_Pool):
    """The mean of each channel.

    Parameters
    ----------
    layout : {'NCDHW', 'NDHWC'}

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.GlobalAvgPool3D()(mx.nd.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 1, 1, 1)
    """

    def __init__(self, layout: str = "NCDHW", **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(1, None, 0, True, True, "avg", layout, "DHW", **kwargs)


class ReflectionPad2D(HybridBlock):
    """Pads height and width with what lies inside, mirrored at the edge.

    Parameters
    ----------
    padding : int, or tuple of 8 int
        On each side, or before and after for each of the four axes.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.ReflectionPad2D(1)(mx.nd.arange(4).reshape((1, 1, 2, 2))).shape
    (1, 1, 4, 4)
    """

    def __init__(self, padding: Any = 0, **kwargs: Unpack[BlockNames]) -> None:
        sizes = as_shape("ReflectionPad2D", "padding", padding)
        sizes = (0, 0, 0, 0, *sizes * 4) if len(sizes) == 1 else sizes
        if len(sizes) != 8:
            raise AssertedError(f"[ReflectionPad2D] padding is {padding!r}; expected a number or 8 of them.")
        for size in sizes:
            as_whole("ReflectionPad2D", "padding", size, least=0)
        super().__init__(**kwargs)
        self._padding = sizes

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.pad(x, mode="reflect", pad_width=self._padding)
