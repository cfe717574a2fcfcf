# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.
from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import DTypeLike

from ..context import Context
from .symbol import Symbol

def AdaptiveAvgPooling2D(
    data: Symbol | None = None,
    output_size: int | Sequence[int] = (),
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def BatchNormWithReLU(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None,
    eps: float = 0.0010000000474974513,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def BilinearResize2D(
    data: Symbol | None = None,
    like: Symbol | None = None,
    height: int = 1,
    width: int = 1,
    scale_height: float | None = None,
    scale_width: float | None = None,
    mode: Literal[
        "like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"
    ] = "size",
    align_corners: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def CTCLoss(
    data: Symbol | None = None,
    label: Symbol | None = None,
    data_lengths: Symbol | None = None,
    label_lengths: Symbol | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def DeformableConvolution(
    data: Symbol | None = None,
    offset: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    kernel: int | Sequence[int] | None = None,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int | None = None,
    num_group: int = 1,
    num_deformable_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    layout: Literal["NCDHW", "NCHW", "NCW"] | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def DeformablePSROIPooling(
    data: Symbol | None = None,
    rois: Symbol | None = None,
    trans: Symbol | None = None,
    spatial_scale: float | None = None,
    output_dim: int | None = None,
    group_size: int | None = None,
    pooled_size: int | None = None,
    part_size: int = 0,
    sample_per_part: int = 1,
    trans_std: float = 0.0,
    no_trans: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def ModulatedDeformableConvolution(
    data: Symbol | None = None,
    offset: Symbol | None = None,
    mask: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    kernel: int | Sequence[int] | None = None,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int | None = None,
    num_group: int = 1,
    num_deformable_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    im2col_step: int = 64,
    layout: Literal["NCDHW", "NCHW", "NCW"] | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def MultiBoxDetection(
    cls_prob: Symbol | None = None,
    loc_pred: Symbol | None = None,
    anchor: Symbol | None = None,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: int = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    nms_topk: int = -1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def MultiBoxPrior(
    data: Symbol | None = None,
    sizes: Sequence[float] = (1.0,),
    ratios: Sequence[float] = (1.0,),
    clip: bool = False,
    steps: Sequence[float] = (-1.0, -1.0),
    offsets: Sequence[float] = (0.5, 0.5),
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def MultiBoxTarget(
    anchor: Symbol | None = None,
    label: Symbol | None = None,
    cls_pred: Symbol | None = None,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: int = 0,
    variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def MultiProposal(
    cls_prob: Symbol | None = None,
    bbox_pred: Symbol | None = None,
    im_info: Symbol | None = None,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: Sequence[float] = (4.0, 8.0, 16.0, 32.0),
    ratios: Sequence[float] = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def PSROIPooling(
    data: Symbol | None = None,
    rois: Symbol | None = None,
    spatial_scale: float | None = None,
    output_dim: int | None = None,
    pooled_size: int | None = None,
    group_size: int = 0,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def Proposal(
    cls_prob: Symbol | None = None,
    bbox_pred: Symbol | None = None,
    im_info: Symbol | None = None,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: Sequence[float] = (4.0, 8.0, 16.0, 32.0),
    ratios: Sequence[float] = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def ROIAlign(
    data: Symbol | None = None,
    rois: Symbol | None = None,
    pooled_size: int | Sequence[int] | None = None,
    spatial_scale: float | None = None,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def RROIAlign(
    data: Symbol | None = None,
    rois: Symbol | None = None,
    pooled_size: int | Sequence[int] | None = None,
    spatial_scale: float | None = None,
    sampling_ratio: int = -1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def SparseEmbedding(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    input_dim: int | None = None,
    output_dim: int | None = None,
    dtype: DTypeLike = "float32",
    sparse_grad: bool = False,
    deterministic: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def SyncBatchNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    ndev: int = 1,
    key: str | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def allclose(
    a: Symbol | None = None,
    b: Symbol | None = None,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def arange_like(
    data: Symbol | None = None,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: Context | str = "",
    axis: int | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def bipartite_matching(
    data: Symbol | None = None,
    is_ascend: bool = False,
    threshold: float | None = None,
    topk: int = -1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def boolean_mask(
    data: Symbol | None = None,
    index: Symbol | None = None,
    axis: int = 0,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def box_decode(
    data: Symbol | None = None,
    anchors: Symbol | None = None,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: Literal["center", "corner"] = "center",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def box_encode(
    samples: Symbol | None = None,
    matches: Symbol | None = None,
    anchors: Symbol | None = None,
    refs: Symbol | None = None,
    means: Symbol | None = None,
    stds: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def box_iou(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    format: Literal["center", "corner"] = "corner",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def box_nms(
    data: Symbol | None = None,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: Literal["center", "corner"] = "corner",
    out_format: Literal["center", "corner"] = "corner",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def box_non_maximum_suppression(
    data: Symbol | None = None,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: Literal["center", "corner"] = "corner",
    out_format: Literal["center", "corner"] = "corner",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def count_sketch(
    data: Symbol | None = None,
    h: Symbol | None = None,
    s: Symbol | None = None,
    out_dim: int | None = None,
    processing_batch_size: int = 32,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def ctc_loss(
    data: Symbol | None = None,
    label: Symbol | None = None,
    data_lengths: Symbol | None = None,
    label_lengths: Symbol | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def dgl_adjacency(
    data: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def dgl_csr_neighbor_non_uniform_sample(
    *csr_matrix: Symbol,
    num_hops: int = 1,
    num_neighbor: int = 2,
    max_num_vertices: int = 100,
    name: str | None = None,
    attr: dict[str, str] | None = None,
) -> Symbol: ...
def dgl_csr_neighbor_uniform_sample(
    *csr_matrix: Symbol,
    num_hops: int = 1,
    num_neighbor: int = 2,
    max_num_vertices: int = 100,
    name: str | None = None,
    attr: dict[str, str] | None = None,
) -> Symbol: ...
def dgl_graph_compact(
    *graph_data: Symbol,
    return_mapping: bool,
    graph_sizes: Sequence[int],
    name: str | None = None,
    attr: dict[str, str] | None = None,
) -> Symbol: ...
def dgl_subgraph(
    *graph: Symbol,
    return_mapping: bool,
    name: str | None = None,
    attr: dict[str, str] | None = None,
) -> Symbol: ...
def div_sqrt_dim(
    data: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def edge_id(
    data: Symbol | None = None,
    u: Symbol | None = None,
    v: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def fft(
    data: Symbol | None = None,
    compute_size: int = 128,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def getnnz(
    data: Symbol | None = None,
    axis: int | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def gradientmultiplier(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def hawkesll(
    lda: Symbol | None = None,
    alpha: Symbol | None = None,
    beta: Symbol | None = None,
    state: Symbol | None = None,
    lags: Symbol | None = None,
    marks: Symbol | None = None,
    valid_length: Symbol | None = None,
    max_time: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def ifft(
    data: Symbol | None = None,
    compute_size: int = 128,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def index_array(
    data: Symbol | None = None,
    axes: int | Sequence[int] | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def index_copy(
    old_tensor: Symbol | None = None,
    index_vector: Symbol | None = None,
    new_tensor: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def interleaved_matmul_encdec_qk(
    queries: Symbol | None = None,
    keys_values: Symbol | None = None,
    heads: int | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def interleaved_matmul_encdec_valatt(
    keys_values: Symbol | None = None,
    attention: Symbol | None = None,
    heads: int | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def interleaved_matmul_selfatt_qk(
    queries_keys_values: Symbol | None = None,
    heads: int | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def interleaved_matmul_selfatt_valatt(
    queries_keys_values: Symbol | None = None,
    attention: Symbol | None = None,
    heads: int | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def quadratic(
    data: Symbol | None = None,
    a: float = 0.0,
    b: float = 0.0,
    c: float = 0.0,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def round_ste(
    data: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def sign_ste(
    data: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
