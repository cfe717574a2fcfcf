# SPDX-License-Identifier: Apache-2.0
"""VGG (Simonyan and Zisserman, 2014)."""

from __future__ import annotations

from typing import Any

from .... import initializer
from ....base import MXNetValueError
from ....context import cpu
from ... import nn
from .common import ROOT, Classifier, load, named

__all__ = [
    "VGG",
    "get_vgg",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]


class VGG(Classifier):
    """Stages of 3 x 3 convolutions, and three dense layers.

    Parameters
    ----------
    layers : list of int
        Convolutions of each stage.
    filters : list of int
        Their channels.
    classes : int
    batch_norm : bool
        Whether batches are normalised behind each convolution.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.VGG([1, 1, 1, 1, 1], [8, 8, 8, 8, 8], classes=10)
    """

    def __init__(
        self, layers: Any, filters: Any, classes: int = 1000, batch_norm: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            raise MXNetValueError(f"[VGG] got {len(layers)} stages and {len(filters)} numbers of channels.")
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            for count, channels in zip(layers, filters):
                for _ in range(count):
                    self._add_convolution(channels, batch_norm)
                self.features.add(nn.MaxPool2D(strides=2))
            for _ in range(2):
                self.features.add(nn.Dense(4096, activation="relu", weight_initializer="normal"))
                self.features.add(nn.Dropout(rate=0.5))
            self.output = nn.Dense(classes, weight_initializer="normal")

    def _add_convolution(self, channels: int, batch_norm: bool) -> None:
        init = initializer.Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
        self.features.add(nn.Conv2D(channels, 3, padding=1, weight_initializer=init))
        if batch_norm:
            self.features.add(nn.BatchNorm())
        self.features.add(nn.Activation("relu"))


_LAYERS = {11: [1, 1, 2, 2, 2], 13: [2, 2, 2, 2, 2], 16: [2, 2, 3, 3, 3], 19: [2, 2, 4, 4, 4]}


def get_vgg(
    num_layers: int, pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any
) -> Any:
    """A VGG network.

    Parameters
    ----------
    num_layers : {11, 13, 16, 19}
    pretrained : bool
        Whether it gets its published parameters; see :func:`loomix.gluon.model_zoo.model_store.get_model_file`.
    ctx : Context
        Where to put them.
    root : str
        The folder of the file.
    **kwargs
        Of :class:`VGG`, such as ``batch_norm``.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.get_vgg(11, classes=10)
    """
    if num_layers not in _LAYERS:
        raise MXNetValueError(f"[get_vgg] num_layers is {num_layers}; expected one of {list(_LAYERS)}.")
    net = VGG(_LAYERS[num_layers], [64, 128, 256, 512, 512], **kwargs)
    name = f"vgg{num_layers}" + ("_bn" if kwargs.get("batch_norm") else "")
    return load(net, name, pretrained, ctx, root)


def _get_vgg_bn(num_layers: int, **kwargs: Any) -> Any:
    return get_vgg(num_layers, batch_norm=True, **kwargs)


def _named(layers: int, batch_norm: bool = False) -> Any:
    doc = f"A VGG network of {layers} layers" + (" with batch normalisation." if batch_norm else ".")
    name = f"vgg{layers}" + ("_bn" if batch_norm else "")
    return named(_get_vgg_bn if batch_norm else get_vgg, name, doc, layers)


vgg11, vgg13, vgg16, vgg19 = _named(11), _named(13), _named(16), _named(19)
vgg11_bn, vgg13_bn, vgg16_bn, vgg19_bn = (
    _named(11, True),
    _named(13, True),
    _named(16, True),
    _named(19, True),
)
