# SPDX-License-Identifier: Apache-2.0
"""Images: reading, resizing, cropping, changing colours, and iterators over them.

Images are arrays (height, width, channels), channels R, G, B. Random choices are drawn from ``random`` and
``numpy.random``.
"""

from .. import _star
from ..base import numeric_types as numeric_types
from ..util import is_np_array as is_np_array
from . import augment, detection, functions, iterators
from . import detection as det
from . import image as image
from .augment import *  # noqa: F403
from .detection import *  # noqa: F403
from .functions import *  # noqa: F403
from .iterators import *  # noqa: F403

__all__ = augment.__all__ + detection.__all__ + functions.__all__ + iterators.__all__ + ["det"]

_star.complete(
    globals(),
    "Number detection image io is_np_array json logging nd np numeric_types os random recordio sys warnings",
)
