# SPDX-License-Identifier: Apache-2.0
"""Densely connected networks (Huang et al., 2016)."""

from __future__ import annotations

from typing import Any

from ....base import MXNetValueError
from ....context import cpu
from ... import nn
from ...contrib.nn import HybridConcurrent, Identity
from .common import ROOT, Classifier, load, named

__all__ = [
    "DenseNet",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
    "get_densenet",
]


def _dense_layer(growth_rate: int, bn_size: int, dropout: float) -> Any:
    """New features beside the old ones."""
    new = nn.HybridSequential(prefix="")
    new.add(nn.BatchNorm(), nn.Activation("relu"))
    new.add(nn.Conv2D(bn_size * growth_rate, kernel_size=1, use_bias=False))
    new.add(nn.BatchNorm(), nn.Activation("relu"))
    new.add(nn.Conv2D(growth_rate, kernel_size=3, padding=1, use_bias=False))
    if dropout:
        new.add(nn.Dropout(dropout))
    out = HybridConcurrent(axis=1, prefix="")
    out.add(Identity(), new)
    return out


def _dense_block(layers: int, growth_rate: int, bn_size: int, dropout: float, number: int) -> Any:
    out = nn.HybridSequential(prefix=f"stage{number}_")
    with out.name_scope():
        for _ in range(layers):
            out.add(_dense_layer(growth_rate, bn_size, dropout))
    return out


class DenseNet(Classifier):
    """A network whose layers see the features of all layers before in their stage.

    Parameters
    ----------
    num_init_features : int
        Channels of the first convolution.
    growth_rate : int
        Channels that each layer adds.
    block_config : list of int
        Layers of each stage.
    bn_size : int
        Channels inside a layer, in growth rates.
    dropout : float
    classes : int

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.DenseNet(64, 32, [2, 2, 2, 2], classes=10)
    """

    def __init__(
        self,
        num_init_features: int,
        growth_rate: int,
        block_config: Any,
        bn_size: int = 4,
        dropout: float = 0,
        classes: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.Conv2D(num_init_features, 7, 2, 3, use_bias=False), nn.BatchNorm())
            self.features.add(nn.Activation("relu"), nn.MaxPool2D(3, 2, 1))
            channels = num_init_features
            for i, layers in enumerate(block_config):
                self.features.add(_dense_block(layers, growth_rate, bn_size, dropout, i + 1))
                channels += layers * growth_rate
                if i != len(block_config) - 1:
                    channels //= 2
                    self.features.add(self._transition(channels))
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.AvgPool2D(7), nn.Flatten())
            self.output = nn.Dense(classes)

    @staticmethod
    def _transition(channels: int) -> Any:
        out = nn.HybridSequential(prefix="")
        out.add(nn.BatchNorm(), nn.Activation("relu"))
        out.add(nn.Conv2D(channels, kernel_size=1, use_bias=False), nn.AvgPool2D(2, 2))
        return out


_SETTINGS = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}


def get_densenet(
    num_layers: int, pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any
) -> Any:
    """A densely connected network.

    Parameters
    ----------
    num_layers : {121, 161, 169, 201}
    pretrained : bool
        Whether it gets its published parameters; see :func:`loomix.gluon.model_zoo.model_store.get_model_file`.
    ctx : Context
        Where to put them.
    root : str
        The folder of the file.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.get_densenet(121, classes=10)
    """
    if num_layers not in _SETTINGS:
        raise MXNetValueError(
            f"[get_densenet] num_layers is {num_layers}; expected one of {list(_SETTINGS)}."
        )
    return load(DenseNet(*_SETTINGS[num_layers], **kwargs), f"densenet{num_layers}", pretrained, ctx, root)


def _named(layers: int) -> Any:
    return named(
        get_densenet, f"densenet{layers}", f"A densely connected network of {layers} layers.", layers
    )


densenet121, densenet161, densenet169, densenet201 = _named(121), _named(161), _named(169), _named(201)
