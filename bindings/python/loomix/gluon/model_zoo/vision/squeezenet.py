# SPDX-License-Identifier: Apache-2.0
"""SqueezeNet (Iandola et al., 2016)."""

from __future__ import annotations

from typing import Any

from ....base import AssertedError
from ....context import cpu
from ... import nn
from ...contrib.nn import HybridConcurrent
from .common import ROOT, Classifier, load, named

__all__ = [
    "SqueezeNet",
    "get_squeezenet",
    "squeezenet1_0",
    "squeezenet1_1",
]


def _convolution(channels: int, size: int, padding: int = 0) -> Any:
    out = nn.HybridSequential(prefix="")
    out.add(nn.Conv2D(channels, size, padding=padding), nn.Activation("relu"))
    return out


def _fire(squeeze: int, expand: int) -> Any:
    """A convolution to few channels, then two of different sizes side by side."""
    out = nn.HybridSequential(prefix="")
    out.add(_convolution(squeeze, 1))
    paths = HybridConcurrent(axis=1, prefix="")
    paths.add(_convolution(expand, 1), _convolution(expand, 3, 1))
    out.add(paths)
    return out


_FIRES = [(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)]
_POOLS = {"1.0": (0, 3, 7), "1.1": (0, 2, 4)}  # in front of which of them


class SqueezeNet(Classifier):
    """A small network of fire modules, for images of 224 by 224 pixels.

    The last pooling is over 13 by 13 elements, as in MXNet: images must have about 200 pixels a side at least, and of
    larger ones it sees a part, or gives several rows of scores, one after the other.

    Parameters
    ----------
    version : {'1.0', '1.1'}
    classes : int

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.SqueezeNet("1.1", classes=10)
    """

    def __init__(self, version: str, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if version not in _POOLS:
            raise AssertedError(f"[SqueezeNet] version is {version!r}; expected '1.0' or '1.1'.")
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.Conv2D(96, 7, 2) if version == "1.0" else nn.Conv2D(64, 3, 2))
            self.features.add(nn.Activation("relu"))
            for i, (squeeze, expand) in enumerate(_FIRES):
                if i in _POOLS[version]:
                    self.features.add(nn.MaxPool2D(3, 2, ceil_mode=True))
                self.features.add(_fire(squeeze, expand))
            self.features.add(nn.Dropout(0.5))
            self.output = nn.HybridSequential(prefix="")
            self.output.add(nn.Conv2D(classes, 1), nn.Activation("relu"), nn.AvgPool2D(13), nn.Flatten())


def get_squeezenet(
    version: str, pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any
) -> Any:
    """A SqueezeNet.

    Parameters
    ----------
    version : {'1.0', '1.1'}
    pretrained : bool
        Whether it gets its published parameters; see :func:`loomix.gluon.model_zoo.model_store.get_model_file`.
    ctx : Context
        Where to put them.
    root : str
        The folder of the file.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.get_squeezenet("1.1", classes=10)
    """
    return load(SqueezeNet(version, **kwargs), f"squeezenet{version}", pretrained, ctx, root)


squeezenet1_0 = named(get_squeezenet, "squeezenet1_0", "SqueezeNet 1.0.", "1.0")
squeezenet1_1 = named(get_squeezenet, "squeezenet1_1", "SqueezeNet 1.1: as exact, with less work.", "1.1")
