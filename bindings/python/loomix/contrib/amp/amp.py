# SPDX-License-Identifier: Apache-2.0
"""What users call: :func:`init` for training, ``convert_*`` for networks that are trained."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ... import _core
from ...base import MXNetError, MXNetTypeError, MXNetValueError
from ...context import cpu
from ...gluon import HybridBlock, SymbolBlock, Trainer
from ...ndarray import NDArray
from ...optimizer import Optimizer
from ...symbol import Symbol
from . import lists
from .loss_scaler import LossScaler

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...context import Context

    Conditions = Sequence[tuple[str, str, Sequence[str]]]

__all__ = [
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "scale_loss",
    "unscale",
]

_TYPES = ("float16", "bfloat16")


def _type_name(who: str, target_dtype: Any) -> str:
    kind: Any = target_dtype
    if not isinstance(target_dtype, str):
        try:
            dtype = np.dtype(target_dtype)
        except TypeError:
            dtype = np.dtype(object)
        kind = "bfloat16" if dtype.names == ("bfloat16",) else dtype.name
    if kind not in _TYPES:
        raise MXNetValueError(f"[{who}] target_dtype is {target_dtype!r}; expected 'float16' or 'bfloat16'.")
    return str(kind)


# ---- rules ----


def _canonical(who: str, argument: str, names: Any) -> list[str]:
    """The operators' own names, for names or aliases."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise MXNetTypeError(f"[{who}] {argument} is {names!r}; expected a list of operators' names.")
    found = []
    for name in names:
        try:
            found.append(_core.operator_info(name)["name"])
        except KeyError as error:
            raise MXNetValueError(f"[{who}] {argument}: {error.args[0]}") from error
    return found


def _rules(
    who: str,
    target_dtype: str,
    low: Sequence[str] | None,
    full: Sequence[str] | None,
    conditional: Conditions | None,
) -> _core.PrecisionRules:
    """The rules of the lists, in whose place what the user gives comes."""
    given_low = None if low is None else _canonical(who, "the list for the target type", low)
    given_full = None if full is None else _canonical(who, "fp32_ops", full)
    both = sorted(set(given_low or ()) & set(given_full or ()))
    if both:
        raise MXNetValueError(
            f"[{who}] {', '.join(both)}: for the target type and for float32; expected one of the two."
        )
    own = {*(given_low or ()), *(given_full or ())}
    low_ops = given_low if given_low is not None else [name for name in lists.LOW if name not in own]
    full_ops = given_full if given_full is not None else [name for name in lists.FULL if name not in own]
    widest = [name for name in lists.WIDEST if name not in own]
    conditions = lists.CONDITIONAL_FULL
    if conditional is not None:
        try:
            conditions = [
                (_canonical(who, "conditional_fp32_ops", [name])[0], key, [str(value) for value in values])
                for name, key, values in conditional
            ]
        except (TypeError, ValueError) as error:
            if isinstance(error, (MXNetTypeError, MXNetValueError)):
                raise
            raise MXNetTypeError(
                f"[{who}] conditional_fp32_ops is {conditional!r}; expected a list of (operator, attribute, "
                "[values])."
            ) from error
    return _core.PrecisionRules(target_dtype, low_ops, full_ops, widest, conditions)


_amp_initialized: str | None = None  # the short type; libraries look here, too


