# SPDX-License-Identifier: Apache-2.0
"""Well-known networks for images.

>>> import loomix as mx
>>> net = mx.gluon.model_zoo.vision.resnet18_v1(classes=10)
>>> net.initialize()
>>> net(mx.nd.zeros((1, 3, 32, 32))).shape
(1, 10)
"""

from typing import Any

from .... import _star
from ....base import MXNetValueError, suggest
from . import alexnet as _alexnet
from . import densenet, inception, mobilenet, resnet, squeezenet, vgg
from .alexnet import *  # noqa: F403
from .densenet import *  # noqa: F403
from .inception import *  # noqa: F403
from .mobilenet import *  # noqa: F403
from .resnet import *  # noqa: F403
from .squeezenet import *  # noqa: F403
from .vgg import *  # noqa: F403

_FAMILIES = (_alexnet, densenet, inception, mobilenet, resnet, squeezenet, vgg)
__all__ = [name for family in _FAMILIES for name in family.__all__]
__all__ += ["get_model"]

# Names of models that differ from those of the functions.
_NAMES = {
    "inceptionv3": "inception_v3",
    "squeezenet1.0": "squeezenet1_0",
    "squeezenet1.1": "squeezenet1_1",
    "mobilenet1.0": "mobilenet1_0",
    "mobilenet0.75": "mobilenet0_75",
    "mobilenet0.5": "mobilenet0_5",
    "mobilenet0.25": "mobilenet0_25",
    "mobilenetv2_1.0": "mobilenet_v2_1_0",
    "mobilenetv2_0.75": "mobilenet_v2_0_75",
    "mobilenetv2_0.5": "mobilenet_v2_0_5",
    "mobilenetv2_0.25": "mobilenet_v2_0_25",
}


def get_model(name: str, **kwargs: Any) -> Any:
    """A network by its name, such as ``"resnet50_v1"``.

    Parameters
    ----------
    name : str
    **kwargs
        Of the network's function, such as ``classes``, ``pretrained``, ``ctx`` and ``root``.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.model_zoo.vision.get_model("resnet18_v1", classes=10)
    >>> type(net).__name__
    'ResNetV1'
    """
    models = {
        item: item
        for item in __all__
        if item[0].islower() and not item.startswith("get_") and item not in _NAMES.values()
    } | _NAMES
    key = models.get(name.lower())
    if key is None:
        raise MXNetValueError(f"[get_model] Model {name} is not supported. {suggest(name, models)}")
    return globals()[key](**kwargs)


_star.complete(globals(), "densenet inception mobilenet resnet squeezenet vgg")
