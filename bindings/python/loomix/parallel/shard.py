# SPDX-License-Identifier: Apache-2.0
"""Networks whose layers are split over ranks."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any

from ..base import MXNetNotImplementedError, MXNetTypeError, MXNetValueError, StateError
from .agreement import agree
from .split_pass import SplitSymbol, split_symbol
from .splits import Cut, Split

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..symbol import Symbol
    from .mesh import Mesh

__all__ = ["SplitGraph", "explain", "shard"]


class Examples:
    """A network each rank of which gets examples of its own, and how they are cut."""

    def __init__(self, net: Any, cut: Cut) -> None:
        self.net, self.cut = net, cut


class SplitGraph:
    """A graph with split layers that is called: compiled for each combination of shapes and types."""

    def __init__(
        self,
        symbol: Symbol,
        compile: Callable[[Symbol], Any],
        params: Mapping[str, Any],
        examples: Cut | None = None,
    ) -> None:
        self._symbol, self._compile, self._examples = symbol, compile, examples
        self._inputs = set(symbol.list_inputs()) - set(params)
        self._names = symbol.list_inputs()
        self._params = {
            key: param for key, param in params.items() if param._cut is not None and key in self._names
        }
        self._graphs: dict[Any, tuple[Any, list[int], SplitSymbol]] = {}
        self._last: tuple[Any, list[int], SplitSymbol] | None = None
        self._monitor: Any = None

    def __call__(self, inputs: list[Any]) -> Any:
        key = tuple((array.shape, array.dtype) for array in inputs)
        found = self._graphs.get(key)
        if found is None:
            found = self._graphs[key] = self._make(inputs)
        self._last = found
        graph, places, _ = found
        return graph([inputs[place] for place in places])

    def _make(self, inputs: list[Any]) -> tuple[Any, list[int], SplitSymbol]:
        shapes = {name: array.shape for name, array in zip(self._names, inputs)}
        shapes.update({key: param.shape for key, param in self._params.items()})
        dtypes = {name: array.dtype for name, array in zip(self._names, inputs)}
        cuts = {key: param._cut for key, param in self._params.items()}
        if self._examples is not None:
            for name in self._inputs:
                shapes[name] = (shapes[name][0] * self._examples.size, *shapes[name][1:])
                cuts[name] = self._examples
        made = split_symbol(self._symbol, shapes, dtypes, cuts)
        graph = self._compile(made.symbol)
        if self._monitor is not None:
            graph.set_monitor(*self._monitor)
        return graph, [self._names.index(name) for name in made.symbol.list_inputs()], made

    @property
    def last(self) -> SplitSymbol | None:
        """What the graph that ran last was made of."""
        return None if self._last is None else self._last[2]

    def explanation(self, compare_strategies: bool) -> Any:
        """Of the graph that ran last."""
        return None if self._last is None else self._last[0].explanation(compare_strategies)

    def set_monitor(self, callback: Any, monitor_all: bool) -> None:
        self._monitor = callback, monitor_all
        for graph, _, _ in self._graphs.values():
            graph.set_monitor(callback, monitor_all)


def _blocks(net: Any, path: str = "") -> list[tuple[str, Any]]:
    """The block and those below it, with their places in the tree."""
    found = [(path, net)]
    for key, child in net._children.items():
        found += _blocks(child, f"{path}.{key}" if path else key)
    return found


def _fits(pattern: str, path: str, block: Any) -> bool:
    names = (path, block.name)
    return any(fnmatch.fnmatchcase(name, pattern) for name in names) or block.name.endswith("_" + pattern)


def _check_size(block: Any, param: Any, cut: Cut) -> None:
    shape = param.shape
    if shape is not None and 0 < shape[cut.axis] < cut.size:
        raise MXNetValueError(
            f"[shard] Parameter '{param.name}' of block '{block.name}' has shape {tuple(shape)}, whose axis {cut.axis} "
            f"cannot be cut into {cut.size} parts that are not empty, for the ranks along {cut.mesh_axis!r}."
        )


def _split_block(block: Any, split: Split, mesh: Mesh) -> None:
    axes = block._cuts(split.kind)
    if axes is None:
        raise MXNetNotImplementedError(
            f"[shard] block '{block.name}' of type {type(block).__name__} cannot be split by {split.kind}."
        )
    for key, axis in axes.items():
        param = getattr(block, key, None)
        if param is None:
            continue
        cut = Cut(mesh, split.axis, axis)
        _check_size(block, param, cut)
        param._set_cut(cut)
    block._split = split


def shard(net: Any, mesh: Mesh, splits: Mapping[str, Split], examples: str | None = None) -> Any:
    """Splits layers of a network over the ranks along an axis of a mesh.

    Each rank has its part of the layers' parameters, and computes its part of what they give; data moves between ranks
    where neighbours differ. Inputs and outputs are whole, and the same on all ranks along the axis. Hybridized, the
    network is compiled with as few moves as its operators allow; otherwise each split layer gets and gives whole
    arrays. The numbers are those of a single process but for the order of sums.

    All ranks of the job call it, alike, before or after ``initialize``.

    Parameters
    ----------
    net : HybridBlock
    mesh : Mesh
    splits : dict of str to Split
        By names of blocks, or patterns (``"*dense*"``): "dense0", "hybridsequential0_dense0", or the place in the tree,
        "0" or "features.3". :func:`columns` cuts a layer's outputs, :func:`rows` what its inputs are multiplied by.
    examples : str, optional
        The axis of the splits, where each rank along it gives as many examples of its own. They are gathered where a
        split layer needs them, and the outputs are those of the examples of all ranks. What is not split, such as
        convolutions in front, works on the own ones. The network must be hybridized.

    Returns
    -------
    HybridBlock
        The same.

    Raises
    ------
    ValueError
        For a pattern that no block fits, an axis that a layer cannot divide, and ranks that give different splits.

    Example
    -------
    >>> import loomix as mx
    >>> mesh = mx.parallel.Mesh(model=1)
    >>> net = mx.gluon.nn.HybridSequential()
    >>> net.add(mx.gluon.nn.Dense(8, activation="relu"), mx.gluon.nn.Dense(4))
    >>> net = mx.parallel.shard(net, mesh, {"0": mx.parallel.columns("model"), "1": mx.parallel.rows("model")})
    >>> net.initialize()
    >>> net(mx.nd.ones((2, 6))).shape
    (2, 4)
    """
    for pattern, split in splits.items():
        if not isinstance(split, Split):
            raise MXNetTypeError(
                f"[shard] the split of {pattern!r} is of type {type(split).__name__}; expected parallel.columns or "
                "parallel.rows."
            )
    text = ", ".join(f"{key}: {item.kind} over {item.axis}" for key, item in splits.items())
    agree("splits", f"{mesh!r}, {text}" + (f", examples over {examples}" if examples else ""))
    if len({split.axis for split in splits.values()}) > 1:
        raise MXNetNotImplementedError(
            f"[shard] {text}: expected one axis of the mesh for all layers of a network."
        )
    if examples is not None and any(split.axis != examples for split in splits.values()):
        raise MXNetValueError(f"[shard] examples are over {examples!r}, and {text}; expected one axis.")
    blocks = _blocks(net)
    chosen: list[tuple[Any, Split]] = []
    for pattern, split in splits.items():
        fitting = [block for path, block in blocks if _fits(pattern, path, block) and block._reg_params]
        if not fitting:
            names = ", ".join(f"'{path}' ({block.name})" for path, block in blocks if block._reg_params)
            raise MXNetValueError(f"[shard] no block with parameters fits {pattern!r}; there are {names}.")
        chosen += [(block, split) for block in fitting]
    for _, block in blocks:
        if getattr(block, "_forward_alone", False):
            raise MXNetNotImplementedError(
                f"[shard] block '{block.name}' defines forward alone; expected hybrid_forward in all blocks."
            )
    for block, split in chosen:
        _split_block(block, split, mesh)
        mesh.split_axes.add(split.axis)
    for _, block in blocks:
        if examples is not None:
            block._examples = Examples(net, Cut(mesh, examples, 0))
        if hasattr(block, "_clear_cached_op"):
            block._clear_cached_op()
    return net


def explain(net: Any) -> str:
    """What travels in a step of a network with split layers: of each compiled graph that ran, each move and its bytes,
    and which operators got their inputs gathered because they have no rule. Of a block, or a Module or an Executor with
    :func:`split` groups.

    Bytes are those that this rank sends, in a forward and a backward pass.

    >>> import loomix as mx
    >>> mesh = mx.parallel.Mesh(model=1)
    >>> net = mx.gluon.nn.Dense(4, in_units=3, prefix="fc_")
    >>> net = mx.parallel.shard(net, mesh, {"fc": mx.parallel.columns("model")})
    >>> net.initialize()
    >>> y = net(mx.nd.ones((2, 3)))
    >>> print(mx.parallel.explain(net))
    fc: columns over 'model'
      data -> fc_fwd: _parallel_share, 0 bytes forward, 0 backward
      fc_fwd -> the output: _parallel_gather, 0 bytes forward, 0 backward
      a step sends 0 bytes
    """
    lines: list[str] = []
    made: list[SplitSymbol] = []
    local = getattr(net, "_local", None) or getattr(getattr(net, "_exec_group", None), "local", None)
    if local is not None:
        lines += [f"{layer}: columns over {local.axis!r}" for layer in local.layers]
        made.append(local.made)
    elif not hasattr(net, "_children"):
        raise StateError(
            f"[parallel.explain] nothing of {net!r} is split over ranks, or it is not bound yet."
        )
    else:
        for _, block in _blocks(net):
            if block._split is not None:
                lines.append(f"{block.name}: {block._split.kind} over {block._split.axis!r}")
            cached = getattr(block, "_cached", None)
            if isinstance(cached, SplitGraph) and cached.last is not None:
                made.append(cached.last)
        if not made:
            raise StateError(
                f"[parallel.explain] block '{net.name}' has run no split layer yet: call it once."
            )
    moves = [move for one in made for move in one.moves]
    for move in moves:
        lines.append(
            f"  {move.value} -> {move.reader}: {move.operator}, {move.forward} bytes forward, "
            f"{move.backward} backward"
        )
    for one in made:
        if one.without_rule:
            lines.append(f"  gathered for want of a rule: {', '.join(one.without_rule)}")
    total = sum(move.forward + move.backward for move in moves)
    return "\n".join([*lines, f"  a step sends {total} bytes"])
