# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.

