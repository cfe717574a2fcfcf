# SPDX-License-Identifier: Apache-2.0
"""Modules whose computation is Python code."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _star
from .._arguments import expect
from ..base import MXNetNotImplementedError, MXNetValueError
from ..initializer import Uniform
from ..log import of
from .base_module import BaseModule, as_descriptions, as_names

if TYPE_CHECKING:
    from ..io import DataBatch
    from ..kvstore import KVStore
    from ..monitor import Monitor
    from ..ndarray import NDArray
    from ..optimizer import Optimizer

__all__ = ["PythonLossModule", "PythonModule"]


class PythonModule(BaseModule):
    """Base of modules without parameters; a subclass gives ``forward``, ``backward`` and
    ``_compute_output_shapes``.

    Parameters
    ----------
    data_names, label_names, output_names : list of str
        Names of inputs, labels and outputs.

    Examples
    --------
    >>> import loomix as mx
    >>> module = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores - labels)
    >>> module.bind(data_shapes=[("data", (2, 3))], label_shapes=[("softmax_label", (2, 3))])
    >>> module.init_params()
    >>> module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.zeros((2, 3))]), is_train=True)
    >>> module.backward()
    >>> module.get_input_grads()[0].asnumpy()
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """

    def __init__(
        self,
        data_names: Sequence[str],
        label_names: Sequence[str],
        output_names: Sequence[str],
        logger: Any = logging,
    ) -> None:
        super().__init__(logger)
        self._data_names = as_names(data_names, "data_names")
        self._label_names = as_names(label_names, "label_names") if label_names is not None else None
        self._output_names = as_names(output_names, "output_names")
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        self._output_shapes: Any = None

    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def output_names(self) -> list[str]:
        return self._output_names

    @property
    def data_shapes(self) -> Any:
        return self._data_shapes

    @property
    def label_shapes(self) -> Any:
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        return self._output_shapes

    def get_params(self) -> Any:
        return {}, {}

    def init_params(
        self,
        initializer: Callable[..., Any] | None = Uniform(0.01),
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        self.params_initialized = True

    def update(self) -> Any:
        """There is nothing to change."""

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise MXNetNotImplementedError("[PythonModule] labels cut for several devices are not supported.")
        eval_metric.update(labels, self.get_outputs())

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    ) -> None:
        if self.binded and not force_rebind:
            of(self.logger).warning("Already bound, ignoring bind()")
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

    def _compute_output_shapes(self) -> Any:
        """(name, shape) pairs of the outputs, from ``data_shapes`` and ``label_shapes``."""
        raise NotImplementedError(f"[{type(self).__name__}] _compute_output_shapes is not implemented.")

    def init_optimizer(
        self,
        kvstore: str | KVStore = "local",
        optimizer: str | Optimizer = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
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

    Examples
    --------
    >>> import loomix as mx
    >>> module = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores - labels)
    >>> module.bind(data_shapes=[("data", (2, 3))], label_shapes=[("softmax_label", (2, 3))])
    >>> module.init_params()
    >>> module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.zeros((2, 3))]), is_train=True)
    >>> module.backward()
    >>> module.get_input_grads()[0].asnumpy()
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] = ("softmax_label",),
        logger: Any = logging,
        grad_func: Any = None,
    ) -> None:
        expect(isinstance(name, str), "PythonLossModule", "name", name, "a str")
        data_names, label_names = as_names(data_names, "data_names"), as_names(label_names, "label_names")
        if len(data_names) != 1 or len(label_names) != 1:
            raise MXNetValueError("[PythonLossModule] expected one input and one label.")
        super().__init__(data_names, label_names, [name + "_output"], logger)
        if grad_func is not None and not callable(grad_func):
            raise MXNetValueError("[PythonLossModule] grad_func is not callable.")
        self._name = name
        self._grad_func = grad_func
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None

    def _compute_output_shapes(self) -> list[Any]:
        return [(self._output_names[0], self._data_shapes[0].shape)]

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            labels = getattr(data_batch, "label", None)
            if not labels:
                raise MXNetValueError("[PythonLossModule] forward in training mode needs a label.")
            self._labels = labels[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        return [self._scores] if merge_multi_context else [[self._scores]]

    def backward(self, out_grads: Any = None) -> None:
        if out_grads:
            raise MXNetValueError("[PythonLossModule] a loss takes no gradients of its outputs.")
        if self._grad_func is None:
            raise MXNetNotImplementedError(
                "[PythonLossModule] grad_func is missing; give it, or override backward."
            )
        from ..ndarray import NDArray, array

        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, NDArray) else array(grad)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        return [self._scores_grad] if merge_multi_context else [[self._scores_grad]]

    def install_monitor(self, mon: Monitor) -> Any:
        """There is no executor to watch."""


_star.complete(globals(), "BaseModule Uniform logging nd")
