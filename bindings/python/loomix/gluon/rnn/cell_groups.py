# SPDX-License-Identifier: Apache-2.0
"""Cells one on top of the other, and cells that read a sequence from both ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...base import AssertedShapeError, MXNetNotImplementedError
from ..utils import indented
from .base_cell import (
    HybridRecurrentCell,
    RecurrentCell,
    api_of,
    as_wanted,
    check_is_cell,
    check_layout,
    merge_steps,
    shapes_of,
    split_steps,
)

__all__ = ["BidirectionalCell", "HybridSequentialRNNCell", "SequentialRNNCell"]


class _CellGroup(RecurrentCell):
    """Cells that work together: their states are kept in one list."""

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of the states of all cells."""
        return [info for cell in self._cells() for info in cell.state_info(batch_size)]

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]  # MXNet takes no positional ones
        """The states of all cells before the first step; arguments by name, see :meth:`RecurrentCell.begin_state`."""
        self._refuse_if_modified()
        return [state for cell in self._cells() for state in cell.begin_state(**kwargs)]

    def _cells(self) -> Iterator[Any]:
        return iter(self._children.values())

    def _with_states(self, states: Sequence[Any]) -> list[tuple[Any, list[Any]]]:
        """Each cell and its part of the states."""
        parts = []
        place = 0
        for cell in self._cells():
            count = len(cell.state_info())
            parts.append((cell, list(states[place : place + count])))
            place += count
        if place != len(states):
            raise AssertedShapeError(
                f"[{self._who}] {len(states)} states are given, of the shapes {shapes_of(list(states))}; expected "
                f"{place}: {[info['shape'] for info in self.state_info()]}."
            )
        return parts


class _CellStack(_CellGroup):
    """What both kinds of stacks have."""

    def add(self, cell: RecurrentCell) -> None:
        """Puts a cell on top."""
        check_is_cell(cell, f"{type(self).__name__}.add")
        self.register_child(cell)

    def __len__(self) -> int:
        return len(self._children)

    def __getitem__(self, i: Any) -> Any:
        return list(self._children.values())[i]

    def __repr__(self) -> str:
        lines = "\n".join(f"({key}): {indented(repr(cell), 2)}" for key, cell in self._children.items())
        return f"{type(self).__name__}(\n{lines}\n)"

    def _step(self, inputs: Any, states: Sequence[Any]) -> tuple[Any, Any]:
        next_states: list[Any] = []
        for cell, own in self._with_states(states):
            inputs, states_of_cell = cell(inputs, own)
            next_states.extend(states_of_cell)
        return inputs, next_states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Any] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, Any]:
        """Each cell over all steps, one cell after the other; see :meth:`RecurrentCell.unroll`."""
        self.reset()
        F = api_of(inputs, self._who)
        check_layout(layout, self._who)
        states = self._first_states(F, begin_state, inputs, layout)
        next_states: list[Any] = []
        last = len(self) - 1
        for i, (cell, own) in enumerate(self._with_states(states)):
            inputs, states_of_cell = cell.unroll(
                length,
                inputs,
                begin_state=own,
                layout=layout,
                merge_outputs=merge_outputs if i == last else None,
                valid_length=valid_length,
            )
            next_states.extend(states_of_cell)
        if last < 0:
            inputs = as_wanted(F, length, inputs, layout, merge_outputs, self._who)
        return inputs, next_states


class SequentialRNNCell(_CellStack):
    """Cells one on top of the other.

    Parameters
    ----------
    prefix : str, optional
        Start of the names of the cells that are made in its ``name_scope()``.
    params : ParameterDict, optional
        Parameters to share.

    Examples
    --------
    >>> import loomix as mx
    >>> stack = mx.gluon.rnn.SequentialRNNCell()
    >>> with stack.name_scope():
    ...     stack.add(mx.gluon.rnn.LSTMCell(8))
    ...     stack.add(mx.gluon.rnn.DropoutCell(0.5))
    ...     stack.add(mx.gluon.rnn.GRUCell(4))
    >>> [info["shape"] for info in stack.state_info(2)]
    [(2, 8), (2, 8), (2, 4)]
    """

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def __call__(self, inputs: Any, states: Sequence[Any]) -> tuple[Any, Any]:
        """One step through all cells; see :meth:`RecurrentCell.forward`."""
        result: tuple[Any, Any] = super().__call__(inputs, states)
        return result

    def forward(self, inputs: Any, states: Any) -> tuple[Any, Any]:
        """One step through all cells; see :meth:`RecurrentCell.forward`."""
        self._counter += 1
        return self._step(inputs, states)

    def hybrid_forward(self, *args: Any, **kwargs: Any) -> Any:
        """Not there: this stack is not compiled, its cells are."""
        raise MXNetNotImplementedError(
            "[SequentialRNNCell] it has no hybrid_forward; HybridSequentialRNNCell has."
        )