def init(
    target_dtype: Any = "float16",
    target_precision_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    fp32_ops: Sequence[str] | None = None,
) -> None:
    """Makes the operators of ``mx.nd`` and ``mx.sym`` cast their inputs, so that networks compute in mixed precision.

    Call it once, before networks are made: what is hybridized or composed before stays as it is. Parameters and their
    gradients stay float32.

    Parameters
    ----------
    target_dtype : {'float16', 'bfloat16'} or dtype
        The short type.
    target_precision_ops : list of str, optional
        Operators that run in it, in place of :func:`list_lp16_ops`.
    conditional_fp32_ops : list of (str, str, list of str), optional
        Operator, attribute and the values with which it runs in float32, in place of
        :func:`list_conditional_fp32_ops`.
    fp32_ops : list of str, optional
        Operators that run in float32, in place of :func:`list_fp32_ops`.

    Raises
    ------
    ValueError
        For other types, for names that are no operators, and when it was called with another type before.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.contrib.amp.init("bfloat16")  # doctest: +SKIP
    >>> mx.nd.dot(mx.nd.ones((2, 3)), mx.nd.ones((3, 2))).dtype  # doctest: +SKIP
    """
    global _amp_initialized
    name = _type_name("amp.init", target_dtype)
    if _amp_initialized is not None:
        if _amp_initialized != name:
            raise MXNetValueError(
                f"[amp.init] target_dtype is '{name}', but it was '{_amp_initialized}' in the first call; expected the "
                "same: what was made since then has its casts."
            )
        return
    _core.use_precision_rules(_rules("amp.init", name, target_precision_ops, fp32_ops, conditional_fp32_ops))
    _amp_initialized = name


# ---- scaling ----


def init_trainer(optimizer_or_trainer: Trainer | Optimizer) -> None:
    """Gives a trainer, or a module's optimizer, a factor for losses; steps whose gradients overflow are skipped.

    Parameters
    ----------
    optimizer_or_trainer : Trainer or Optimizer
        One that updates parameters here, not in a store.

    Raises
    ------
    TypeError
        For other objects.
    MXNetError
        For a trainer with ``update_on_kvstore=True``: the store would take the gradients before they are looked at.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.nn.Dense(1)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    >>> mx.contrib.amp.init_trainer(trainer)
    >>> x = mx.nd.ones((1, 3))
    >>> with mx.autograd.record():
    ...     loss = net(x)
    ...     with mx.contrib.amp.scale_loss(loss, trainer) as scaled:
    ...         mx.autograd.backward(scaled)
    >>> mx.contrib.amp.unscale(trainer)  # the gradients are those of the loss now
    >>> net.weight.grad().asnumpy()
    array([[1., 1., 1.]], dtype=float32)
    """
    owner: Any = optimizer_or_trainer
    if isinstance(owner, Trainer):
        owner._use_loss_scaler(LossScaler())
    elif isinstance(owner, Optimizer):
        owner._amp_loss_scaler = LossScaler()  # type: ignore[attr-defined]
        owner._amp_original_scale = owner.rescale_grad  # type: ignore[attr-defined]
    else:
        raise MXNetTypeError(
            f"[amp.init_trainer] got an object of type {type(owner).__name__}; expected a Trainer or an Optimizer."
        )


def _scaler_of(who: str, owner: Any) -> LossScaler:
    if not isinstance(owner, (Trainer, Optimizer)):
        raise MXNetTypeError(
            f"[{who}] got an object of type {type(owner).__name__}; expected a Trainer or an Optimizer."
        )
    scaler = getattr(owner, "_amp_loss_scaler", None)
    if scaler is None:
        raise MXNetError(
            f"[{who}] the {type(owner).__name__} has no loss scale yet; call amp.init_trainer first."
        )
    assert isinstance(scaler, LossScaler)
    return scaler


