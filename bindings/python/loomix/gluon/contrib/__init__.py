# SPDX-License-Identifier: Apache-2.0
"""Layers, data sets and samplers that are not in ``gluon.nn`` and ``gluon.data``, and the estimator."""

from . import cnn, data, estimator, nn, rnn

__all__ = ["cnn", "data", "estimator", "nn", "rnn"]
