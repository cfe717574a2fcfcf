# SPDX-License-Identifier: Apache-2.0
"""ONNX files: written from symbols and their parameters, and read.

The package onnx is needed (``pip install 'loomix[onnx]'``), and imported when a function here is first called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import MXNetValueError
from .library import DEFAULT_OPSET, check_opset

if TYPE_CHECKING:
    from ..context import Context
    from ..gluon import SymbolBlock
    from ..ndarray import NDArray
    from ..symbol import Symbol

__all__ = [
    "DEFAULT_OPSET",
    "export_model",
    "get_model_metadata",
    "get_operator_support",
    "import_model",
    "import_to_gluon",
]


def export_model(
    sym: Any,
    params: Any,
    in_shapes: Any = None,
    in_types: Any = np.float32,
    onnx_file_path: Any = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Any = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Any = None,
    large_model: bool = False,
    opset_version: int = DEFAULT_OPSET,
) -> str:
    """Writes a network to an ONNX file, as it predicts: labels and what only training needs are left out.

    Parameters
    ----------
    sym : Symbol or str
        The network, or the path of its JSON file.
    params : dict, list of dict, or str
        Parameters and auxiliary states by name (which may begin with ``arg:`` and ``aux:``), or the path of a
        ``.params`` file. All other arguments are inputs.
    in_shapes : list of tuple, or dict
        Shapes of the inputs, in the order of ``list_arguments`` without labels, or by name.
    in_types : type, list of them, or dict
        Types of the inputs.
    onnx_file_path : str
        The file to write; one that exists is replaced.
    verbose : bool
        Prints which nodes become which.
    dynamic : bool
        Lets sizes of inputs change from call to call: those of ``dynamic_input_shapes`` that are no numbers, all
        without it.
    dynamic_input_shapes : list of tuple, or dict
        Like ``in_shapes``, with names (or None) for sizes that may change: ``[("batch", 3, 224, 224)]``.
    run_shape_inference : bool
        Adds the shapes of all values to the file.
    input_type, input_shape
        Older names of ``in_types`` and ``in_shapes``.
    large_model : bool
        Writes the weights to a second file, ``onnx_file_path`` + ``.data``: for more than 2 GiB.
    opset_version : int
        Version of ONNX's operators, from 13 to 21. MXNet has no such parameter.

    Returns
    -------
    str
        The path of the file.

    Raises
    ------
    MXNetError
        When onnx is not installed.
    NotImplementedError
        When an operator, or what it is asked for, has no ONNX form; the text names operator and node.
    ValueError
        When shapes do not fit or are missing, or the opset is not known.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, no_bias=True, name="fc")
    >>> params = {"fc_weight": mx.nd.ones((2, 3))}
    >>> mx.onnx.export_model(net, params, [(1, 3)], onnx_file_path="fc.onnx")  # doctest: +SKIP
    'fc.onnx'
    """
    from .export import export

    if input_shape is not None:
        if in_shapes is not None:
            raise MXNetValueError(
                "[export_model] in_shapes and input_shape are one argument; expected one of them."
            )
        in_shapes = input_shape
    return export(
        sym, params, in_shapes, in_types if input_type is None else input_type, onnx_file_path, verbose, dynamic,
        dynamic_input_shapes, run_shape_inference, large_model, opset_version,
    )  # fmt: skip


def import_model(
    model_file: Any, input_shapes: Mapping[str, tuple[int, ...]] | None = None
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Reads an ONNX file of opset 13 to 21.

    Parameters
    ----------
    model_file : str or bytes
        The path of the file, or its content.
    input_shapes : dict of str to tuple, optional
        Shapes of inputs whose sizes the file leaves open, where operators need them. MXNet has no such parameter.

    Returns
    -------
    tuple of (Symbol, dict, dict)
        The network, its parameters, and its auxiliary states.

    Raises
    ------
    MXNetError
        When onnx is not installed, or the file is damaged, or has an operator, an attribute or a type that Loomix
        does not know; the text names the node.

    Examples
    --------
    >>> import loomix as mx
    >>> symbol, arg_params, aux_params = mx.onnx.import_model("model.onnx")  # doctest: +SKIP
    """
    from .importer import read_model

    return read_model(model_file, input_shapes)


def import_to_gluon(
    model_file: Any,
    ctx: Context | list[Context] | None,
    input_shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> SymbolBlock:
    """Reads an ONNX file as a block.

    Parameters
    ----------
    model_file : str or bytes
    ctx : Context, list of Context, or None
        Where the parameters go; None: the default device.
    input_shapes : dict of str to tuple, optional
        As for :func:`import_model`.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.onnx.import_to_gluon("model.onnx", mx.cpu())  # doctest: +SKIP
    """
    from .importer import to_block

    return to_block(model_file, ctx, input_shapes)


def get_model_metadata(model_file: Any) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """The names and shapes of a file's inputs and outputs; sizes that it leaves open are 0.

    Returns
    -------
    dict
        ``{"input_tensor_data": [(name, shape), ...], "output_tensor_data": [...]}``

    Examples
    --------
    >>> import loomix as mx
    >>> mx.onnx.get_model_metadata("model.onnx")  # doctest: +SKIP
    """
    from .importer import metadata

    return metadata(model_file)


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """Names of the operators that :func:`export_model` writes.

    Examples
    --------
    >>> import loomix as mx
    >>> "Convolution" in mx.onnx.get_operator_support()
    True
    """
    from .to_onnx import CONVERTERS, NEWEST

    opset = DEFAULT_OPSET if opset_version is None else check_opset("get_operator_support", opset_version)
    return sorted(name for name in CONVERTERS if NEWEST.get(name, 0) <= opset)
