# SPDX-License-Identifier: Apache-2.0
"""Residual networks (He et al., 2015 and 2016)."""

from __future__ import annotations

from typing import Any

from ....base import AssertedError
from ....context import cpu
from ... import nn
from ...block import HybridBlock
from .common import ROOT, Classifier, load, named

__all__ = [
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "ResNetV1",
    "ResNetV2",
    "get_resnet",
    "resnet18_v1",
    "resnet18_v2",
    "resnet34_v1",
    "resnet34_v2",
    "resnet50_v1",
    "resnet50_v2",
    "resnet101_v1",
    "resnet101_v2",
    "resnet152_v1",
    "resnet152_v2",
]


def _conv3x3(channels: int, stride: int, in_channels: int) -> Any:
    return nn.Conv2D(
        channels, kernel_size=3, strides=stride, padding=1, use_bias=False, in_channels=in_channels
    )


class _BlockV1(HybridBlock):
    """A residual block with a ReLU behind the sum."""

    body: Any

    def _finish(self, channels: int, stride: int, downsample: bool, in_channels: int) -> None:
        self.downsample = None
        if downsample:
            self.downsample = nn.HybridSequential(prefix="")
            self.downsample.add(
                nn.Conv2D(channels, kernel_size=1, strides=stride, use_bias=False, in_channels=in_channels),
                nn.BatchNorm(),
            )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        residual = x if self.downsample is None else self.downsample(x)
        return F.Activation(residual + self.body(x), act_type="relu")


class BasicBlockV1(_BlockV1):
    """Two convolutions; for networks of 18 and 34 layers.

    Parameters
    ----------
    channels, stride : int
    downsample : bool
        Whether the short cut has a convolution, too.
    in_channels : int

    Examples
    --------
    >>> import loomix as mx
    >>> block = mx.gluon.model_zoo.vision.BasicBlockV1(8, stride=1)
    >>> block.initialize()
    >>> block(mx.nd.ones((1, 8, 4, 4))).shape
    (1, 8, 4, 4)
    """

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.body = nn.HybridSequential(prefix="")
        self.body.add(_conv3x3(channels, stride, in_channels), nn.BatchNorm(), nn.Activation("relu"))
        self.body.add(_conv3x3(channels, 1, channels), nn.BatchNorm())
        self._finish(channels, stride, downsample, in_channels)


class BottleneckV1(_BlockV1):
    """Three convolutions, the middle one of fewer channels; for networks of 50 layers and more.

    Parameters
    ----------
    channels, stride : int
    downsample : bool
        Whether the short cut has a convolution, too.
    in_channels : int

    Examples
    --------
    >>> import loomix as mx
    >>> block = mx.gluon.model_zoo.vision.BottleneckV1(8, stride=1)
    >>> block.initialize()
    >>> block(mx.nd.ones((1, 8, 4, 4))).shape
    (1, 8, 4, 4)
    """

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        inner = channels // 4
        self.body = nn.HybridSequential(prefix="")
        self.body.add(nn.Conv2D(inner, kernel_size=1, strides=stride), nn.BatchNorm(), nn.Activation("relu"))
        self.body.add(_conv3x3(inner, 1, inner), nn.BatchNorm(), nn.Activation("relu"))
        self.body.add(nn.Conv2D(channels, kernel_size=1, strides=1), nn.BatchNorm())
        self._finish(channels, stride, downsample, in_channels)


class _BlockV2(HybridBlock):
    """A residual block with normalisation and ReLU in front of each convolution."""

    def _layers(self) -> list[tuple[Any, Any]]:
        raise NotImplementedError

    def _finish(self, channels: int, stride: int, downsample: bool, in_channels: int) -> None:
        self.downsample = None
        if downsample:
            self.downsample = nn.Conv2D(channels, 1, stride, use_bias=False, in_channels=in_channels)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        residual = x
        for i, (norm, conv) in enumerate(self._layers()):
            x = F.Activation(norm(x), act_type="relu")
            if i == 0 and self.downsample is not None:
                residual = self.downsample(x)
            x = conv(x)
        return x + residual


class BasicBlockV2(_BlockV2):
    """Two convolutions; for networks of 18 and 34 layers.

    Parameters
    ----------
    channels, stride : int
    downsample : bool
        Whether the short cut has a convolution, too.
    in_channels : int

    Examples
    --------
    >>> import loomix as mx
    >>> block = mx.gluon.model_zoo.vision.BasicBlockV2(8, stride=1)
    >>> block.initialize()
    >>> block(mx.nd.ones((1, 8, 4, 4))).shape
    (1, 8, 4, 4)
    """

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv3x3(channels, stride, in_channels)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels, 1, channels)
        self._finish(channels, stride, downsample, in_channels)

    def _layers(self) -> list[tuple[Any, Any]]:
        return [(self.bn1, self.conv1), (self.bn2, self.conv2)]


