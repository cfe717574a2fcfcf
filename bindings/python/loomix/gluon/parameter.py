# SPDX-License-Identifier: Apache-2.0
"""Parameters of blocks."""

from .base_parameter import Constant, DeferredInitializationError, Parameter, tensor_types
from .parameter_dict import ParameterDict

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict", "tensor_types"]
