# SPDX-License-Identifier: Apache-2.0
"""Groups of a symbol's layers (``AttrScope(ctx_group=...)``) that are bound to a split instead of a device."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import autograd
from ..base import MXNetNotImplementedError, MXNetValueError
from .agreement import agree
from .collectives import gather
from .split_pass import SplitSymbol, split_symbol
from .split_rules import parameter_cuts
from .splits import Cut

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..ndarray import NDArray
    from ..symbol import Symbol
    from .mesh import Axis, Mesh

__all__ = ["GroupSplit", "LocalSymbol", "split"]


class LocalSymbol(NamedTuple):
    """What one rank binds of a symbol with split groups."""

    made: SplitSymbol
    axis: str  #: of the mesh
    layers: list[str]  #: those that are split
    cuts: dict[str, Cut]  #: the parameters of which each rank has a part
    shapes: dict[str, tuple[int, ...]]  #: whole shapes of arguments and states
    own_shapes: dict[str, tuple[int, ...]]  #: of those on this rank
    groups: dict[str, Any]  #: devices of the groups that are not split
    examples: int  #: how many ranks give examples of their own to one step of the symbol
    over: list[Axis]  #: along which of the mesh each rank has examples of its own, the innermost first

    def of_all(self, array: NDArray) -> NDArray:
        """The examples of all ranks, of those of this one; all call it."""
        with autograd.pause():
            for axis in self.over:
                array = gather(array, axis)
        return array


class GroupSplit:
    """See :func:`split`."""

    def __init__(self, mesh: Mesh, axis: str, examples: bool) -> None:
        mesh.axis(axis)
        self.mesh, self.axis, self.examples = mesh, axis, examples

    def __repr__(self) -> str:
        return f"split({self.mesh!r}, {self.axis!r}, examples={self.examples})"

    def localize(
        self,
        symbol: Symbol,
        groups: Mapping[str, Any],
        shapes: Mapping[str, Any],
        dtypes: Mapping[str, Any],
        fixed: Collection[str] = (),
    ) -> LocalSymbol:
        """The symbol for this rank; all ranks call it.

        Parameters
        ----------
        groups : dict
            Splits and devices by group. All splits are equal to this one.
        shapes : dict
            Of the inputs on this rank.
        dtypes : dict
        fixed : collection of str
            Arguments that need no gradient, for what :func:`explain` says.
        """
        ours = {name: value for name, value in groups.items() if isinstance(value, GroupSplit)}
        if any(repr(value) != repr(self) for value in ours.values()):
            raise MXNetNotImplementedError(f"[split] groups have {ours}; expected one split for all of them.")
        agree("splits", f"{self!r} of {', '.join(sorted(ours))}, inputs {dict(sorted(shapes.items()))}")
        found = _parameters(symbol, set(ours))
        cuts = {name: Cut(self.mesh, self.axis, axis) for name, (_, axis) in found.items()}
        self.mesh.split_axes.add(self.axis)
        ranks = len(self.mesh.axis(self.axis).ranks)
        own_shapes = _shapes_of(symbol, shapes)
        whole, heads = own_shapes, {}
        if self.examples:
            given = {
                name: (shape[0] * ranks, *shape[1:]) for name, shape in shapes.items() if name not in cuts
            }
            whole = _shapes_of(symbol, {**shapes, **given})
            for name in own_shapes:
                if ranks > 1 and name not in cuts and whole[name] != own_shapes[name]:
                    self._check_examples(name, own_shapes[name], whole[name])
                    cuts[name] = Cut(self.mesh, self.axis, 0)
                elif ranks == 1 and name in shapes:
                    cuts[name] = Cut(self.mesh, self.axis, 0)
            heads = _heads_of_examples(symbol, shapes, given)
        for name, (layer, axis) in found.items():
            if whole[name][axis] < ranks:
                raise MXNetValueError(
                    f"[split] argument '{name}' of layer '{layer}' has shape {whole[name]}, whose axis {axis} cannot "
                    f"be cut into {ranks} parts that are not empty, for the ranks along {self.axis!r}."
                )
        made = split_symbol(symbol, whole, _types_of(symbol, dtypes), cuts, heads, fixed)
        params = {name: cuts[name] for name in found}
        rest = {name: value for name, value in groups.items() if name not in ours}
        own = {key: cuts[key].own_shape(shape) if key in cuts else shape for key, shape in whole.items()}
        layers = list(dict.fromkeys(layer for layer, _ in found.values()))
        examples = ranks if self.examples else 1
        names = [name for name in reversed(self.mesh.shape) if self.examples or name != self.axis]
        over = [axis for axis in map(self.mesh.axis, names) if len(axis.ranks) > 1]
        return LocalSymbol(made, self.axis, layers, params, whole, own, rest, examples, over)

    def _check_examples(self, name: str, own: tuple[int, ...], whole: tuple[int, ...]) -> None:
        if own[1:] != whole[1:]:
            raise MXNetNotImplementedError(
                f"[split] '{name}' has shape {own} on a rank and {whole} for the examples of all along {self.axis!r}; "
                "expected examples along the first axis."
            )


def _shapes_of(symbol: Symbol, shapes: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Of all arguments and states."""
    found, _, states = symbol.infer_shape(**shapes)
    if found is None:
        raise MXNetValueError(f"[split] the shapes {dict(shapes)} do not determine those of all parameters.")
    names = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    return dict(zip(names, [*found, *states]))


