# SPDX-License-Identifier: Apache-2.0
"""Training in one call: the estimator, and handlers of the events on its way."""

from .... import _star
from .batch_processor import BatchProcessor
from .estimator import Estimator
from .event_handler import (
    BatchBegin,
    BatchEnd,
    CheckpointHandler,
    EarlyStoppingHandler,
    EpochBegin,
    EpochEnd,
    EventHandler,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    ProgressHandler,
    StoppingHandler,
    TensorBoardHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "BatchProcessor",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "Estimator",
    "EventHandler",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "ProgressHandler",
    "StoppingHandler",
    "TensorBoardHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
]

_star.complete(globals(), "batch_processor estimator event_handler utils")
