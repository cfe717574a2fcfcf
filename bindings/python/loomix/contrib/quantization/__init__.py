# SPDX-License-Identifier: Apache-2.0
"""Networks in whole numbers of 8 bits, from trained float ones: docs/quantization.md."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ndarray as nd
from ...context import Context, cpu
from ...io import DataIter
from ...ndarray import NDArray
from ...progress_bar import WorkBar
from ...symbol import Group, Symbol
from .graph import PRODUCTS, Folded, Rounded, wanted_layers, with_ranges
from .ranges import (
    CalibrationCollector,
    _get_optimal_threshold,  # noqa: F401
    _get_optimal_thresholds,  # noqa: F401
    _LayerHistogramCollector,  # noqa: F401
    _LayerOutputMinMaxCollector,  # noqa: F401
    combine_histogram,
    make_collector,
    ranges_of,
    reach_of,
    read_by,
)
from .report import LayerReport, QuantizationReport, decibels, louder
from .weights import quantize_net_weights, quantize_weights

if TYPE_CHECKING:
    from ...gluon import HybridBlock, SymbolBlock

__all__ = [
    "CalibrationCollector",
    "LayerReport",
    "QuantizationReport",
    "calib_graph",
    "combine_histogram",
    "quantize_graph",
    "quantize_model",
    "quantize_model_mkldnn",
    "quantize_net",
    "quantize_net_v2",
    "quantize_net_weights",
    "quantize_weights",
]

_KEPT = 1 << 16  # values of a layer that its error is measured by


def _check(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"[quantization] {name} is {value!r}; expected one of {', '.join(allowed)}.")


def _check_options(ctx: Any, dtype: str, mode: str, granularity: str) -> None:
    if not isinstance(ctx, Context):
        raise ValueError(f"[quantization] ctx is {ctx!r}; expected one context, such as mx.cpu().")
    _check("quantized_dtype", dtype, ("int8", "uint8", "auto"))
    _check("quantize_mode", mode, ("full", "smart"))
    _check("quantize_granularity", granularity, ("tensor-wise", "channel-wise"))


def _names(name: str, value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"[quantization] {name} is {value!r}; expected a list of strings.")
    return value


def _rounded(
    sym: Any, args: Any, aux: Any, names: Any, operators: Any, dtype: str, mode: str, granularity: str
) -> Rounded:
    names = _names("excluded_sym_names", names)
    operators = _names("excluded_op_names", operators)
    known = {node.name for node in sym.get_internals()} if names else set()
    for name in names:
        if name not in known:
            warnings.warn(f"[quantization] there is no layer {name} to exclude.", stacklevel=4)
    folded = Folded(
        sym, args, aux, names if "BatchNorm" not in operators else [n.name for n in sym.get_internals()]
    )
    return Rounded(folded, names, operators, dtype, mode == "full", granularity == "channel-wise")


def _quantize_params(qsym: Symbol, params: dict[str, NDArray], granularity: str) -> dict[str, NDArray]:
    found: dict[str, NDArray] = {}
    for name in qsym.list_arguments():
        if name in params:
            found[name] = params[name]
        elif name.endswith("_quantize") and name[: -len("_quantize")] in params:
            value = params[name[: -len("_quantize")]].astype("float32")
            reach = nd.array(reach_of(value.asnumpy(), granularity == "channel-wise"))
            found[name], found[f"{name}_min"], found[f"{name}_max"] = nd.contrib.quantize(
                value, -reach, reach, out_type="int8"
            )
    return found


def _input_names(iterator: Any) -> list[str]:
    return [desc[0] for desc in iterator.provide_data]


class _Batches:
    """Batches of a DataIter, a DataLoader, or anything that gives arrays: lists of data, by the names of the inputs."""

    def __init__(self, data: Any, names: list[str]) -> None:
        self.data, self.names = data, names

    def __iter__(self) -> Any:
        if isinstance(self.data, DataIter):
            self.data.reset()
            names = _input_names(self.data)
            for batch in self.data:
                yield dict(zip(names, batch.data)), batch.data[0].shape[0] - (batch.pad or 0)
            return
        for batch in self.data:
            arrays = list(batch) if isinstance(batch, (list, tuple)) else [batch]
            arrays = [array if isinstance(array, NDArray) else nd.array(array) for array in arrays]
            yield dict(zip(self.names, arrays)), arrays[0].shape[0]


def _calibrate(
    sym: Symbol,
    args: Any,
    aux: Any,
    batches: Any,
    collector: Any,
    wanted: dict[str, str],
    most: int | None,
    ctx: Context,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Runs the float network; gives some values of each layer, and the shapes of the inputs, of the first batch."""
    internals = sym.get_internals()
    known = internals.list_outputs()
    outputs = [internals[known.index(name)] for name in wanted]
    group = Group(outputs)
    inputs = [name for name in group.list_arguments() if name not in args]
    samples: dict[str, np.ndarray] = {}
    shapes: dict[str, Any] = {}
    executors: dict[Any, Any] = {}
    done, bar = 0, WorkBar("calibration", most, "examples")
    if most is not None and most < 1:
        raise ValueError(f"[quantization] num_calib_examples is {most}; expected at least 1.")
    for given, count in batches:
        shapes = shapes or {name: value.shape for name, value in given.items()}
        feed = {name: value.as_in_context(ctx) for name, value in given.items() if name in inputs}
        key = tuple((name, value.shape, str(value.dtype)) for name, value in feed.items())
        if key not in executors:
            missing = [name for name in inputs if name not in feed]
            if missing:
                raise ValueError(
                    f"[quantization] the network reads {missing[0]}, which is neither a parameter nor in the "
                    f"calibration data: {', '.join(given)}."
                )
            parameters = {name: args[name] for name in group.list_arguments() if name in args}
            states = {name: aux[name] for name in group.list_auxiliary_states()}
            own = {name: value.copy() for name, value in feed.items()}  # written at each batch
            executors[key] = group.bind(ctx, {**parameters, **own}, grad_req="null", aux_states=states)
        for name, value in zip(wanted, executors[key].forward(is_train=False, **feed)):
            collector.collect(name, value)
            if name not in samples:
                samples[name] = value.reshape((-1,))[:_KEPT].asnumpy()
        done += count
        bar.show(done)
        if most is not None and done >= most:
            break
    if done == 0:
        first = read_by(next(iter(wanted)), wanted).rstrip(",")
        raise ValueError(
            f"[quantization] calib_data has no batch; expected at least one to find the range of {first}."
        )
    return samples, shapes


