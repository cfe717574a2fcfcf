# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.
from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import DTypeLike

from ..context import Context
from .ndarray import NDArray

def Activation(
    data: NDArray,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"],
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def BatchNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    eps: float = 0.0010000000474974513,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def BatchNorm_v1(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def BilinearSampler(
    data: NDArray,
    grid: NDArray,
    cudnn_off: bool | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def BlockGrad(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def CTCLoss(
    data: NDArray,
    label: NDArray | None = None,
    data_lengths: NDArray | None = None,
    label_lengths: NDArray | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def Cast(
    data: NDArray,
    dtype: DTypeLike,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Concat(
    *data: NDArray,
    dim: int = 1,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Convolution(
    data: NDArray,
    weight: NDArray | None = None,
    bias: NDArray | None = None,
    kernel: int | Sequence[int] | None = None,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int | None = None,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC"] | None = None,
    algorithm: Literal["direct", "fft", "gemm", "winograd"] | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Convolution_v1(
    data: NDArray,
    weight: NDArray | None = None,
    bias: NDArray | None = None,
    kernel: int | Sequence[int] | None = None,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int | None = None,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: Literal["NCDHW", "NCHW", "NDHWC", "NHWC"] | None = None,
    algorithm: Literal["direct", "fft", "gemm", "winograd"] | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Correlation(
    data1: NDArray,
    data2: NDArray,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Crop(
    *data: NDArray,
    offset: int | Sequence[int] = (0, 0),
    h_w: int | Sequence[int] = (0, 0),
    center_crop: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Custom(
    *data: NDArray,
    op_type: str = "",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> NDArray | Any: ...
def Deconvolution(
    data: NDArray,
    weight: NDArray | None = None,
    bias: NDArray | None = None,
    kernel: int | Sequence[int] | None = None,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    adj: int | Sequence[int] = (),
    target_shape: int | Sequence[int] = (),
    num_filter: int | None = None,
    num_group: int = 1,
    workspace: int = 512,
    no_bias: bool = True,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC"] | None = None,
    algorithm: Literal["direct", "fft", "gemm", "winograd"] | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Dropout(
    data: NDArray,
    p: float = 0.5,
    mode: Literal["always", "training"] = "training",
    axes: int | Sequence[int] = (),
    cudnn_off: bool | None = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
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
def Flatten(
    data: NDArray,
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
def GridGenerator(
    data: NDArray,
    transform_type: Literal["affine", "warp"],
    target_shape: int | Sequence[int] = (0, 0),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def GroupNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    num_groups: int = 1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def IdentityAttachKLSparseReg(
    data: NDArray,
    moving_avg: NDArray,
    sparseness_target: float = 0.1,
    penalty: float = 0.001,
    momentum: float = 0.9,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def InstanceNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    eps: float = 0.001,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def L2Normalization(
    data: NDArray,
    eps: float = 1e-10,
    mode: Literal["channel", "instance", "spatial"] = "instance",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def LRN(
    data: NDArray,
    alpha: float = 0.0001,
    beta: float = 0.75,
    knorm: float = 2.0,
    nsize: int | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def LayerNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    axis: int = -1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def LeakyReLU(
    data: NDArray,
    gamma: NDArray | None = None,
    act_type: Literal["elu", "gelu", "leaky", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
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
def MakeLoss(
    data: NDArray,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Literal["batch", "null", "valid"] = "null",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Pad(
    data: NDArray,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: int | Sequence[int],
    constant_value: float = 0.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Pooling(
    data: NDArray,
    kernel: int | Sequence[int] = (),
    pool_type: Literal["avg", "lp", "max", "sum"] = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: Literal["full", "same", "valid"] = "valid",
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC", "NWC"] | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Pooling_v1(
    data: NDArray,
    kernel: int | Sequence[int] = (),
    pool_type: Literal["avg", "max", "sum"] = "max",
    global_pool: bool = False,
    pooling_convention: Literal["full", "valid"] = "valid",
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def RNN(
    data: NDArray,
    parameters: NDArray | None = None,
    state: NDArray | None = None,
    state_cell: NDArray | None = None,
    sequence_length: NDArray | None = None,
    state_size: int | None = None,
    num_layers: int | None = None,
    bidirectional: bool = False,
    mode: Literal["gru", "lstm", "rnn_relu", "rnn_tanh"] | None = None,
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def ROIPooling(
    data: NDArray,
    rois: NDArray,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Reshape(
    data: NDArray,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SVMOutput(
    data: NDArray,
    label: NDArray,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SequenceLast(
    data: NDArray,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SequenceMask(
    data: NDArray,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SequenceReverse(
    data: NDArray,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SliceChannel(
    data: NDArray,
    num_outputs: int,
    axis: int = 1,
    squeeze_axis: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def Softmax(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Literal["batch", "null", "valid"] = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SoftmaxActivation(
    data: NDArray,
    mode: Literal["channel", "instance"] = "instance",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SoftmaxOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Literal["batch", "null", "valid"] = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SpatialTransformer(
    data: NDArray,
    loc: NDArray,
    target_shape: int | Sequence[int] = (0, 0),
    transform_type: Literal["affine"] | None = None,
    sampler_type: Literal["bilinear"] | None = None,
    cudnn_off: bool | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SwapAxis(
    data: NDArray,
    dim1: int = 0,
    dim2: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def UpSampling(
    *data: NDArray,
    scale: int,
    num_filter: int = 0,
    sample_type: Literal["bilinear", "nearest"],
    multi_input_mode: Literal["concat", "sum"] = "concat",
    workspace: int = 512,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def abs(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
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
def all_finite(
    data: NDArray,
    init_output: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def amp_cast(
    data: NDArray,
    dtype: DTypeLike,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def amp_multicast(
    *data: NDArray,
    cast_narrow: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
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
def argmax(
    data: NDArray,
    axis: int | None = None,
    keepdims: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def argmax_channel(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def argmin(
    data: NDArray,
    axis: int | None = None,
    keepdims: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def argsort(
    data: NDArray,
    axis: int | None = -1,
    is_ascend: bool = True,
    dtype: DTypeLike = "float32",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def batch_dot(
    lhs: NDArray,
    rhs: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal["csr", "default", "row_sparse"] | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def batch_take(
    a: NDArray,
    indices: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_add(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_axes(
    data: NDArray,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_axis(
    data: NDArray,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_div(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_equal(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_greater(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_greater_equal(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_hypot(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_lesser(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_lesser_equal(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_like(
    lhs: NDArray,
    rhs: NDArray,
    lhs_axes: int | Sequence[int] | None = None,
    rhs_axes: int | Sequence[int] | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_logical_and(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_logical_or(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_logical_xor(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_maximum(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_minimum(
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
def broadcast_mod(
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
def broadcast_not_equal(
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
def broadcast_power(
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
def broadcast_to(
    data: NDArray,
    shape: int | Sequence[int] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def cast(
    data: NDArray,
    dtype: DTypeLike,
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
def choose_element_0index(
    data: NDArray,
    index: NDArray,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def clip(
    data: NDArray,
    a_min: float,
    a_max: float,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def col2im(
    data: NDArray,
    output_size: int | Sequence[int],
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
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
def crop(
    data: NDArray,
    begin: int | Sequence[int],
    end: int | Sequence[int],
    step: int | Sequence[int] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def ctc_loss(
    data: NDArray,
    label: NDArray | None = None,
    data_lengths: NDArray | None = None,
    label_lengths: NDArray | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def cumsum(
    a: NDArray,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def degrees(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def depth_to_space(
    data: NDArray,
    block_size: int,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def diag(
    data: NDArray,
    k: int = 0,
    axis1: int = 0,
    axis2: int = 1,
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
def erf(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def erfinv(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def exp(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def expand_dims(
    data: NDArray,
    axis: int,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def expm1(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def fill_element_0index(
    lhs: NDArray,
    mhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def fix(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def flatten(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def flip(
    data: NDArray,
    axis: int | Sequence[int],
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def floor(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def ftml_update(
    weight: NDArray,
    grad: NDArray,
    d: NDArray,
    v: NDArray,
    z: NDArray,
    lr: float,
    beta1: float = 0.6,
    beta2: float = 0.999,
    epsilon: float = 9.99999993922529e-09,
    t: int | None = None,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_grad: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
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
def gather_nd(
    data: NDArray,
    indices: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def hard_sigmoid(
    data: NDArray,
    alpha: float = 0.2,
    beta: float = 0.5,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def identity(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def im2col(
    data: NDArray,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def khatri_rao(
    *args: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    t: int | None = None,
    bias_correction: bool = True,
    wd: float | None = None,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def lamb_update_phase2(
    weight: NDArray,
    g: NDArray,
    r1: NDArray,
    r2: NDArray,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_det(
    A: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def linalg_extractdiag(
    A: NDArray,
    offset: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_extracttrian(
    A: NDArray,
    offset: int = 0,
    lower: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_gelqf(
    A: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def linalg_gemm(
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
def linalg_gemm2(
    A: NDArray,
    B: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_inverse(
    A: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_makediag(
    A: NDArray,
    offset: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_maketrian(
    A: NDArray,
    offset: int = 0,
    lower: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_pinv(
    A: NDArray,
    rcond: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_potrf(
    A: NDArray,
    lower: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_potri(
    A: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_slogdet(
    A: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def linalg_solve(
    A: NDArray,
    B: NDArray,
    transpose: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_sumlogdiag(
    A: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_svd(
    A: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def linalg_syrk(
    A: NDArray,
    transpose: bool = False,
    alpha: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_trmm(
    A: NDArray,
    B: NDArray,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_trsm(
    A: NDArray,
    B: NDArray,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def log(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def log10(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def log1p(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def log2(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def log_softmax(
    data: NDArray,
    axis: int = -1,
    temperature: float | None = None,
    dtype: DTypeLike | None = None,
    use_length: bool | None = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def logical_not(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def make_loss(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def max(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def max_axis(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
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
def min(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def min_axis(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def moments(
    data: NDArray,
    axes: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def mp_lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    t: int | None = None,
    bias_correction: bool = True,
    wd: float | None = None,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def mp_lamb_update_phase2(
    weight: NDArray,
    g: NDArray,
    r1: NDArray,
    r2: NDArray,
    weight32: NDArray,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def mp_nag_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    weight32: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def mp_sgd_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    weight32: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def mp_sgd_update(
    weight: NDArray,
    grad: NDArray,
    weight32: NDArray,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def multi_all_finite(
    *data: NDArray,
    init_output: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def multi_lars(
    lrs: NDArray,
    weights_sum_sq: NDArray,
    grads_sum_sq: NDArray,
    wds: NDArray,
    eta: float,
    eps: float,
    rescale_grad: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def multi_mp_sgd_mom_update(
    *data: NDArray,
    lrs: Sequence[float],
    wds: Sequence[float],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def multi_mp_sgd_update(
    *data: NDArray,
    lrs: Sequence[float],
    wds: Sequence[float],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def multi_sgd_mom_update(
    *data: NDArray,
    lrs: Sequence[float],
    wds: Sequence[float],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def multi_sgd_update(
    *data: NDArray,
    lrs: Sequence[float],
    wds: Sequence[float],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def multi_sum_sq(
    *data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def nag_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def nanprod(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def nansum(
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
def normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def one_hot(
    indices: NDArray,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: DTypeLike = "float32",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def ones_like(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def pad(
    data: NDArray,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: int | Sequence[int],
    constant_value: float = 0.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def pick(
    data: NDArray,
    index: NDArray,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def preloaded_multi_mp_sgd_mom_update(
    *data: NDArray,
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def preloaded_multi_mp_sgd_update(
    *data: NDArray,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def preloaded_multi_sgd_mom_update(
    *data: NDArray,
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def preloaded_multi_sgd_update(
    *data: NDArray,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def prod(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def radians(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_exponential(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_gamma(
    alpha: float = 1.0,
    beta: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_generalized_negative_binomial(
    mu: float = 1.0,
    alpha: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_negative_binomial(
    k: float = 1.0,
    p: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_dirichlet(
    sample: NDArray,
    alpha: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_exponential(
    sample: NDArray,
    lam: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_gamma(
    sample: NDArray,
    alpha: NDArray,
    beta: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_generalized_negative_binomial(
    sample: NDArray,
    mu: NDArray,
    alpha: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_negative_binomial(
    sample: NDArray,
    k: NDArray,
    p: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_normal(
    sample: NDArray,
    mu: NDArray,
    sigma: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_poisson(
    sample: NDArray,
    lam: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_uniform(
    sample: NDArray,
    low: NDArray,
    high: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_poisson(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_randint(
    low: int,
    high: int,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def ravel_multi_index(
    data: NDArray,
    shape: int | Sequence[int] | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def rcbrt(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def reciprocal(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def relu(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def repeat(
    data: NDArray,
    repeats: int,
    axis: int | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def reset_arrays(
    *data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def reshape(
    data: NDArray,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def reshape_like(
    lhs: NDArray,
    rhs: NDArray,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def reverse(
    data: NDArray,
    axis: int | Sequence[int],
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def rint(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def rmsprop_update(
    weight: NDArray,
    grad: NDArray,
    n: NDArray,
    lr: float,
    gamma1: float = 0.95,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def rmspropalex_update(
    weight: NDArray,
    grad: NDArray,
    n: NDArray,
    g: NDArray,
    delta: NDArray,
    lr: float,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def round(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def rsqrt(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def sample_exponential(
    lam: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sample_gamma(
    alpha: NDArray,
    beta: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sample_generalized_negative_binomial(
    mu: NDArray,
    alpha: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sample_multinomial(
    data: NDArray,
    shape: int | Sequence[int] = (),
    get_prob: bool = False,
    dtype: DTypeLike = "int32",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def sample_negative_binomial(
    k: NDArray,
    p: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sample_normal(
    mu: NDArray,
    sigma: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sample_poisson(
    lam: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sample_uniform(
    low: NDArray,
    high: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def scatter_nd(
    data: NDArray,
    indices: NDArray,
    shape: int | Sequence[int],
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
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
def shape_array(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def shuffle(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sigmoid(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sign(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def signsgd_update(
    weight: NDArray,
    grad: NDArray,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def signum_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: float = 0.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sin(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def sinh(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def size_array(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def slice(
    data: NDArray,
    begin: int | Sequence[int],
    end: int | Sequence[int],
    step: int | Sequence[int] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def slice_axis(
    data: NDArray,
    axis: int,
    begin: int,
    end: int | None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def slice_like(
    data: NDArray,
    shape_like: NDArray,
    axes: int | Sequence[int] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def smooth_l1(
    data: NDArray,
    scalar: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def softmax(
    data: NDArray,
    length: NDArray | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: DTypeLike | None = None,
    use_length: bool | None = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def softmax_cross_entropy(
    data: NDArray,
    label: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def softmin(
    data: NDArray,
    axis: int = -1,
    temperature: float | None = None,
    dtype: DTypeLike | None = None,
    use_length: bool | None = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def softsign(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sort(
    data: NDArray,
    axis: int | None = -1,
    is_ascend: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def space_to_depth(
    data: NDArray,
    block_size: int,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def split(
    data: NDArray,
    num_outputs: int,
    axis: int = 1,
    squeeze_axis: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def sqrt(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def square(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def squeeze(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def stack(
    *data: NDArray,
    axis: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
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
def sum_axis(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def swapaxes(
    data: NDArray,
    dim1: int = 0,
    dim2: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def take(
    a: NDArray,
    indices: NDArray,
    axis: int = 0,
    mode: Literal["clip", "raise", "wrap"] = "clip",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def tan(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def tanh(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def tile(
    data: NDArray,
    reps: int | Sequence[int],
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def topk(
    data: NDArray,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: Literal["both", "indices", "mask", "value"] = "indices",
    is_ascend: bool = False,
    dtype: DTypeLike = "float32",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def transpose(
    data: NDArray,
    axes: int | Sequence[int] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def trunc(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def unravel_index(
    data: NDArray,
    shape: int | Sequence[int] | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
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