class BottleneckV2(_BlockV2):
    """Three convolutions, the middle one of fewer channels; for networks of 50 layers and more.

    Parameters
    ----------
    channels, stride : int
    downsample : bool
        Whether the short cut has a convolution, too.
    in_channels : int

    Examples
    --------
    >>> import loomix as mx
    >>> block = mx.gluon.model_zoo.vision.BottleneckV2(8, stride=1)
    >>> block.initialize()
    >>> block(mx.nd.ones((1, 8, 4, 4))).shape
    (1, 8, 4, 4)
    """

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.bn1 = nn.BatchNorm()
        self.conv1 = nn.Conv2D(channels // 4, kernel_size=1, strides=1, use_bias=False)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels // 4, stride, channels // 4)
        self.bn3 = nn.BatchNorm()
        self.conv3 = nn.Conv2D(channels, kernel_size=1, strides=1, use_bias=False)
        self._finish(channels, stride, downsample, in_channels)

    def _layers(self) -> list[tuple[Any, Any]]:
        return [(self.bn1, self.conv1), (self.bn2, self.conv2), (self.bn3, self.conv3)]


class _ResNet(Classifier):
    def _check(self, layers: Any, channels: Any) -> None:
        if len(layers) != len(channels) - 1:
            raise AssertedError(
                f"[{type(self).__name__}] got {len(layers)} stages and {len(channels)} numbers of channels; "
                "expected one number more than stages."
            )

    def _add_stem(self, channels: int, thumbnail: bool) -> None:
        if thumbnail:
            self.features.add(_conv3x3(channels, 1, 0))
            return
        self.features.add(nn.Conv2D(channels, 7, 2, 3, use_bias=False), nn.BatchNorm())
        self.features.add(nn.Activation("relu"), nn.MaxPool2D(3, 2, 1))

    @staticmethod
    def _stage(block: Any, layers: int, channels: int, stride: int, number: int, in_channels: int) -> Any:
        stage = nn.HybridSequential(prefix=f"stage{number}_")
        with stage.name_scope():
            stage.add(block(channels, stride, channels != in_channels, in_channels=in_channels, prefix=""))
            for _ in range(layers - 1):
                stage.add(block(channels, 1, False, in_channels=channels, prefix=""))
        return stage


class ResNetV1(_ResNet):
    """A residual network of the first form.

    Parameters
    ----------
    block : class
        :class:`BasicBlockV1` or :class:`BottleneckV1`.
    layers : list of int
        Blocks of each stage.
    channels : list of int
        Channels of the first layer and of each stage.
    classes : int
    thumbnail : bool
        Whether images are small, and so are not made smaller at first.

    Examples
    --------
    >>> import loomix as mx
    >>> vision = mx.gluon.model_zoo.vision
    >>> net = vision.ResNetV1(vision.BasicBlockV1, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(mx.nd.zeros((1, 3, 32, 32))).shape
    (1, 10)
    """

    def __init__(
        self,
        block: Any,
        layers: Any,
        channels: Any,
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._check(layers, channels)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self._add_stem(channels[0], thumbnail)
            for i, count in enumerate(layers):
                self.features.add(
                    self._stage(block, count, channels[i + 1], 1 if i == 0 else 2, i + 1, channels[i])
                )
            self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes, in_units=channels[-1])


class ResNetV2(_ResNet):
    """A residual network of the second form; arguments as of :class:`ResNetV1`.

    Examples
    --------
    >>> import loomix as mx
    >>> vision = mx.gluon.model_zoo.vision
    >>> net = vision.ResNetV2(vision.BasicBlockV2, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(mx.nd.zeros((1, 3, 32, 32))).shape
    (1, 10)
    """

    def __init__(
        self,
        block: Any,
        layers: Any,
        channels: Any,
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._check(layers, channels)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.BatchNorm(scale=False, center=False))
            self._add_stem(channels[0], thumbnail)
            in_channels = channels[0]
            for i, count in enumerate(layers):
                self.features.add(
                    self._stage(block, count, channels[i + 1], 1 if i == 0 else 2, i + 1, in_channels)
                )
                in_channels = channels[i + 1]
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes, in_units=in_channels)


_BASIC = [64, 64, 128, 256, 512]
_BOTTLENECK = [64, 256, 512, 1024, 2048]
_LAYERS = {
    18: (False, [2, 2, 2, 2]),
    34: (False, [3, 4, 6, 3]),
    50: (True, [3, 4, 6, 3]),
    101: (True, [3, 4, 23, 3]),
    152: (True, [3, 8, 36, 3]),
}
_CLASSES: dict[int, Any] = {
    1: (ResNetV1, BasicBlockV1, BottleneckV1),
    2: (ResNetV2, BasicBlockV2, BottleneckV2),
}


def get_resnet(
    version: int,
    num_layers: int,
    pretrained: bool = False,
    ctx: Any = cpu(),
    root: str = ROOT,
    **kwargs: Any,
) -> Any:
    """A residual network.

    Parameters
    ----------
    version : {1, 2}
    num_layers : {18, 34, 50, 101, 152}
    pretrained : bool
        Whether it gets its published parameters; see :func:`loomix.gluon.model_zoo.model_store.get_model_file`.
    ctx : Context
        Where to put them.
    root : str
        The folder of the file.
    **kwargs
        Of :class:`ResNetV1`, such as ``classes``.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.get_resnet(version=1, num_layers=18, classes=10)
    """
    if num_layers not in _LAYERS:
        raise AssertedError(f"[get_resnet] num_layers is {num_layers}; expected one of {list(_LAYERS)}.")
    if version not in _CLASSES:
        raise AssertedError(f"[get_resnet] version is {version}; expected 1 or 2.")
    is_deep, layers = _LAYERS[num_layers]
    network, basic, bottleneck = _CLASSES[version]
    net = network(bottleneck if is_deep else basic, layers, _BOTTLENECK if is_deep else _BASIC, **kwargs)
    return load(net, f"resnet{num_layers}_v{version}", pretrained, ctx, root)


def _named(version: int, layers: int) -> Any:
    doc = f"A residual network of {layers} layers, of form {version}."
    return named(get_resnet, f"resnet{layers}_v{version}", doc, version, layers)


resnet18_v1, resnet34_v1, resnet50_v1 = _named(1, 18), _named(1, 34), _named(1, 50)
resnet101_v1, resnet152_v1 = _named(1, 101), _named(1, 152)
resnet18_v2, resnet34_v2, resnet50_v2 = _named(2, 18), _named(2, 34), _named(2, 50)
resnet101_v2, resnet152_v2 = _named(2, 101), _named(2, 152)
