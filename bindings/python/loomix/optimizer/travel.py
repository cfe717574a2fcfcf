# SPDX-License-Identifier: Apache-2.0
"""Optimizers as data: what a server needs to do as an optimizer of this process would."""

from ..base import MXNetNotImplementedError, MXNetValueError
from ..lr_scheduler import CosineScheduler, FactorScheduler, MultiFactorScheduler, PolyScheduler
from .adaptive import Adam, Ftrl, RMSProp
from .base import Test
from .sgd import NAG, SGD, ccSGD

__all__ = ["describe"]

# Class -> name of the rule, and the attributes that are its settings.
_RULES = {
    Adam: ("adam", ("beta1", "beta2", "epsilon")),
    Ftrl: ("ftrl", ("lamda1", "beta")),
    NAG: ("nag", ("momentum",)),
    RMSProp: ("rmsprop", ("gamma1", "epsilon")),
    SGD: ("sgd", ("momentum",)),
    ccSGD: ("sgd", ("momentum",)),
    Test: ("sgd", ()),
}

_DECAY = {"base_lr": "base_lr_orig", "final_lr": "final_lr", "max_update": "max_update"}
_SCHEDULES = {
    CosineScheduler: ("cosine", _DECAY),
    FactorScheduler: ("factor", {n: n for n in ("base_lr", "step", "factor", "stop_factor_lr")}),
    MultiFactorScheduler: ("multifactor", {"base_lr": "base_lr", "steps": "step", "factor": "factor"}),
    PolyScheduler: ("poly", {**_DECAY, "pwr": "power"}),
}


def _names(classes):
    return ", ".join(klass.__name__ for klass in classes)


def _schedule(schedule):
    if type(schedule) not in _SCHEDULES:
        raise MXNetNotImplementedError(
            f"[set_optimizer] the schedule is a {type(schedule).__name__}, which is code and cannot travel to "
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


def _multipliers(optimizer):
    """Factors by key, for keys that are indices and for keys that are names."""
    settings = {}
    for what, table in (("lr_mult", optimizer.lr_mult), ("wd_mult", optimizer.wd_mult)):
        factors = {index: table[name] for index, name in optimizer.idx2name.items() if name in table}
        factors.update(table)
        factors.update((index, getattr(param, what)) for index, param in optimizer.param_dict.items())
        settings.update((f"{what}.{key}", factor) for key, factor in factors.items() if factor != 1)
    return settings


def describe(optimizer):
    """Name and settings of an optimizer, as texts.

    Parameters
    ----------
    optimizer : Optimizer
        SGD, NAG, Adam, RMSProp (not centered), Ftrl or Test, with one of MXNet's schedules or none. A class
        derived from these is code, which does not travel.

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
    settings = {attribute: getattr(optimizer, attribute) for attribute in attributes}
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
    settings.update(_multipliers(optimizer))
    texts = {
        key: ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        for key, value in settings.items()
    }
    return name, texts