@contextlib.contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Trainer | Optimizer) -> Iterator[Any]:
    """The loss times the factor, for ``backward``; the next step divides the gradients by it.

    Parameters
    ----------
    loss : NDArray or list of NDArray
    optimizer_or_trainer : Trainer or Optimizer
        One that :func:`init_trainer` has seen.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> mx.contrib.amp.init_trainer(trainer)
    >>> with mx.autograd.record():
    ...     loss = net(mx.nd.ones((4, 2))).sum()
    ...     with mx.contrib.amp.scale_loss(loss, trainer) as scaled:
    ...         mx.autograd.backward(scaled)
    >>> trainer.step(batch_size=4)
    """
    scaler = _scaler_of("amp.scale_loss", optimizer_or_trainer)
    owner: Any = optimizer_or_trainer
    is_list = isinstance(loss, (list, tuple))
    losses = list(loss) if is_list else [loss]
    attribute = "_scale" if isinstance(owner, Trainer) else "rescale_grad"
    if isinstance(owner, Trainer):
        on_device = scaler._device_scale(owner._optimizer, owner._gradients())
    else:  # of a module, whose gradients are where its losses are
        on_device = scaler._device_scale(owner, losses)
    if on_device is not None:
        setattr(owner, attribute, owner._amp_original_scale)
        scaled = [on_device.scaled(item) for item in losses]
    else:
        setattr(owner, attribute, owner._amp_original_scale / scaler.loss_scale)
        scaled = [item * scaler.loss_scale for item in losses]
    yield scaled if is_list else scaled[0]


def unscale(optimizer_or_trainer: Trainer | Optimizer) -> None:
    """Divides the gradients of a trainer by the factor now, for code that looks at them before the step, as clipping.

    Parameters
    ----------
    optimizer_or_trainer : Trainer
        An optimizer has no gradients: TypeError.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.nn.Dense(1)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    >>> mx.contrib.amp.init_trainer(trainer)
    >>> x = mx.nd.ones((1, 3))
    >>> with mx.autograd.record():
    ...     loss = net(x)
    ...     with mx.contrib.amp.scale_loss(loss, trainer) as scaled:
    ...         mx.autograd.backward(scaled)
    >>> mx.contrib.amp.unscale(trainer)  # the gradients are those of the loss now
    >>> net.weight.grad().asnumpy()
    array([[1., 1., 1.]], dtype=float32)
    """
    _scaler_of("amp.unscale", optimizer_or_trainer)
    if not isinstance(optimizer_or_trainer, Trainer):
        raise MXNetTypeError("[amp.unscale] an Optimizer has no gradients; expected a Trainer.")
    optimizer_or_trainer._unscale_gradients()


# ---- converting ----


def _check_names(who: str, argument: str, names: Any) -> list[str]:
    if names is None:
        return []
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise MXNetTypeError(f"[{who}] {argument} is {names!r}; expected a list of names.")
    return list(names)


class _Conversion(NamedTuple):
    """What a conversion of a network is told."""

    who: str
    target_dtype: Any
    ops: tuple[Sequence[str] | None, Sequence[str] | None, Conditions | None]
    excluded: Any

    def of_symbol(self, sym: Any, may_be_low: Sequence[str]) -> Symbol:
        """A copy with casts; the parameters that `may_be_low` names can have the target type themselves."""
        if not isinstance(sym, Symbol):
            raise MXNetTypeError(f"[{self.who}] sym is of type {type(sym).__name__}; expected a Symbol.")
        rules = _rules(self.who, _type_name(self.who, self.target_dtype), *self.ops)
        excluded = _check_names(self.who, "excluded_sym_names", self.excluded)
        return Symbol(rules.reduce(sym.handle, excluded, may_be_low))

    def of_model(
        self, sym: Any, params: Mapping[str, NDArray], cast_optional_params: bool
    ) -> tuple[Symbol, dict[str, NDArray]]:
        """The same, and the parameters, some in the target type if `cast_optional_params` allows it."""
        converted = self.of_symbol(sym, list(params) if cast_optional_params else [])
        name = _type_name(self.who, self.target_dtype)
        before, after = sym.attr_dict(), converted.attr_dict()
        changed = {
            key
            for key, attrs in after.items()
            if "__dtype__" in attrs and attrs["__dtype__"] != before.get(key, {}).get("__dtype__")
        }
        return converted, {
            key: array.astype(name) if key in changed else array for key, array in params.items()
        }


