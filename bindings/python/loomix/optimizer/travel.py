# SPDX-License-Identifier: Apache-2.0
"""Optimizers as data: what a server needs to do as an optimizer of this process would."""

from __future__ import annotations

import base64
import pickle
from typing import TYPE_CHECKING, Any

from ..base import MXNetNotImplementedError, MXNetTypeError, MXNetValueError
from ..lr_scheduler import CosineScheduler, FactorScheduler, MultiFactorScheduler, PolyScheduler
from .adaptive import FTML, LAMB, AdaDelta, AdaGrad, Adam, Adamax, Ftrl, RMSProp
from .base import Test
from .sgd import DCASGD, LARS, NAG, SGD, Signum, ccSGD

if TYPE_CHECKING:
    from ..optimizer import Optimizer

__all__ = ["ServerRule", "describe", "pickled", "short_text"]

# Class -> name of the rule, and the attributes that are its settings; after "=" where they are kept by another name.
_RULES = {
    AdaDelta: ("adadelta", ("rho", "epsilon")),
    AdaGrad: ("adagrad", ("eps=float_stable_eps",)),
    Adam: ("adam", ("beta1", "beta2", "epsilon", "lazy_update")),
    Adamax: ("adamax", ("beta1", "beta2")),
    DCASGD: ("dcasgd", ("momentum", "lamda")),
    FTML: ("ftml", ("beta1", "beta2", "epsilon")),
    Ftrl: ("ftrl", ("lamda1", "beta")),
    LAMB: ("lamb", ("beta1", "beta2", "epsilon", "lower_bound", "upper_bound", "bias_correction")),
    LARS: ("lars", ("momentum", "eta", "eps", "momentum_correction")),
    NAG: ("nag", ("momentum",)),
    RMSProp: ("rmsprop", ("gamma1", "epsilon")),
    SGD: ("sgd", ("momentum", "lazy_update")),
    ccSGD: ("sgd", ("momentum", "lazy_update")),
    Signum: ("signum", ("momentum", "wd_lh")),
    Test: ("sgd", ()),
}

_DECAY = {"base_lr": "base_lr_orig", "final_lr": "final_lr", "max_update": "max_update"}
_SCHEDULES = {
    CosineScheduler: ("cosine", _DECAY),
    FactorScheduler: ("factor", {n: n for n in ("base_lr", "step", "factor", "stop_factor_lr")}),
    MultiFactorScheduler: ("multifactor", {"base_lr": "base_lr", "steps": "step", "factor": "factor"}),
    PolyScheduler: ("poly", {**_DECAY, "pwr": "power"}),
}


def _names(classes: Any) -> str:
    return ", ".join(klass.__name__ for klass in classes)


def _schedule(schedule: Any) -> dict[str, Any]:
    if type(schedule) not in _SCHEDULES:
        raise MXNetNotImplementedError(
            f"[set_optimizer] the schedule is of type {type(schedule).__name__}, which is code and cannot travel to "
            f"servers; those that can are {_names(_SCHEDULES)}."
        )
    if getattr(schedule, "count", 0):
        raise MXNetValueError(
            "[set_optimizer] the schedule was used already; give servers a new one (and begin_num_update to go "
            "on from an update)."
        )
    name, attributes = _SCHEDULES[type(schedule)]
    settings = {setting: getattr(schedule, attribute) for setting, attribute in attributes.items()}
    settings.update(
        lr_scheduler=name,
        warmup_steps=schedule.warmup_steps,
        warmup_begin_lr=schedule.warmup_begin_lr,
        warmup_mode=schedule.warmup_mode,
    )
    return settings


def _multipliers(optimizer: Optimizer) -> dict[str, Any]:
    """Factors by key, for keys that are indices and for keys that are names."""
    settings: dict[str, Any] = {}
    for what, table in (("lr_mult", optimizer.lr_mult), ("wd_mult", optimizer.wd_mult)):
        factors = {index: table[name] for index, name in optimizer.idx2name.items() if name in table}
        factors.update(table)
        factors.update((index, getattr(param, what)) for index, param in optimizer.param_dict.items())
        settings.update((f"{what}.{key}", factor) for key, factor in factors.items() if factor != 1)
    return settings


def _plain_rates(optimizer: Any) -> dict[str, Any]:
    """Keys that LARS spares its factor of the rate, for keys that are indices and for keys that are names."""
    plain = {index: name for index, name in optimizer.idx2name.items() if optimizer._is_plain(index)}
    return {f"plain_rate.{key}": 1 for pair in plain.items() for key in pair}


