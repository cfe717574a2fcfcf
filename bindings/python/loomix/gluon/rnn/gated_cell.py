# SPDX-License-Identifier: Apache-2.0
"""The steps of vanilla cell, LSTM and GRU, whatever kind of layer gives what their gates get."""

from __future__ import annotations

from typing import Any

from ...base import MXNetNotImplementedError
from .base_cell import HybridRecurrentCell, activate

__all__ = ["GRUStep", "GatedCell", "LSTMStep", "VanillaStep"]


class GatedCell(HybridRecurrentCell):
    """A cell whose gates get what two layers give, of the input and of the state.

    Its subclasses are of two kinds, which a cell has one of each: those that say what the layers are, and those that
    say what a step makes of their outputs.
    """

    _gate_count: int
    _kind: str  # in the names of cells
    _activation: Any = "tanh"
    _recurrent_activation: Any = "sigmoid"

    def _gates(self, F: Any, name: str, inputs: Any, state: Any, *params: Any) -> tuple[Any, Any]:
        """What the input and what the state give to all gates."""
        raise MXNetNotImplementedError(
            f"[{type(self).__name__}] the cell does not say which layers its gates have."
        )

    def _gate_axis(self) -> int:
        """The axis on which the gates lie one after the other."""
        return 1

    def _step(self, F: Any, name: str, i2h: Any, h2h: Any, states: Any) -> tuple[Any, Any]:
        """Output and states, from what the input and the state give."""
        raise MXNetNotImplementedError(f"[{type(self).__name__}] the cell does not say what a step computes.")

    def hybrid_forward(
        self,
        F: Any,
        inputs: Any,
        states: Any,
        i2h_weight: Any,
        h2h_weight: Any,
        i2h_bias: Any,
        h2h_bias: Any,
    ) -> tuple[Any, Any]:
        name = f"t{self._counter}_"
        i2h, h2h = self._gates(F, name, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        return self._step(F, name, i2h, h2h, states)


class VanillaStep(GatedCell):
    """A step of a vanilla cell."""

    _gate_count = 1
    _kind = "rnn"

    def _step(self, F: Any, name: str, i2h: Any, h2h: Any, states: Any) -> tuple[Any, Any]:
        total = F.elemwise_add(i2h, h2h, name=f"{name}plus0")
        output = activate(F, total, self._activation, f"{name}out")
        return output, [output]


class LSTMStep(GatedCell):
    """A step of long short-term memory."""

    _gate_count = 4
    _kind = "lstm"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Output and cell state; see :meth:`RecurrentCell.state_info`."""
        return super().state_info(batch_size) + super().state_info(batch_size)

    def _step(self, F: Any, name: str, i2h: Any, h2h: Any, states: Any) -> tuple[Any, Any]:
        output, next_cell = self._lstm_step(F, name, i2h, h2h, states[1], "out")
        return output, [output, next_cell]

    def _lstm_step(self, F: Any, name: str, i2h: Any, h2h: Any, cell: Any, end: str) -> tuple[Any, Any]:
        """The output, whose node's name ends in ``end``, and the next cell state."""
        total = F.elemwise_add(i2h, h2h, name=f"{name}plus0")
        slices = F.SliceChannel(total, num_outputs=4, axis=self._gate_axis(), name=f"{name}slice")
        in_gate = activate(F, slices[0], self._recurrent_activation, f"{name}i")
        forget_gate = activate(F, slices[1], self._recurrent_activation, f"{name}f")
        new = activate(F, slices[2], self._activation, f"{name}c")
        out_gate = activate(F, slices[3], self._recurrent_activation, f"{name}o")
        next_cell = F.elemwise_add(
            F.elemwise_mul(forget_gate, cell, name=f"{name}mul0"),
            F.elemwise_mul(in_gate, new, name=f"{name}mul1"),
            name=f"{name}state",
        )
        activated = activate(F, next_cell, self._activation, f"{name}activation0")
        return F.elemwise_mul(out_gate, activated, name=f"{name}{end}"), next_cell


class GRUStep(GatedCell):
    """A step of a gated recurrent unit."""

    _gate_count = 3
    _kind = "gru"

    def _step(self, F: Any, name: str, i2h: Any, h2h: Any, states: Any) -> tuple[Any, Any]:
        axis, gate = self._gate_axis(), self._recurrent_activation
        i2h_r, i2h_z, i2h_n = F.SliceChannel(i2h, num_outputs=3, axis=axis, name=f"{name}i2h_slice")
        h2h_r, h2h_z, h2h_n = F.SliceChannel(h2h, num_outputs=3, axis=axis, name=f"{name}h2h_slice")
        reset = activate(F, F.elemwise_add(i2h_r, h2h_r, name=f"{name}plus0"), gate, f"{name}r_act")
        update = activate(F, F.elemwise_add(i2h_z, h2h_z, name=f"{name}plus1"), gate, f"{name}z_act")
        remembered = F.elemwise_mul(reset, h2h_n, name=f"{name}mul0")
        total = F.elemwise_add(i2h_n, remembered, name=f"{name}plus2")
        new = activate(F, total, self._activation, f"{name}h_act")
        output = F.elemwise_add(
            F.elemwise_mul(1.0 - update, new, name=f"{name}mul1"),
            F.elemwise_mul(update, states[0], name=f"{name}mul2"),
            name=f"{name}out",
        )
        return output, [output]
