# SPDX-License-Identifier: Apache-2.0
"""The vanilla cell, LSTM and GRU."""

from __future__ import annotations

from typing import Any

from .base_cell import HybridRecurrentCell, activate

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


class DenseCell(HybridRecurrentCell):
    """A cell whose gates are two fully connected layers, of the input and of the state.

    Parameters
    ----------
    gates : int
        Number of gates; their weights lie one after the other.
    hidden_size : int
        Rows of a gate.
    state_size : int
        Numbers of the state that the gates read.
    input_size : int
        Numbers of an input; 0 lets the first step find out.
    initializers : dict
        Initializer of each parameter, by its name without the cell's prefix.
    """

    def __init__(
        self,
        gates: int,
        hidden_size: int,
        state_size: int,
        input_size: int,
        initializers: dict[str, Any],
        prefix: str | None,
        params: Any,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        self._gate_rows = gates * hidden_size
        shapes = {
            "i2h_weight": (self._gate_rows, input_size),
            "h2h_weight": (self._gate_rows, state_size),
            "h2r_weight": (state_size, hidden_size),
            "i2h_bias": (self._gate_rows,),
            "h2h_bias": (self._gate_rows,),
        }
        for name, init in initializers.items():
            param = self.params.get(name, shape=shapes[name], init=init, allow_deferred_init=True)
            setattr(self, name, param)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state; see :meth:`RecurrentCell.state_info`."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}]

    def __repr__(self) -> str:
        rows, inputs = self._reg_params["i2h_weight"].shape
        return f"{type(self).__name__}({inputs or None} -> {rows}{self._repr_more()})"

    def _repr_more(self) -> str:
        return ""

    def _gates(self, F: Any, name: str, inputs: Any, state: Any, *params: Any) -> tuple[Any, Any]:
        """What the input and what the state give to all gates."""
        i2h_weight, h2h_weight, i2h_bias, h2h_bias = params
        rows = self._gate_rows
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=f"{name}i2h")
        h2h = F.FullyConnected(state, h2h_weight, h2h_bias, num_hidden=rows, name=f"{name}h2h")
        return i2h, h2h


class RNNCell(DenseCell):
    """A vanilla cell: ``output = activation(i2h(input) + h2h(state))``, which is its state, too.

    Parameters
    ----------
    hidden_size : int
        Number of units.
    activation : str or callable
        "tanh", "relu" or another of :class:`nn.Activation`, or a block or function.
    i2h_weight_initializer, h2h_weight_initializer : Initializer or str, optional
        Of the weights of input and state; None leaves them to ``initialize``.
    i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    input_size : int
        Numbers of an input; 0 lets the first step find out.
    prefix : str, optional
        Start of the names; ``"rnn0_"`` and so on by default.
    params : ParameterDict, optional
        Parameters to share with another cell.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.gluon.rnn.RNNCell(8)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 5)), cell.begin_state(2))
    >>> output.shape
    (2, 8)
    """

    def __init__(
        self,
        hidden_size: int,
        activation: Any = "tanh",
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        initializers = {
            "i2h_weight": i2h_weight_initializer,
            "h2h_weight": h2h_weight_initializer,
            "i2h_bias": i2h_bias_initializer,
            "h2h_bias": h2h_bias_initializer,
        }
        super().__init__(1, hidden_size, hidden_size, input_size, initializers, prefix, params)
        self._activation = activation

    def _alias(self) -> str:
        return "rnn"

    def _repr_more(self) -> str:
        return f", {self._activation}"

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
        total = F.elemwise_add(i2h, h2h, name=f"{name}plus0")
        output = activate(F, total, self._activation, f"{name}out")
        return output, [output]


def lstm_step(
    F: Any,
    i2h: Any,
    h2h: Any,
    cell: Any,
    name: str,
    activation: Any,
    gate: Any = "sigmoid",
    axis: int = 1,
    output: str = "out",
) -> tuple[Any, Any]:
    """Output, whose node gets the name ``output``, and next cell state of an LSTM, from what its gates, one after the
    other on ``axis``, get of the input and of the state."""
    total = F.elemwise_add(i2h, h2h, name=f"{name}plus0")
    slices = F.SliceChannel(total, num_outputs=4, axis=axis, name=f"{name}slice")
    in_gate = activate(F, slices[0], gate, f"{name}i")
    forget_gate = activate(F, slices[1], gate, f"{name}f")
    new = activate(F, slices[2], activation, f"{name}c")
    out_gate = activate(F, slices[3], gate, f"{name}o")
    next_cell = F.elemwise_add(
        F.elemwise_mul(forget_gate, cell, name=f"{name}mul0"),
        F.elemwise_mul(in_gate, new, name=f"{name}mul1"),
        name=f"{name}state",
    )
    activated = activate(F, next_cell, activation, f"{name}activation0")
    return F.elemwise_mul(out_gate, activated, name=f"{name}{output}"), next_cell


class LSTMCell(DenseCell):
    """A long short-term memory cell. Its gates lie in the order in, forget, new, out.

    Parameters
    ----------
    hidden_size : int
        Number of units.
    i2h_weight_initializer, h2h_weight_initializer : Initializer or str, optional
        Of the weights of input and state; None leaves them to ``initialize``.
    i2h_bias_initializer, h2h_bias_initializer : Initializer or str
        ``mx.init.LSTMBias(1.0)`` lets a new cell remember.
    input_size : int
        Numbers of an input; 0 lets the first step find out.
    prefix : str, optional
        Start of the names; ``"lstm0_"`` and so on by default.
    params : ParameterDict, optional
        Parameters to share with another cell.
    activation : str or callable
        Of what is new, and of the cell state.
    recurrent_activation : str or callable
        Of the gates.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.gluon.rnn.LSTMCell(8, input_size=5)
    >>> cell
    LSTMCell(5 -> 32)
    """

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
    ) -> None:
        initializers = {
            "i2h_weight": i2h_weight_initializer,
            "h2h_weight": h2h_weight_initializer,
            "i2h_bias": i2h_bias_initializer,
            "h2h_bias": h2h_bias_initializer,
        }
        super().__init__(4, hidden_size, hidden_size, input_size, initializers, prefix, params)
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def _alias(self) -> str:
        return "lstm"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Output and cell state; see :meth:`RecurrentCell.state_info`."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"} for _ in range(2)]

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
        output, next_cell = lstm_step(
            F, i2h, h2h, states[1], name, self._activation, self._recurrent_activation
        )
        return output, [output, next_cell]


