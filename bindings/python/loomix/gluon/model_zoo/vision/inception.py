# SPDX-License-Identifier: Apache-2.0
"""Inception v3 (Szegedy et al., 2015)."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ... import nn
from ...contrib.nn import HybridConcurrent
from .common import ROOT, Classifier, load

__all__ = [
    "Inception3",
    "inception_v3",
]


# A convolution: channels, size, stride, padding.
_Step = tuple[Any, ...]


def _convolution(channels: int, size: Any, stride: int = 1, padding: Any = 0) -> Any:
    out = nn.HybridSequential(prefix="")
    out.add(nn.Conv2D(channels, size, stride, padding, use_bias=False), nn.BatchNorm(epsilon=0.001))
    out.add(nn.Activation("relu"))
    return out


def _branch(*steps: _Step, pool: str = "") -> Any:
    out = nn.HybridSequential(prefix="")
    if pool == "avg":
        out.add(nn.AvgPool2D(pool_size=3, strides=1, padding=1))
    elif pool == "max":
        out.add(nn.MaxPool2D(pool_size=3, strides=2))
    for step in steps:
        out.add(_convolution(*step))
    return out


def _side_by_side(prefix: str, *branches: Any) -> Any:
    """Branches are made inside, so that their names begin with the prefix."""
    out = HybridConcurrent(axis=1, prefix=prefix)
    with out.name_scope():
        for make in branches:
            out.add(make())
    return out


def _fixed(*steps: _Step, pool: str = "") -> Any:
    return lambda: _branch(*steps, pool=pool)


def _a(pool_features: int, prefix: str) -> Any:
    return _side_by_side(
        prefix,
        _fixed((64, 1)),
        _fixed((48, 1), (64, 5, 1, 2)),
        _fixed((64, 1), (96, 3, 1, 1), (96, 3, 1, 1)),
        _fixed((pool_features, 1), pool="avg"),
    )


def _b(prefix: str) -> Any:
    return _side_by_side(
        prefix, _fixed((384, 3, 2)), _fixed((64, 1), (96, 3, 1, 1), (96, 3, 2)), _fixed(pool="max")
    )


def _c(channels: int, prefix: str) -> Any:
    row, column = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
    return _side_by_side(
        prefix,
        _fixed((192, 1)),
        _fixed((channels, 1), (channels, *row), (192, *column)),
        _fixed((channels, 1), (channels, *column), (channels, *row), (channels, *column), (192, *row)),
        _fixed((192, 1), pool="avg"),
    )


def _d(prefix: str) -> Any:
    row, column = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
    return _side_by_side(
        prefix,
        _fixed((192, 1), (320, 3, 2)),
        _fixed((192, 1), (192, *row), (192, *column), (192, 3, 2)),
        _fixed(pool="max"),
    )


def _split(*steps: _Step) -> Any:
    """A branch that ends in two convolutions side by side."""
    out = nn.HybridSequential(prefix="")
    out.add(_branch(*steps))
    ends = HybridConcurrent(axis=1, prefix="")
    ends.add(_branch((384, (1, 3), 1, (0, 1))), _branch((384, (3, 1), 1, (1, 0))))
    out.add(ends)
    return out


def _e(prefix: str) -> Any:
    return _side_by_side(
        prefix,
        _fixed((320, 1)),
        lambda: _split((384, 1)),
        lambda: _split((448, 1), (384, 3, 1, 1)),
        _fixed((192, 1), pool="avg"),
    )


class Inception3(Classifier):
    """Inception v3; images have at least 299 x 299 points.

    Parameters
    ----------
    classes : int

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.inception_v3(classes=10)
    """

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(_convolution(32, 3, 2), _convolution(32, 3), _convolution(64, 3, 1, 1))
            self.features.add(nn.MaxPool2D(3, 2), _convolution(80, 1), _convolution(192, 3))
            self.features.add(nn.MaxPool2D(3, 2))
            self.features.add(_a(32, "A1_"), _a(64, "A2_"), _a(64, "A3_"), _b("B_"))
            self.features.add(_c(128, "C1_"), _c(160, "C2_"), _c(160, "C3_"), _c(192, "C4_"))
            self.features.add(_d("D_"), _e("E1_"), _e("E2_"), nn.AvgPool2D(8), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


def inception_v3(pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any) -> Any:
    """Inception v3.

    Parameters
    ----------
    pretrained : bool
        Whether it gets its published parameters; see :func:`loomix.gluon.model_zoo.model_store.get_model_file`.
    ctx : Context
        Where to put them.
    root : str
        The folder of the file.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.inception_v3(classes=10)
    """
    return load(Inception3(**kwargs), "inceptionv3", pretrained, ctx, root)
