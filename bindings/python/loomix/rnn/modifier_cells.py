# SPDX-License-Identifier: Apache-2.0
"""Dropout between cells, and cells that change what another one gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import symbol
from ..base import MXNetNotImplementedError, MXNetValueError
from .base_cell import BaseRNNCell, RNNParams, as_wanted, check_is_cell, split_steps
from .cells import BidirectionalCell

if TYPE_CHECKING:
    from ..ndarray import NDArray
    from ..symbol import Symbol

__all__ = ["DropoutCell", "ModifierCell", "ResidualCell", "ZoneoutCell"]


class DropoutCell(BaseRNNCell):
    """A cell without state that drops a share of its inputs in training.

    Parameters
    ----------
    dropout : float
        The share; 0 passes everything on.
    prefix : str
        Start of the names.
    params : RNNParams, optional
        Accepted like those of other cells; it has none.

    Examples
    --------
    >>> import loomix as mx
    >>> stack = mx.rnn.SequentialRNNCell()
    >>> for cell in (mx.rnn.LSTMCell(8), mx.rnn.DropoutCell(0.5)):
    ...     stack.add(cell)
    >>> len(stack.state_info)
    2
    """

    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None) -> None:
        super().__init__(prefix, params)
        if not 0 <= dropout <= 1:
            raise MXNetValueError(f"[DropoutCell] dropout is {dropout}; expected a share, 0 to 1.")
        self.dropout = dropout

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return []

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        if self.dropout > 0:
            inputs = symbol.Dropout(data=inputs, p=self.dropout)
        return inputs, states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        self.reset()
        if isinstance(inputs, symbol.Symbol):  # all steps at once
            return as_wanted(length, self(inputs, [])[0], layout, merge_outputs), []
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)


class ModifierCell(BaseRNNCell):
    """Base of the cells that stand in place of another one and change what it gives.

    Parameters
    ----------
    base_cell : BaseRNNCell
        That one. It must not be called itself any more.

    Examples
    --------
    >>> import loomix as mx
    >>> issubclass(mx.rnn.ZoneoutCell, mx.rnn.ModifierCell)
    True
    >>> issubclass(mx.rnn.ConvLSTMCell, mx.rnn.BaseConvRNNCell)
    True
    """

    def __init__(self, base_cell: BaseRNNCell) -> None:
        check_is_cell(base_cell, type(self).__name__)
        base_cell._modified = True
        self.base_cell = base_cell
        super().__init__()

    def reset(self) -> None:
        super().reset()
        self.base_cell.reset()

    @property
    def params(self) -> RNNParams:
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return self.base_cell.state_info

    def begin_state(  # type: ignore[override]  # MXNet calls the argument so
        self, init_sym: Any = symbol.zeros, **kwargs: Any
    ) -> list[Symbol]:
        """The states of the cell before the first step; ``init_sym`` makes a symbol."""
        self._refuse_if_modified()
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func=kwargs.pop("func", init_sym), **kwargs)
        finally:
            self.base_cell._modified = True

    def unpack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        return self.base_cell.pack_weights(args)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        raise MXNetNotImplementedError(f"[{type(self).__name__}] the cell does not say what it changes.")


class ZoneoutCell(ModifierCell):
    """A cell of which, in training, a random share of outputs and states stays what it was a step before.

    Parameters
    ----------
    base_cell : BaseRNNCell
        The cell.
    zoneout_outputs, zoneout_states : float
        The shares.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(8), zoneout_states=0.1)
    >>> outputs, states = cell.unroll(2, [mx.sym.Variable("a"), mx.sym.Variable("b")])
    >>> len(outputs)
    2
    """

    def __init__(
        self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0
    ) -> None:
        from .fused_cell import FusedRNNCell

        if isinstance(base_cell, (FusedRNNCell, BidirectionalCell)):
            raise MXNetValueError(
                f"[ZoneoutCell] a {type(base_cell).__name__} reads whole sequences, not steps; unfuse() it, or use "
                f"the modifier on its cells."
            )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states

    def reset(self) -> None:
        super().reset()
        self.prev_output: Symbol | None = None

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        output, next_states = self.base_cell(inputs, states)
        before = symbol.zeros_like(output) if self.prev_output is None else self.prev_output
        output = _mixed(self.zoneout_outputs, output, before)
        kept = [_mixed(self.zoneout_states, new, old) for new, old in zip(next_states, states)]
        self.prev_output = output
        return output, kept


def _mixed(share: float, new: Symbol, old: Symbol) -> Symbol:
    """``new``, but a random ``share`` of ``old`` in training."""
    if share == 0:
        return new
    return symbol.where(symbol.Dropout(symbol.ones_like(new), p=share), new, old)


class ResidualCell(ModifierCell):
    """A cell whose input is added to its output; both have the same size.

    Parameters
    ----------
    base_cell : BaseRNNCell
        The cell.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.rnn.ResidualCell(mx.rnn.GRUCell(5))
    >>> outputs, states = cell.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(3, 2, 5))[1]
    [(3, 2, 5)]
    """

    def __init__(self, base_cell: BaseRNNCell) -> None:
        super().__init__(base_cell)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        output, states = self.base_cell(inputs, states)
        return symbol.elemwise_add(output, inputs, name=f"{output.name}_plus_residual"), states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        self.reset()
        states = self.begin_state() if begin_state is None else begin_state
        outputs, next_states = self.base_cell.unroll(length, inputs, states, layout, merge_outputs)
        if isinstance(outputs, symbol.Symbol):
            merged = as_wanted(length, inputs, layout, True)
            return symbol.elemwise_add(outputs, merged, name=f"{outputs.name}_plus_residual"), next_states
        added = [
            symbol.elemwise_add(output, step, name=f"{output.name}_plus_residual")
            for output, step in zip(outputs, split_steps(length, inputs, layout))
        ]
        return added, next_states
