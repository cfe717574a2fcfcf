# SPDX-License-Identifier: Apache-2.0
"""The operators by what a short type does to them; the same for float16 and bfloat16.

Matrix products gain most from a short type, and their kernels add in float32. What follows an exponential curve, adds
up many elements or divides by small ones needs the digits, or the range, of float32. Where two values meet, the wider
type wins. All others only move, compare or bound elements: they run in the type that comes.
"""

from __future__ import annotations

from ...._core import operator_info, operator_names

__all__ = ["CONDITIONAL_FULL", "FULL", "LOSSES", "LOW", "PARAMETERS_IN_FULL", "WIDEST", "either"]

# Products of matrices and what is made of them.
LOW = [
    "Convolution",
    "Deconvolution",
    "FullyConnected",
    "RNN",
    "_contrib_DeformableConvolution",
    "_contrib_ModulatedDeformableConvolution",
    "_contrib_interleaved_matmul_encdec_qk",
    "_contrib_interleaved_matmul_encdec_valatt",
    "_contrib_interleaved_matmul_selfatt_qk",
    "_contrib_interleaved_matmul_selfatt_valatt",
    "batch_dot",
]

LOSSES = [
    "LinearRegressionOutput",
    "LogisticRegressionOutput",
    "MAERegressionOutput",
    "MakeLoss",
    "SVMOutput",
    "SoftmaxOutput",
    "make_loss",
]

_EXPONENTIALS = "exp expm1 log log10 log1p log2 sinh cosh erfinv gamma gammaln"
_POWERS = (
    "_power _power_scalar _rpower_scalar broadcast_power _hypot _hypot_scalar broadcast_hypot square sqrt rsqrt cbrt "
    "rcbrt reciprocal _rdiv_scalar"
)
_STEEP = "tan arcsin arccos arctan arcsinh arccosh arctanh"  # near their poles
_SUMS = "sum nansum prod nanprod mean norm moments _square_sum multi_sum_sq _np_cumsum khatri_rao"
_SOFTMAX = "softmax log_softmax softmin SoftmaxActivation softmax_cross_entropy CTCLoss smooth_l1"
_NORMALISATION = "L2Normalization LRN LayerNorm InstanceNorm GroupNorm _contrib_div_sqrt_dim"
_ALGEBRA = (
    "_linalg_det _linalg_gelqf _linalg_gemm _linalg_gemm2 _linalg_inverse _linalg_pinv _linalg_potrf _linalg_potri "
    "_linalg_slogdet _linalg_solve _linalg_sumlogdiag _linalg_svd _linalg_syevd _linalg_syrk "
    "_linalg_trmm _linalg_trsm _contrib_fft _contrib_ifft"
)
_COORDINATES = (
    "BilinearSampler GridGenerator SpatialTransformer ROIPooling Correlation _contrib_ROIAlign _contrib_RROIAlign "
    "_contrib_PSROIPooling _contrib_DeformablePSROIPooling _contrib_Proposal _contrib_MultiProposal "
    "_contrib_MultiBoxPrior _contrib_MultiBoxTarget _contrib_MultiBoxDetection _contrib_box_nms _contrib_box_iou "
    "_contrib_box_encode _contrib_box_decode _contrib_bipartite_matching"
)
_STATISTICS = (
    "IdentityAttachKLSparseReg _contrib_hawkesll _contrib_count_sketch _random_pdf_dirichlet _random_pdf_exponential "
    "_random_pdf_gamma _random_pdf_generalized_negative_binomial _random_pdf_negative_binomial _random_pdf_normal "
    "_random_pdf_poisson _random_pdf_uniform"
)
FULL = sorted(
    " ".join(
        (
            _EXPONENTIALS,
            _POWERS,
            _STEEP,
            _SUMS,
            _SOFTMAX,
            _NORMALISATION,
            _ALGEBRA,
            _COORDINATES,
            _STATISTICS,
        )
    ).split()
    + LOSSES
)

# (operator, attribute, the values with which it is exponential)
CONDITIONAL_FULL = [
    ("Activation", "act_type", ["softrelu"]),
    ("LeakyReLU", "act_type", ["elu", "selu"]),
]

_ARITHMETIC = (
    "elemwise_add elemwise_sub elemwise_mul elemwise_div _grad_add add_n _maximum _minimum _mod broadcast_add "
    "broadcast_sub broadcast_mul broadcast_div broadcast_maximum broadcast_minimum broadcast_mod"
)
_COMPARISONS = (
    "_equal _not_equal _greater _greater_equal _lesser _lesser_equal _logical_and _logical_or _logical_xor "
    "broadcast_equal broadcast_not_equal broadcast_greater broadcast_greater_equal broadcast_lesser "
    "broadcast_lesser_equal broadcast_logical_and broadcast_logical_or broadcast_logical_xor"
)
_JOINING = "Concat stack where _rnn_param_concat"
WIDEST = sorted(" ".join((_ARITHMETIC, _COMPARISONS, _JOINING)).split())

# Inputs that are float32 beside short data.
PARAMETERS_IN_FULL = {
    name: ["gamma", "beta", "moving_mean", "moving_var"]
    for name in ("BatchNorm", "_contrib_BatchNormWithReLU", "_contrib_SyncBatchNorm")
}


def either() -> list[str]:
    """The operators with inputs that no other list has."""
    listed = {*LOW, *FULL, *WIDEST}
    names = {operator for _, operator in operator_names(True)} - listed
    return sorted(name for name in names if operator_info(name)["inputs"])
