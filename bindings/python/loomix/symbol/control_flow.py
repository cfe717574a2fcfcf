# SPDX-License-Identifier: Apache-2.0
"""Loops and branches on symbols: operators that hold a subgraph, which a function composes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _control_flow, _core, attribute
from .. import name as _name
from ..base import MXNetTypeError, MXNetValueError
from . import _internal
from . import op as _op

if TYPE_CHECKING:
    from ..symbol import Symbol

__all__ = ["cond", "foreach", "while_loop"]

# How often a name of a subgraph was asked for; like the names of nodes they count up for good.
_names: dict[str, int] = {}


def _unique(name: str) -> str:
    number = _names.get(name, 0)
    _names[name] = number + 1
    return f"{name}{number}"


class _Graph:
    """A subgraph that a function composes. Its placeholders stand for symbols outside."""

    def __init__(self, name: str, outside: Sequence[Symbol]) -> None:
        from .symbol import Variable

        self.name = _unique(name)
        self._scope = attribute.AttrScope(__subgraph_name__=self.name)
        self._outside: dict[str, Symbol] = {}
        self.placeholders: list[Symbol] = []
        with self._scope:
            for symbol in outside:
                if len(symbol) != 1:
                    raise MXNetValueError(
                        f"[control flow] {symbol.name} has {len(symbol)} outputs; expected one."
                    )
                name = f"{symbol.name}-{symbol.handle.output_index()}"
                while name in self._outside:
                    name += "-1"
                self._outside[name] = symbol
                self.placeholders.append(Variable(name))

    def compose(
        self,
        function: Callable[[], Any],
        outputs: Callable[[Any], list[Symbol]],
        states: Sequence[Symbol] = (),
    ) -> Any:
        """Calls the function; ``outputs`` makes a flat list of what it returns, at whose end is what follows
        ``states``, some of the placeholders. Returns what the function did."""
        with self._scope:
            result = function()
            flat = outputs(result)
            self._take_part(flat, states)
            heads, seen = [], set()
            for head in flat:
                own = self._is_own(head)
                key = (head.name, head.handle.output_index())
                # Each output is one of an operator in here, and of no other output.
                heads.append(head if own and key not in seen else _op.identity(head))
                seen.add(key)
        group = _core.SymbolHandle.group([head.handle for head in heads])
        self.handle, inputs = group.cut_subgraph(self.name)
        self.input_names = self.handle.list_inputs()
        self.inputs = [
            self._outside[name].handle if name in self._outside else outer
            for name, outer in zip(self.input_names, inputs)
        ]
        return result

    @staticmethod
    def _take_part(heads: list[Symbol], states: Sequence[Symbol]) -> None:
        """Lets states that the function did not use be inputs all the same: what follows them has their shapes."""
        used = {name for head in heads for name in head.list_inputs()}
        for place, state in enumerate(states, len(heads) - len(states)):
            if state.name not in used:
                heads[place] = _internal._identity_with_attr_like_rhs(heads[place], state)

    def _is_own(self, head: Symbol) -> bool:
        is_variable = head.list_inputs() == [head.name] and head.handle.children() is None
        return not is_variable and head.attr("__subgraph_name__") == self.name

    def place_of(self, placeholder: Symbol) -> int | None:
        """Where a placeholder is among the subgraph's inputs; None if it is not used."""
        return self.input_names.index(placeholder.name) if placeholder.name in self.input_names else None


def _node(op: str, graphs: Sequence[_Graph], inputs: Any, num_outputs: int, **attrs: Any) -> list[Symbol]:
    from .symbol import Symbol

    texts = {key: str(value) for key, value in attrs.items()}
    texts.update(num_args=str(len(inputs) + len(graphs)), num_outputs=str(num_outputs))
    texts.update(attribute.current().get(None))
    name = _name.current().get(None, op)
    handles = [graph.handle for graph in graphs]
    node = Symbol(_core.SymbolHandle.compose_control_flow(op, handles, list(inputs), texts, name))
    return [node[i] for i in range(num_outputs)]


