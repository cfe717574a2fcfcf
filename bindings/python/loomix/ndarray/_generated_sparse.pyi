# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.
from collections.abc import Sequence
from typing import Literal

from numpy.typing import DTypeLike

from .ndarray import NDArray

def ElementWiseSum(
    *args: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Embedding(
    data: NDArray,
    weight: NDArray,
    input_dim: int,
    output_dim: int,
    dtype: DTypeLike = "float32",
    sparse_grad: bool = False,
    deterministic: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def FullyConnected(
    data: NDArray,
    weight: NDArray | None = None,
    bias: NDArray | None = None,
    num_hidden: int | None = None,
    no_bias: bool = False,
    flatten: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def LinearRegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def LogisticRegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def MAERegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _contrib_round_ste(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _contrib_sign_ste(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def abs(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def adagrad_update(
    weight: NDArray,
    grad: NDArray,
    history: NDArray,
    lr: float,
    epsilon: float = 1e-07,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def adam_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def add_n(*args: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def arccos(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def arccosh(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def arcsin(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def arcsinh(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def arctan(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def arctanh(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_add(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_div(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_minus(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_mul(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_plus(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_sub(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def cast_storage(
    data: NDArray,
    stype: Literal["csr", "default", "row_sparse"],
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def cbrt(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def ceil(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def clip(
    data: NDArray,
    a_min: float,
    a_max: float,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def concat(
    *data: NDArray,
    dim: int = 1,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def cos(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def cosh(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def degrees(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def dot(
    lhs: NDArray,
    rhs: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal["csr", "default", "row_sparse"] | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def elemwise_add(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def elemwise_div(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def elemwise_mul(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def elemwise_sub(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def exp(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def expm1(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def fix(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def floor(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def ftrl_update(
    weight: NDArray,
    grad: NDArray,
    z: NDArray,
    n: NDArray,
    lr: float,
    lamda1: float = 0.01,
    beta: float = 1.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def gamma(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def gammaln(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def log(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def log10(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def log1p(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def log2(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def make_loss(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def mean(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def negative(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def norm(
    data: NDArray,
    ord: int = 2,
    axis: int | Sequence[int] | None = None,
    out_dtype: Literal["float16", "float32", "float64", "int32", "int64", "int8"] | None = None,
    keepdims: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def radians(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def relu(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def retain(
    data: NDArray,
    indices: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def rint(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def round(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def rsqrt(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def sgd_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sgd_update(
    weight: NDArray,
    grad: NDArray,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sigmoid(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sign(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def sin(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def sinh(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def slice(
    data: NDArray,
    begin: int | Sequence[int],
    end: int | Sequence[int],
    step: int | Sequence[int] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sqrt(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def square(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def stop_gradient(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sum(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def tan(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def tanh(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def trunc(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def where(
    condition: NDArray,
    x: NDArray,
    y: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def zeros_like(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
