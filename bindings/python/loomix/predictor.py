# SPDX-License-Identifier: Apache-2.0
"""Prediction from several threads with one set of weights: what a server needs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .base import MXNetTypeError, MXNetValueError
from .context import as_context_list, current_context
from .io import DataDesc
from .ndarray import NDArray, array, load

if TYPE_CHECKING:
    from .executor import Executor
    from .symbol import Symbol

__all__ = ["Predictor"]

_REMEMBERED_SHAPES = 8  # executors for shapes not seen for longest are dropped


class Predictor:
    """A trained network that any number of threads may ask at once.

    Each call in progress has an executor of its own; all read the same weights. Executors are kept for the next
    calls, for up to eight combinations of input shapes.

    Parameters
    ----------
    model : Symbol or str
        The network, the path of its JSON file, or, with ``epoch``, the prefix of a checkpoint.
    params : dict or str, optional
        The weights: what ``Module.get_params`` or ``nd.load`` gives (names may begin with ``arg:`` and ``aux:``), or
        the path of such a file. Not with ``epoch``.
    input_shapes : dict, list of (name, shape), or shape
        Shapes of the inputs. A shape alone is that of ``data``. Calls may bring other sizes.
    epoch : int, optional
        Epoch of the checkpoint.
    context : Context or str, optional
        The device; the default device by default.

    Raises
    ------
    ValueError
        When the weights of an argument are missing, or an input is not one of the network's.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, no_bias=True, name="fc")
    >>> predictor = mx.Predictor(net, {"fc_weight": mx.nd.ones((2, 3))}, {"data": (1, 3)})
    >>> predictor.predict([[1, 2, 3]]).asnumpy()
    array([[6., 6.]], dtype=float32)
    """

    def __init__(
        self,
        model: Symbol | str | PathLike[str],
        params: Mapping[str, NDArray] | str | PathLike[str] | None = None,
        input_shapes: Any = None,
        *,
        epoch: int | None = None,
        context: Any = None,
    ) -> None:
        self._symbol, given = _read(model, params, epoch)
        self._context = as_context_list(current_context() if context is None else context)[0]
        self._inputs = _descriptions(input_shapes)
        names = self._symbol.list_arguments()
        for name in self._inputs:
            if name not in names:
                raise MXNetValueError(
                    f"[Predictor] input_shapes names {name!r}, which is no argument of the network."
                )
        # Labels have no part in prediction; a loss at the end of the network wants arrays for them nevertheless.
        self._labels = [n for n in names if n not in given and n not in self._inputs and n.endswith("label")]
        shapes = {name: item.shape for name, item in self._inputs.items()}
        arg_shapes, _, aux_shapes = self._symbol.infer_shape(**shapes)
        if arg_shapes is None:
            raise MXNetValueError(
                f"[Predictor] the input_shapes {shapes} do not determine the network's other shapes."
            )
        states = self._symbol.list_auxiliary_states()
        needed = dict(zip(names, arg_shapes)) | dict(zip(states, aux_shapes))
        self._weights: dict[str, NDArray] = {}
        for name, shape in needed.items():
            if name in self._inputs or name in self._labels:
                continue
            if name not in given:
                raise MXNetValueError(
                    f"[Predictor] {name!r} has neither weights nor a shape: expected it in params, or in "
                    "input_shapes if it is an input."
                )
            if given[name].shape != shape:
                raise MXNetValueError(
                    f"[Predictor] {name!r} has shape {given[name].shape} in params; the network needs {shape}."
                )
            self._weights[name] = given[name].copyto(self._context)
        self._states = states
        self._lock = threading.Lock()  # guards what follows; nothing is computed under it
        self._idle: OrderedDict[Any, list[Executor]] = OrderedDict()

    @property
    def output_names(self) -> list[str]:
        """Names of what :meth:`predict` returns."""
        return self._symbol.list_outputs()

    def predict(self, *inputs: Any, **named: Any) -> Any:
        """The network's outputs for one batch; may be called from several threads at once.

        Parameters
        ----------
        *inputs
            NDArrays, NumPy arrays or lists, in the order of ``input_shapes``.
        **named
            The same by name.

        Returns
        -------
        NDArray or list of NDArray
            The output, or one for each, computed; later calls leave them alone.

        Raises
        ------
        ValueError
            When inputs are missing or too many, or their shapes do not fit.
        """
        values = self._values(inputs, named)
        key = tuple(value.shape for value in values.values())
        executor = self._take(key)
        if executor is None:
            executor = self._bind({name: value.shape for name, value in values.items()})
        for name, value in values.items():
            executor.arg_dict[name][:] = value
        outputs = [output.copy() for output in executor.forward(is_train=False)]
        for output in outputs:
            output.wait_to_read()
        self._give_back(key, executor)
        return outputs[0] if len(outputs) == 1 else outputs

    __call__ = predict

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name} {item.shape}" for name, item in self._inputs.items())
        return f"<Predictor of {self._symbol.name or 'a network'} for {inputs} @{self._context}>"

    def _values(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> dict[str, NDArray]:
        names = list(self._inputs)
        if len(inputs) > len(names):
            raise MXNetValueError(
                f"[Predictor] predict got {len(inputs)} inputs; expected {len(names)}: {', '.join(names)}."
            )
        given = dict(zip(names, inputs))
        for name, value in named.items():
            if name not in self._inputs or name in given:
                what = "twice" if name in given else "which is no input"
                raise MXNetValueError(
                    f"[Predictor] predict got {name!r}, {what}; the inputs are {', '.join(names)}."
                )
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise MXNetValueError(f"[Predictor] predict got no {missing[0]!r}; expected {', '.join(names)}.")
        values = {}
        for name, value in ((name, given[name]) for name in names):
            if not isinstance(value, NDArray):
                try:
                    value = array(np.asarray(value), ctx=self._context, dtype=self._inputs[name].dtype)
                except (TypeError, ValueError):
                    raise MXNetTypeError(
                        f"[Predictor] {name!r} is of type {type(value).__name__}; expected an array."
                    ) from None
            expected = self._inputs[name].shape
            if len(value.shape) != len(expected):
                raise MXNetValueError(
                    f"[Predictor] {name!r} has shape {value.shape}; expected {len(expected)} axes like {expected}."
                )
            values[name] = value
        return values

    def _take(self, key: Any) -> Executor | None:
        with self._lock:
            idle = self._idle.get(key)
            return idle.pop() if idle else None

    def _give_back(self, key: Any, executor: Executor) -> None:
        with self._lock:
            self._idle.setdefault(key, []).append(executor)
            self._idle.move_to_end(key)
            while len(self._idle) > _REMEMBERED_SHAPES:
                self._idle.popitem(last=False)

    def _bind(self, shapes: Mapping[str, tuple[int, ...]]) -> Executor:
        arg_shapes, _, _ = self._symbol.infer_shape(**shapes)
        if arg_shapes is None:
            raise MXNetValueError(f"[Predictor] the shapes {shapes} do not determine the network's others.")
        arguments = {}
        for name, shape in zip(self._symbol.list_arguments(), arg_shapes):
            if name in self._weights:
                if self._weights[name].shape != shape:
                    raise MXNetValueError(
                        f"[Predictor] inputs of shapes {shapes} do not fit: the weight {name!r} has shape "
                        f"{self._weights[name].shape}, and they need {shape}."
                    )
                arguments[name] = self._weights[name]
            else:
                dtype = self._inputs[name].dtype if name in self._inputs else np.float32
                arguments[name] = NDArray._empty(shape, self._context, dtype)
                arguments[name][:] = 0
        states = {name: self._weights[name] for name in self._states}
        return self._symbol.bind(self._context, arguments, grad_req="null", aux_states=states)


def _read(model: Any, params: Any, epoch: int | None) -> tuple[Symbol, dict[str, NDArray]]:
    """The network and its weights by name."""
    from .model import load_checkpoint
    from .symbol import Symbol
    from .symbol import load as load_symbol

    if epoch is not None:
        if isinstance(model, Symbol) or params is not None:
            raise MXNetTypeError(
                "[Predictor] epoch belongs to the prefix of a checkpoint; expected no symbol and no params with it."
            )
        symbol, arguments, states = load_checkpoint(str(model), epoch)
        return symbol, {**arguments, **states}
    if isinstance(model, (str, PathLike)):
        model = load_symbol(str(model))
    if not isinstance(model, Symbol):
        raise MXNetTypeError(
            f"[Predictor] model is of type {type(model).__name__}; expected a Symbol, the path of one, or the prefix "
            "of a checkpoint with epoch=."
        )
    if isinstance(params, (str, PathLike)):
        params = load(str(params))
    if isinstance(params, tuple) and len(params) == 2:  # of Module.get_params
        params = {**params[0], **params[1]}
    if not isinstance(params, Mapping):
        raise MXNetTypeError(
            f"[Predictor] params is of type {type(params).__name__}; expected a dict of arrays or the path of a file."
        )
    return model, {name.removeprefix("arg:").removeprefix("aux:"): value for name, value in params.items()}


def _descriptions(input_shapes: Any) -> dict[str, DataDesc]:
    if input_shapes is None:
        raise MXNetTypeError('[Predictor] input_shapes is missing; expected for example {"data": (1, 784)}.')
    if isinstance(input_shapes, (list, tuple)) and all(isinstance(size, int) for size in input_shapes):
        input_shapes = {"data": tuple(input_shapes)}
    items = input_shapes.items() if isinstance(input_shapes, Mapping) else input_shapes
    try:
        found = [item if isinstance(item, DataDesc) else DataDesc(*item) for item in items]
    except TypeError:
        raise MXNetTypeError(
            f"[Predictor] input_shapes is {input_shapes!r}; expected a dict of names and shapes."
        ) from None
    return {item.name: item for item in found}
