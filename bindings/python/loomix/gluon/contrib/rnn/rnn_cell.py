# SPDX-License-Identifier: Apache-2.0
"""An LSTM with projection, dropout with one mask for all steps, and unrolling by a loop operator."""

from __future__ import annotations

from typing import Any

from ....base import MXNetValueError
from ...rnn.base_cell import api_of, check_is_cell, mask_steps
from ...rnn.cells import DenseCell
from ...rnn.gated_cell import LSTMStep
from ...rnn.modifier_cells import ModifierCell, check_share, refuse_both_ways

__all__ = ["LSTMPCell", "VariationalDropoutCell", "dynamic_unroll"]


class VariationalDropoutCell(ModifierCell):
    """A cell with dropout whose masks stay the same for all steps of a sequence.

    The masks are drawn at the first step; :meth:`reset`, which unrolling begins with, forgets them.

    Parameters
    ----------
    base_cell : HybridRecurrentCell
        The cell, one that goes step by step.
    drop_inputs, drop_states, drop_outputs : float
        Shares of the inputs, of the first state (an LSTM's output, not its cell state) and of the outputs that are
        dropped in training.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = VariationalDropoutCell(mx.gluon.rnn.LSTMCell(8), drop_inputs=0.2, drop_states=0.2)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(3, mx.nd.ones((2, 3, 5)), merge_outputs=True)
    >>> outputs.shape
    (2, 3, 8)
    """

    def __init__(
        self, base_cell: Any, drop_inputs: float = 0.0, drop_states: float = 0.0, drop_outputs: float = 0.0
    ) -> None:
        refuse_both_ways(base_cell, "VariationalDropoutCell")
        shares = {"inputs": drop_inputs, "states": drop_states, "outputs": drop_outputs}
        for what, share in shares.items():
            check_share(share, "VariationalDropoutCell", f"drop_{what}")
        super().__init__(base_cell)
        self._shares = shares

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out = {self._shares['outputs']}, p_state = {self._shares['states']})"

    def _alias(self) -> str:
        return "vardrop"

    def _remembers_steps(self) -> bool:
        return any(share > 0 for share in self._shares.values()) or super()._remembers_steps()

    def reset(self) -> None:
        """Forgets the masks, so that another sequence can begin."""
        super().reset()
        self._masks: dict[str, Any] = {}

    def _dropped(self, F: Any, what: str, values: Any) -> Any:
        share = self._shares[what]
        if share == 0:
            return values
        mask = self._masks.get(what)
        if not isinstance(mask, type(values)):  # also where arrays follow on symbols
            mask = self._masks[what] = F.Dropout(F.ones_like(values), p=share)
        return values * mask

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:
        states = [self._dropped(F, "states", states[0]), *states[1:]]
        output, next_states = self.base_cell(self._dropped(F, "inputs", inputs), states)
        return self._dropped(F, "outputs", output), next_states


