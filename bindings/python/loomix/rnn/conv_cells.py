# SPDX-License-Identifier: Apache-2.0
"""Cells whose inputs and states are images and whose layers are convolutions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import symbol
from ..base import MXNetValueError
from .base_cell import RNNParams
from .cells import GatedCell, GRUStep, LSTMStep, VanillaStep

if TYPE_CHECKING:
    from ..symbol import Symbol

__all__ = ["BaseConvRNNCell", "ConvGRUCell", "ConvLSTMCell", "ConvRNNCell"]

_LEAKY = functools.partial(symbol.LeakyReLU, act_type="leaky", slope=0.2)


class BaseConvRNNCell(GatedCell):
    """Base of the convolutional cells.

    Parameters
    ----------
    input_shape : tuple of int
        Shape of a step's input with its batch axis, whose size does not matter.
    num_hidden : int
        Channels of output and state.
    h2h_kernel, h2h_dilate : tuple of int
        Window over the state, of odd size: the state keeps its size.
    i2h_kernel, i2h_stride, i2h_pad, i2h_dilate : tuple of int
        Convolution of the input.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer : Initializer or str
        First values; None leaves them to the initializer of the whole network.
    activation : str or callable
        As of ``sym.Activation``, or a function of a symbol.
    prefix : str
        Start of the names.
    params : RNNParams, optional
        Parameters to share.
    conv_layout : str
        Axes of an input.

    Examples
    --------
    >>> import loomix as mx
    >>> issubclass(mx.rnn.ZoneoutCell, mx.rnn.ModifierCell)
    True
    >>> issubclass(mx.rnn.ConvLSTMCell, mx.rnn.BaseConvRNNCell)
    True
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Sequence[int],
        h2h_dilate: Sequence[int],
        i2h_kernel: Sequence[int],
        i2h_stride: Sequence[int],
        i2h_pad: Sequence[int],
        i2h_dilate: Sequence[int],
        i2h_weight_initializer: Any,
        h2h_weight_initializer: Any,
        i2h_bias_initializer: Any,
        h2h_bias_initializer: Any,
        activation: Any,
        prefix: str = "",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        if any(size % 2 == 0 for size in h2h_kernel):
            raise MXNetValueError(
                f"[{type(self).__name__}] h2h_kernel is {tuple(h2h_kernel)}; expected odd sizes, so that the state "
                f"keeps its size."
            )
        self._num_hidden = num_hidden
        self._activation = activation
        self._conv_layout = conv_layout
        self._gate_axis = conv_layout.find("C")
        self._i2h: dict[str, Any] = {
            "kernel": i2h_kernel,
            "stride": i2h_stride,
            "pad": i2h_pad,
            "dilate": i2h_dilate,
            "layout": conv_layout,
        }
        h2h_pad = tuple(step * (size - 1) // 2 for step, size in zip(h2h_dilate, h2h_kernel))
        self._h2h: dict[str, Any] = {
            "kernel": h2h_kernel,
            "stride": (1,) * len(h2h_pad),
            "pad": h2h_pad,
            "dilate": h2h_dilate,
            "layout": conv_layout,
        }
        self._iW = self._params.get("i2h_weight", init=i2h_weight_initializer)
        self._hW = self._params.get("h2h_weight", init=h2h_weight_initializer)
        self._iB = self._params.get("i2h_bias", init=i2h_bias_initializer)
        self._hB = self._params.get("h2h_bias", init=h2h_bias_initializer)
        one = symbol.Convolution(symbol.Variable("data"), num_filter=num_hidden, **self._i2h)
        shape = one.infer_shape(data=tuple(input_shape))[1][0]
        self._state_shape = (0, *shape[1:])

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [{"shape": self._state_shape, "__layout__": self._conv_layout}]

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def _gates(self, inputs: Symbol, state: Symbol, name: str) -> tuple[Any, Any]:
        """What the input and what the state give to all gates."""
        filters = self._num_gates * self._num_hidden
        i2h = symbol.Convolution(
            inputs,
            weight=self._iW,
            bias=self._iB,
            num_filter=filters,
            name=f"{name}i2h",
            **self._i2h,
        )
        h2h = symbol.Convolution(
            state,
            weight=self._hW,
            bias=self._hB,
            num_filter=filters,
            name=f"{name}h2h",
            **self._h2h,
        )
        return i2h, h2h


class ConvRNNCell(VanillaStep, BaseConvRNNCell):
    """A vanilla cell with convolutions. Parameters as of :class:`BaseConvRNNCell`.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.rnn.ConvRNNCell(input_shape=(1, 3, 16, 10), num_hidden=8)
    >>> cell.state_shape
    [(0, 8, 16, 10)]
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Sequence[int] = (3, 3),
        h2h_dilate: Sequence[int] = (1, 1),
        i2h_kernel: Sequence[int] = (3, 3),
        i2h_stride: Sequence[int] = (1, 1),
        i2h_pad: Sequence[int] = (1, 1),
        i2h_dilate: Sequence[int] = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        activation: Any = _LEAKY,
        prefix: str = "ConvRNN_",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        super().__init__(
            input_shape,
            num_hidden,
            h2h_kernel,
            h2h_dilate,
            i2h_kernel,
            i2h_stride,
            i2h_pad,
            i2h_dilate,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            activation,
            prefix,
            params,
            conv_layout,
        )


class ConvLSTMCell(LSTMStep, BaseConvRNNCell):
    """A long short-term memory cell with convolutions. Parameters as of :class:`BaseConvRNNCell`.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.rnn.ConvLSTMCell(input_shape=(1, 3, 16, 10), num_hidden=8)
    >>> cell.state_shape
    [(0, 8, 16, 10), (0, 8, 16, 10)]
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Sequence[int] = (3, 3),
        h2h_dilate: Sequence[int] = (1, 1),
        i2h_kernel: Sequence[int] = (3, 3),
        i2h_stride: Sequence[int] = (1, 1),
        i2h_pad: Sequence[int] = (1, 1),
        i2h_dilate: Sequence[int] = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        activation: Any = _LEAKY,
        prefix: str = "ConvLSTM_",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        super().__init__(
            input_shape,
            num_hidden,
            h2h_kernel,
            h2h_dilate,
            i2h_kernel,
            i2h_stride,
            i2h_pad,
            i2h_dilate,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            activation,
            prefix,
            params,
            conv_layout,
        )


class ConvGRUCell(GRUStep, BaseConvRNNCell):
    """A gated recurrent unit with convolutions. Parameters as of :class:`BaseConvRNNCell`.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = mx.rnn.ConvGRUCell(input_shape=(1, 3, 16, 10), num_hidden=8)
    >>> cell.state_shape
    [(0, 8, 16, 10)]
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Sequence[int] = (3, 3),
        h2h_dilate: Sequence[int] = (1, 1),
        i2h_kernel: Sequence[int] = (3, 3),
        i2h_stride: Sequence[int] = (1, 1),
        i2h_pad: Sequence[int] = (1, 1),
        i2h_dilate: Sequence[int] = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        activation: Any = _LEAKY,
        prefix: str = "ConvGRU_",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        super().__init__(
            input_shape,
            num_hidden,
            h2h_kernel,
            h2h_dilate,
            i2h_kernel,
            i2h_stride,
            i2h_pad,
            i2h_dilate,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            activation,
            prefix,
            params,
            conv_layout,
        )
