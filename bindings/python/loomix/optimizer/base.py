# SPDX-License-Identifier: Apache-2.0
"""What all optimizers share: learning rates, weight decay, counts of updates, and 16-bit weights."""

from __future__ import annotations

import math
import os
import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._arguments import as_mapping, as_number, expect
from ..base import MXNetTypeError, MXNetValueError, suggest, unknown_arguments
from ..util import is_np_array

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypedDict

    from ..symbol import Symbol

    class CommonSettings(TypedDict, total=False):
        """What every optimizer takes by name, for type checkers."""

        rescale_grad: float
        param_idx2name: dict[Any, str] | None
        wd: float
        clip_gradient: float | None
        lr_scheduler: Any
        sym: Symbol | None
        begin_num_update: int
        multi_precision: bool
        param_dict: Any
        lr: float | None

    class Settings(CommonSettings, total=False):
        """The same with the learning rate, for optimizers that have no default of their own."""

        learning_rate: float | None


__all__ = ["Optimizer", "Test", "create", "register"]


class Optimizer:
    """Base of the optimizers.

    Parameters
    ----------
    rescale_grad : float
        Factor for every gradient, usually one over the batch size.
    param_idx2name : dict of int to str, optional
        Parameter names by index; weights are decayed, biases and betas are not, and this is known from the
        names.
    wd : float
        Weight decay.
    clip_gradient : float, optional
        Rescaled gradients are clipped to plus and minus this value.
    learning_rate : float, optional
        The rate; 0.01 if neither it nor a schedule is given.
    lr_scheduler : LRScheduler, optional
        A schedule for the rate; ``learning_rate``, if given, becomes its base rate.
    sym : Symbol, optional
        Takes ``__lr_mult__`` and ``__wd_mult__`` from the attributes of its arguments.
    begin_num_update : int
        Where the count of updates starts.
    multi_precision : bool
        Whether float16 weights are updated through a float32 copy kept in the state.
    param_dict : dict of int to Parameter, optional
        Gluon parameters with ``lr_mult`` and ``wd_mult``; they win over the other ways to give these.
    lr : float, optional
        ``learning_rate`` by another name, for all optimizers.

    Examples
    --------
    >>> import loomix as mx
    >>> sgd = mx.optimizer.create("sgd", learning_rate=0.1)
    >>> weight, grad = mx.nd.ones((2,)), mx.nd.ones((2,))
    >>> sgd.update(0, weight, grad, sgd.create_state(0, weight))
    >>> weight.asnumpy().tolist()  # doctest: +ELLIPSIS
    [0.8999..., 0.8999...]
    """

    opt_registry: ClassVar[dict] = {}

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: Any = None,
        wd: Any = 0.0,
        clip_gradient: Any = None,
        learning_rate: float | None = None,
        lr_scheduler: Any = None,
        sym: Symbol | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Any = None,
        lr: float | None = None,
        **unknown: Any,
    ) -> None:
        if unknown:
            raise unknown_arguments(self, unknown)
        if lr is not None:
            learning_rate = lr
        param_idx2name = {} if param_idx2name is None else param_idx2name
        if not isinstance(param_idx2name, dict):
            raise MXNetTypeError("[Optimizer] param_idx2name is not a dict; expected index to name.")
        self._check_numbers(wd=wd)
        if learning_rate is not None:
            self._check_numbers(learning_rate=learning_rate)
        as_number(type(self).__name__, "rescale_grad", rescale_grad)
        if clip_gradient is not None and clip_gradient != math.inf:
            as_number(type(self).__name__, "clip_gradient", clip_gradient)
        as_number(type(self).__name__, "begin_num_update", begin_num_update, least=0)
        self._check_schedule(lr_scheduler, learning_rate)
        if lr_scheduler is not None and learning_rate is not None and lr_scheduler.base_lr != learning_rate:
            warnings.warn(
                f"[Optimizer] learning_rate {learning_rate} replaces the schedule's base_lr "
                f"{lr_scheduler.base_lr}.",
                UserWarning,
                stacklevel=3,
            )
            lr_scheduler.base_lr = learning_rate
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        self.lr = 0.01 if lr_scheduler is None and learning_rate is None else learning_rate
        self.wd = wd
        self.lr_mult: dict[Any, Any] = {}
        self.wd_mult: dict[Any, Any] = {}
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self._all_index_update_counts: dict[int, dict[Any, int]] = {0: {}}  # by device number
        self._index_update_count = self._all_index_update_counts[0]
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.aggregate_num = 0
        self.idx2name = dict(param_idx2name)
        expect(sym is None or hasattr(sym, "attr_dict"), type(self).__name__, "sym", sym, "a Symbol")
        self.sym_info = (sym.attr_dict(), sym.list_arguments()) if sym is not None else ()
        wanted = "a dict of index to Parameter"
        self.param_dict = as_mapping(type(self).__name__, "param_dict", param_dict, wanted)
        self.allow_np_array = is_np_array()
        self.set_lr_mult({})
        self.set_wd_mult({})

    def _check_numbers(self, **values: Any) -> None:
        """Raises an error that names the setting unless each is a number from 0; a decay of averages is below 1."""
        for name, value in values.items():
            below = 1 if name in ("beta1", "beta2", "gamma1", "gamma2", "rho") else math.inf
            as_number(type(self).__name__, name, value, 0, below=below)

    def _check_schedule(self, lr_scheduler: Any, learning_rate: Any) -> None:
        if lr_scheduler is None:
            return
        who = type(self).__name__
        wanted = "an LRScheduler, such as mx.lr_scheduler.FactorScheduler(step=1000, factor=0.5)"
        right = callable(lr_scheduler) and not isinstance(lr_scheduler, type)
        expect(right, who, "lr_scheduler", lr_scheduler, wanted)
        if learning_rate is not None and not hasattr(lr_scheduler, "base_lr"):
            raise MXNetTypeError(
                f"[{who}] lr_scheduler is {lr_scheduler!r}, which has no base_lr, so learning_rate={learning_rate} "
                "has no effect; expected an LRScheduler, or no learning_rate."
            )

    @staticmethod
    def register(klass: type) -> Any:
        """Class decorator: makes :func:`create` know the class by its name in lower case.

        Examples
        --------
        >>> import loomix as mx
        >>> @mx.optimizer.register
        ... class Shrink(mx.optimizer.Optimizer):
        ...     def create_state(self, index, weight):
        ...         return None
        ...     def update(self, index, weight, grad, state):
        ...         weight *= 0.5
        >>> type(mx.optimizer.create("shrink")).__name__
        'Shrink'
        """
        name = klass.__name__.lower()
        if name in Optimizer.opt_registry:
            warnings.warn(
                f"[Optimizer.register] {name} is registered again; the new class wins.", stacklevel=2
            )
        Optimizer.opt_registry[name] = klass
        return klass

    @staticmethod
    def create_optimizer(name: str, **kwargs: Any) -> Optimizer:
        """An optimizer from its registered name (in any case) and its arguments; ``lr`` means ``learning_rate``.

        Raises
        ------
        ValueError
            When the name is not known.

        Examples
        --------
        >>> import loomix as mx
        >>> mx.optimizer.create("sgd", lr=0.1, momentum=0.9).lr
        0.1
        """
        expect(isinstance(name, str), "optimizer", "the name", name, "one such as 'sgd'")
        klass = Optimizer.opt_registry.get(name.lower())
        if klass is None:
            raise MXNetValueError(
                f"[optimizer] {name!r} is not a registered optimizer. {suggest(name, Optimizer.opt_registry)}"
            )
        if "lr" in kwargs:
            if "learning_rate" in kwargs:
                raise MXNetTypeError("[optimizer] lr and learning_rate are the same; give one of them.")
            kwargs["learning_rate"] = kwargs.pop("lr")
        return klass(**kwargs)

    def __repr__(self) -> str:
        parts = [
            f"learning_rate={self.lr:g}" if self.lr_scheduler is None else f"lr_scheduler={self.lr_scheduler}"
        ]
        parts += [
            f"{name}={value:g}"
            for name, value in vars(self).items()
            if name in ("wd", "momentum", "beta1", "beta2", "epsilon", "clip_gradient", "rescale_grad")
            and isinstance(value, (int, float))
            and (value or name == "momentum")
        ]
        return f"<{type(self).__name__}: {', '.join(parts)}; {self.num_update} updates>"

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["param_dict"]  # parameters are not part of a saved state
        return state

    def __setstate__(self, state: Any) -> None:
        self.__dict__ = state
        self.param_dict = {}

    @property
    def learning_rate(self) -> Any:
        """The rate now, before multipliers."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr: Any) -> None:
        """Sets the rate.

        Raises
        ------
        UserWarning
            When a schedule determines the rate.
        """
        if self.lr_scheduler is not None:
            raise UserWarning(
                "[set_learning_rate] a schedule determines the rate; change lr_scheduler.base_lr."
            )
        as_number("set_learning_rate", "lr", lr, 0)
        self.lr = lr

    def create_state(self, index: Any, weight: Any) -> Any:
        """The state that :meth:`update` needs for ``weight``: None, an NDArray or a tuple of them."""

    def create_state_multi_precision(self, index: Any, weight: Any) -> Any:
        """Like :meth:`create_state`; for a float16 weight under ``multi_precision`` with a float32 copy of
        it."""
        if self._keeps_master(weight):
            master = weight.astype(np.float32)
            return (master, self.create_state(index, master))
        if weight.dtype == np.float16:
            self._advise_multi_precision()
        return self.create_state(index, weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> Any:
        """Changes ``weight`` and ``state`` in place by ``grad``.

        Parameters
        ----------
        index : int
            Number (or key) of the parameter, for counts and multipliers.
        weight, grad : NDArray
            Arrays of the same shape.
        state
            What :meth:`create_state` returned.
        """
        raise NotImplementedError(f"[{type(self).__name__}] update is not implemented.")

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Like :meth:`update`, for a state from :meth:`create_state_multi_precision`."""
        if self._keeps_master(weight):
            master, inner = state
            self.update(index, master, grad.astype(np.float32), inner)
            weight[:] = master.astype(weight.dtype)
        else:
            self.update(index, weight, grad, state)

    def set_lr_scale(self, args_lrscale: Any) -> Any:
        """Removed from MXNet long ago; always raises."""
        raise DeprecationWarning("[set_lr_scale] was removed; use set_lr_mult.")

    def set_lr_mult(self, args_lr_mult: Any) -> None:
        """Sets factors of the rate by index or name; attributes ``__lr_mult__`` of the symbol count, too.

        >>> Optimizer(param_idx2name={0: "fc_weight"}).set_lr_mult({"fc_weight": 0.1})
        """
        given = self._check_multipliers("set_lr_mult", args_lr_mult)
        self.lr_mult = {**self._symbol_multipliers("__lr_mult__"), **given}

    def set_wd_mult(self, args_wd_mult: Any) -> None:
        """Sets factors of the decay by index or name. By default only names ending in weight and gamma
        decay."""
        names = self.idx2name.values()
        defaults = {name: 0.0 for name in names if not name.endswith(self._decayed_endings())}
        given = self._check_multipliers("set_wd_mult", args_wd_mult)
        self.wd_mult = {**defaults, **self._symbol_multipliers("__wd_mult__"), **given}

    @staticmethod
    def _check_multipliers(who: str, multipliers: Any) -> Mapping[Any, Any]:
        wanted = "a dict of index or name to factor"
        for name, factor in as_mapping(who, "the argument", multipliers, wanted).items():
            as_number(who, f"the factor of {name!r}", factor)
        return multipliers or {}

    @staticmethod
    def _decayed_endings() -> tuple[str, ...]:
        return ("_weight", "_gamma")

    def _symbol_multipliers(self, key: Any) -> dict[Any, Any]:
        if not self.sym_info:
            return {}
        attributes, names = self.sym_info
        return {name: float(attributes[name][key]) for name in names if key in attributes.get(name, {})}

    def _set_current_context(self, device_id: int) -> None:
        """Each device counts its updates on its own."""
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    # Of which a step consists of operators that change weights and states in place: a GPU can do it as one piece.
    # Classes derived from these are not meant: what they do to weights is not known.
    _in_place_classes: ClassVar[set[type]] = set()

    def _updates_are_operators(self, dtypes: Iterable[Any]) -> bool:
        """Whether a step of weights of these types is such."""
        single = type(self) in self._in_place_classes
        return single and (
            self._masters_in_place or not any(self.multi_precision and t == np.float16 for t in dtypes)
        )

    _masters_in_place: ClassVar[bool] = False  # of short weights: by the same operators

    def _group_size(self, on_host: bool) -> int:
        """How many parameters one call may update; on a GPU as many as operators change in place."""
        chosen = "MXNET_OPTIMIZER_AGGREGATION_SIZE" in os.environ
        return self.aggregate_num if on_host or chosen else max(self.aggregate_num, 64)

    # What updates change beside states and counts.
    _progress_names: ClassVar[tuple[str, ...]] = ()

    def _progress(self) -> dict[str, Any]:
        """How far this optimizer has come: with the states, all that another one needs to go on."""
        own = {name: getattr(self, name) for name in self._progress_names}
        return {"num_update": self.num_update, "counts": self._all_index_update_counts, "own": own}

    def _set_progress(self, progress: dict[str, Any]) -> None:
        """Goes on from where another one was; see :meth:`_progress`.

        Raises
        ------
        ValueError
            When it is no such dict.
        """
        number: Any = progress.get("num_update")
        counts: Any = progress.get("counts")
        own: Any = progress.get("own")
        right = isinstance(number, int) and isinstance(counts, dict) and isinstance(own, dict)
        if not right or not all(isinstance(part, dict) for part in counts.values()):
            raise MXNetValueError(
                "[optimizer states] the file has no counts of updates behind its states; is it cut off?"
            )
        self.num_update, self._all_index_update_counts = number, counts
        self._index_update_count = self._all_index_update_counts.setdefault(0, {})
        for name in self._progress_names:
            if name in own:
                setattr(self, name, own[name])

    def _update_count(self, index: Any) -> None:
        for one in index if isinstance(index, (list, tuple)) else (index,):
            count = self._index_update_count.get(one, self.begin_num_update) + 1
            self._index_update_count[one] = count
            self.num_update = max(count, self.num_update)

    def _multiplier(self, index: Any, table: Any, attribute: Any) -> Any:
        if index in self.param_dict:
            return getattr(self.param_dict[index], attribute)
        if index in table:
            return table[index]
        return table.get(self.idx2name[index], 1.0) if index in self.idx2name else 1.0

    def _get_lrs(self, indices: Any) -> list[Any]:
        base = self.learning_rate
        return [base * self._multiplier(index, self.lr_mult, "lr_mult") for index in indices]

    def _get_lr(self, index: Any) -> Any:
        return self.learning_rate * self._multiplier(index, self.lr_mult, "lr_mult")

    def _get_wds(self, indices: Any) -> list[Any]:
        return [self.wd * self._multiplier(index, self.wd_mult, "wd_mult") for index in indices]

    def _get_wd(self, index: Any) -> Any:
        return self.wd * self._multiplier(index, self.wd_mult, "wd_mult")

    def _begin(self, index: Any) -> Any:
        """Counts the update; returns the rate and the decay for it."""
        self._update_count(index)
        return self._get_lr(index), self._get_wd(index)

    def _scaling(self) -> dict[Any, Any]:
        """Attributes that every update operator takes."""
        if self.clip_gradient:
            return {"rescale_grad": self.rescale_grad, "clip_gradient": self.clip_gradient}
        return {"rescale_grad": self.rescale_grad}

    def _formula_scaling(self) -> dict[str, Any]:
        """The same where MXNet computes with array functions: there a limit of 0 clips, too."""
        limit = {} if self.clip_gradient is None else {"clip_gradient": self.clip_gradient}
        return {"rescale_grad": self.rescale_grad, **limit}

    def _scaled(self, grad: Any) -> Any:
        """The gradient, rescaled and clipped, for rules written with array functions."""
        grad = grad * self.rescale_grad
        return grad if self.clip_gradient is None else grad.clip(-self.clip_gradient, self.clip_gradient)

    def _keeps_master(self, weight: Any) -> Any:
        return self.multi_precision and weight.dtype == np.float16

    def _advise_multi_precision(self) -> None:
        warnings.warn(
            f"[{type(self).__name__}] sums in float16 lose precision; multi_precision=True keeps float32 "
            f"copies.",
            stacklevel=4,
        )


