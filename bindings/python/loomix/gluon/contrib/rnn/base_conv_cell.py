# SPDX-License-Identifier: Apache-2.0
"""What cells with convolutions share, whatever the number of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import symbol
from ....base import MXNetValueError
from ...rnn.base_cell import HybridRecurrentCell, activate
from ...rnn.cells import gru_step, lstm_step

__all__ = ["ConvGRUBase", "ConvLSTMBase", "ConvRNNBase"]


class _ConvCell(HybridRecurrentCell):
    """Base of the convolutional cells: two convolutions, of the input and of the state, give the gates."""

    _axes: int
    _gates: int

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any,
        i2h_dilate: Any,
        h2h_dilate: Any,
        i2h_weight_initializer: Any,
        h2h_weight_initializer: Any,
        i2h_bias_initializer: Any,
        h2h_bias_initializer: Any,
        conv_layout: str,
        activation: Any,
        prefix: str | None,
        params: Any,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        who = type(self).__name__
        if len(input_shape) != self._axes + 1:
            raise MXNetValueError(
                f"[{who}] input_shape is {tuple(input_shape)}; expected {self._axes + 1} sizes, those of "
                f"{conv_layout} without the batch."
            )
        spatial = {1: "W", 2: "HW", 3: "DHW"}[self._axes]
        if conv_layout not in (f"NC{spatial}", f"N{spatial}C"):
            raise MXNetValueError(
                f"[{who}] conv_layout is {conv_layout!r}; expected 'NC{spatial}' or 'N{spatial}C'."
            )
        h2h_kernel = self._sizes(h2h_kernel, "h2h_kernel")
        if any(size % 2 == 0 for size in h2h_kernel):
            raise MXNetValueError(
                f"[{who}] h2h_kernel is {h2h_kernel}; expected odd sizes, so that the state keeps its size."
            )
        h2h_dilate = self._sizes(h2h_dilate, "h2h_dilate")
        self._hidden_channels = hidden_channels
        self._conv_layout = conv_layout
        self._activation = activation
        filters = self._gates * hidden_channels
        self._i2h: dict[str, Any] = {
            "kernel": self._sizes(i2h_kernel, "i2h_kernel"),
            "stride": (1,) * self._axes,
            "pad": self._sizes(i2h_pad, "i2h_pad"),
            "dilate": self._sizes(i2h_dilate, "i2h_dilate"),
            "num_filter": filters,
            "layout": conv_layout,
        }
        self._h2h: dict[str, Any] = {
            **self._i2h,
            "kernel": h2h_kernel,
            "pad": tuple(step * (size - 1) // 2 for step, size in zip(h2h_dilate, h2h_kernel)),
            "dilate": h2h_dilate,
        }
        channels = conv_layout.find("C")
        shape, i2h_shape = self._shapes((1, *input_shape), self._i2h)
        state = list(shape)
        state[channels] = hidden_channels
        self._state_shape = tuple(state[1:])
        self._in_channels = input_shape[channels - 1]
        _, h2h_shape = self._shapes((1, *self._state_shape), self._h2h)
        for name, size, init in (
            ("i2h_weight", i2h_shape, i2h_weight_initializer),
            ("h2h_weight", h2h_shape, h2h_weight_initializer),
            ("i2h_bias", (filters,), i2h_bias_initializer),
            ("h2h_bias", (filters,), h2h_bias_initializer),
        ):
            setattr(self, name, self.params.get(name, shape=size, init=init, allow_deferred_init=True))

    def _sizes(self, value: Any, what: str) -> tuple[int, ...]:
        """One size for each spatial axis."""
        sizes = (int(value),) * self._axes if isinstance(value, (int, np.integer)) else tuple(value)
        if len(sizes) != self._axes:
            raise MXNetValueError(
                f"[{type(self).__name__}] {what} is {value!r}; expected a number or {self._axes} of them."
            )
        return sizes

    @staticmethod
    def _shapes(data: Sequence[int], settings: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shapes of the output and of the weight of a convolution."""
        one = symbol.Convolution(symbol.var("data"), name="conv", **settings)
        arguments, outputs, _ = one.infer_shape(data=tuple(data))
        return outputs[0], arguments[1]

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state; see :meth:`RecurrentCell.state_info`."""
        return [{"shape": (batch_size, *self._state_shape), "__layout__": self._conv_layout}]

    def __repr__(self) -> str:
        filters = self._gates * self._hidden_channels
        return f"{type(self).__name__}({self._in_channels} -> {filters}, {self._activation}, {self._conv_layout})"

    def _alias(self) -> str:
        return self._kind

    _kind: str

    def _convolve(
        self,
        F: Any,
        name: str,
        inputs: Any,
        state: Any,
        i2h_weight: Any,
        h2h_weight: Any,
        i2h_bias: Any,
        h2h_bias: Any,
    ) -> tuple[Any, Any]:
        """What the input and what the state give to all gates."""
        i2h = F.Convolution(inputs, i2h_weight, i2h_bias, name=f"{name}i2h", **self._i2h)
        h2h = F.Convolution(state, h2h_weight, h2h_bias, name=f"{name}h2h", **self._h2h)
        return i2h, h2h


class ConvRNNBase(_ConvCell):
    """A vanilla cell with convolutions."""

    _gates = 1
    _kind = "conv_rnn"

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
        i2h, h2h = self._convolve(F, name, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        total = F.elemwise_add(i2h, h2h, name=f"{name}plus0")
        output = activate(F, total, self._activation, f"{name}out")
        return output, [output]


class ConvLSTMBase(_ConvCell):
    """A long short-term memory cell with convolutions."""

    _gates = 4
    _kind = "conv_lstm"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Output and cell state; see :meth:`RecurrentCell.state_info`."""
        return super().state_info(batch_size) + super().state_info(batch_size)

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
        i2h, h2h = self._convolve(F, name, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        axis = self._conv_layout.find("C")
        output, next_cell = lstm_step(F, i2h, h2h, states[1], name, self._activation, axis=axis)
        return output, [output, next_cell]


class ConvGRUBase(_ConvCell):
    """A gated recurrent unit with convolutions."""

    _gates = 3
    _kind = "conv_gru"

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
        i2h, h2h = self._convolve(F, name, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        axis = self._conv_layout.find("C")
        output = gru_step(F, i2h, h2h, states[0], name, self._activation, axis)
        return output, [output]
