# SPDX-License-Identifier: Apache-2.0
"""What all recurrent cells have in common: shared parameters, states, unrolling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import symbol
from .._arguments import expect
from ..base import MXNetNotImplementedError, MXNetTypeError, MXNetValueError

if TYPE_CHECKING:
    from ..ndarray import NDArray
    from ..symbol import Symbol

__all__ = ["BaseRNNCell", "RNNParams"]


class RNNParams:
    """The parameters of cells, as variables that several cells may share.

    Parameters
    ----------
    prefix : str
        Start of the names.

    Examples
    --------
    >>> params = RNNParams("lstm_")
    >>> params.get("i2h_weight").name
    'lstm_i2h_weight'
    >>> params.get("i2h_weight") is params.get("i2h_weight")
    True
    """

    def __init__(self, prefix: str = "") -> None:
        expect(isinstance(prefix, str), "RNNParams", "prefix", prefix, "a text")
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable ``prefix + name``, made with the arguments of ``sym.Variable`` at first."""
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = symbol.Variable(name, **kwargs)
        return self._params[name]


def split_steps(length: int, inputs: Any, layout: str) -> list[Symbol]:
    """A sequence as a list with a symbol a step."""
    if isinstance(inputs, symbol.Symbol):
        if len(inputs.list_outputs()) != 1:
            raise MXNetValueError(
                f"[unroll] the inputs are a group of {len(inputs.list_outputs())} outputs; expected one "
                f"output, or a list with a symbol for each of the {length} steps."
            )
        parts = symbol.SliceChannel(inputs, axis=layout.find("T"), num_outputs=length, squeeze_axis=True)
        return list(parts) if length > 1 else [parts]
    steps = list(inputs)
    if len(steps) != length:
        raise MXNetValueError(
            f"[unroll] {len(steps)} inputs are given; expected one for each of {length} steps."
        )
    return steps


def merge_steps(length: int, inputs: Any, layout: str) -> Symbol:
    """A sequence as one symbol with an axis of steps."""
    if isinstance(inputs, symbol.Symbol):
        return inputs
    axis = layout.find("T")
    steps = [symbol.expand_dims(step, axis=axis) for step in split_steps(length, inputs, layout)]
    return symbol.Concat(*steps, dim=axis)


def _normalize_sequence(
    length: int, inputs: Any, layout: str, merge: bool | None, in_layout: str | None = None
) -> tuple[Any, int]:
    """For cells of one's own: a sequence as one symbol or as a list, as ``merge`` says, and its axis of steps.

    ``in_layout`` is that of the inputs, if it is not ``layout``.
    """
    axis = layout.find("T")
    outputs = as_wanted(length, inputs, in_layout or layout, merge)
    if isinstance(outputs, symbol.Symbol) and in_layout and in_layout.find("T") != axis:
        outputs = symbol.swapaxes(outputs, dim1=axis, dim2=in_layout.find("T"))
    return outputs, axis


def as_wanted(length: int, outputs: Any, layout: str, merge_outputs: bool | None) -> Any:
    """Outputs as one symbol or as a list, as ``merge_outputs`` says; None leaves them."""
    if merge_outputs is None:
        return outputs
    return merge_steps(length, outputs, layout) if merge_outputs else split_steps(length, outputs, layout)


def activate(inputs: Symbol, activation: Any, **kwargs: Any) -> Any:
    """An activation by its name, or by a function of symbols."""
    if not callable(activation):
        return symbol.Activation(inputs, act_type=activation, **kwargs)
    return activation(inputs, **kwargs)


