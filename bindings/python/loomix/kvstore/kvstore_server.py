# SPDX-License-Identifier: Apache-2.0
"""MXNet's place of the server."""

from __future__ import annotations

from typing import Any

from ..base import MXNetError, StateError
from ..kvstore_server import is_server, run

__all__ = ["KVStoreServer"]


class KVStoreServer:
    """The server, or the scheduler, that the environment says this process is.

    Parameters
    ----------
    kvstore : object
        Not needed: all that a server knows is in the environment.
    """

    def __init__(self, kvstore: Any) -> None:
        if not is_server():
            raise StateError(
                "[KVStoreServer] this process is a worker; LOOMIX_KV_ROLE (or DMLC_ROLE) makes one a server."
            )
        self.kvstore = kvstore

    def run(self) -> None:
        """Serves until the cluster ends.

        Raises
        ------
        MXNetError
            When the cluster fails; the reason is printed.
        """
        if run():
            raise MXNetError("[KVStoreServer] the cluster ended with an error.")
