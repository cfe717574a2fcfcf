# SPDX-License-Identifier: Apache-2.0
"""Which operators run in which type."""

from .operators import (
    CONDITIONAL_FULL,
    FULL,
    LOSSES,
    LOW,
    PARAMETERS_IN_FULL,
    WIDEST,
    either,
)

__all__ = ["CONDITIONAL_FULL", "FULL", "LOSSES", "LOW", "PARAMETERS_IN_FULL", "WIDEST", "either"]
