# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.
from typing import Any

from .ndarray import NDArray

def det(A: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray | Any: ...
def extractdiag(
    A: NDArray,
    offset: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def extracttrian(
    A: NDArray,
    offset: int = 0,
    lower: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def gelqf(
    A: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def gemm(
    A: NDArray,
    B: NDArray,
    C: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def gemm2(
    A: NDArray,
    B: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def inverse(A: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def makediag(
    A: NDArray,
    offset: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def maketrian(
    A: NDArray,
    offset: int = 0,
    lower: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def pinv(
    A: NDArray,
    rcond: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def potrf(
    A: NDArray,
    lower: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def potri(A: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def slogdet(
    A: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def solve(
    A: NDArray,
    B: NDArray,
    transpose: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sumlogdiag(
    A: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def svd(A: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray | Any: ...
def syevd(
    A: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def syrk(
    A: NDArray,
    transpose: bool = False,
    alpha: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def trmm(
    A: NDArray,
    B: NDArray,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def trsm(
    A: NDArray,
    B: NDArray,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