def foreach(body: Any, data: Any, init_states: Any, name: str = "foreach") -> Any:
    """Runs ``body(element, states)`` for each element of ``data`` along the first axis, as one operator.

    Parameters
    ----------
    body : function
        Is called once, with symbols; returns an output and the next states. Other symbols that it uses become inputs.
    data : Symbol or (nested) lists of Symbol
        Lists are gone through side by side.
    init_states : Symbol or (nested) lists of Symbol
        States of the first step.
    name : str
        Of the subgraph.

    Returns
    -------
    outputs : Symbol or (nested) lists of Symbol
        Those of all steps, stacked along a new first axis.
    states
        Those after the last step.

    Examples
    --------
    >>> import loomix as mx
    >>> data, total = mx.sym.Variable("data"), mx.sym.Variable("total")
    >>> sums, last = mx.sym.contrib.foreach(lambda x, total: (x + total, x + total), data, total)
    >>> arrays = {"data": mx.nd.array([[1], [2], [3]]), "total": mx.nd.zeros(1)}
    >>> sums.bind(mx.cpu(), arrays).forward()[0].asnumpy().ravel()
    array([1., 3., 6.], dtype=float32)
    """
    from .symbol import Symbol

    _control_flow.check_function(body, "foreach: body")
    elements, data_form = _control_flow.flatten(data, Symbol, "foreach: data")
    states, state_form = _control_flow.flatten(init_states, Symbol, "foreach: init_states")
    if not elements:
        raise MXNetValueError("[foreach] data is empty; expected at least one symbol.")
    graph = _Graph(name, [*elements, *states])
    items, before = graph.placeholders[: len(elements)], graph.placeholders[len(elements) :]
    forms: list[Any] = []

    def flat(result: Any) -> list[Symbol]:
        out, after = _control_flow.step_results(result, "foreach")
        outputs, out_form = _control_flow.flatten(out, Symbol, "foreach: an output")
        following, form = _control_flow.flatten(after, Symbol, "foreach: a state")
        if len(following) != len(states):
            raise MXNetValueError(f"[foreach] body returned {len(following)} states; expected {len(states)}.")
        forms.extend([out_form, form, len(outputs)])
        return outputs + following

    graph.compose(
        lambda: body(_control_flow.regroup(items, data_form), _control_flow.regroup(before, state_form)),
        flat,
        before,
    )
    out_form, after_form, num_out = forms
    used_items = _places(graph, items, "foreach: data")
    used_states = _places(graph, before, "foreach: init_states")
    rest = [place for place in range(len(graph.inputs)) if place not in {*used_items, *used_states}]
    inputs = [graph.inputs[place] for place in (*used_items, *used_states, *rest)]
    outputs = _node(
        "_foreach", [graph], inputs, num_out + len(states), num_out_data=num_out, in_data_locs=used_items,
        in_state_locs=used_states, remain_locs=rest,
    )  # fmt: skip
    return _control_flow.regroup(outputs[:num_out], out_form), _control_flow.regroup(
        outputs[num_out:], after_form
    )


def _places(graph: _Graph, placeholders: Sequence[Symbol], what: str) -> list[int]:
    places = [graph.place_of(placeholder) for placeholder in placeholders]
    if None in places:
        raise MXNetValueError(
            f"[{what}] number {places.index(None)} takes no part in the computation; leave it out."
        )
    return [place for place in places if place is not None]


def while_loop(
    cond: Any, func: Any, loop_vars: Any, max_iterations: int | None = None, name: str = "while_loop"
) -> Any:
    """Runs ``func(*loop_vars)`` while ``cond(*loop_vars)`` holds, at most ``max_iterations`` times, as one operator.

    Parameters
    ----------
    cond, func : function
        Are called once, with symbols. ``cond`` returns one number, ``func`` outputs (one, a list, or None) and the next
        ``loop_vars``.
    loop_vars : Symbol or list of Symbol
    max_iterations : int
    name : str
        Of the subgraphs.

    Returns
    -------
    outputs : Symbol or list of Symbol
        Those of all steps, stacked along a new first axis of size ``max_iterations``, and zeros behind them.
    loop_vars
        Those after the last step.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.sym.Variable("x")
    >>> powers, last = mx.sym.contrib.while_loop(lambda x: x < 20, lambda x: (x, x * 2), [x], max_iterations=4)
    >>> outputs = mx.sym.Group([powers, *last]).bind(mx.cpu(), {"x": mx.nd.array([5])}).forward()
    >>> outputs[0].asnumpy().ravel(), outputs[1].asnumpy()
    (array([ 5., 10.,  0.,  0.], dtype=float32), array([20.], dtype=float32))
    """
    from .symbol import Symbol

    _control_flow.check_function(cond, "while_loop: cond")
    _control_flow.check_function(func, "while_loop: func")
    most = _control_flow.limit(max_iterations)
    variables = _control_flow.loop_variables(loop_vars)
    if not variables:
        raise MXNetValueError("[while_loop] loop_vars is empty; expected at least one.")
    _control_flow.flatten(variables, Symbol, "while_loop: loop_vars")
    condition, step = _Graph(f"{name}_cond", variables), _Graph(f"{name}_func", variables)
    condition.compose(
        lambda: cond(*condition.placeholders), lambda result: [_one(result, "while_loop: cond")]
    )
    forms: list[Any] = []

    def flat(result: Any) -> list[Symbol]:
        out, following = _control_flow.step_results(result, "while_loop")
        outputs, form = (
            ([], []) if out is None else _control_flow.flatten(out, Symbol, "while_loop: an output")
        )
        following = _control_flow.loop_variables(following)
        if len(following) != len(variables):
            raise MXNetValueError(
                f"[while_loop] func returned {len(following)} loop_vars; expected {len(variables)}, as before."
            )
        forms.extend([form, len(outputs)])
        return outputs + following

    step.compose(lambda: func(*step.placeholders), flat, step.placeholders)
    form, num_out = forms
    _keep_apart([condition, step], variables)
    inputs, (cond_places, func_places) = _core.SymbolHandle.unite([condition.inputs, step.inputs])
    outputs = _node(
        "_while_loop", [condition, step], inputs, num_out + len(variables), num_out_data=num_out, max_iterations=most,
        cond_input_locs=cond_places, func_input_locs=func_places,
        func_var_locs=_places(step, step.placeholders, "while_loop: loop_vars"),
    )  # fmt: skip
    single = isinstance(loop_vars, Symbol)
    return _control_flow.regroup(outputs[:num_out], form), outputs[num_out] if single else outputs[num_out:]


