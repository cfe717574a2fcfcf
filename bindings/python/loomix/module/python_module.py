# SPDX-License-Identifier: Apache-2.0
"""Modules whose computation is Python code."""

import logging

from ..base import MXNetNotImplementedError, MXNetValueError
from ..initializer import Uniform
from .base_module import BaseModule, as_descriptions

__all__ = ["PythonLossModule", "PythonModule"]


class PythonModule(BaseModule):
    """Base of modules without parameters; a subclass gives ``forward``, ``backward`` and
    ``_compute_output_shapes``.

    Parameters
    ----------
    data_names, label_names, output_names : list of str
        Names of inputs, labels and outputs.
    """

    def __init__(self, data_names, label_names, output_names, logger=logging):
        super().__init__(logger)
        self._data_names = list(data_names)
        self._label_names = list(label_names) if label_names is not None else None
        self._output_names = list(output_names)
        self._data_shapes = None
        self._label_shapes = None
        self._output_shapes = None

    @property
    def data_names(self):
        return self._data_names

    @property
    def output_names(self):
        return self._output_names

    @property
    def data_shapes(self):
        return self._data_shapes

    @property
    def label_shapes(self):
        return self._label_shapes

    @property
    def output_shapes(self):
        return self._output_shapes

    def get_params(self):
        return {}, {}

    def init_params(
        self,
        initializer=Uniform(0.01),
        arg_params=None,
        aux_params=None,
        allow_missing=False,
        force_init=False,
        allow_extra=False,
    ):
        self.params_initialized = True

    def update(self):
        """There is nothing to change."""

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise MXNetNotImplementedError("[PythonModule] labels cut for several devices are not supported.")
        eval_metric.update(labels, self.get_outputs())

    def bind(
        self,
        data_shapes,
        label_shapes=None,
        for_training=True,
        inputs_need_grad=False,
        force_rebind=False,
        shared_module=None,
        grad_req="write",
    ):
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if grad_req != "write":
            raise MXNetValueError(f"[PythonModule] grad_req is {grad_req!r}; expected 'write'.")
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._data_shapes = as_descriptions(self._data_names, data_shapes, "data")
        self._label_shapes = None
        if label_shapes:
            self._label_shapes = as_descriptions(self._label_names or [], label_shapes, "label")
        self._output_shapes = self._compute_output_shapes()
        self.binded = True

    def _compute_output_shapes(self):
        """(name, shape) pairs of the outputs, from ``data_shapes`` and ``label_shapes``."""
        raise NotImplementedError(f"[{type(self).__name__}] _compute_output_shapes is not implemented.")

    def init_optimizer(
        self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),), force_init=False
    ):
        self.optimizer_initialized = True


class PythonLossModule(PythonModule):
    """A loss: hands its input on and computes the gradient in Python.

    Parameters
    ----------
    name : str
        Its output is called ``name_output``.
    data_names, label_names : sequence of str
        One input, one label.
    grad_func : callable
        ``grad_func(scores, labels)`` returns the gradient of the scores, an NDArray or numpy.ndarray.
    """

    def __init__(
        self,
        name="pyloss",
        data_names=("data",),
        label_names=("softmax_label",),
        logger=logging,
        grad_func=None,
    ):
        if len(data_names) != 1 or len(label_names) != 1:
            raise MXNetValueError("[PythonLossModule] expected one input and one label.")
        super().__init__(data_names, label_names, [name + "_output"], logger)
        if grad_func is not None and not callable(grad_func):
            raise MXNetValueError("[PythonLossModule] grad_func is not callable.")
        self._name = name
        self._grad_func = grad_func
        self._scores = None
        self._labels = None
        self._scores_grad = None

    def _compute_output_shapes(self):
        return [(self._output_names[0], self._data_shapes[0].shape)]

    def forward(self, data_batch, is_train=None):
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context=True):
        return [self._scores] if merge_multi_context else [[self._scores]]

    def backward(self, out_grads=None):
        if out_grads:
            raise MXNetValueError("[PythonLossModule] a loss takes no gradients of its outputs.")
        if self._grad_func is None:
            raise MXNetNotImplementedError(
                "[PythonLossModule] grad_func is missing; give it, or override backward."
            )
        from ..ndarray import NDArray, array

        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, NDArray) else array(grad)

    def get_input_grads(self, merge_multi_context=True):
        return [self._scores_grad] if merge_multi_context else [[self._scores_grad]]

    def install_monitor(self, mon):
        """There is no executor to watch."""