class BaseRNNCell:
    """Base of the cells: a function of an input and states that gives an output and the next states.

    Parameters
    ----------
    prefix : str
        Start of the names of parameters and nodes.
    params : RNNParams, optional
        Parameters to share with other cells.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.rnn.LSTMCell(8, prefix="lstm_")
    >>> outputs, states = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1]
    [(2, 3, 8)]
    """

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        expect(params is None or hasattr(params, "get"), type(self).__name__, "params", params, "RNNParams")
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False  # whether a modifier cell stands in its place
        self.reset()

    def _get_activation(self, inputs: Symbol, activation: Any, **kwargs: Any) -> Any:
        """For cells of one's own: an activation by its name, or by a function of symbols."""
        return activate(inputs, activation, **kwargs)

    def reset(self) -> None:
        """Forgets how often the cell was called, so that it can be unrolled again."""
        self._init_counter = -1
        self._counter = -1
        for cell in getattr(self, "_cells", ()):
            cell.reset()

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        """One step.

        Parameters
        ----------
        inputs : Symbol
            The step's input, (batch, features).
        states : list of Symbol
            The states that the step before gave, or :meth:`begin_state`.

        Returns
        -------
        output : Symbol
        states : list of Symbol
        """
        raise MXNetNotImplementedError(f"[{type(self).__name__}] the cell does not say what a step computes.")

    @property
    def params(self) -> RNNParams:
        """The cell's parameters; who asks for them shares them."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape (0 for the batch) and layout of each state."""
        raise MXNetNotImplementedError(f"[{type(self).__name__}] the cell does not say which states it has.")

    @property
    def state_shape(self) -> list[Any]:
        """The shape of each state, with 0 for the batch."""
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self) -> Sequence[str]:
        return ()

    def begin_state(self, func: Any = symbol.zeros, **kwargs: Any) -> list[Symbol]:
        """Symbols for the states before the first step.

        Parameters
        ----------
        func : callable
            Makes a symbol: ``sym.zeros``, or ``sym.Variable`` for states that are given.
        kwargs
            Passed on to ``func``.
        """
        self._refuse_if_modified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(func(name=name, **{**kwargs, **info}))
        return states

    def _refuse_if_modified(self) -> None:
        if self._modified:
            raise MXNetValueError(
                f"[{type(self).__name__}] a modifier cell (Dropout, Zoneout, Residual ...) stands in place of this "
                f"cell; call that one."
            )

    def _units(self) -> int:
        """Rows of one gate in the weights."""
        return self._num_hidden  # type: ignore[attr-defined]

    def unpack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters with one array for each gate, from those with all gates in one.

        >>> import loomix as mx
        >>> cell = mx.rnn.GRUCell(2)
        >>> packed = {"gru_i2h_weight": mx.nd.ones((6, 3)), "gru_i2h_bias": mx.nd.ones((6,)),
        ...           "gru_h2h_weight": mx.nd.ones((6, 2)), "gru_h2h_bias": mx.nd.ones((6,))}
        >>> cell.unpack_weights(packed)["gru_i2h_z_weight"].shape
        (2, 3)
        """
        result = dict(args)
        units = self._units() if self._gate_names else 0
        for group in ("i2h", "h2h") if self._gate_names else ():
            for kind in ("weight", "bias"):
                whole = result.pop(f"{self._prefix}{group}_{kind}")
                for i, gate in enumerate(self._gate_names):
                    part = whole[i * units : (i + 1) * units].copy()
                    result[f"{self._prefix}{group}{gate}_{kind}"] = part
        return result

    def pack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters with all gates in one array: the inverse of :meth:`unpack_weights`."""
        from .. import ndarray

        result = dict(args)
        for group in ("i2h", "h2h") if self._gate_names else ():
            for kind in ("weight", "bias"):
                parts = [result.pop(f"{self._prefix}{group}{gate}_{kind}") for gate in self._gate_names]
                result[f"{self._prefix}{group}_{kind}"] = ndarray.concat(*parts, dim=0)
        return result

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        """The cell over ``length`` steps.

        Parameters
        ----------
        length : int
            Number of steps.
        inputs : Symbol or list of Symbol
            A symbol with all steps, of shape (batch, length, ...) if ``layout`` is "NTC", or a symbol a step.
        begin_state : list of Symbol, optional
            States before the first step; by default :meth:`begin_state`.
        layout : str
            Axes of merged inputs and outputs: "NTC", or "TNC" with the steps first.
        merge_outputs : bool, optional
            Whether the outputs come as one symbol; by default a list with one a step.

        Returns
        -------
        outputs : list of Symbol, or Symbol
        states : list of Symbol
            After the last step.
        """
        self.reset()
        steps = split_steps(length, inputs, layout)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
        return as_wanted(length, outputs, layout, merge_outputs), states

    def _next_name(self) -> str:
        """Start of the names of the next step's nodes."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"


def check_is_cell(cell: Any, who: str) -> None:
    """Raises a TypeError for what is no cell."""
    if not isinstance(cell, BaseRNNCell):
        raise MXNetTypeError(
            f"[{who}] got an object of type {type(cell).__name__}; expected a recurrent cell."
        )
