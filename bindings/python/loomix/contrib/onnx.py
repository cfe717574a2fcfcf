# SPDX-License-Identifier: Apache-2.0
"""The older place of :mod:`loomix.onnx`."""

from __future__ import annotations

from ..onnx import (
    export_model as export_model,
)
from ..onnx import (
    get_model_metadata as get_model_metadata,
)
from ..onnx import (
    import_model as import_model,
)
from ..onnx import (
    import_to_gluon as import_to_gluon,
)

__all__ = ["export_model", "get_model_metadata", "import_model", "import_to_gluon"]

# MXNet's names of the same functions under their warnings.
export_model_ = export_model
get_model_metadata_ = get_model_metadata
import_model_ = import_model
import_to_gluon_ = import_to_gluon
