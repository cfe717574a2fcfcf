# SPDX-License-Identifier: Apache-2.0
"""Modules: a symbol with its parameters, gradients and optimizer, and the loop that trains it."""

from .. import _star
from .base_module import BaseModule
from .bucketing_module import BucketingModule
from .module import Module
from .python_module import PythonLossModule, PythonModule
from .sequential_module import SequentialModule

__all__ = [
    "BaseModule",
    "BucketingModule",
    "Module",
    "PythonLossModule",
    "PythonModule",
    "SequentialModule",
]

_star.complete(
    globals(), "base_module bucketing_module executor_group module python_module sequential_module"
)
