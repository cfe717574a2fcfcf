# SPDX-License-Identifier: Apache-2.0
"""MXNet's place of what is not about detection: the names of :mod:`loomix.image`'s other modules."""

from .. import _star
from ..base import numeric_types as numeric_types
from ..util import is_np_array as is_np_array
from . import augment, functions, iterators
from .augment import *  # noqa: F403
from .functions import *  # noqa: F403
from .iterators import *  # noqa: F403

_get_interp_method = functions.get_interp_method  # libraries call it by this name

__all__ = augment.__all__ + functions.__all__ + iterators.__all__

_star.complete(
    globals(), "Number io is_np_array json logging nd np numeric_types os random recordio sys warnings"
)
