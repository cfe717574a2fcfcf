# SPDX-License-Identifier: Apache-2.0
from . import array_api as array_api
from . import attribute as attribute
from . import autograd as autograd
from . import base as base
from . import callback as callback
from . import context as context
from . import contrib as contrib
from . import debug as debug
from . import engine as engine
from . import error as error
from . import executor as executor
from . import executor_manager as executor_manager
from . import explanation as explanation
from . import gluon as gluon
from . import habits as habits
from . import image as image
from . import initializer as initializer
from . import io as io
from . import kvstore as kvstore
from . import kvstore_server as kvstore_server
from . import libinfo as libinfo
from . import library as library
from . import log as log
from . import lr_scheduler as lr_scheduler
from . import metric as metric
from . import misc as misc
from . import model as model
from . import module as module
from . import monitor as monitor
from . import name as name
from . import ndarray as ndarray
from . import numpy as numpy
from . import numpy_extension as numpy_extension
from . import onnx as onnx
from . import operator as operator
from . import optimizer as optimizer
from . import parallel as parallel
from . import predictor as predictor
from . import profiler as profiler
from . import random as random
from . import recordio as recordio
from . import registry as registry
from . import rnn as rnn
from . import rtc as rtc
from . import runtime as runtime
from . import symbol as symbol
from . import symbol_doc as symbol_doc
from . import test_utils as test_utils
from . import tune as tune
from . import util as util
from . import visualization as visualization
from .attribute import AttrScope as AttrScope
from .base import MXNetError as MXNetError
from .context import Context as Context
from .context import cpu as cpu
from .context import cpu_pinned as cpu_pinned
from .context import current_context as current_context
from .context import gpu as gpu
from .predictor import Predictor as Predictor
from .util import is_np_array as is_np_array
from .util import is_np_shape as is_np_shape
from .util import np_array as np_array
from .util import np_shape as np_shape
from .util import set_np_shape as set_np_shape
from .util import use_np as use_np
from .util import use_np_array as use_np_array
from .util import use_np_shape as use_np_shape

__version__: str

img = image
init = initializer
kv = kvstore
mod = module
mon = monitor
nd = ndarray
np = numpy
npx = numpy_extension
rnd = random
sym = symbol
viz = visualization