def convert_symbol(
    sym: Symbol,
    target_dtype: Any = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    data_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """A copy of a symbol with casts, so that its operators run in the types that the lists say; outputs are float32.

    Parameters
    ----------
    sym : Symbol
    target_dtype : {'float16', 'bfloat16'} or dtype
    target_dtype_ops, fp32_ops, conditional_fp32_ops : list, optional
        As for :func:`init`.
    excluded_sym_names : list of str, optional
        Operators' nodes, by name, that run in float32.
    data_names : list of str, optional
        The inputs that are data; all others are parameters. Without it nothing is known to be a parameter.
    cast_optional_params : bool
        Whether parameters that are only used in the target type have it themselves (their ``__dtype__``), so that
        nothing casts them.

    Raises
    ------
    ValueError
        For other types, unknown operators, and names that no node has.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.sym.exp(mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc"))
    >>> low = mx.contrib.amp.convert_symbol(x, "bfloat16")
    >>> [name for name in low.get_internals().list_outputs() if "cast_float32" in name]
    ['fc_output_amp_cast_float32_output']
    """
    data = _check_names("amp.convert_symbol", "data_names", data_names)
    inputs = sym.list_inputs() if isinstance(sym, Symbol) else []
    unknown = [name for name in data if name not in inputs] if isinstance(sym, Symbol) else []
    if unknown:
        raise MXNetValueError(
            f"[amp.convert_symbol] data_names: {', '.join(unknown)} is no input; the inputs are {', '.join(inputs)}."
        )
    may_be_low = cast_optional_params and data_names is not None
    ops = (target_dtype_ops, fp32_ops, conditional_fp32_ops)
    return _Conversion("amp.convert_symbol", target_dtype, ops, excluded_sym_names).of_symbol(
        sym, [name for name in inputs if name not in data] if may_be_low else []
    )


def convert_model(
    sym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    target_dtype: Any = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """A copy of a model of a checkpoint that computes in mixed precision.

    Parameters
    ----------
    sym : Symbol
    arg_params, aux_params : dict of str to NDArray
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names
        As for :func:`convert_symbol`.
    cast_optional_params : bool
        Whether parameters that are only used in the target type are converted to it.

    Returns
    -------
    (Symbol, dict, dict)

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> arguments = {"fc_weight": mx.nd.ones((2, 4)), "fc_bias": mx.nd.zeros(2)}
    >>> short = mx.contrib.amp.convert_model(net, arguments, {}, target_dtype="float16")
    >>> short[0].list_arguments()
    ['data', 'fc_weight', 'fc_bias']
    """
    who = "amp.convert_model"
    for argument, params in (("arg_params", arg_params), ("aux_params", aux_params)):
        if not isinstance(params, dict) or not all(isinstance(item, NDArray) for item in params.values()):
            raise MXNetTypeError(
                f"[{who}] {argument} is of type {type(params).__name__}; expected a dict of NDArrays."
            )
    ops = (target_dtype_ops, fp32_ops, conditional_fp32_ops)
    conversion = _Conversion(who, target_dtype, ops, excluded_sym_names)
    return *conversion.of_model(sym, arg_params, cast_optional_params), dict(aux_params)


def convert_hybrid_block(
    block: HybridBlock,
    target_dtype: Any = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    ctx: Context = cpu(0),
    cast_optional_params: bool = False,
) -> SymbolBlock:
    """A block that computes in mixed precision what a hybridized block computes, with copies of its parameters.

    Parameters
    ----------
    block : HybridBlock
        Hybridized, and run once.
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names
        As for :func:`convert_symbol`.
    ctx : Context
        Where the parameters go.
    cast_optional_params : bool
        Whether parameters that are only used in the target type are converted to it.

    Raises
    ------
    MXNetError
        When the block has no graph yet.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> net.hybridize()
    >>> net(mx.nd.ones((1, 3))).dtype
    <class 'numpy.float32'>
    >>> mx.contrib.amp.convert_hybrid_block(net, "float16")(mx.nd.ones((1, 3))).dtype
    <class 'numpy.float32'>
    """
    who = "amp.convert_hybrid_block"
    if not isinstance(block, HybridBlock):
        raise MXNetTypeError(f"[{who}] block is of type {type(block).__name__}; expected a HybridBlock.")
    if block._graph is None:
        raise MXNetError(f"[{who}] block '{block.name}' has no graph yet; call hybridize() and run it once.")
    inputs, sym = block._graph
    kept = [item for item in inputs if item is not None]
    data = {item.name for item in kept}
    own = block.collect_params()
    params = {key: own[key]._reduce() for key in sym.list_inputs() if key not in data}
    ops = (target_dtype_ops, fp32_ops, conditional_fp32_ops)
    conversion = _Conversion(who, target_dtype, ops, excluded_sym_names)
    converted, values = conversion.of_model(sym, params, cast_optional_params)
    result = SymbolBlock(converted, kept)
    for key, param in result.collect_params().items():
        param._load_init(values[key], ctx, cast_dtype=True, dtype_source="saved")
        param.grad_req = own[key].grad_req
    return result


# ---- lists ----


def list_lp16_ops(target_dtype: Any) -> list[str]:
    """The operators that run in the target type.

    Examples
    --------
    >>> import loomix as mx
    >>> "FullyConnected" in mx.contrib.amp.list_lp16_ops("float16")
    True
    """
    _type_name("amp.list_lp16_ops", target_dtype)
    return list(lists.LOW)


def list_fp32_ops(target_dtype: Any) -> list[str]:
    """The operators that run in float32.

    Examples
    --------
    >>> import loomix as mx
    >>> "softmax" in mx.contrib.amp.list_fp32_ops("float16")
    True
    """
    _type_name("amp.list_fp32_ops", target_dtype)
    return list(lists.FULL)


def list_lp16_fp32_ops(target_dtype: Any) -> list[str]:
    """The operators that run in the type that comes; in float32 where several come.

    Examples
    --------
    >>> import loomix as mx
    >>> "relu" in mx.contrib.amp.list_lp16_fp32_ops("float16")
    True
    """
    _type_name("amp.list_lp16_fp32_ops", target_dtype)
    return lists.either()


def list_conditional_fp32_ops(target_dtype: Any) -> list[tuple[str, str, list[str]]]:
    """Operator, attribute, and the values with which it runs in float32.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.contrib.amp.list_conditional_fp32_ops("float16")[0]
    ('Activation', 'act_type', ['softrelu'])
    """
    _type_name("amp.list_conditional_fp32_ops", target_dtype)
    return [(name, key, list(values)) for name, key, values in lists.CONDITIONAL_FULL]


def list_widest_type_cast(target_dtype: Any) -> list[str]:
    """The operators that run in the widest type of their inputs.

    Examples
    --------
    >>> import loomix as mx
    >>> "Concat" in mx.contrib.amp.list_widest_type_cast("float16")
    True
    """
    _type_name("amp.list_widest_type_cast", target_dtype)
    return list(lists.WIDEST)


def list_loss_output_functions(target_dtype: Any) -> list[str]:
    """The operators that are losses.

    Examples
    --------
    >>> import loomix as mx
    >>> "SoftmaxOutput" in mx.contrib.amp.list_loss_output_functions("float16")
    True
    """
    _type_name("amp.list_loss_output_functions", target_dtype)
    return list(lists.LOSSES)


def list_lp16_use_fp32_params(target_dtype: Any) -> dict[str, list[str]]:
    """Operator to those of its inputs that are float32 beside data of the target type.

    Examples
    --------
    >>> import loomix as mx
    >>> sorted(mx.contrib.amp.list_lp16_use_fp32_params("bfloat16"))[:1]
    ['BatchNorm']
    """
    _type_name("amp.list_lp16_use_fp32_params", target_dtype)
    return {name: list(inputs) for name, inputs in lists.PARAMETERS_IN_FULL.items()}
