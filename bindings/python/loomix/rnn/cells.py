# SPDX-License-Identifier: Apache-2.0
"""The vanilla cell, LSTM and GRU, and stacks of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import initializer, symbol
from ..base import MXNetNotImplementedError, MXNetValueError
from .base_cell import BaseRNNCell, RNNParams, activate, as_wanted, check_is_cell, split_steps

if TYPE_CHECKING:
    from ..ndarray import NDArray
    from ..symbol import Symbol

__all__ = ["BidirectionalCell", "GRUCell", "LSTMCell", "RNNCell", "SequentialRNNCell"]


class GatedCell(BaseRNNCell):
    """A cell whose gates get what two layers give, of the input and of the state.

    Its subclasses are of two kinds, which a cell has one of each: those that say what the layers are, and those that
    say what a step makes of their outputs.
    """

    _activation: Any = "tanh"
    _gate_axis = 1  # on which the gates lie one after the other

    def _gates(self, inputs: Symbol, state: Symbol, name: str) -> tuple[Any, Any]:
        """What the input and what the state give to all gates."""
        raise MXNetNotImplementedError(
            f"[{type(self).__name__}] the cell does not say which layers its gates have."
        )

    def _step(self, i2h: Symbol, h2h: Symbol, states: Sequence[Symbol], name: str) -> tuple[Any, Any]:
        """Output and states, from what the input and the state give."""
        raise MXNetNotImplementedError(f"[{type(self).__name__}] the cell does not say what a step computes.")

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        name = self._next_name()
        i2h, h2h = self._gates(inputs, states[0], name)
        return self._step(i2h, h2h, states, name)


class VanillaStep(GatedCell):
    """A step of a vanilla cell."""

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("",)

    def _step(self, i2h: Symbol, h2h: Symbol, states: Sequence[Symbol], name: str) -> tuple[Any, Any]:
        output = activate(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class LSTMStep(GatedCell):
    """A step of long short-term memory."""

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return super().state_info * 2

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("_i", "_f", "_c", "_o")

    def _step(self, i2h: Symbol, h2h: Symbol, states: Sequence[Symbol], name: str) -> tuple[Any, Any]:
        parts = symbol.SliceChannel(i2h + h2h, num_outputs=4, axis=self._gate_axis, name=f"{name}slice")
        in_gate = symbol.Activation(parts[0], act_type="sigmoid", name=f"{name}i")
        forget_gate = symbol.Activation(parts[1], act_type="sigmoid", name=f"{name}f")
        new = activate(parts[2], self._activation, name=f"{name}c")
        out_gate = symbol.Activation(parts[3], act_type="sigmoid", name=f"{name}o")
        next_cell = symbol.elemwise_add(forget_gate * states[1], in_gate * new, name=f"{name}state")
        output = symbol.elemwise_mul(out_gate, activate(next_cell, self._activation), name=f"{name}out")
        return output, [output, next_cell]


class GRUStep(GatedCell):
    """A step of a gated recurrent unit."""

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("_r", "_z", "_o")

    def _step(self, i2h: Symbol, h2h: Symbol, states: Sequence[Symbol], name: str) -> tuple[Any, Any]:
        axis = self._gate_axis
        i2h_r, i2h_z, i2h_n = symbol.SliceChannel(i2h, num_outputs=3, axis=axis, name=f"{name}_i2h_slice")
        h2h_r, h2h_z, h2h_n = symbol.SliceChannel(h2h, num_outputs=3, axis=axis, name=f"{name}_h2h_slice")
        reset = symbol.Activation(i2h_r + h2h_r, act_type="sigmoid", name=f"{name}_r_act")
        update = symbol.Activation(i2h_z + h2h_z, act_type="sigmoid", name=f"{name}_z_act")
        new = activate(i2h_n + reset * h2h_n, self._activation, name=f"{name}_h_act")
        output = symbol.elemwise_add((1.0 - update) * new, update * states[0], name=f"{name}out")
        return output, [output]


class _DenseCell(GatedCell):
    """A cell whose gates are two fully connected layers, of the input and of the state."""

    def __init__(
        self, num_hidden: int, prefix: str, params: RNNParams | None, i2h_bias_init: Any = None
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._num_hidden = num_hidden
        bias = {} if i2h_bias_init is None else {"init": i2h_bias_init}
        self._iW = self._params.get("i2h_weight")
        self._iB = self._params.get("i2h_bias", **bias)
        self._hW = self._params.get("h2h_weight")
        self._hB = self._params.get("h2h_bias")

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}]

    def _gates(self, inputs: Symbol, state: Symbol, name: str) -> tuple[Any, Any]:
        """What the input and what the state give to all gates."""
        rows = self._num_hidden * len(self._gate_names)
        i2h = symbol.FullyConnected(
            inputs, weight=self._iW, bias=self._iB, num_hidden=rows, name=f"{name}i2h"
        )
        h2h = symbol.FullyConnected(state, weight=self._hW, bias=self._hB, num_hidden=rows, name=f"{name}h2h")
        return i2h, h2h


class RNNCell(VanillaStep, _DenseCell):
    """A vanilla cell: ``output = activation(i2h(input) + h2h(state))``, which is its state, too.

    Parameters
    ----------
    num_hidden : int
        Number of units.
    activation : str or callable
        "tanh", "relu" or another of ``sym.Activation``, or a function of a symbol.
    prefix : str
        Start of the names.
    params : RNNParams, optional
        Parameters to share.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.rnn.RNNCell(8)
    >>> output, states = cell(mx.sym.Variable("x"), cell.begin_state())
    >>> output.list_arguments()
    ['x', 'rnn_i2h_weight', 'rnn_i2h_bias', 'rnn_h2h_weight', 'rnn_h2h_bias']
    """

    def __init__(
        self, num_hidden: int, activation: Any = "tanh", prefix: str = "rnn_", params: RNNParams | None = None
    ) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation


class LSTMCell(LSTMStep, _DenseCell):
    """A long short-term memory cell.

    Parameters
    ----------
    num_hidden : int
        Number of units.
    prefix : str
        Start of the names.
    params : RNNParams, optional
        Parameters to share.
    forget_bias : float
        First value of the forget gate's bias: 1 lets a new cell remember.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.rnn.LSTMCell(8)
    >>> cell.state_shape
    [(0, 8), (0, 8)]
    """

    def __init__(
        self,
        num_hidden: int,
        prefix: str = "lstm_",
        params: RNNParams | None = None,
        forget_bias: float = 1.0,
    ) -> None:
        super().__init__(num_hidden, prefix, params, initializer.LSTMBias(forget_bias=forget_bias))


class GRUCell(GRUStep, _DenseCell):
    """A gated recurrent unit, in the form of cuDNN: the reset gate works behind the state's layer.

    Parameters
    ----------
    num_hidden : int
        Number of units.
    prefix : str
        Start of the names.
    params : RNNParams, optional
        Parameters to share.

    Examples
    --------
    >>> import loomix as mx
    >>> outputs, states = mx.rnn.GRUCell(8).unroll(2, [mx.sym.Variable("a"), mx.sym.Variable("b")])
    >>> len(outputs), len(states)
    (2, 1)
    """

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)

    def _gates(self, inputs: Symbol, state: Symbol, name: str) -> tuple[Any, Any]:
        return super()._gates(inputs, state, f"{name}_")  # two underscores, as in MXNet


class _CellGroup(BaseRNNCell):
    """Cells that work together and whose parameters are kept together."""

    def __init__(self, prefix: str, params: RNNParams | None) -> None:
        self._cells: list[BaseRNNCell] = []
        super().__init__(prefix=prefix, params=params)
        self._override_cell_params = params is not None

    def _take(self, cell: BaseRNNCell, who: str) -> None:
        check_is_cell(cell, who)
        if self._override_cell_params:
            if not cell._own_params:
                raise MXNetValueError(
                    f"[{who}] the group and a cell of it were both given params; expected one of them."
                )
            cell.params._params.update(self.params._params)
        self._params._params.update(cell.params._params)
        self._cells.append(cell)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, **kwargs: Any) -> list[Symbol]:  # type: ignore[override]
        """The states of all cells before the first step."""
        self._refuse_if_modified()
        return [state for cell in self._cells for state in cell.begin_state(**kwargs)]

    def unpack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        result = dict(args)
        for cell in self._cells:
            result = cell.unpack_weights(result)
        return result

    def pack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        result = dict(args)
        for cell in self._cells:
            result = cell.pack_weights(result)
        return result

    def _states_of_cells(self, states: Sequence[Symbol]) -> list[list[Symbol]]:
        """All states, cell by cell."""
        groups = []
        place = 0
        for cell in self._cells:
            count = len(cell.state_info)
            groups.append(list(states[place : place + count]))
            place += count
        return groups


class SequentialRNNCell(_CellGroup):
    """Cells one on top of the other.

    Parameters
    ----------
    params : RNNParams, optional
        Parameters that all cells share.

    Examples
    --------
    >>> import loomix as mx
    >>> stack = mx.rnn.SequentialRNNCell()
    >>> for layer in range(2):
    ...     stack.add(mx.rnn.LSTMCell(8, prefix=f"lstm_l{layer}_"))
    >>> len(stack.state_info)
    4
    """

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__("", params)

    def add(self, cell: BaseRNNCell) -> None:
        """Puts a cell on top."""
        self._take(cell, "SequentialRNNCell.add")

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        self._counter += 1
        next_states: list[Symbol] = []
        for cell, own in zip(self._cells, self._states_of_cells(states)):
            if isinstance(cell, BidirectionalCell):
                raise MXNetValueError(
                    "[SequentialRNNCell] a BidirectionalCell reads whole sequences; use unroll."
                )
            inputs, states_of_cell = cell(inputs, own)
            next_states += states_of_cell
        return inputs, next_states

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
        next_states: list[Symbol] = []
        last = len(self._cells) - 1
        for i, (cell, own) in enumerate(zip(self._cells, self._states_of_cells(states))):
            inputs, states_of_cell = cell.unroll(
                length,
                inputs,
                begin_state=own,
                layout=layout,
                merge_outputs=merge_outputs if i == last else None,
            )
            next_states += states_of_cell
        return inputs, next_states


class BidirectionalCell(_CellGroup):
    """Two cells, of which the second reads the sequence from its end; their outputs are joined.

    Parameters
    ----------
    l_cell, r_cell : BaseRNNCell
        The cells that read forward and backward.
    params : RNNParams, optional
        Parameters that both share.
    output_prefix : str
        Start of the names of the outputs.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.rnn.BidirectionalCell(mx.rnn.GRUCell(4, prefix="l_"), mx.rnn.GRUCell(4, prefix="r_"))
    >>> outputs, states = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1]
    [(2, 3, 8)]
    """

    def __init__(
        self,
        l_cell: BaseRNNCell,
        r_cell: BaseRNNCell,
        params: RNNParams | None = None,
        output_prefix: str = "bi_",
    ) -> None:
        super().__init__("", params)
        self._output_prefix = output_prefix
        self._take(l_cell, "BidirectionalCell")
        self._take(r_cell, "BidirectionalCell")

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        raise MXNetNotImplementedError("[BidirectionalCell] it reads whole sequences; use unroll.")

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        self.reset()
        steps = split_steps(length, inputs, layout)
        states = self.begin_state() if begin_state is None else begin_state
        outputs: list[list[Symbol]] = []
        next_states: list[Symbol] = []
        for cell, own, sequence in zip(self._cells, self._states_of_cells(states), (steps, steps[::-1])):
            one, states_of_cell = cell.unroll(length, sequence, own, layout, merge_outputs=False)
            outputs.append(one)
            next_states += states_of_cell
        joined = [
            symbol.Concat(left, right, dim=1, name=f"{self._output_prefix}t{i}")
            for i, (left, right) in enumerate(zip(outputs[0], outputs[1][::-1]))
        ]
        return as_wanted(length, joined, layout, merge_outputs), next_states
