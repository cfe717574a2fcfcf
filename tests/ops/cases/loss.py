# SPDX-License-Identifier: Apache-2.0
"""Outputs whose gradient is that of a loss: what they return. Their gradients are in tests/cpp/ops and the oracle."""

import numpy as np

from . import Case
from .softmax import softmax


def softmax_output(x, label, multi_output=False):
    return softmax(x, 1) if multi_output else softmax(x.reshape(len(x), -1)).reshape(x.shape)


CASES = [
    Case("SoftmaxOutput", [(3, 5), (3,)], softmax_output, low=0, grad=()),
    Case("SoftmaxOutput", [(2, 3, 4), (2, 4)], softmax_output, {"multi_output": True}, low=0, grad=()),
    Case("LinearRegressionOutput", [(3, 5), (3, 5)], lambda x, label: x, grad=()),
    Case("MAERegressionOutput", [(3, 5), (3, 5)], lambda x, label: x, grad=()),
    Case("LogisticRegressionOutput", [(3, 5), (3, 5)], lambda x, label: 1 / (1 + np.exp(-x)), grad=()),
    Case("SVMOutput", [(3, 5), (3,)], lambda x, label: x, low=0, grad=()),
]