def describe(optimizer: Optimizer) -> Any:
    """Name and settings of an optimizer, as texts.

    Parameters
    ----------
    optimizer : Optimizer
        SGD, NAG, Adam, RMSProp (not centered), AdaGrad, AdaDelta, Adamax, DCASGD, FTML, Ftrl, LARS, LAMB, Signum or
        Test, with one of MXNet's schedules or none.
        A class derived from these is code, which does not travel.

    Returns
    -------
    tuple of (str, dict of str to str)

    Raises
    ------
    NotImplementedError
        For what cannot travel.

    Examples
    --------
    >>> import loomix as mx
    >>> name, settings = describe(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
    >>> name, settings["learning_rate"], settings["momentum"]
    ('sgd', '0.5', '0.9')
    """
    kind = type(optimizer)
    if kind not in _RULES:
        raise MXNetNotImplementedError(
            f"[set_optimizer] {kind.__name__} is code that cannot travel to servers, which know "
            f"{_names(_RULES)}; use one of these, or update on the workers (MXNET_UPDATE_ON_KVSTORE=0)."
        )
    if getattr(optimizer, "centered", False) or getattr(optimizer, "clip_weights", None):
        raise MXNetNotImplementedError(
            "[set_optimizer] servers know RMSProp without centered and clip_weights only."
        )
    name, attributes = _RULES[kind]
    pairs = [attribute.partition("=") for attribute in attributes]
    settings = {setting: getattr(optimizer, kept or setting) for setting, _, kept in pairs}
    settings = {setting: value for setting, value in settings.items() if value is not None}
    settings.update(
        wd=optimizer.wd, rescale_grad=optimizer.rescale_grad, begin_num_update=optimizer.begin_num_update
    )
    if kind is Test:  # adds the gradient
        settings.update(rescale_grad=-optimizer.rescale_grad, wd=0)
    if optimizer.clip_gradient:
        settings["clip_gradient"] = optimizer.clip_gradient
    if optimizer.lr_scheduler is not None:
        settings.update(_schedule(optimizer.lr_scheduler))
    else:
        settings["learning_rate"] = 1 if kind is Test else optimizer.lr
    if optimizer.multi_precision:
        settings["multi_precision"] = True
    if kind is LARS:
        settings.update(_plain_rates(optimizer))
    settings.update(_multipliers(optimizer))
    texts = {
        key: ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        for key, value in settings.items()
    }
    return name, texts


def pickled(optimizer: Optimizer) -> Any:
    """An optimizer as code: name and settings for servers that may run pickles.

    Its class must be in a module that servers can import, too; where ``cloudpickle`` is installed on both
    sides, it may be in the main program.

    Raises
    ------
    NotImplementedError
        For what cannot be pickled, and classes of the main program.
    """
    try:
        import cloudpickle as writer
    except ImportError:
        writer = pickle
        if type(optimizer).__module__ == "__main__":
            raise MXNetNotImplementedError(
                f"[set_optimizer] {type(optimizer).__name__} is defined in the main program, which servers do "
                f"not import; put it into a module of its own, or install cloudpickle on all machines."
            ) from None
    try:
        data = writer.dumps(optimizer)
    except Exception as error:
        raise MXNetNotImplementedError(
            f"[set_optimizer] {type(optimizer).__name__} cannot be pickled: {error}"
        ) from error
    return "code", {"code": base64.b64encode(data).decode()}


def short_text(error: Any, limit: Any = 500) -> str:
    """Type and text of an exception in one printable line.

    Examples
    --------
    >>> short_text(ValueError("two\\nlines"))
    'ValueError: two\\\\nlines'
    """
    try:
        text = str(error)
    except Exception as another:
        text = f"(its text cannot be had: {type(another).__name__})"
    text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    text = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text[:limit])
    return text if len(text) < limit else f"{text[: limit - 4]} ..."


class ServerRule:
    """A pickled optimizer at a server that may run it.

    The server keeps the states and counts the updates, so both are copied to other servers and survive it;
    what an optimizer notes elsewhere in itself does not.

    Parameters
    ----------
    code : str
        What :func:`pickled` wrote.
    """

    def __init__(self, code: Any) -> None:
        self.optimizer = pickle.loads(base64.b64decode(code))
        self.shapes: dict[Any, Any] = {}  # key -> how its states are nested

    def __call__(self, key: Any, weight: Any, gradient: Any, arrays: Any, updates: int) -> Any:
        """Changes a weight; ``arrays`` are the states, empty at first. Returns them."""
        optimizer = self.optimizer
        begin = optimizer.begin_num_update + updates - 1
        optimizer._index_update_count[key] = begin
        optimizer.num_update = max(optimizer.num_update, begin)
        state = optimizer.create_state(key, weight) if key not in self.shapes or not arrays else None
        if key not in self.shapes:
            self.shapes[key] = _outline(state)
        if not arrays:
            arrays = _arrays(state)
            for array in arrays:
                if array.shape != weight.shape or array.dtype != weight.dtype or array.stype != "default":
                    raise MXNetTypeError(
                        f"[{type(optimizer).__name__}] the state of key {key!r} is a {array.dtype} array of shape "
                        f"{array.shape}; on servers states are like the weight, {weight.dtype} and {weight.shape}."
                    )
        optimizer.update(key, weight, gradient, _nested(self.shapes[key], iter(arrays)))
        return arrays


def _arrays(state: Any) -> list[Any]:
    if state is None:
        return []
    if isinstance(state, (list, tuple)):
        return [array for part in state for array in _arrays(part)]
    return [state]


def _outline(state: Any) -> tuple[Any, ...] | bool | None:
    """A state with True for each array."""
    if isinstance(state, (list, tuple)):
        return tuple(_outline(part) for part in state)
    return None if state is None else True


def _nested(outline: Any, arrays: Any) -> Any:
    """A state from its outline and its arrays."""
    if isinstance(outline, tuple):
        return tuple(_nested(part, arrays) for part in outline)
    return None if outline is None else next(arrays)
