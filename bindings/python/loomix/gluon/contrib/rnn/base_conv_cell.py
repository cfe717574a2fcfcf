# SPDX-License-Identifier: Apache-2.0
"""What cells with convolutions share, whatever the number of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .... import symbol
from ...._arguments import as_whole
from ....base import MXNetValueError
from ...nn.conv_layers import axis_sizes, check_layout
from ...rnn.gated_cell import GatedCell

__all__ = ["ConvCell"]


class ConvCell(GatedCell):
    """Base of the convolutional cells: two convolutions, of the input and of the state, give the gates."""

    _axes: int

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
        as_whole(who, "hidden_channels", hidden_channels, least=1)
        if len(input_shape) != self._axes + 1:
            raise MXNetValueError(
                f"[{who}] input_shape is {tuple(input_shape)}; expected {self._axes + 1} sizes, those of "
                f"{conv_layout} without the batch."
            )
        check_layout(conv_layout, "DHW"[-self._axes :], who, "conv_layout")
        h2h_kernel = axis_sizes(h2h_kernel, self._axes, who, "h2h_kernel")
        if any(size % 2 == 0 for size in h2h_kernel):
            raise MXNetValueError(
                f"[{who}] h2h_kernel is {h2h_kernel}; expected odd sizes, so that the state keeps its size."
            )
        h2h_dilate = axis_sizes(h2h_dilate, self._axes, who, "h2h_dilate")
        self._hidden_channels = hidden_channels
        self._conv_layout = conv_layout
        self._activation = activation
        filters = self._gate_count * hidden_channels
        self._i2h: dict[str, Any] = {
            "kernel": axis_sizes(i2h_kernel, self._axes, who, "i2h_kernel"),
            "stride": (1,) * self._axes,
            "pad": axis_sizes(i2h_pad, self._axes, who, "i2h_pad", least=0),
            "dilate": axis_sizes(i2h_dilate, self._axes, who, "i2h_dilate"),
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
        self._in_channels = input_shape[channels - 1]
        data = [1, *input_shape]
        data[channels] = 1  # it may not be known yet, and makes no difference to the state
        state, i2h_shape = self._shapes(data, self._i2h)
        i2h_shape[channels] = self._in_channels
        state[channels] = hidden_channels
        self._state_shape = tuple(state[1:])
        _, h2h_shape = self._shapes(state, self._h2h)
        for name, size, init in (
            ("i2h_weight", i2h_shape, i2h_weight_initializer),
            ("h2h_weight", h2h_shape, h2h_weight_initializer),
            ("i2h_bias", (filters,), i2h_bias_initializer),
            ("h2h_bias", (filters,), h2h_bias_initializer),
        ):
            setattr(self, name, self.params.get(name, shape=size, init=init, allow_deferred_init=True))

    @staticmethod
    def _shapes(data: Sequence[int], settings: dict[str, Any]) -> tuple[list[int], list[int]]:
        """Shapes of the output and of the weight of a convolution."""
        one = symbol.Convolution(symbol.var("data"), name="conv", **settings)
        arguments, outputs, _ = one.infer_shape(data=tuple(data))
        return list(outputs[0]), list(arguments[1])

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state; see :meth:`RecurrentCell.state_info`."""
        return [{"shape": (batch_size, *self._state_shape), "__layout__": self._conv_layout}]

    def __repr__(self) -> str:
        sizes = f"{self._in_channels or None} -> {self._gate_count * self._hidden_channels}"
        return f"{type(self).__name__}({sizes}, {self._activation}, {self._conv_layout})"

    def _alias(self) -> str:
        return f"conv_{self._kind}"

    def _gates(self, F: Any, name: str, inputs: Any, state: Any, *params: Any) -> tuple[Any, Any]:
        """What the input and what the state give to all gates."""
        i2h_weight, h2h_weight, i2h_bias, h2h_bias = params
        i2h = F.Convolution(inputs, i2h_weight, i2h_bias, name=f"{name}i2h", **self._i2h)
        h2h = F.Convolution(state, h2h_weight, h2h_bias, name=f"{name}h2h", **self._h2h)
        return i2h, h2h

    def _gate_axis(self) -> int:
        return self._conv_layout.find("C")
