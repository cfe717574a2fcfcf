# SPDX-License-Identifier: Apache-2.0
"""Evaluation metrics: numbers that sum up how good predictions are.

The common metrics reduce each batch with engine operations and keep the small results; nothing waits for the
network until a value is read. The others compute with NumPy when they are updated.
"""

from .. import _star
from .. import ndarray as ndarray
from ..base import numeric_types as numeric_types
from ..base import string_types as string_types
from .base import (
    CompositeEvalMetric,
    CustomMetric,
    EvalMetric,
    alias,
    check_label_shapes,
    create,
    np,
    register,
)
from .classification import (
    F1,
    MCC,
    PCC,
    Accuracy,
    CrossEntropy,
    NegativeLogLikelihood,
    Perplexity,
    TopKAccuracy,
)
from .regression import MAE, MSE, RMSE, Caffe, Loss, PearsonCorrelation, Torch

__all__ = [
    "Accuracy",
    "Caffe",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "F1",
    "Loss",
    "MAE",
    "MCC",
    "MSE",
    "NegativeLogLikelihood",
    "PCC",
    "PearsonCorrelation",
    "Perplexity",
    "RMSE",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]

_star.complete(globals(), "OrderedDict math ndarray numeric_types registry string_types")