def _fill(report: Any, rounded: Rounded, ranges: Any, samples: Any, params: Any, runs: Any) -> None:
    known: dict[str, LayerReport] = {}
    for node in rounded.folded.nodes:
        if node.name in rounded.left:
            why = rounded.left[node.name]
            report.layers.append(LayerReport(node.name, kept=why, runs="float32", why=why))
        elif node.name not in rounded.layers:
            continue
        else:
            value = rounded.layers[node.name]
            entry = LayerReport(node.name)
            if value in ranges:
                low, high = ranges[value]
                entry.range = float(low), float(high)
            if entry.range and value in samples:
                entry.decibels = decibels(samples[value], *entry.range, rounded.dtype)
            elif value in rounded.wanted:
                entry.note = "range found in each run"
            else:
                entry.note = "range of its inputs, or sums that are not rounded"
            if node.op in PRODUCTS:
                entry.weight_decibels = _weight_decibels(rounded.folded.args, params, node.inputs[1][0].name)
            before = node.inputs[0][0].name  # what has no operator of its own is a part of this layer
            part = (known[before].runs, f"part of {before}") if before in known else (None, "")
            entry.runs, entry.why = runs.get(f"quantized_{node.name}", part)
            report.layers.append(entry)
        known[report.layers[-1].name] = report.layers[-1]


def _weight_decibels(real: Any, whole: Any, name: str) -> float:
    ends = (whole[f"{name}_quantize{end}"] for end in ("", "_min", "_max"))
    return louder(real[name].asnumpy(), nd.contrib.dequantize(*ends).asnumpy())


