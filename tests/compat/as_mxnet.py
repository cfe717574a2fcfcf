# SPDX-License-Identifier: Apache-2.0
"""A plugin for pytest (`-p as_mxnet`): the name mxnet is Loomix's, so that tests of other projects run unchanged."""

import loomix.alias

loomix.alias.install()
