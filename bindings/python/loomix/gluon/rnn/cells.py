# SPDX-License-Identifier: Apache-2.0
"""The vanilla cell, LSTM and GRU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._arguments import as_whole
from .gated_cell import GatedCell, GRUStep, LSTMStep, VanillaStep

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


class DenseCell(GatedCell):
    """A cell whose gates are two fully connected layers, of the input and of the state.

    Parameters
    ----------
    hidden_size : int
        Rows of a gate in the weights, where gates lie one after the other.
    state_size : int
        Numbers of the state that the gates read.
    input_size : int
        Numbers of an input; 0 lets the first step find out.
    initializers : sequence
        Initializer of each parameter.
    """

    _kinds: tuple[str, ...] = (
        "i2h_weight",
        "h2h_weight",
        "i2h_bias",
        "h2h_bias",
    )  # their order in files, too

    def __init__(
        self,
        hidden_size: int,
        state_size: int,
        input_size: int,
        initializers: Sequence[Any],
        prefix: str | None,
        params: Any,
    ) -> None:
        as_whole(type(self).__name__, "hidden_size", hidden_size, least=1)
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        self._gate_rows = self._gate_count * hidden_size
        shapes = {
            "i2h_weight": (self._gate_rows, input_size),
            "h2h_weight": (self._gate_rows, state_size),
            "h2r_weight": (state_size, hidden_size),
            "i2h_bias": (self._gate_rows,),
            "h2h_bias": (self._gate_rows,),
        }
        for kind, init in zip(self._kinds, initializers):
            param = self.params.get(kind, shape=shapes[kind], init=init, allow_deferred_init=True)
            setattr(self, kind, param)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state; see :meth:`RecurrentCell.state_info`."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}]

    def __repr__(self) -> str:
        rows, inputs = self._reg_params["i2h_weight"].shape
        return f"{type(self).__name__}({inputs if inputs > 0 else None} -> {rows}{self._repr_more()})"

    def _repr_more(self) -> str:
        return ""

    def _alias(self) -> str:
        return self._kind

    def _gates(self, F: Any, name: str, inputs: Any, state: Any, *params: Any) -> tuple[Any, Any]:
        """What the input and what the state give to all gates."""
        i2h_weight, h2h_weight, i2h_bias, h2h_bias = params
        rows = self._gate_rows
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=f"{name}i2h")
        h2h = F.FullyConnected(state, h2h_weight, h2h_bias, num_hidden=rows, name=f"{name}h2h")
        return i2h, h2h


class RNNCell(VanillaStep, DenseCell):
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
        inits = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(hidden_size, hidden_size, input_size, inits, prefix, params)
        self._activation = activation

    def _repr_more(self) -> str:
        return f", {self._activation}"


class LSTMCell(LSTMStep, DenseCell):
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
        inits = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(hidden_size, hidden_size, input_size, inits, prefix, params)
        self._activation = activation
        self._recurrent_activation = recurrent_activation


class GRUCell(GRUStep, DenseCell):
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
        inits = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(hidden_size, hidden_size, input_size, inits, prefix, params)