def _runs_of(qsym: Symbol, params: Any, ctx: Context, shapes: Any) -> dict[str, tuple[str, str]]:
    """How prediction runs each layer of 8 bits, as this machine compiles it for the calibration data, and why."""
    inputs = {name: shape for name, shape in shapes.items() if name in qsym.list_arguments()}
    types = {name: value.dtype for name, value in params.items()}
    shapes = {name: value.shape for name, value in params.items()} | inputs
    made = qsym.explain(ctx, type_dict=types, **shapes)
    return {one.name: (one.runs, one.reason) for one in made.whole}


def quantize_model(
    sym: Symbol,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    data_names: Iterable[str] = ("data",),
    label_names: Iterable[str] | None = ("softmax_label",),
    ctx: Context = cpu(),
    excluded_sym_names: list[str] | None = None,
    excluded_op_names: list[str] | None = None,
    calib_mode: str = "entropy",
    calib_data: Any = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: Any = None,
    report: QuantizationReport | None = None,
    LayerOutputCollector: Any = None,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """A network of 8 bits.

    Parameters
    ----------
    sym, arg_params, aux_params : Symbol, dict, dict
        The float network.
    data_names, label_names : sequence of str
        Its inputs. Labels are not read.
    ctx : Context
        Where calibration runs.
    excluded_sym_names : list of str
        Layers that stay in float.
    excluded_op_names : list of str
        Operators that stay in float.
    calib_mode : str
        ``"none"``: ranges are found in each run; ``"naive"``: the least and the greatest value of each layer;
        ``"entropy"``: the threshold that loses least information; ``"customize"``: `LayerOutputCollector` says.
    calib_data : DataIter, DataLoader or other iterable
        Examples, for all modes but none.
    num_calib_examples : int
        No batch is run after so many examples.
    quantized_dtype : str
        ``"int8"``, ``"uint8"``, or ``"auto"``: uint8 where nothing is negative.
    quantize_mode : str
        ``"smart"``: layers that only move numbers follow their input; ``"full"``: they are rounded wherever they stand.
    quantize_granularity : str
        ``"tensor-wise"``, or ``"channel-wise"``: weights and biases have one range a filter.
    logger : logging.Logger
        Gets what is collected.
    report : QuantizationReport
        Gets what became of each layer.
    LayerOutputCollector : CalibrationCollector
        Of mode ``"customize"``.

    Returns
    -------
    tuple
        (symbol, arg_params, aux_params), the weights as int8.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.contrib import quantization
    >>> sym = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> args = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    >>> made = quantization.quantize_model(sym, args, {}, calib_mode="naive", calib_data=[mx.nd.ones((1, 3))])
    >>> made[1]["fc_weight_quantize"].dtype
    <class 'numpy.int8'>
    """
    _check_options(ctx, quantized_dtype, quantize_mode, quantize_granularity)
    rounded = _rounded(
        sym, arg_params, aux_params, excluded_sym_names, excluded_op_names, quantized_dtype, quantize_mode,
        quantize_granularity,
    )  # fmt: skip
    qsym = rounded.symbol()
    if not rounded.layers:
        warnings.warn("[quantization] the network has no layer that becomes one of 8 bits.", stacklevel=2)
    ranges: dict[str, Any] = {}
    samples: dict[str, np.ndarray] = {}
    shapes: dict[str, Any] = {}
    if calib_mode not in (None, "none"):
        wanted = wanted_layers(qsym)
        collector = make_collector(calib_mode, quantized_dtype, wanted, LayerOutputCollector, logger)
        if calib_data is None:
            raise ValueError(f"[quantization] calib_data must be given for calib_mode {calib_mode!r}.")
        if wanted:
            batches = _Batches(calib_data, list(data_names))
            samples, shapes = _calibrate(
                sym, arg_params, aux_params, batches, collector, wanted, num_calib_examples, ctx
            )
        ranges = ranges_of(calib_mode, quantized_dtype, collector, wanted, logger)
        qsym = with_ranges(qsym, ranges)
    states = set(qsym.list_auxiliary_states())
    qargs = _quantize_params(qsym, rounded.folded.args, quantize_granularity)
    qaux = {name: value for name, value in aux_params.items() if name in states}
    if report is not None:
        runs = _runs_of(qsym, {**qargs, **qaux}, ctx, shapes) if shapes else {}
        _fill(report, rounded, ranges, samples, qargs, runs)
    return qsym, qargs, qaux


def quantize_model_mkldnn(
    sym: Symbol,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    data_names: Iterable[str] = ("data",),
    label_names: Iterable[str] | None = ("softmax_label",),
    ctx: Context = cpu(),
    excluded_sym_names: list[str] | None = None,
    excluded_op_names: list[str] | None = None,
    calib_mode: str = "entropy",
    calib_data: Any = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: Any = None,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """:func:`quantize_model`, on CPUs alone.

    Parameters are those of :func:`quantize_model`.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.contrib import quantization
    >>> sym = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> args = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    >>> made = quantization.quantize_model_mkldnn(sym, args, {}, calib_mode="none")
    """
    if not isinstance(ctx, Context) or ctx.device_type != "cpu":
        raise ValueError(f"[quantization] ctx is {ctx!r}; quantize_model_mkldnn is for mx.cpu().")
    return quantize_model(
        sym, arg_params, aux_params, data_names, label_names, ctx, excluded_sym_names, excluded_op_names, calib_mode,
        calib_data, num_calib_examples, quantized_dtype, quantize_mode, quantize_granularity, logger,
    )  # fmt: skip


def quantize_graph(
    sym: Symbol,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    ctx: Context = cpu(),
    excluded_sym_names: list[str] | None = None,
    excluded_op_names: list[str] | None = None,
    calib_mode: str = "entropy",
    quantized_dtype: str = "int8",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    LayerOutputCollector: Any = None,
    logger: Any = None,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray], Any]:
    """A network of 8 bits without ranges, and a collector for them: run the float network with
    ``executor.set_monitor_callback(collector.collect, monitor_all=True)``, then call :func:`calib_graph`.

    Parameters are those of :func:`quantize_model`.

    Returns
    -------
    tuple
        (symbol, arg_params, aux_params, collector); the collector is None for mode ``"none"``.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.contrib import quantization
    >>> sym = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> args = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    >>> quantization.quantize_graph(sym, args, {}, calib_mode="naive")[3].include_layer
    ['data']
    """
    _check_options(ctx, quantized_dtype, quantize_mode, quantize_granularity)
    rounded = _rounded(
        sym, arg_params, aux_params, excluded_sym_names, excluded_op_names, quantized_dtype, quantize_mode,
        quantize_granularity,
    )  # fmt: skip
    qsym, collector = rounded.symbol(), None
    if calib_mode not in (None, "none"):
        wanted = wanted_layers(qsym)
        collector = make_collector(calib_mode, quantized_dtype, wanted, LayerOutputCollector, logger)
        if isinstance(collector, CalibrationCollector):
            for node in rounded.folded.nodes:
                for source, _ in node.inputs[:1]:
                    if source.op == "null" and source.name in rounded.wanted:
                        collector.aliases[f"{node.name}_data"] = source.name
    states = set(qsym.list_auxiliary_states())
    qaux = {name: value for name, value in aux_params.items() if name in states}
    return qsym, _quantize_params(qsym, rounded.folded.args, quantize_granularity), qaux, collector


def calib_graph(
    qsym: Symbol,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    collector: Any,
    calib_mode: str = "entropy",
    quantized_dtype: str = "int8",
    logger: Any = logging,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Gives a network of :func:`quantize_graph` the ranges that its collector found.

    Parameters
    ----------
    qsym, arg_params, aux_params, collector
        What :func:`quantize_graph` returned.
    calib_mode, quantized_dtype : str
        As they were there.
    logger : logging.Logger
        Gets the ranges.

    Returns
    -------
    tuple
        (symbol, arg_params, aux_params).

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.contrib import quantization
    >>> sym = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> args = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    >>> qsym, qargs, qaux, collector = quantization.quantize_graph(sym, args, {}, calib_mode="naive")
    >>> collector.collect("data", mx.nd.array([[-1, 0, 2]]))
    >>> made = quantization.calib_graph(qsym, qargs, qaux, collector, calib_mode="naive")
    """
    if calib_mode in (None, "none") or collector is None:
        raise ValueError(
            "[quantization] calib_mode is none; calib_graph is for naive, entropy and customize."
        )
    ranges = ranges_of(calib_mode, quantized_dtype, collector, wanted_layers(qsym), logger)
    return with_ranges(qsym, ranges), arg_params, aux_params


def quantize_net_v2(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    exclude_layers: list[str] | None = None,
    exclude_layers_match: list[str] | None = None,
    exclude_operators: list[str] | None = None,
    calib_data: Any = None,
    data_shapes: Any = None,
    calib_mode: str = "none",
    num_calib_examples: int | None = None,
    ctx: Context = cpu(),
    LayerOutputCollector: Any = None,
    logger: Any = None,
    report: QuantizationReport | None = None,
) -> SymbolBlock:
    """A Gluon block of 8 bits. The other parameters are those of :func:`quantize_model`.

    Parameters
    ----------
    network : HybridBlock
        The float block. It must have run once, unless it was loaded with its parameters.
    exclude_layers_match : list of str
        Layers whose names contain one of these stay in float, too.
    data_shapes : list
        Shapes of the inputs, where there is no `calib_data`; only their number is used.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.contrib import quantization
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> quantization.quantize_net_v2(net, data_shapes=[(1, 3)])(mx.nd.ones((1, 3))).shape
    (1, 2)
    """
    from ... import symbol
    from ...gluon import SymbolBlock

    if isinstance(calib_data, DataIter):
        names = _input_names(calib_data)
    elif calib_data is None and data_shapes is None:
        raise ValueError("[quantization] either calib_data or data_shapes must be given.")
    else:
        inputs = len(data_shapes) if data_shapes else 1
        names = ["data"] if inputs == 1 else [f"data{i}" for i in range(inputs)]
    data = [symbol.var(name) for name in names]
    outputs = network(*data)
    sym = Group(list(outputs)) if isinstance(outputs, (list, tuple)) else outputs
    states = set(sym.list_auxiliary_states())
    parameters = {name: value.data(ctx) for name, value in network.collect_params().items()}
    excluded = list(_names("exclude_layers", exclude_layers))
    for part in _names("exclude_layers_match", exclude_layers_match):
        excluded += [layer.name for layer in sym.get_internals() if part in layer.name]
    qsym, qargs, qaux = quantize_model(
        sym,
        {name: value for name, value in parameters.items() if name not in states},
        {name: value for name, value in parameters.items() if name in states},
        data_names=names, ctx=ctx, excluded_sym_names=excluded, excluded_op_names=exclude_operators,
        calib_mode=calib_mode, calib_data=calib_data, num_calib_examples=num_calib_examples,
        quantized_dtype=quantized_dtype, quantize_mode=quantize_mode, quantize_granularity=quantize_granularity,
        logger=logger, report=report, LayerOutputCollector=LayerOutputCollector,
    )  # fmt: skip
    block = SymbolBlock(qsym, data)
    for name, parameter in block.collect_params().items():
        value = qargs[name] if name in qargs else qaux[name]
        parameter.shape, parameter.dtype, parameter.grad_req = value.shape, value.dtype, "null"
        parameter.initialize("zeros", ctx=ctx)
        parameter.set_data(value)
    return block


def quantize_net(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    exclude_layers: list[str] | None = None,
    exclude_layers_match: list[str] | None = None,
    exclude_operators: list[str] | None = None,
    calib_data: Any = None,
    data_shapes: Any = None,
    calib_mode: str = "none",
    num_calib_examples: int | None = None,
    ctx: Context = cpu(),
    logger: Any = None,
) -> SymbolBlock:
    """:func:`quantize_net_v2` with one range an array.

    Parameters are those of :func:`quantize_net_v2`.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.contrib import quantization
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> quantization.quantize_net(net, calib_mode="naive", calib_data=[mx.nd.ones((1, 3))])(mx.nd.ones((1, 3))).shape
    (1, 2)
    """
    return quantize_net_v2(
        network, quantized_dtype, quantize_mode, "tensor-wise", exclude_layers, exclude_layers_match,
        exclude_operators, calib_data, data_shapes, calib_mode, num_calib_examples, ctx, None, logger,
    )  # fmt: skip
