# SPDX-License-Identifier: Apache-2.0
"""MobileNets (Howard et al., 2017; Sandler et al., 2018)."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ... import nn
from ...block import HybridBlock
from .common import ROOT, Classifier, load, named

__all__ = [
    "MobileNet",
    "MobileNetV2",
    "get_mobilenet",
    "get_mobilenet_v2",
    "mobilenet0_25",
    "mobilenet0_5",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
]


class _ReLU6(HybridBlock):
    """The input between 0 and 6."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.clip(x, 0, 6)


def _add_convolution(
    out: Any,
    channels: int,
    size: int = 1,
    stride: int = 1,
    padding: int = 0,
    groups: int = 1,
    activation: Any = None,
) -> None:
    out.add(nn.Conv2D(channels, size, stride, padding, groups=groups, use_bias=False), nn.BatchNorm())
    if activation is not None:
        out.add(activation())


def _relu() -> Any:
    return nn.Activation("relu")


class MobileNet(Classifier):
    """Convolutions of each channel on its own, and 1 x 1 convolutions.

    Parameters
    ----------
    multiplier : float
        A factor of the channels.
    classes : int

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.MobileNet(multiplier=0.5, classes=10)
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        channels = [64, 128, 128, 256, 256] + [512] * 6 + [1024] * 2
        strides = [1, 2, 1, 2, 1, 2] + [1] * 5 + [2, 1]
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                before = int(32 * multiplier)
                _add_convolution(self.features, before, 3, 2, 1, activation=_relu)
                for count, stride in zip(channels, strides):
                    _add_convolution(self.features, before, 3, stride, 1, before, _relu)
                    before = int(count * multiplier)
                    _add_convolution(self.features, before, activation=_relu)
                self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)


class LinearBottleneck(HybridBlock):
    """To many channels, a convolution of each on its own, and back to few.

    Parameters
    ----------
    in_channels, channels : int
    t : int
        How many times more channels there are inside.
    stride : int
    """

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        inner = in_channels * t
        with self.name_scope():
            self.out = nn.HybridSequential(prefix="")
            _add_convolution(self.out, inner, activation=_ReLU6)
            _add_convolution(self.out, inner, 3, stride, 1, inner, _ReLU6)
            _add_convolution(self.out, channels)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


class MobileNetV2(Classifier):
    """A network of linear bottlenecks.

    Parameters
    ----------
    multiplier : float
        A factor of the channels.
    classes : int

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.MobileNetV2(multiplier=0.5, classes=10)
    """

    _stages = (
        (16, 1, 1, 1),
        (24, 2, 2, 6),
        (32, 3, 2, 6),
        (64, 4, 2, 6),
        (96, 3, 1, 6),
        (160, 3, 2, 6),
        (320, 1, 1, 6),
    )

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                before = int(32 * multiplier)
                _add_convolution(self.features, before, 3, 2, 1, activation=_ReLU6)
                for channels, count, stride, expansion in self._stages:
                    after = int(channels * multiplier)
                    for i in range(count):
                        self.features.add(LinearBottleneck(before, after, expansion, stride if i == 0 else 1))
                        before = after
                last = int(1280 * multiplier) if multiplier > 1.0 else 1280
                _add_convolution(self.features, last, activation=_ReLU6)
                self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"), nn.Flatten())


def get_mobilenet(
    multiplier: float, pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any
) -> Any:
    """A MobileNet.

    Parameters
    ----------
    multiplier : float
        A factor of the channels.
    pretrained : bool
        Whether it gets its published parameters; see :func:`loomix.gluon.model_zoo.model_store.get_model_file`.
    ctx : Context
        Where to put them.
    root : str
        The folder of the file.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.get_mobilenet(0.5, classes=10)
    """
    return load(MobileNet(multiplier, **kwargs), f"mobilenet{_text(multiplier)}", pretrained, ctx, root)


def get_mobilenet_v2(
    multiplier: float, pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any
) -> Any:
    """A MobileNet of the second form.

    Parameters
    ----------
    multiplier : float
        A factor of the channels.
    pretrained : bool
        Whether it gets its published parameters; see :func:`loomix.gluon.model_zoo.model_store.get_model_file`.
    ctx : Context
        Where to put them.
    root : str
        The folder of the file.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.get_mobilenet_v2(0.5, classes=10)
    """
    return load(MobileNetV2(multiplier, **kwargs), f"mobilenetv2_{_text(multiplier)}", pretrained, ctx, root)


def _text(multiplier: float) -> str:
    """1.0 and 0.5, but 0.75."""
    return f"{multiplier:.2f}".removesuffix("0")


def _named(multiplier: float) -> Any:
    name = "mobilenet" + _text(multiplier).replace(".", "_")
    return named(get_mobilenet, name, f"A MobileNet with {multiplier} times the channels.", multiplier)


def _named_v2(multiplier: float) -> Any:
    name = "mobilenet_v2_" + _text(multiplier).replace(".", "_")
    doc = f"A MobileNet of the second form with {multiplier} times the channels."
    return named(get_mobilenet_v2, name, doc, multiplier)


mobilenet1_0, mobilenet0_75, mobilenet0_5, mobilenet0_25 = map(_named, (1.0, 0.75, 0.5, 0.25))
mobilenet_v2_1_0, mobilenet_v2_0_75, mobilenet_v2_0_5, mobilenet_v2_0_25 = map(
    _named_v2, (1.0, 0.75, 0.5, 0.25)
)
