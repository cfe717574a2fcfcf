# SPDX-License-Identifier: Apache-2.0
"""``sym.npx.image``: the operators on images."""

from ..image import *  # noqa: F403
