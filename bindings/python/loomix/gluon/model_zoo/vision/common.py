# SPDX-License-Identifier: Apache-2.0
"""What all networks for images share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ....base import data_dir
from ....context import cpu
from ...block import HybridBlock
from .. import model_store

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = os.path.join(data_dir(), "models")


class Classifier(HybridBlock):
    """Features, and an output made from them."""

    features: Any
    output: Any

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.output(self.features(x))


def load(net: Any, name: str, pretrained: bool, ctx: Any, root: str) -> Any:
    """The network, with the parameters of its file if `pretrained`."""
    if pretrained:
        net.load_parameters(model_store.get_model_file(name, root=root), ctx=ctx or cpu())
    return net


def named(make: Callable[..., Any], name: str, doc: str, *args: Any) -> Callable[..., Any]:
    """A function that makes one network of a family."""

    def function(**kwargs: Any) -> Any:
        return make(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{doc}\n\n    Parameters\n    ----------\n    **kwargs\n        Of :func:`{make.__name__}`, such as "
        "``classes``, ``pretrained``, ``ctx`` and ``root``.\n\n    Examples\n    --------\n"
        "    >>> import loomix as mx\n    >>> # takes (n, 3, 224, 224), gives (n, 10)\n"
        f"    >>> net = mx.gluon.model_zoo.vision.{name}(classes=10)\n    "
    )
    function.__module__ = make.__module__
    return function
