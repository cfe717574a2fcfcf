# SPDX-License-Identifier: Apache-2.0
"""Layers of recurrent cells as one operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import initializer, symbol
from ..base import MXNetNotImplementedError, MXNetValueError
from .base_cell import BaseRNNCell, RNNParams, as_wanted, merge_steps
from .cells import BidirectionalCell, GRUCell, LSTMCell, RNNCell, SequentialRNNCell
from .modifier_cells import DropoutCell

if TYPE_CHECKING:
    from ..ndarray import NDArray
    from ..symbol import Symbol

__all__ = ["FusedRNNCell"]

_GATES: dict[str, tuple[str, ...]] = {
    "rnn_relu": ("",),
    "rnn_tanh": ("",),
    "lstm": ("_i", "_f", "_c", "_o"),
    "gru": ("_r", "_z", "_o"),
}


class FusedRNNCell(BaseRNNCell):
    """Layers of cells over a whole sequence by the operator ``RNN``, several times faster than step by step.

    Parameters
    ----------
    num_hidden : int
        Units of a layer.
    num_layers : int
        Number of layers.
    mode : {"lstm", "gru", "rnn_relu", "rnn_tanh"}
        Kind of layer.
    bidirectional : bool
        Whether each layer reads the sequence from its end, too.
    dropout : float
        Share of the outputs between layers that is dropped in training.
    get_next_state : bool
        Whether unrolling also gives the states after the last step.
    forget_bias : float
        First value of the biases of an LSTM's forget gates.
    prefix : str, optional
        Start of the names; by default the mode.
    params : RNNParams, optional
        Parameters to share.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.rnn.FusedRNNCell(8, num_layers=2, mode="lstm", prefix="lstm_")
    >>> outputs, states = cell.unroll(3, mx.sym.Variable("data"), layout="TNC", merge_outputs=True)
    >>> outputs.infer_shape(data=(3, 2, 5))[1]
    [(3, 2, 8)]
    """

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:
        if mode not in _GATES:
            raise MXNetValueError(f"[FusedRNNCell] mode is {mode!r}; expected one of {', '.join(_GATES)}.")
        super().__init__(prefix=f"{mode}_" if prefix is None else prefix, params=params)
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode: Any = mode
        self._bidirectional = bidirectional
        self._dropout = dropout
        self._get_next_state = get_next_state
        self._forget_bias = forget_bias
        self._directions = ["l", "r"] if bidirectional else ["l"]
        first = initializer.FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self._params.get("parameters", init=first)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        shape = (len(self._directions) * self._num_layers, 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"} for _ in range(2 if self._mode == "lstm" else 1)]

    @property
    def _gate_names(self) -> Sequence[str]:
        return _GATES[self._mode]

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def _parts(self, inputs: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Name and shape of every part of the parameter vector, in order: weights, then biases."""
        hidden = self._num_hidden
        ends = [
            (layer, f"{self._prefix}{way}{layer}_")
            for layer in range(self._num_layers)
            for way in self._directions
        ]
        for layer, start in ends:
            width = inputs if layer == 0 else len(self._directions) * hidden
            for group, columns in (("i2h", width), ("h2h", hidden)):
                for gate in self._gate_names:
                    yield f"{start}{group}{gate}_weight", (hidden, columns)
        for _, start in ends:
            for group in ("i2h", "h2h"):
                for gate in self._gate_names:
                    yield f"{start}{group}{gate}_bias", (hidden,)

    def _places(self, inputs: int) -> Iterator[tuple[str, int, int, tuple[int, ...]]]:
        """Name, begin, end and shape of every part."""
        begin = 0
        for name, shape in self._parts(inputs):
            end = begin + shape[0] * (shape[1] if len(shape) > 1 else 1)
            yield name, begin, end, shape
            begin = end

    def unpack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters with one array for each gate of each layer, from those with one vector for all.

        Raises
        ------
        ValueError
            When the vector has another length than the layers need.
        """
        result = dict(args)
        vector = result.pop(self._parameter.name)
        hidden, ways = self._num_hidden, len(self._directions)
        inputs = vector.size // ways // hidden // self._num_gates
        inputs -= (self._num_layers - 1) * (hidden + ways * hidden + 2) + hidden + 2
        places = list(self._places(max(inputs, 0)))
        if inputs < 1 or places[-1][2] != vector.size:
            raise MXNetValueError(
                f"[FusedRNNCell] {self._parameter.name} has {vector.size} values, which do not fit "
                f"{self._num_layers} layers of {hidden} units."
            )
        for name, begin, end, shape in places:
            result[name] = vector[begin:end].reshape(shape).copy()
        return result

    def pack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters with one vector for all layers: the inverse of :meth:`unpack_weights`."""
        from .. import ndarray

        result = dict(args)
        first = result[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        parts = [result.pop(name).reshape((-1,)) for name, _ in self._parts(first.shape[1])]
        result[self._parameter.name] = ndarray.concat(*parts, dim=0)
        return result

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        raise MXNetNotImplementedError(
            "[FusedRNNCell] it reads whole sequences; use unroll, or unfuse() first."
        )

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        """The layers over ``length`` steps. The states are empty without ``get_next_state``.

        The operator reads sequences with the steps first: "TNC" spares two transpositions.
        """
        self.reset()
        data = merge_steps(length, inputs, layout)
        if layout.find("T") == 1:
            data = symbol.SwapAxis(data, dim1=0, dim2=1)
        states = self.begin_state() if begin_state is None else list(begin_state)
        given: dict[str, Any] = dict(zip(("state", "state_cell"), states))
        rnn = symbol.RNN(
            data=data,
            parameters=self._parameter,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=f"{self._prefix}rnn",
            **given,
        )
        outputs = rnn[0] if self._get_next_state else rnn
        next_states = [rnn[i + 1] for i in range(len(states))] if self._get_next_state else []
        if layout.find("T") == 1:
            outputs = symbol.SwapAxis(outputs, dim1=0, dim2=1)
        return as_wanted(length, outputs, layout, merge_outputs), next_states

    def unfuse(self) -> SequentialRNNCell:
        """The same layers as cells that go step by step.

        Their parameters have the names that :meth:`unpack_weights` followed by the stack's ``pack_weights`` gives.

        >>> import loomix as mx
        >>> stack = mx.rnn.FusedRNNCell(8, num_layers=2, mode="gru").unfuse()
        >>> [cell.params.get("i2h_weight").name for cell in stack._cells]
        ['gru_l0_i2h_weight', 'gru_l1_i2h_weight']
        """

        def one(way: str, layer: int) -> BaseRNNCell:
            prefix = f"{self._prefix}{way}{layer}_"
            if self._mode == "lstm":
                return LSTMCell(self._num_hidden, prefix=prefix, forget_bias=self._forget_bias)
            if self._mode == "gru":
                return GRUCell(self._num_hidden, prefix=prefix)
            return RNNCell(self._num_hidden, activation=self._mode[len("rnn_") :], prefix=prefix)

        stack = SequentialRNNCell()
        for layer in range(self._num_layers):
            if self._bidirectional:
                joined = f"{self._prefix}bi_l{layer}_"
                stack.add(BidirectionalCell(one("l", layer), one("r", layer), output_prefix=joined))
            else:
                stack.add(one("l", layer))
            if self._dropout > 0 and layer < self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{layer}_"))
        return stack