def gru_step(F: Any, i2h: Any, h2h: Any, state: Any, name: str, activation: Any, axis: int = 1) -> Any:
    """Output of a GRU, from what its gates, one after the other on ``axis``, get of the input and of the state."""
    i2h_r, i2h_z, i2h_n = F.SliceChannel(i2h, num_outputs=3, axis=axis, name=f"{name}i2h_slice")
    h2h_r, h2h_z, h2h_n = F.SliceChannel(h2h, num_outputs=3, axis=axis, name=f"{name}h2h_slice")
    reset = F.Activation(
        F.elemwise_add(i2h_r, h2h_r, name=f"{name}plus0"), act_type="sigmoid", name=f"{name}r_act"
    )
    update = F.Activation(
        F.elemwise_add(i2h_z, h2h_z, name=f"{name}plus1"), act_type="sigmoid", name=f"{name}z_act"
    )
    remembered = F.elemwise_mul(reset, h2h_n, name=f"{name}mul0")
    new = activate(F, F.elemwise_add(i2h_n, remembered, name=f"{name}plus2"), activation, f"{name}h_act")
    return F.elemwise_add(
        F.elemwise_mul(1.0 - update, new, name=f"{name}mul1"),
        F.elemwise_mul(update, state, name=f"{name}mul2"),
        name=f"{name}out",
    )


class GRUCell(DenseCell):
    """A gated recurrent unit. Its gates lie in the order reset, update, new; the reset gate acts on what the state
    gives, with its bias, as in cuDNN.

    Parameters
    ----------
    hidden_size : int
        Number of units.
    i2h_weight_initializer, h2h_weight_initializer : Initializer or str, optional
        Of the weights of input and state; None leaves them to ``initialize``.
    i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    input_size : int
        Numbers of an input; 0 lets the first step find out.
    prefix : str, optional
        Start of the names; ``"gru0_"`` and so on by default.
    params : ParameterDict, optional
        Parameters to share with another cell.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.gluon.rnn.GRUCell(8)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(2, [mx.nd.ones((3, 5)), mx.nd.ones((3, 5))])
    >>> len(outputs), len(states)
    (2, 1)
    """

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        initializers = {
            "i2h_weight": i2h_weight_initializer,
            "h2h_weight": h2h_weight_initializer,
            "i2h_bias": i2h_bias_initializer,
            "h2h_bias": h2h_bias_initializer,
        }
        super().__init__(3, hidden_size, hidden_size, input_size, initializers, prefix, params)

    def _alias(self) -> str:
        return "gru"

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
        output = gru_step(F, i2h, h2h, states[0], name, "tanh")
        return output, [output]
