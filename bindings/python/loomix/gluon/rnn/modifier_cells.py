# SPDX-License-Identifier: Apache-2.0
"""Dropout between cells, and cells that change what another one gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import ndarray as nd
from ...base import AssertedError, MXNetNotImplementedError, MXNetTypeError
from .base_cell import HybridRecurrentCell, api_of, as_wanted, check_is_cell, check_layout, mask_steps
from .cell_groups import BidirectionalCell

__all__ = ["DropoutCell", "ModifierCell", "ResidualCell", "ZoneoutCell"]


def check_share(value: Any, who: str, what: str) -> None:
    """Raises for what is no share, 0 to 1."""
    if not isinstance(value, (float, int, np.number)):
        raise MXNetTypeError(f"[{who}] {what} is {value!r}; expected a number.")
    if not 0 <= float(value) <= 1:
        raise AssertedError(f"[{who}] {what} is {value}; expected a share, 0 to 1.")


class DropoutCell(HybridRecurrentCell):
    """A cell without state that drops a share of its inputs in training.

    Parameters
    ----------
    rate : float
        The share; 0 passes everything on.
    axes : tuple of int
        Axes along which numbers are dropped together.
    prefix : str, optional
        Start of the names.
    params : ParameterDict, optional
        Accepted like those of other cells; it has none.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.gluon.rnn.DropoutCell(0.5)
    >>> cell(mx.nd.ones((1, 3)), [])[0].asnumpy()  # not in training
    array([[1., 1., 1.]], dtype=float32)
    """

    def __init__(self, rate: float, axes: Any = (), prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix, params)
        check_share(rate, "DropoutCell", "rate")
        self._rate, self._axes = rate, axes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """It has no states."""
        return []

    def _alias(self) -> str:
        return "dropout"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:
        return self._drop(F, inputs, f"t{self._counter}_fwd"), states

    def _drop(self, F: Any, inputs: Any, name: str) -> Any:
        if self._rate > 0:
            return F.Dropout(inputs, p=self._rate, axes=self._axes, name=name)
        return F.identity(inputs)

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Any] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, Any]:
        """All steps, at once where they come as one value; see :meth:`RecurrentCell.unroll`."""
        if isinstance(inputs, (list, tuple)):
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.reset()
        F = api_of(inputs, self._who)
        check_layout(layout, self._who)
        outputs = self._drop(F, inputs, f"{self._prefix}fwd")
        if valid_length is not None:
            outputs = mask_steps(F, outputs, layout, valid_length)
        return as_wanted(F, length, outputs, layout, merge_outputs, self._who), []


class ModifierCell(HybridRecurrentCell):
    """Base of the cells that stand in place of another one and change what it gives.

    Parameters
    ----------
    base_cell : HybridRecurrentCell
        That one. Its own ``begin_state`` must not be called any more.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.gluon.rnn.ZoneoutCell(mx.gluon.rnn.LSTMCell(4))
    >>> isinstance(cell, mx.gluon.rnn.ModifierCell), cell.base_cell
    (True, LSTMCell(None -> 16))
    """

    def __init__(self, base_cell: Any) -> None:
        check_is_cell(base_cell, type(self).__name__)
        if base_cell._modified:
            raise AssertedError(
                f"[{type(self).__name__}] cell '{base_cell.name}' has a modifier already; modify that one instead."
            )
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"

    @property
    def params(self) -> Any:
        """The parameters of the cell."""
        return self.base_cell.params

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """The states of the cell."""
        info: list[dict[str, Any]] = self.base_cell.state_info(batch_size)
        return info

    def begin_state(  # type: ignore[override]  # in MXNet, batch_size comes by name
        self, func: Callable[..., Any] = nd.zeros, **kwargs: Any
    ) -> list[Any]:
        """The states of the cell before the first step; see :meth:`RecurrentCell.begin_state`."""
        self._refuse_if_modified()
        self.base_cell._modified = False
        try:
            states: list[Any] = self.base_cell.begin_state(func=func, **kwargs)
            return states
        finally:
            self.base_cell._modified = True

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:
        raise MXNetNotImplementedError(f"[{type(self).__name__}] the cell does not say what it changes.")


class ZoneoutCell(ModifierCell):
    """A cell a share of whose outputs and states keeps the values of the step before, in training.

    Parameters
    ----------
    base_cell : HybridRecurrentCell
        The cell, one that goes step by step.
    zoneout_outputs, zoneout_states : float
        The shares.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.gluon.rnn.ZoneoutCell(mx.gluon.rnn.LSTMCell(8), zoneout_states=0.1)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(2, [mx.nd.ones((3, 5)), mx.nd.ones((3, 5))])
    >>> len(outputs)
    2
    """

    def __init__(self, base_cell: Any, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        refuse_both_ways(base_cell, "ZoneoutCell")
        check_share(zoneout_outputs, "ZoneoutCell", "zoneout_outputs")
        check_share(zoneout_states, "ZoneoutCell", "zoneout_states")
        super().__init__(base_cell)
        self._zoneout_outputs = zoneout_outputs
        self._zoneout_states = zoneout_states

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(p_out={self._zoneout_outputs}, p_state={self._zoneout_states}, "
            f"{self.base_cell})"
        )

    def _alias(self) -> str:
        return "zoneout"

    def _remembers_steps(self) -> bool:
        return self._zoneout_outputs > 0 or super()._remembers_steps()

    def reset(self) -> None:
        """Forgets the steps so far, so that another sequence can begin."""
        super().reset()
        self._prev_output: Any = None

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:
        output, next_states = self.base_cell(inputs, states)
        before = self._prev_output
        if not isinstance(before, type(output)):  # also where arrays follow on symbols
            before = F.zeros_like(output)
        output = _mixed(F, self._zoneout_outputs, output, before)
        kept = [_mixed(F, self._zoneout_states, new, old) for new, old in zip(next_states, states)]
        self._prev_output = output
        return output, kept


def refuse_both_ways(cell: Any, who: str) -> None:
    """Raises a ValueError for a cell that cannot go step by step."""
    if isinstance(cell, BidirectionalCell):
        raise AssertedError(
            f"[{who}] a BidirectionalCell reads whole sequences, not steps; use the modifier on its cells."
        )


def _mixed(F: Any, share: float, new: Any, old: Any) -> Any:
    """``new``, but a random ``share`` of ``old`` in training."""
    if share == 0:
        return new
    return F.where(F.Dropout(F.ones_like(new), p=share), new, old)


class ResidualCell(ModifierCell):
    """A cell whose input is added to its output; both have the same size.

    Parameters
    ----------
    base_cell : HybridRecurrentCell
        The cell.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.gluon.rnn.ResidualCell(mx.gluon.rnn.GRUCell(5))
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(2, mx.nd.ones((3, 2, 5)), merge_outputs=True)
    >>> outputs.shape
    (3, 2, 5)
    """

    def __init__(self, base_cell: Any) -> None:
        super().__init__(base_cell)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Any] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, Any]:
        """The cell over all steps, and then the sums; see :meth:`RecurrentCell.unroll`."""
        self.reset()
        F = api_of(inputs, self._who)
        check_layout(layout, self._who)
        states = self._first_states(F, begin_state, inputs, layout)
        outputs, states = self.base_cell.unroll(length, inputs, states, layout, merge_outputs, valid_length)
        if valid_length is not None:
            inputs = mask_steps(F, inputs, layout, valid_length)
        is_list = isinstance(outputs, (list, tuple))
        inputs = as_wanted(F, length, inputs, layout, not is_list, self._who)
        if is_list:
            return [F.elemwise_add(out, step) for out, step in zip(outputs, inputs)], states
        return F.elemwise_add(outputs, inputs), states