class LSTMPCell(LSTMStep, DenseCell):
    """A long short-term memory cell whose output is projected to fewer numbers, which its gates then read.

    Parameters
    ----------
    hidden_size : int
        Number of units.
    projection_size : int
        Numbers of the output.
    i2h_weight_initializer, h2h_weight_initializer, h2r_weight_initializer : Initializer or str, optional
        Of the weights of input, output and projection; None leaves them to ``initialize``.
    i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    input_size : int
        Numbers of an input; 0 lets the first step find out.
    prefix : str, optional
        Start of the names; ``"lstmp0_"`` and so on by default.
    params : ParameterDict, optional
        Parameters to share with another cell.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = LSTMPCell(8, 3)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 5)), cell.begin_state(2))
    >>> output.shape, [state.shape for state in states]
    ((2, 3), [(2, 3), (2, 8)])
    """

    _kind = "lstmp"
    _kinds = ("i2h_weight", "h2h_weight", "h2r_weight", "i2h_bias", "h2h_bias")

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        h2r_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        inits = (
            i2h_weight_initializer,
            h2h_weight_initializer,
            h2r_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
        )
        super().__init__(hidden_size, projection_size, input_size, inits, prefix, params)
        self._projection_size = projection_size

    def _repr_more(self) -> str:
        return f" -> {self._projection_size}"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Output and cell state; see :meth:`RecurrentCell.state_info`."""
        return [
            {"shape": (batch_size, self._projection_size), "__layout__": "NC"},
            {"shape": (batch_size, self._hidden_size), "__layout__": "NC"},
        ]

    def hybrid_forward(  # type: ignore[override]  # one weight more
        self,
        F: Any,
        inputs: Any,
        states: Any,
        i2h_weight: Any,
        h2h_weight: Any,
        h2r_weight: Any,
        i2h_bias: Any,
        h2h_bias: Any,
    ) -> tuple[Any, Any]:
        name = f"t{self._counter}_"
        i2h, h2h = self._gates(F, name, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        hidden, next_cell = self._lstm_step(F, name, i2h, h2h, states[1], "hidden")
        output = F.FullyConnected(
            hidden, h2r_weight, no_bias=True, num_hidden=self._projection_size, name=f"{name}out"
        )
        return output, [output, next_cell]


def dynamic_unroll(
    cell: Any,
    inputs: Any,
    begin_state: Any,
    drop_inputs: float = 0,
    drop_outputs: float = 0,
    layout: str = "TNC",
    valid_length: Any = None,
) -> tuple[Any, Any]:
    """A cell over all steps of a sequence by the operator ``foreach``, so that the number of steps may be any.

    Parameters
    ----------
    cell : RecurrentCell
    inputs : NDArray or Symbol
        The sequence, with axes as `layout` says.
    begin_state : list of NDArray or Symbol
        States before the first step.
    drop_inputs, drop_outputs : float
        Shares of inputs and outputs that are dropped in training, the same at all steps.
    layout : {"TNC", "NTC"}
    valid_length : NDArray or Symbol, optional
        Steps of each sample, (batch,): outputs beyond are 0, and states are those of the last valid step.

    Returns
    -------
    outputs : NDArray or Symbol
        With axes as `layout` says.
    states : list of NDArray or Symbol
        After the last step.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.gluon.rnn.LSTMCell(8, input_size=3)
    >>> cell.initialize()
    >>> outputs, states = dynamic_unroll(cell, mx.nd.ones((5, 2, 3)), cell.begin_state(2))
    >>> outputs.shape, states[0].shape
    ((5, 2, 8), (2, 8))
    """
    check_is_cell(cell, "dynamic_unroll")
    if layout not in ("TNC", "NTC"):
        raise MXNetValueError(f"[dynamic_unroll] layout is {layout!r}; expected 'TNC' or 'NTC'.")
    for what, share in (("drop_inputs", drop_inputs), ("drop_outputs", drop_outputs)):
        check_share(share, "dynamic_unroll", what)
    F = api_of(inputs, "dynamic_unroll")
    cell.reset()
    axis = layout.find("T")
    if drop_inputs > 0:
        inputs = F.Dropout(inputs, p=drop_inputs, axes=(axis,))
    if axis == 1:
        inputs = F.SwapAxis(inputs, dim1=0, dim2=1)
    if valid_length is None:
        outputs, states = F.contrib.foreach(cell, inputs, begin_state)
    else:

        def step(data: Any, before: Any) -> tuple[Any, Any]:
            number, old = before
            output, new = cell(data, old)
            running = F.broadcast_lesser(number, valid_length)
            return output, [number + 1, [F.where(running, one, other) for one, other in zip(new, old)]]

        zeros = F.zeros_like(valid_length)
        outputs, (_, states) = F.contrib.foreach(step, inputs, [zeros, list(begin_state)])
        outputs = mask_steps(F, outputs, "TNC", valid_length)
    if axis == 1:
        outputs = F.SwapAxis(outputs, dim1=0, dim2=1)
    if drop_outputs > 0:
        outputs = F.Dropout(outputs, p=drop_outputs, axes=(axis,))
    return outputs, states
