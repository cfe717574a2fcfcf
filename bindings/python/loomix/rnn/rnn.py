# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of networks with recurrent cells, whose weights are saved gate by gate."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _star
from ..model import load_checkpoint, save_checkpoint
from .base_cell import BaseRNNCell

if TYPE_CHECKING:
    from ..ndarray import NDArray
    from ..symbol import Symbol

__all__ = [
    "BaseRNNCell",
    "do_rnn_checkpoint",
    "load_checkpoint",
    "load_rnn_checkpoint",
    "rnn_unroll",
    "save_checkpoint",
    "save_rnn_checkpoint",
]


def rnn_unroll(
    cell: BaseRNNCell,
    length: int,
    inputs: Any = None,
    begin_state: Sequence[Symbol] | None = None,
    input_prefix: str = "",
    layout: str = "NTC",
) -> tuple[Any, Any]:
    """Old name of ``cell.unroll``; without inputs it makes a variable ``input_prefix + "t0_data"`` for each step.

    >>> import loomix as mx
    >>> outputs, states = rnn_unroll(mx.rnn.RNNCell(4), 2, input_prefix="x_")
    >>> outputs[0].list_arguments()[0]
    'x_t0_data'
    """
    from .. import symbol

    logging.getLogger(__name__).warning("rnn_unroll is an old name; call cell.unroll instead.")
    if inputs is None:
        inputs = [symbol.Variable(f"{input_prefix}t{i}_data") for i in range(length)]
    return cell.unroll(length, inputs, begin_state, layout)


def _list(cells: BaseRNNCell | Sequence[BaseRNNCell]) -> Sequence[BaseRNNCell]:
    return [cells] if isinstance(cells, BaseRNNCell) else cells


def save_rnn_checkpoint(
    cells: BaseRNNCell | Sequence[BaseRNNCell],
    prefix: str,
    epoch: int,
    symbol: Symbol | None,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
) -> None:
    """Saves a network like ``model.save_checkpoint``, with the weights of ``cells`` unpacked.

    Parameters
    ----------
    cells : BaseRNNCell or list of them
        The cells that the network was made with.
    prefix : str
        Start of the file names.
    epoch : int
        Number of the checkpoint.
    symbol : Symbol or None
        The network; None writes the parameters only.
    arg_params, aux_params : dict of str to NDArray
        Parameters and auxiliary states.

    Examples
    --------
    >>> save_rnn_checkpoint(cell, "lm", 3, net, *module.get_params())  # doctest: +SKIP
    """
    args = dict(arg_params)
    for cell in _list(cells):
        args = cell.unpack_weights(args)
    save_checkpoint(prefix, epoch, symbol, args, aux_params)


def load_rnn_checkpoint(
    cells: BaseRNNCell | Sequence[BaseRNNCell], prefix: str, epoch: int
) -> tuple[Symbol, dict[str, NDArray], Mapping[str, NDArray]]:
    """Symbol, parameters and auxiliary states that :func:`save_rnn_checkpoint` wrote.

    A checkpoint of fused cells loads into unfused ones, and the other way round.

    >>> net, arg_params, aux_params = load_rnn_checkpoint(cell, "lm", 3)  # doctest: +SKIP
    """
    net, args, aux = load_checkpoint(prefix, epoch)
    for cell in _list(cells):
        args = cell.pack_weights(args)
    return net, args, aux


def do_rnn_checkpoint(
    cells: BaseRNNCell | Sequence[BaseRNNCell], prefix: str, period: int = 1
) -> Callable[[int, Symbol, Mapping[str, NDArray], Mapping[str, NDArray]], None]:
    """An epoch-end callback for ``fit`` that saves a checkpoint of ``cells`` every ``period`` epochs.

    >>> callback = do_rnn_checkpoint([], "lm", period=5)
    """
    period = max(1, int(period))

    def callback(iter_no: int, sym: Symbol, arg: Mapping[str, NDArray], aux: Mapping[str, NDArray]) -> None:
        if (iter_no + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return callback


_star.complete(globals(), "warnings")
