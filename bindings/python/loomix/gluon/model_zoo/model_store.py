# SPDX-License-Identifier: Apache-2.0
"""Where parameters of trained networks lie. Nothing is downloaded."""

from __future__ import annotations

import glob
import os

from ...base import MXNetFileError, MXNetValueError

__all__ = ["get_model_file", "purge"]

# SHA-1 sums by network. Libraries add those of theirs, and look here; files that are named by them come first.
_model_sha1: dict[str, str] = {}

_ROOT = os.path.join("~", ".mxnet", "models")


def short_hash(name: str) -> str:
    """The first eight digits of a network's SHA-1 sum."""
    if name not in _model_sha1:
        raise MXNetValueError(f"[model_zoo] no SHA-1 sum is known of {name!r}.")
    return _model_sha1[name][:8]


def get_model_file(name: str, root: str = _ROOT) -> str:
    """The file of the parameters of a network, ``NAME.params`` or ``NAME-HASH.params``.

    Parameters
    ----------
    name : str
    root : str
        The folder.

    Raises
    ------
    OSError
        When there is none.
    """
    root = os.path.expanduser(root)
    found = sorted(glob.glob(os.path.join(glob.escape(root), glob.escape(name) + "-????????.params")))
    known = [os.path.join(root, f"{name}-{short_hash(name)}.params")] if name in _model_sha1 else []
    for path in [*known, os.path.join(root, name + ".params"), *found]:
        if os.path.exists(path):
            return path
    raise MXNetFileError(
        f"[model_zoo] there is neither {name}.params nor {name}-HASH.params in {root}. Nothing is downloaded: put "
        "the file there, or give root."
    )


def purge(root: str = _ROOT) -> None:
    """Removes all parameter files of a folder."""
    root = os.path.expanduser(root)
    for path in glob.glob(os.path.join(glob.escape(root), "*.params")):
        os.remove(path)
