# SPDX-License-Identifier: Apache-2.0
"""Layers of recurrent cells that read whole sequences in one operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base import AssertedError
from .base_layer import RNNLayer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..base_block import BlockNames

__all__ = ["GRU", "LSTM", "RNN"]


class RNN(RNNLayer):
    """Layers of vanilla cells: ``h = activation(i2h(input) + h2h(h))`` at each step.

    Parameters
    ----------
    hidden_size : int
        Units of a layer.
    num_layers : int
    activation : {"relu", "tanh"}
    layout : {"TNC", "NTC"}
        Axes of inputs and outputs: steps, batch, features. "TNC" spares two transpositions.
    dropout : float
        Share of each layer's outputs, but the last one's, that is dropped in training.
    bidirectional : bool
        Whether each layer reads the sequence from its end, too; the two outputs are joined.
    i2h_weight_initializer, h2h_weight_initializer : Initializer or str, optional
        Of the weights of input and state; None leaves them to ``initialize``.
    i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    input_size : int
        Features of an input; 0 lets the first call find out.
    dtype : NumPy type or str
    use_sequence_length : bool
        Whether calls give the number of steps of each sample.
    prefix : str, optional
        Start of the names; ``"rnn0_"`` and so on by default.
    params : ParameterDict, optional
        Parameters to share with another layer.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.rnn.RNN(8, num_layers=2)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((5, 2, 3))).shape
    (5, 2, 8)
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        dtype: Any = "float32",
        **kwargs: Unpack[BlockNames],
    ) -> None:
        if activation not in ("relu", "tanh"):
            raise AssertedError(f"[RNN] activation is {activation!r}; expected 'relu' or 'tanh'.")
        inits = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(
            f"rnn_{activation}",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            inits,
            dtype,
            **kwargs,
        )


class LSTM(RNNLayer):
    """Layers of long short-term memory. The gates of a weight lie in the order in, forget, new, out.

    Parameters
    ----------
    hidden_size : int
        Units of a layer.
    num_layers : int
    layout : {"TNC", "NTC"}
        Axes of inputs and outputs: steps, batch, features. "TNC" spares two transpositions.
    dropout : float
        Share of each layer's outputs, but the last one's, that is dropped in training.
    bidirectional : bool
        Whether each layer reads the sequence from its end, too; the two outputs are joined.
    input_size : int
        Features of an input; 0 lets the first call find out.
    i2h_weight_initializer, h2h_weight_initializer : Initializer or str, optional
        Of the weights of input and state; None leaves them to ``initialize``.
    i2h_bias_initializer, h2h_bias_initializer : Initializer or str
        ``mx.init.LSTMBias(1.0)`` lets a new layer remember.
    projection_size : int, optional
        Numbers that a layer's output is projected to.
    h2r_weight_initializer : Initializer or str, optional
        Of the weights of the projection.
    state_clip_min, state_clip_max : float, optional
        Bounds of the cell states; both or none.
    state_clip_nan : bool
        Whether NaN in a cell state becomes the lower bound.
    dtype : NumPy type or str
    use_sequence_length : bool
        Whether calls give the number of steps of each sample.
    prefix : str, optional
        Start of the names; ``"lstm0_"`` and so on by default.
    params : ParameterDict, optional
        Parameters to share with another layer.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.rnn.LSTM(8, bidirectional=True, layout="NTC")
    >>> layer.initialize()
    >>> outputs, states = layer(mx.nd.ones((2, 5, 3)), layer.begin_state(2))
    >>> outputs.shape, states[0].shape
    ((2, 5, 16), (2, 2, 8))
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: Any = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype: Any = "float32",
        **kwargs: Unpack[BlockNames],
    ) -> None:
        if (state_clip_min is None) != (state_clip_max is None):
            raise AssertedError(
                f"[LSTM] state_clip_min is {state_clip_min} and state_clip_max {state_clip_max}; expected both or none."
            )
        clip = None
        if state_clip_min is not None:
            clip = {
                "lstm_state_clip_min": state_clip_min,
                "lstm_state_clip_max": state_clip_max,
                "lstm_state_clip_nan": state_clip_nan,
            }
        inits = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(
            "lstm",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            (*inits, h2r_weight_initializer),
            dtype,
            projection_size,
            clip,
            **kwargs,
        )


class GRU(RNNLayer):
    """Layers of gated recurrent units. The gates of a weight lie in the order reset, update, new; the reset gate acts
    on what the state gives, with its bias, as in cuDNN.

    Parameters
    ----------
    hidden_size : int
        Units of a layer.
    num_layers : int
    layout : {"TNC", "NTC"}
        Axes of inputs and outputs: steps, batch, features. "TNC" spares two transpositions.
    dropout : float
        Share of each layer's outputs, but the last one's, that is dropped in training.
    bidirectional : bool
        Whether each layer reads the sequence from its end, too; the two outputs are joined.
    input_size : int
        Features of an input; 0 lets the first call find out.
    i2h_weight_initializer, h2h_weight_initializer : Initializer or str, optional
        Of the weights of input and state; None leaves them to ``initialize``.
    i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    dtype : NumPy type or str
    use_sequence_length : bool
        Whether calls give the number of steps of each sample.
    prefix : str, optional
        Start of the names; ``"gru0_"`` and so on by default.
    params : ParameterDict, optional
        Parameters to share with another layer.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.rnn.GRU(8, use_sequence_length=True)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((5, 2, 3)), sequence_length=mx.nd.array([5, 2]))[:, 1, 0].asnumpy()[2:]
    array([0., 0., 0.], dtype=float32)
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        dtype: Any = "float32",
        **kwargs: Unpack[BlockNames],
    ) -> None:
        inits = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(
            "gru", hidden_size, num_layers, layout, dropout, bidirectional, input_size, inits, dtype, **kwargs
        )
