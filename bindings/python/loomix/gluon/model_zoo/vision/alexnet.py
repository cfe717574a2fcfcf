# SPDX-License-Identifier: Apache-2.0
"""AlexNet (Krizhevsky et al., 2012)."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ... import nn
from .common import ROOT, Classifier, load

__all__ = [
    "AlexNet",
    "alexnet",
]


class AlexNet(Classifier):
    """Five convolutions and three dense layers.

    Parameters
    ----------
    classes : int

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.alexnet(classes=10)
    """

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                self.features.add(nn.Conv2D(64, 11, 4, 2, activation="relu"), nn.MaxPool2D(3, 2))
                self.features.add(nn.Conv2D(192, 5, padding=2, activation="relu"), nn.MaxPool2D(3, 2))
                for channels in (384, 256, 256):
                    self.features.add(nn.Conv2D(channels, 3, padding=1, activation="relu"))
                self.features.add(nn.MaxPool2D(3, 2), nn.Flatten())
                for _ in range(2):
                    self.features.add(nn.Dense(4096, activation="relu"), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


def alexnet(pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any) -> Any:
    """AlexNet.

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
    >>> net = mx.gluon.model_zoo.vision.alexnet(classes=10)
    """
    return load(AlexNet(**kwargs), "alexnet", pretrained, ctx, root)