class HybridSequentialRNNCell(_CellStack, HybridRecurrentCell):
    """Cells one on top of the other, whose step can be compiled as a whole.

    Parameters
    ----------
    prefix : str, optional
        Start of the names of the cells that are made in its ``name_scope()``.
    params : ParameterDict, optional
        Parameters to share.

    Examples
    --------
    >>> import loomix as mx
    >>> stack = mx.gluon.rnn.HybridSequentialRNNCell()
    >>> stack.add(mx.gluon.rnn.LSTMCell(8))
    >>> stack.add(mx.gluon.rnn.ResidualCell(mx.gluon.rnn.GRUCell(8)))
    >>> stack.initialize()
    >>> stack.hybridize()
    >>> outputs, states = stack.unroll(3, mx.nd.ones((2, 3, 5)), merge_outputs=True)
    >>> outputs.shape
    (2, 3, 8)
    """

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def __call__(self, inputs: Any, states: Sequence[Any]) -> tuple[Any, Any]:
        """One step through all cells; see :meth:`RecurrentCell.forward`."""
        result: tuple[Any, Any] = super().__call__(inputs, states)
        return result

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:
        return self._step(inputs, states)


class BidirectionalCell(_CellGroup, HybridRecurrentCell):
    """Two cells, of which the second reads the sequence from its end; their outputs are joined.

    It reads whole sequences, by :meth:`unroll`, and cannot go step by step.

    Parameters
    ----------
    l_cell, r_cell : HybridRecurrentCell
        The cells that read forward and backward.
    output_prefix : str
        Start of the names of the outputs.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.gluon.rnn.BidirectionalCell(mx.gluon.rnn.GRUCell(4), mx.gluon.rnn.GRUCell(4))
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(3, mx.nd.ones((2, 3, 5)), merge_outputs=True)
    >>> outputs.shape
    (2, 3, 8)
    """

    _forward_alone = False  # there are no single steps

    def __init__(self, l_cell: Any, r_cell: Any, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        for cell, place in ((l_cell, "l_cell"), (r_cell, "r_cell")):
            check_is_cell(cell, "BidirectionalCell")
            self.register_child(cell, place)
        self._output_prefix = output_prefix

    def __repr__(self) -> str:
        l_cell, r_cell = self._cells()
        return f"{type(self).__name__}(forward={l_cell}, backward={r_cell})"

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, Any]:
        """Not there: it reads whole sequences."""
        raise MXNetNotImplementedError("[BidirectionalCell] it cannot go step by step; use unroll.")

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Any] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, Any]:
        """Both cells over all steps; see :meth:`RecurrentCell.unroll`. With ``valid_length``, the second begins at the
        last valid step of each sample."""
        self.reset()
        F = api_of(inputs, self._who)
        check_layout(layout, self._who)
        steps = split_steps(F, length, inputs, layout, self._who)
        backward = self._backward(F, steps, valid_length)
        (l_cell, l_states), (r_cell, r_states) = self._with_states(
            self._first_states(F, begin_state, steps, layout)
        )
        l_outputs, l_states = l_cell.unroll(length, steps, l_states, layout, False, valid_length)
        r_outputs, r_states = r_cell.unroll(length, backward, r_states, layout, False, valid_length)
        outputs: Any = [
            F.concat(left, right, dim=1, name=f"{self._output_prefix}t{i}")
            for i, (left, right) in enumerate(zip(l_outputs, self._backward(F, r_outputs, valid_length)))
        ]
        if merge_outputs or (merge_outputs is None and valid_length is not None):
            outputs = merge_steps(F, outputs, layout)
        return outputs, [*l_states, *r_states]

    @staticmethod
    def _backward(F: Any, steps: list[Any], valid_length: Any) -> list[Any]:
        """The steps from the last one, or from each sample's last valid one, to the first."""
        if valid_length is None:
            return steps[::-1]
        turned = F.SequenceReverse(
            F.stack(*steps, axis=0), sequence_length=valid_length, use_sequence_length=True
        )
        parts = F.SliceChannel(turned, axis=0, num_outputs=len(steps), squeeze_axis=True)
        return list(parts) if len(steps) > 1 else [parts]
