# SPDX-License-Identifier: Apache-2.0
"""Cells whose inputs and states are signals, images or volumes, and whose layers are convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...rnn.gated_cell import GRUStep, LSTMStep, VanillaStep
from .base_conv_cell import ConvCell

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
]


class _OfSignals(ConvCell):
    """Cells over signals."""

    _axes = 1

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any = (0,),
        i2h_dilate: Any = (1,),
        h2h_dilate: Any = (1,),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = "NCW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(
            input_shape,
            hidden_channels,
            i2h_kernel,
            h2h_kernel,
            i2h_pad,
            i2h_dilate,
            h2h_dilate,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            conv_layout,
            activation,
            prefix,
            params,
        )


class _OfImages(ConvCell):
    """Cells over images."""

    _axes = 2

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any = (0, 0),
        i2h_dilate: Any = (1, 1),
        h2h_dilate: Any = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = "NCHW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(
            input_shape,
            hidden_channels,
            i2h_kernel,
            h2h_kernel,
            i2h_pad,
            i2h_dilate,
            h2h_dilate,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            conv_layout,
            activation,
            prefix,
            params,
        )


class _OfVolumes(ConvCell):
    """Cells over volumes."""

    _axes = 3

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any = (0, 0, 0),
        i2h_dilate: Any = (1, 1, 1),
        h2h_dilate: Any = (1, 1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = "NCDHW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(
            input_shape,
            hidden_channels,
            i2h_kernel,
            h2h_kernel,
            i2h_pad,
            i2h_dilate,
            h2h_dilate,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            conv_layout,
            activation,
            prefix,
            params,
        )


class Conv1DRNNCell(VanillaStep, _OfSignals):
    """A vanilla cell with convolutions, over signals.

    Parameters
    ----------
    input_shape : tuple of int
        Shape of a step's input without the batch: (channels, width) in the layout "NCW".
    hidden_channels : int
        Channels of output and state.
    i2h_kernel, h2h_kernel : int or tuple of int
        Windows over input and state; the latter of odd size, as the state keeps its size.
    i2h_pad : int or tuple of int
        Zeros around the input.
    i2h_dilate, h2h_dilate : int or tuple of int
        Steps between the elements of a window.
    i2h_weight_initializer, h2h_weight_initializer : Initializer or str, optional
        Of the weights of input and state; None leaves them to ``initialize``.
    i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    conv_layout : {"NCW", "NWC"}
    activation : str or callable
        "tanh", "relu" or another of :class:`nn.Activation`, or a block or function.
    prefix : str, optional
        Start of the names; ``"conv_rnn0_"`` and so on by default.
    params : ParameterDict, optional
        Parameters to share with another cell.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = Conv1DRNNCell((3, 6), hidden_channels=4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 6)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 6)
    """


class Conv2DRNNCell(VanillaStep, _OfImages):
    """A vanilla cell with convolutions, over images. Parameters as of :class:`Conv1DRNNCell`.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = Conv2DRNNCell((3, 6, 5), hidden_channels=4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 6, 5)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 6, 5)
    """


class Conv3DRNNCell(VanillaStep, _OfVolumes):
    """A vanilla cell with convolutions, over volumes. Parameters as of :class:`Conv1DRNNCell`.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = Conv3DRNNCell((3, 6, 5, 4), hidden_channels=4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 6, 5, 4)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 6, 5, 4)
    """


class Conv1DLSTMCell(LSTMStep, _OfSignals):
    """A long short-term memory cell with convolutions, over signals. Parameters as of :class:`Conv1DRNNCell`.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = Conv1DLSTMCell((3, 6), hidden_channels=4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 6)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 6)
    """


class Conv2DLSTMCell(LSTMStep, _OfImages):
    """A long short-term memory cell with convolutions, over images. Parameters as of :class:`Conv1DRNNCell`.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = Conv2DLSTMCell((3, 6, 5), hidden_channels=4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 6, 5)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 6, 5)
    """


class Conv3DLSTMCell(LSTMStep, _OfVolumes):
    """A long short-term memory cell with convolutions, over volumes. Parameters as of :class:`Conv1DRNNCell`.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = Conv3DLSTMCell((3, 6, 5, 4), hidden_channels=4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 6, 5, 4)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 6, 5, 4)
    """


class Conv1DGRUCell(GRUStep, _OfSignals):
    """A gated recurrent unit with convolutions, over signals. Parameters as of :class:`Conv1DRNNCell`.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = Conv1DGRUCell((3, 6), hidden_channels=4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 6)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 6)
    """


class Conv2DGRUCell(GRUStep, _OfImages):
    """A gated recurrent unit with convolutions, over images. Parameters as of :class:`Conv1DRNNCell`.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = Conv2DGRUCell((3, 6, 5), hidden_channels=4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 6, 5)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 6, 5)
    """


class Conv3DGRUCell(GRUStep, _OfVolumes):
    """A gated recurrent unit with convolutions, over volumes. Parameters as of :class:`Conv1DRNNCell`.

    Examples
    --------
    >>> import loomix as mx
    >>> cell = Conv3DGRUCell((3, 6, 5, 4), hidden_channels=4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 6, 5, 4)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 6, 5, 4)
    """
