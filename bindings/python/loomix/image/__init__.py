# SPDX-License-Identifier: Apache-2.0
"""Pictures: reading, resizing, cropping, changing colours, and iterators over them.

Pictures are arrays (height, width, channels), channels R, G, B. Random choices are drawn from ``random`` and
``numpy.random``.
"""

from . import augment, detection, functions, iterators
from . import detection as det
from .augment import *  # noqa: F403
from .detection import *  # noqa: F403
from .functions import *  # noqa: F403
from .iterators import *  # noqa: F403

__all__ = augment.__all__ + detection.__all__ + functions.__all__ + iterators.__all__ + ["det"]
