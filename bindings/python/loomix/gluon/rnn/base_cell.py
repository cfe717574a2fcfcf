# SPDX-License-Identifier: Apache-2.0
"""What all recurrent cells have in common: states, unrolling, sequences of different lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _core, symbol, util
from ... import ndarray as nd
from ...base import AssertedError, AssertedShapeError, MXNetError, MXNetNotImplementedError, MXNetTypeError
from ..block import Block, HybridBlock

__all__ = ["HybridRecurrentCell", "RecurrentCell"]


def api_of(inputs: Any, who: str) -> Any:
    """``mx.nd`` for arrays, ``mx.sym`` for symbols; of a list, the first item decides."""
    first = inputs[0] if isinstance(inputs, (list, tuple)) and inputs else inputs
    if isinstance(first, nd.NDArray):
        return nd
    if isinstance(first, symbol.Symbol):
        return symbol
    raise MXNetTypeError(
        f"[{who}] the inputs are of type {type(first).__name__}; expected an NDArray, a Symbol, or a list with "
        "one for each step."
    )


def check_layout(layout: str, who: str) -> None:
    """Raises a ValueError for a layout that does not begin with batch and steps."""
    if layout[:2] not in ("NT", "TN"):
        raise AssertedError(f"[{who}] layout is {layout!r}; expected 'NTC' or 'TNC'.")


def split_steps(F: Any, length: int, inputs: Any, layout: str, who: str) -> list[Any]:
    """A sequence as a list with an item for each step."""
    axis = layout.find("T")
    if isinstance(inputs, (list, tuple)):
        if len(inputs) != length:
            raise AssertedError(
                f"[{who}] {len(inputs)} inputs are given; expected one for each of {length} steps."
            )
        return list(inputs)
    if F is symbol:
        if len(inputs.list_outputs()) != 1:
            raise AssertedError(
                f"[{who}] the inputs are a group of {len(inputs.list_outputs())} outputs; expected one output, or "
                f"a list with a symbol for each of {length} steps."
            )
    elif inputs.ndim <= axis or inputs.shape[axis] != length:
        raise AssertedShapeError(
            f"[{who}] the inputs have shape {inputs.shape}; expected {length} steps on axis {axis} (layout {layout})."
        )
    steps = F.SliceChannel(inputs, axis=axis, num_outputs=length, squeeze_axis=True)
    return list(steps) if length > 1 else [steps]


def merge_steps(F: Any, inputs: Any, layout: str) -> Any:
    """A sequence as one value with an axis of steps."""
    return F.stack(*inputs, axis=layout.find("T")) if isinstance(inputs, (list, tuple)) else inputs


def as_wanted(F: Any, length: int, outputs: Any, layout: str, merge_outputs: bool | None, who: str) -> Any:
    """Outputs as one value or as a list, as ``merge_outputs`` says; None leaves them."""
    if merge_outputs is None:
        return outputs
    if merge_outputs:
        return merge_steps(F, outputs, layout)
    return split_steps(F, length, outputs, layout, who)


def mask_steps(F: Any, outputs: Any, layout: str, valid_length: Any) -> Any:
    """The sequence as one value, with zeros beyond the length of each sample."""
    return F.SequenceMask(
        merge_steps(F, outputs, layout),
        sequence_length=valid_length,
        use_sequence_length=True,
        axis=layout.find("T"),
    )


def open_batch() -> int:
    """What stands in shapes of symbols for a batch of any size."""
    return -1 if util.is_np_shape() else 0


def new_state(func: Callable[..., Any], name: str, info: dict[str, Any], given: dict[str, Any]) -> Any:
    """One state before the first step, by a function such as ``nd.zeros`` or ``sym.var``."""
    settings = {**info, **given}
    layout = settings.pop("__layout__", None)
    if layout is not None and func in (symbol.var, symbol.Variable):
        settings["__layout__"] = layout
    return func(name=name, **settings)


def activate(F: Any, inputs: Any, activation: Any, name: str) -> Any:
    """An activation by its name, or by a block or function."""
    if isinstance(activation, str):
        return F.Activation(inputs, act_type=activation, name=name)
    return activation(inputs)


def check_is_cell(cell: Any, who: str) -> None:
    """Raises a TypeError for what is no cell."""
    if not isinstance(cell, RecurrentCell):
        raise MXNetTypeError(
            f"[{who}] got an object of type {type(cell).__name__}; expected a recurrent cell."
        )


def shapes_of(values: Any) -> Any:
    """Shapes of nested lists, for errors."""
    if isinstance(values, (list, tuple)):
        return [shapes_of(value) for value in values]
    return getattr(values, "shape", type(values).__name__)


class RecurrentCell(Block):
    """Base of the cells: a function of an input and of states that gives an output and the next states.

    A subclass defines :meth:`state_info` and ``forward(inputs, states)``.

    Parameters
    ----------
    prefix : str, optional
        Start of the names of parameters.
    params : ParameterDict, optional
        Parameters to share with another cell.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.gluon.rnn.LSTMCell(8)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 5)), cell.begin_state(2))
    >>> output.shape, [state.shape for state in states]
    ((2, 8), [(2, 8), (2, 8)])
    """

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._modified = False  # whether a modifier cell stands in its place
        self.reset()

    def reset(self) -> None:
        """Forgets the steps so far, so that another sequence can begin."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._children.values():
            if isinstance(cell, RecurrentCell):
                cell.reset()

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state.

        Parameters
        ----------
        batch_size : int
            What the shapes say of the batch; 0 leaves it open.
        """
        raise MXNetNotImplementedError(f"[{type(self).__name__}] the cell does not say which states it has.")

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] = nd.zeros, **kwargs: Any
    ) -> list[Any]:
        """States before the first step.

        Parameters
        ----------
        batch_size : int
        func : callable
            Makes a state from ``name``, ``shape`` and `kwargs`: ``nd.zeros``, ``nd.random.uniform``, ``sym.zeros``,
            ``sym.var`` ...
        kwargs
            Passed on to `func`: ``ctx``, ``dtype`` ...

        Returns
        -------
        list of NDArray or Symbol
        """
        self._refuse_if_modified()
        dtype = self._state_dtype()
        if dtype is not None:
            kwargs.setdefault("dtype", dtype)
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(new_state(func, name, info, kwargs))
        return states

    def _state_dtype(self) -> Any:
        """Type of the states where it is not the usual one: that of the cell's parameters."""
        for param in self._reg_params.values():
            return None if _core.same_dtype(param.dtype, "float32") else param.dtype
        return None

    def _refuse_if_modified(self) -> None:
        if self._modified:
            raise AssertedError(
                f"[{type(self).__name__}] a modifier cell (Zoneout, Residual ...) stands in place of cell "
                f"'{self.name}'; call that one."
            )

    def _first_states(self, F: Any, begin_state: Any, inputs: Any, layout: str) -> Any:
        """The given states, or zeros that fit the inputs."""
        if begin_state is not None:
            return begin_state
        if F is symbol:
            return self.begin_state(batch_size=open_batch(), func=symbol.zeros)
        if isinstance(inputs, (list, tuple)):
            batch, ctx = inputs[0].shape[0], inputs[0].context
        else:
            batch, ctx = inputs.shape[layout.find("N")], inputs.context
        return self.begin_state(batch_size=batch, func=nd.zeros, ctx=ctx)

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Any] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, Any]:
        """The cell over ``length`` steps.

        Parameters
        ----------
        length : int
            Number of steps.
        inputs : NDArray, Symbol, or list of them
            One value with all steps, of shape (batch, length, ...) if ``layout`` is "NTC", or one a step.
        begin_state : list of NDArray or Symbol, optional
            States before the first step; zeros by default.
        layout : str
            Axes of merged inputs and outputs: "NTC", or "TNC" with the steps first.
        merge_outputs : bool, optional
            Whether the outputs come as one value. By default they are a list with one a step; one value if
            ``valid_length`` is given.
        valid_length : NDArray or Symbol, optional
            Steps of each sample, of shape (batch,): outputs beyond are 0, and states are those of the last valid
            step.

        Returns
        -------
        outputs : NDArray, Symbol, or list of them
        states : list of NDArray or Symbol
            After the last step.

        Examples
        --------
        >>> import loomix as mx
        >>> cell = mx.gluon.rnn.GRUCell(8)
        >>> cell.initialize()
        >>> outputs, states = cell.unroll(3, mx.nd.ones((2, 3, 5)), merge_outputs=True)
        >>> outputs.shape, states[0].shape
        ((2, 3, 8), (2, 8))
        """
        self.reset()
        F = api_of(inputs, self._who)
        check_layout(layout, self._who)
        steps = split_steps(F, length, inputs, layout, self._who)
        states = self._first_states(F, begin_state, steps, layout)
        outputs = []
        every = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
            every.append(states)
        if valid_length is None:
            return as_wanted(F, length, outputs, layout, merge_outputs, self._who), states
        states = [
            F.SequenceLast(F.stack(*kind, axis=0), sequence_length=valid_length, use_sequence_length=True)
            for kind in zip(*every)
        ]
        masked = mask_steps(F, outputs, layout, valid_length)
        return as_wanted(F, length, masked, layout, merge_outputs, self._who), states

    @property
    def _who(self) -> str:
        """The cell, for errors."""
        return f"{type(self).__name__} '{self.name}'"

    def forward(self, inputs: Any, states: Any) -> tuple[Any, Any]:
        """One step.

        Parameters
        ----------
        inputs : NDArray or Symbol
            The step's input, (batch, features).
        states : list of NDArray or Symbol
            What the step before gave, or :meth:`begin_state`.

        Returns
        -------
        output : NDArray or Symbol
        states : list of NDArray or Symbol
        """
        self._counter += 1
        result: tuple[Any, Any] = super().forward(inputs, states)
        return result


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """Base of the cells that can be compiled: a subclass defines :meth:`state_info` and
    ``hybrid_forward(F, inputs, states, ...)``.

    Examples
    --------
    >>> import loomix as mx
    >>> class Adding(mx.gluon.rnn.HybridRecurrentCell):
    ...     def state_info(self, batch_size=0):
    ...         return [{"shape": (batch_size, 2), "__layout__": "NC"}]
    ...     def hybrid_forward(self, F, inputs, states):
    ...         total = inputs + states[0]
    ...         return total, [total]
    >>> outputs, states = Adding().unroll(3, mx.nd.ones((1, 3, 2)), merge_outputs=True)
    >>> outputs.asnumpy()
    array([[[1., 1.],
            [2., 2.],
            [3., 3.]]], dtype=float32)
    """

    _forward_alone = False  # it runs the hybrid_forward of subclasses

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def _remembers_steps(self) -> bool:
        """Whether a step depends on more than its arguments, so that one compiled graph cannot be all steps."""
        return any(
            isinstance(cell, HybridRecurrentCell) and cell._remembers_steps()
            for cell in self._children.values()
        )

    def forward(self, inputs: Any, states: Any) -> tuple[Any, Any]:
        """One step; see :meth:`RecurrentCell.forward`. Once hybridized, cells that remember earlier steps (zoneout,
        dropout with one mask) run their parts compiled, and the rest as they are."""
        try:
            if self._active and isinstance(inputs, nd.NDArray) and self._remembers_steps():
                self._counter += 1
                result: tuple[Any, Any] = self._forward_arrays(inputs.context, inputs, states)
                return result
            return super().forward(inputs, states)
        except (MXNetError, IndexError, TypeError) as error:
            self._explain(error, inputs, states)
            raise

    def _explain(self, error: Exception, inputs: Any, states: Any) -> None:
        """Raises a clearer error where a step failed because the states do not fit."""
        try:
            expected = [info["shape"] for info in self.state_info(inputs.shape[0])]
        except (AttributeError, IndexError, NotImplementedError):
            return
        given = shapes_of(states)
        if given != expected:
            raise AssertedShapeError(
                f"[{self._who}] the states have the shapes {given}; expected {expected} for an input of shape "
                f"{inputs.shape}."
            ) from error
