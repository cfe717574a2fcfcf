# SPDX-License-Identifier: Apache-2.0
"""What all recurrent layers share: parameters, states, the call of the operator, and the same as cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ... import ndarray as nd
from ... import symbol
from ..._arguments import as_whole
from ...base import AssertedError, MXNetNotImplementedError, MXNetTypeError, ShapeError
from ..block import HybridBlock
from .base_cell import new_state, open_batch, shapes_of
from .cell_groups import BidirectionalCell, HybridSequentialRNNCell
from .cells import GRUCell, LSTMCell, RNNCell
from .modifier_cells import DropoutCell, check_share

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..base_block import BlockNames

__all__ = ["RNNLayer"]

_KINDS = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias", "h2r_weight")  # as initializers come
_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


class RNNLayer(HybridBlock):
    """Layers of one kind, each on the output of the one before; every layer may read in both directions."""

    def __init__(
        self,
        mode: str,
        hidden_size: int,
        num_layers: int,
        layout: str,
        dropout: float,
        bidirectional: bool,
        input_size: int,
        initializers: Sequence[Any],
        dtype: Any,
        projection_size: int | None = None,
        clip: dict[str, Any] | None = None,
        use_sequence_length: bool = False,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        who = type(self).__name__
        if layout not in ("TNC", "NTC"):
            raise AssertedError(f"[{who}] layout is {layout!r}; expected 'TNC' or 'NTC'.")
        for what, size in (("hidden_size", hidden_size), ("num_layers", num_layers)):
            as_whole(who, what, size, least=1)
        check_share(dropout, who, "dropout")
        self._mode = mode
        self._hidden_size = hidden_size
        self._projection_size = projection_size or None
        self._num_layers = num_layers
        self._layout = layout
        self._dropout = dropout
        self._ways = ("l", "r") if bidirectional else ("l",)
        self._input_size = input_size
        self._initializers = dict(zip(_KINDS, initializers))
        self._dtype = dtype
        self._clip = clip or {}
        self._use_sequence_length = use_sequence_length
        rows = _GATES[mode] * hidden_size
        width = input_size
        for layer in range(num_layers):
            for way in self._ways:
                shapes = {
                    "i2h_weight": (rows, width),
                    "h2h_weight": (rows, self._out_size),
                    "i2h_bias": (rows,),
                    "h2h_bias": (rows,),
                }
                if self._projection_size:
                    shapes["h2r_weight"] = (self._out_size, hidden_size)
                for kind, shape in shapes.items():
                    self._add(f"{way}{layer}_{kind}", shape, self._initializers[kind])
            width = len(self._ways) * self._out_size

    def _add(self, name: str, shape: tuple[int, ...], init: Any) -> None:
        param = self.params.get(name, shape=shape, init=init, allow_deferred_init=True, dtype=self._dtype)
        setattr(self, name, param)

    @property
    def _out_size(self) -> int:
        """Numbers of the output in one direction, and of the state that gates read."""
        return self._projection_size or self._hidden_size

    @property
    def _who(self) -> str:
        return f"{type(self).__name__} '{self.name}'"

    def __repr__(self) -> str:
        features = self._reg_params["l0_i2h_weight"].shape[1]
        texts = [f"{features if features > 0 else None} -> {self._hidden_size}", self._layout]
        if self._num_layers != 1:
            texts.append(f"num_layers={self._num_layers}")
        if self._dropout != 0:
            texts.append(f"dropout={self._dropout}")
        if len(self._ways) == 2:
            texts.append("bidirectional")
        return f"{type(self).__name__}({', '.join(texts)})"

    # ---- parameters ----

    def _places(self) -> Iterator[tuple[int, str]]:
        """Each layer in each direction, in the order of the operator's parameters."""
        for layer in range(self._num_layers):
            for way in self._ways:
                yield layer, way

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Any]:
        """Parameters by their places, which in files are those of the unfused cells."""
        if prefix:
            prefix += "."
        both = len(self._ways) == 2
        found = {}
        for key, param in self._reg_params.items():
            place, kind = key.split("_", 1)
            cell = f".{place[0]}_cell" if both else ""
            found[f"{prefix}_unfused.{place[1:]}{cell}.{kind}"] = param
        return found

    def cast(self, dtype: Any) -> None:
        """Casts all parameters, and the states that :meth:`begin_state` makes, to another element type."""
        super().cast(dtype)
        self._dtype = dtype

    def infer_shape(self, *args: Any) -> None:
        """Finds the shapes of the parameters from inputs."""
        self._check_inputs(args[0])
        self._set_features(args[0].shape[2])

    def _infer_from_nodes(self, shapes: dict[str, tuple[int, ...]]) -> None:
        # Of several unknown parts of the operator's parameters, inference knows the sum alone.
        size = (shapes.get(f"{self.prefix}params_output") or (0,))[0]
        known = sum(math.prod(param.shape) for param in self._reg_params.values())
        rows = sum(self._reg_params[f"{way}0_i2h_weight"].shape[0] for way in self._ways)
        if size > known:
            self._set_features((size - known) // rows)

    def _set_features(self, features: int) -> None:
        for way in self._ways:
            weight = self._reg_params[f"{way}0_i2h_weight"]
            weight.shape = (weight.shape[0], features)

    # ---- states ----

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape, layout and type of each state.

        Parameters
        ----------
        batch_size : int
            What the shapes say of the batch; 0 leaves it open.
        """
        rows = self._num_layers * len(self._ways)
        sizes = [self._out_size, self._hidden_size][: 2 if self._mode == "lstm" else 1]
        return [
            {"shape": (rows, batch_size, size), "__layout__": "LNC", "dtype": self._dtype} for size in sizes
        ]

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] = nd.zeros, **kwargs: Any
    ) -> list[Any]:
        """States before the first step.

        Parameters
        ----------
        batch_size : int
        func : callable
            Makes a state from ``name``, ``shape``, ``dtype`` and `kwargs`.
        kwargs
            Passed on to `func`: ``ctx`` ...

        Returns
        -------
        list of NDArray or Symbol
        """
        return [
            new_state(func, f"{self.prefix}h0_{i}", info, kwargs)
            for i, info in enumerate(self.state_info(batch_size))
        ]

    # ---- running ----

    def __call__(self, inputs: Any, states: Any = None, sequence_length: Any = None) -> Any:
        """The layers over a whole sequence.

        Parameters
        ----------
        inputs : NDArray or Symbol
            Of shape (steps, batch, features), or (batch, steps, features) with the layout "NTC".
        states : NDArray, Symbol or list of them, optional
            Before the first step, of shape (layers * directions, batch, units); zeros by default.
        sequence_length : NDArray or Symbol, optional
            Steps of each sample, (batch,), for a layer made with ``use_sequence_length=True``.

        Returns
        -------
        NDArray or Symbol
            All outputs; with states given, a tuple of them and the list of states after the last step.
        """
        return super().__call__(inputs, states, sequence_length)

    def forward(self, x: Any, states: Any = None, sequence_length: Any = None) -> Any:
        """See :meth:`__call__`."""
        if (sequence_length is not None) != self._use_sequence_length:
            raise AssertedError(
                f"[{self._who}] sequence_length is {'missing' if self._use_sequence_length else 'given'}, but the "
                f"layer was made with use_sequence_length={self._use_sequence_length}."
            )
        given = states is not None
        arrays = isinstance(x, nd.NDArray)
        if arrays:
            self._check_inputs(x)
        elif not isinstance(x, symbol.Symbol):
            raise MXNetTypeError(
                f"[{self._who}] the inputs are of type {type(x).__name__}; expected an NDArray or a Symbol."
            )
        batch = x.shape[self._layout.find("N")] if arrays else 0
        if not given and arrays:
            states = self.begin_state(batch, ctx=x.context)
        elif not given:
            states = self.begin_state(open_batch(), func=symbol.zeros)
        elif isinstance(states, (nd.NDArray, symbol.Symbol)):
            states = [states]
        if given and arrays:
            self._check_states(states, batch)
        more = () if sequence_length is None else (sequence_length,)
        outputs, next_states = super().forward(x, list(states), *more)
        return (outputs, next_states) if given else outputs

    def _check_inputs(self, inputs: Any) -> None:
        weight = self._reg_params["l0_i2h_weight"]
        features = weight.shape[1]
        if inputs.ndim != 3 or features not in (0, -1, inputs.shape[2]):
            wanted = features if features > 0 else "any number of"
            raise ShapeError(
                f"[{self._who}] the inputs have shape {inputs.shape}; expected {len(self._layout)} axes, "
                f"{self._layout}, with {wanted} features, as parameter '{weight.name}' of shape {weight.shape} takes."
            )

    def _check_states(self, states: Any, batch: int) -> None:
        expected = [info["shape"] for info in self.state_info(batch)]
        if shapes_of(states) != expected:
            raise ShapeError(
                f"[{self._who}] the states have the shapes {shapes_of(states)}; expected {expected}."
            )

    def hybrid_forward(  # type: ignore[override]  # states are not left out
        self, F: Any, inputs: Any, states: Any, sequence_length: Any = None, **kwargs: Any
    ) -> tuple[Any, Any]:
        if self._layout == "NTC":
            inputs = F.SwapAxis(inputs, dim1=0, dim2=1)
        weights = ["i2h_weight", "h2h_weight", "h2r_weight"][: 3 if self._projection_size else 2]
        names = [f"{way}{layer}_{kind}" for layer, way in self._places() for kind in weights]
        names += [
            f"{way}{layer}_{kind}" for layer, way in self._places() for kind in ("i2h_bias", "h2h_bias")
        ]
        parts = [F.reshape(kwargs[name], shape=(-1,)) for name in names]
        given = dict(zip(("state", "state_cell"), states))
        if sequence_length is not None:
            given["sequence_length"] = sequence_length
        outputs = F.RNN(
            inputs,
            F._internal._rnn_param_concat(*parts, dim=0, name="params"),
            state_size=self._hidden_size,
            projection_size=self._projection_size,
            num_layers=self._num_layers,
            bidirectional=len(self._ways) == 2,
            p=self._dropout,
            state_outputs=True,
            mode=self._mode,
            use_sequence_length=self._use_sequence_length,
            **given,
            **self._clip,
        )
        first = outputs[0]
        if self._layout == "NTC":
            first = F.SwapAxis(first, dim1=0, dim2=1)
        return first, [outputs[i + 1] for i in range(len(states))]

    # ---- as cells ----

    def unfuse(self) -> HybridSequentialRNNCell:
        """The same layers as cells that go step by step, with the same parameters.

        >>> import loomix as mx
        >>> layer = mx.gluon.rnn.GRU(8, num_layers=2, input_size=3)
        >>> layer.unfuse()
        HybridSequentialRNNCell(
        (0): GRUCell(3 -> 24)
        (1): GRUCell(8 -> 24)
        )

        Raises
        ------
        NotImplementedError
            For layers that clip cell states.
        """
        if self._clip:
            raise MXNetNotImplementedError(
                f"[{self._who}] the layer clips cell states, which no cell does; it cannot be unfused."
            )
        stack = HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        with stack.name_scope():
            width = max(self._reg_params["l0_i2h_weight"].shape[1], 0)  # 0: not known yet
            for layer in range(self._num_layers):
                cells = [self._cell(f"{way}{layer}_", width) for way in self._ways]
                stack.add(BidirectionalCell(*cells) if len(cells) == 2 else cells[0])
                if self._dropout > 0 and layer < self._num_layers - 1:
                    stack.add(DropoutCell(self._dropout))
                width = len(self._ways) * self._out_size
        return stack

    _unfuse = unfuse  # its name in MXNet

    def _cell(self, prefix: str, width: int) -> Any:
        from ..contrib.rnn import LSTMPCell

        settings = {f"{kind}_initializer": init for kind, init in self._initializers.items()}
        settings |= {"input_size": width, "prefix": prefix}
        if self._projection_size:
            return LSTMPCell(self._hidden_size, self._projection_size, **settings)
        settings.pop("h2r_weight_initializer", None)
        if self._mode == "lstm":
            return LSTMCell(self._hidden_size, **settings)
        if self._mode == "gru":
            return GRUCell(self._hidden_size, **settings)
        return RNNCell(self._hidden_size, activation=self._mode[len("rnn_") :], **settings)