def _types_of(symbol: Symbol, dtypes: Mapping[str, Any]) -> dict[str, Any]:
    """Of all arguments; float32 where nothing else follows, as in ``simple_bind``."""
    known = set(symbol.list_arguments())
    found = symbol.infer_type_partial(**{name: dtype for name, dtype in dtypes.items() if name in known})[0]
    return {name: dtype or np.float32 for name, dtype in zip(symbol.list_arguments(), found)}


def _heads_of_examples(symbol: Symbol, own: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[int, Any]:
    """The outputs that have examples along their first axis: each rank gets those of its own."""
    pairs = zip(symbol.infer_shape(**own)[1], symbol.infer_shape(**{**own, **whole})[1])
    return {i: 0 for i, (small, large) in enumerate(pairs) if small != large}


def _parameters(symbol: Symbol, names: set[str]) -> dict[str, tuple[str, int]]:
    """The arguments that are cut, each with its layer and the axis: of layers in groups of these names."""
    nodes = json.loads(symbol.tojson(remove_amp_cast=False))["nodes"]
    found: dict[str, tuple[str, int]] = {}
    for node in nodes:
        if node["op"] == "null" or node.get("attrs", {}).get("__ctx_group__") not in names:
            continue
        for place, axis in parameter_cuts(node["op"], node.get("attrs", {})).items():
            if place >= len(node["inputs"]):
                continue
            source = nodes[node["inputs"][place][0]]
            while source["op"] in ("amp_cast", "Cast"):
                source = nodes[source["inputs"][0][0]]
            if source["op"] == "null":
                found[source["name"]] = node["name"], axis
    if not found:
        raise MXNetValueError(
            f"[split] no layer with parameters that can be split is in {', '.join(sorted(names))}; expected "
            "AttrScope(ctx_group=...) around such layers."
        )
    return found


def split(mesh: Mesh, axis: str, examples: bool = True) -> GroupSplit:
    """A split for ``group2ctx`` and ``group2ctxs``, in the place of a device: layers that ``AttrScope(ctx_group=...)``
    marks are split over the ranks along an axis of the mesh.

    Each rank has some columns of each layer of the group: its outputs, filters or channels. All else is not split.

    Parameters
    ----------
    mesh : Mesh
    axis : str
        Of the mesh.
    examples : bool
        Whether each rank along the axis gives examples of its own. They are gathered in front of the group, and outputs
        are those of the own examples again. Else the inputs are the same on all ranks along the axis.

    Example
    -------
    >>> import loomix as mx
    >>> mesh = mx.parallel.Mesh(data=1, model=1)
    >>> data = mx.sym.Variable("data")
    >>> with mx.AttrScope(ctx_group="fc"):
    ...     net = mx.sym.FullyConnected(data, num_hidden=4, name="fc")
    >>> run = net.simple_bind(mx.cpu(), group2ctx={"fc": mx.parallel.split(mesh, "model")}, data=(2, 3))
    >>> run.forward()[0].shape
    (2, 4)
    """
    return GroupSplit(mesh, axis, examples)
