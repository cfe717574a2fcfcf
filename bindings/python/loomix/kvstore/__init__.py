# SPDX-License-Identifier: Apache-2.0
"""The store of parameters that several devices, and machines, share."""

from .. import _star
from . import base as base
from . import kvstore as kvstore
from . import kvstore_server as kvstore_server
from .base import KVStoreBase, TestStore, create
from .kvstore import GroupKVStore, KVStore
from .kvstore import write_bytes as write_bytes
from .kvstore_server import KVStoreServer

__all__ = ["GroupKVStore", "KVStore", "KVStoreBase", "KVStoreServer", "TestStore", "create"]

_star.complete(globals(), "base kvstore kvstore_server")
