# SPDX-License-Identifier: Apache-2.0
from ._generated_ops import *  # noqa: F403
