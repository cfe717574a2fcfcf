# SPDX-License-Identifier: Apache-2.0
"""All event handlers."""

from .checkpoint import CheckpointHandler
from .events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, EventHandler, TrainBegin, TrainEnd
from .logging_handler import LoggingHandler
from .progress import ProgressHandler
from .stopping import EarlyStoppingHandler, StoppingHandler
from .tensorboard import TensorBoardHandler
from .updating import GradientUpdateHandler, MetricHandler, ValidationHandler

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
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
