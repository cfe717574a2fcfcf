# SPDX-License-Identifier: Apache-2.0
"""The updater: an optimizer with a state for each parameter, callable as ``updater(index, grad, weight)``."""

from __future__ import annotations

import io
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .. import _core
from .._arguments import expect
from ..base import MXNetTypeError, MXNetValueError
from ..ndarray import NDArray
from .base import Optimizer
from .states import SavedArray, dump_states, load_states

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Updater", "get_updater"]


class Updater:
    """Applies an optimizer and keeps the states.

    Parameters
    ----------
    optimizer : Optimizer
        The rule. One with ``aggregate_num`` > 0 gets up to that many parameters of a kind in one call.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([1, 1]), weight)
    >>> weight.asnumpy()
    array([0.5, 1.5], dtype=float32)
    """

    def __init__(self, optimizer: Optimizer) -> None:
        if not hasattr(optimizer, "aggregate_num"):
            raise MXNetTypeError(
                f"[Updater] optimizer is of type {type(optimizer).__name__}; expected an Optimizer such as "
                "mx.optimizer.create('sgd')."
            )
        self.optimizer = optimizer
        self.states: dict[Any, Any] = {}
        self.states_synced: dict[Any, Any] = {}
        self.aggregate_updates = optimizer.aggregate_num > 0
        # Of a key, which part of the weight this rank has (a parallel.splits.Cut) and the whole shape; None: all of it.
        self.part_of: Callable[[Any], tuple[Any, Any] | None] = lambda key: None
        self._calls: dict[Any, _core.UpdateCalls] = {}  # by device
        # Of gradients on a GPU, for a loss scale; 0 there skips the update.
        self._factor: NDArray | None = None

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        """Updates one weight in place, or lists of them.

        Parameters
        ----------
        index : int, str or list of them
            Keys of the states.
        grad, weight : NDArray or list of NDArray
            Gradients and weights on one device.
        """
        if not isinstance(index, (list, tuple)):
            index, grad, weight = [index], [grad], [weight]
        if not index:
            return
        optimizer, states = self.optimizer, self.states
        expect(
            isinstance(weight[0], NDArray), "Updater", f"the weight of {index[0]!r}", weight[0], "an NDArray"
        )
        optimizer._set_current_context(weight[0].context.device_id)
        keys = [key.decode() if isinstance(key, bytes) else key for key in index]
        for key, w in zip(keys, weight):
            if key not in states:
                states[key] = optimizer.create_state_multi_precision(key, w)
                self.states_synced[key] = True
            elif not self.states_synced[key]:
                states[key] = self.sync_state_context(states[key], w.context)
                self.states_synced[key] = True
        with self._as_one_piece(weight[0].context):
            if self.aggregate_updates:
                self._update_groups(keys, weight, grad)
            else:
                for key, w, g in zip(keys, weight, grad):
                    optimizer.update_multi_precision(key, w, g, states[key])

    @contextmanager
    def _as_one_piece(self, context: Any) -> Iterator[None]:
        """On a GPU, what is called in this scope goes there as one piece: see symbol/executor/update_calls.h."""
        if context.device_type != "gpu" or type(self.optimizer) not in Optimizer._in_place_classes:
            yield
            return
        calls = self._calls.get(context)
        if calls is None:
            calls = self._calls[context] = _core.UpdateCalls()
        calls.begin(self._factor)
        try:
            yield
        finally:
            calls.end()

    def _update_groups(self, keys: Any, weights: Any, grads: Any) -> None:
        """Groups of one dtype on one device, at most ``aggregate_num`` long, in one call each."""
        groups: dict[Any, list[Any]] = {}
        for item in zip(keys, weights, grads):
            groups.setdefault((item[1].dtype, item[1].context), []).append(item)
        for (_, context), items in groups.items():
            size = self.optimizer._group_size(context.device_type != "gpu")
            for start in range(0, len(items), size):
                key, weight, grad = (list(part) for part in zip(*items[start : start + size]))
                self.optimizer.update_multi_precision(key, weight, grad, [self.states[k] for k in key])

    def sync_state_context(self, state: Any, context: Any) -> Any:
        """The state with all its arrays on ``context``."""
        if isinstance(state, (tuple, list)):
            return type(state)(self.sync_state_context(part, context) for part in state)
        return state.as_in_context(context) if hasattr(state, "as_in_context") else state

    def set_states(self, states: Any) -> None:
        """Takes over the bytes that :meth:`get_states` (or MXNet's) returned.

        Raises
        ------
        ValueError
            When the bytes are damaged, or name anything but arrays, optimizers and schedules.
        """
        self.states, optimizer, progress = load_states(states, self._own)
        if optimizer is not None:
            self.optimizer = optimizer
            self.aggregate_updates = optimizer.aggregate_num > 0
        elif progress is not None:
            self.optimizer._set_progress(progress)
        self.states_synced = dict.fromkeys(self.states, False)

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """All states and counts of updates as bytes that MXNet 1.9.1 reads, too; with ``dump_optimizer`` the
        optimizer's settings follow. Those of weights that are split over ranks are whole; all ranks call it."""
        file = io.BytesIO()
        self.write_states(file, dump_optimizer)
        return file.getvalue()

    def write_states(self, file: Any, dump_optimizer: bool = False, is_kept: bool = True) -> None:
        """Writes what :meth:`get_states` gives to a file."""
        states = {key: self._whole(key, state) for key, state in self.states.items()}
        dump_states(file, states, self.optimizer, dump_optimizer, is_kept)

    def _whole(self, key: Any, state: Any) -> Any:
        part = self.part_of(key)
        if part is None:
            return state
        if isinstance(state, (tuple, list)):
            return type(state)(self._whole(key, one) for one in state)
        cut, shape = part
        if not self._is_cut(state, shape, cut.own_shape(shape)[cut.axis], cut):
            return state
        whole = (*state.shape[: cut.axis], shape[cut.axis], *state.shape[cut.axis + 1 :])
        return cut.of_whole(state, whole)

    def _own(self, key: Any, saved: SavedArray) -> Any:
        """What is saved of a state, or the part of it that goes with the own part of the weight."""
        part = self.part_of(key)
        if part is None:
            return saved.array()
        cut, shape = part
        size = cut.own_shape(shape)[cut.axis]
        state = saved.part(cut.axis, shape[cut.axis], slice(begin := cut.begin(shape), begin + size))
        if self._is_cut(state, shape, shape[cut.axis], cut):
            return cut.part(state)  # of a type that NumPy has not
        if self._is_cut(state, shape, size, cut):
            return state
        if isinstance(state, NDArray) and state.shape[cut.axis : cut.axis + 1] not in ((), (1,)):
            raise MXNetValueError(
                f"[optimizer states] the state of parameter {key!r} has shape {state.shape}, and the parameter, which "
                f"is split over ranks, has {tuple(shape)}."
            )
        return state

    @staticmethod
    def _is_cut(state: Any, shape: Any, size: int, cut: Any) -> bool:
        """Whether an array has so many elements along the axis that is cut, as weights have."""
        return isinstance(state, NDArray) and len(state.shape) == len(shape) and state.shape[cut.axis] == size


def get_updater(optimizer: Optimizer) -> Any:
    """An :class:`Updater` for the optimizer.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([1, 1]), weight)
    >>> weight.asnumpy()
    array([0.5, 1.5], dtype=float32)
    """
    return Updater(optimizer)