def _keep_apart(graphs: Sequence[_Graph], variables: Sequence[Symbol]) -> None:
    """Gives a variable an input of its own, if another begins with the same value, or a step reads it as it was."""
    from .symbol import Symbol

    def key(handle: Any) -> tuple[Any, Any]:
        return Symbol(handle).name, handle.output_index()

    taken = set()
    for graph in graphs:
        own = {placeholder.name for placeholder in graph.placeholders}
        taken |= {key(handle) for name, handle in zip(graph.input_names, graph.inputs) if name not in own}
    for i, variable in enumerate(variables):
        if key(variable.handle) in taken:
            copied = _op.identity(variable).handle
            for graph in graphs:
                place = graph.place_of(graph.placeholders[i])
                if place is not None:
                    graph.inputs[place] = copied
        taken.add(key(variable.handle))


def _one(value: Any, what: str) -> Symbol:
    from .symbol import Symbol

    if not isinstance(value, Symbol) or len(value) != 1:
        raise MXNetTypeError(
            f"[{what}] gives an object of type {type(value).__name__}; expected a symbol with one output."
        )
    return value


def cond(pred: Any, then_func: Any, else_func: Any, name: str = "cond") -> Any:
    """What ``then_func()`` gives if ``pred``, one number, is not zero, else what ``else_func()`` gives.

    Both are called once, and give symbols of the same number, shapes and types; only one of them runs.

    >>> import loomix as mx
    >>> x = mx.sym.Variable("x")
    >>> absolute = mx.sym.contrib.cond(x > 0, lambda: x, lambda: -x)
    >>> absolute.bind(mx.cpu(), {"x": mx.nd.array([-3])}).forward()[0].asnumpy()
    array([3.], dtype=float32)
    """
    from .symbol import Symbol

    _control_flow.check_function(then_func, "cond: then_func")
    _control_flow.check_function(else_func, "cond: else_func")
    condition = _Graph(f"{name}_pred", [])
    condition.compose(lambda: pred, lambda result: [_one(result, "cond: pred")])
    forms: list[Any] = []

    def flat(result: Any) -> list[Symbol]:
        outputs, form = _control_flow.flatten(result, Symbol, "cond: an output")
        forms.append((form, len(outputs)))
        return outputs

    branches = [_Graph(f"{name}_then", []), _Graph(f"{name}_else", [])]
    for branch, function in zip(branches, (then_func, else_func)):
        branch.compose(function, flat)
    if forms[0] != forms[1]:
        raise MXNetValueError(
            f"[cond] the branches give {forms[0][1]} and {forms[1][1]} outputs, or lists of other forms."
        )
    form, count = forms[0]
    inputs, places = _core.SymbolHandle.unite([graph.inputs for graph in (condition, *branches)])
    outputs = _node(
        "_cond", [condition, *branches], inputs, count, cond_input_locs=places[0], then_input_locs=places[1],
        else_input_locs=places[2],
    )  # fmt: skip
    return _control_flow.regroup(outputs, form)