def updates_in_place(klass: Any) -> Any:
    """Class decorator for optimizers of which each step consists of update operators alone."""
    Optimizer._in_place_classes.add(klass)
    return klass


register = Optimizer.register
create = Optimizer.create_optimizer


def aggregation_size(default: Any) -> int:
    """How many parameters one call may update; ``MXNET_OPTIMIZER_AGGREGATION_SIZE`` overrides the default."""
    return int(os.environ.get("MXNET_OPTIMIZER_AGGREGATION_SIZE", default))


def zeros_like(weight: Any, stype: str | None = None) -> Any:
    """Zeros of the weight's shape, device and dtype, and of its storage unless another one is given."""
    from ..ndarray import zeros

    stype = stype or weight.stype
    if stype == "default":
        return zeros(weight.shape, weight.context, dtype=weight.dtype)
    return zeros(weight.shape, weight.context, dtype=weight.dtype, stype=stype)


@register
class Test(Optimizer):
    """Adds the rescaled gradient to the weight and keeps the weight as its state; for tests of update
    paths.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.optimizer.Test().create_state(0, mx.nd.ones(2)).asnumpy()
    array([0., 0.], dtype=float32)
    """

    def create_state(self, index: Any, weight: Any) -> Any:
        return zeros_like(weight, "default")

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        weight[:] += grad * self.rescale_grad
        state[:] = weight
