// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace loomix::ops {

class OpTable;
using Registrar = void(OpTable&);

// What prediction needs: all but optimizers and the kernels of gradients. A library that calls this alone has no code of them.
// `refuse_gradients` comes after all registrars there: operators without kernels get one that says why.
Registrar register_for_prediction, refuse_gradients;

// Schemas, rules and gradients of the operators of a file, or of a family, which is a folder of ops/. A new registrar is
// named here and in register_all.
Registrar register_unary, register_binary, register_scalar, register_cast, register_select;
Registrar register_elemwise_traits, register_reductions, register_broadcasts, register_histogram;
Registrar register_cumsum, register_reshapes, register_slices, register_joins, register_moves, register_init;
Registrar register_index, register_boolean_mask, register_ordering, register_random, register_pdf;
Registrar register_fully_connected, register_dot, register_conv, register_deconvolution, register_deformable;
Registrar register_pool, register_batch_norm, register_row_norm, register_l2_norm, register_activation;
Registrar register_leaky_relu, register_softmax, register_softmax_output, register_regression_output;
Registrar register_dropout, register_optimizer, register_linalg_products, register_linalg_factors;
Registrar register_linalg_parts, register_linalg_singular_values, register_sequence, register_ctc_loss,
    register_attention;
Registrar register_contrib_elementwise, register_contrib_index, register_contrib_transforms;
Registrar register_contrib_stored, register_hawkes, register_rnn, register_upsampling, register_resample;
Registrar register_sampler, register_unfold, register_correlation, register_roi, register_deformable_roi;
Registrar register_box, register_multibox, register_proposal, register_sparse, register_graph;
Registrar register_graph_sample, register_blocked, register_blocked_conv, register_blocked_lrn;
Registrar register_fused, register_quantize, register_quantized_layers, register_packed;
Registrar register_packed_products, register_low_bit;

// CPU kernels. Those of a file are registered at its end, or in the family's `kernels_cpu.cc` where several files have kernels
// for one operator. The fastest come first.
Registrar kernels_elemwise_cpu, kernels_reduce_cpu, kernels_shape_move, kernels_shape_slice;
Registrar kernels_shape_join, kernels_init, kernels_index, kernels_boolean_mask, kernels_ordering;
Registrar kernels_random, kernels_zipfian, kernels_pdf_cpu, kernels_linear_cpu, kernels_conv_cpu;
Registrar kernels_deformable, kernels_pool_max, kernels_pool_dnnl, kernels_pool, kernels_batch_norm;
Registrar kernels_row_norm, kernels_l2_norm, kernels_activation, kernels_leaky_relu, kernels_softmax;
Registrar kernels_softmax_output, kernels_regression_output, kernels_dropout, kernels_single_update;
Registrar kernels_multi_update, kernels_row_update, kernels_linalg_products, kernels_linalg_factors;
Registrar kernels_linalg_parts, kernels_linalg_singular_values, kernels_sequence, kernels_ctc_loss,
    kernels_attention;
Registrar kernels_contrib_elementwise, kernels_contrib_index, kernels_contrib_transforms, kernels_hawkes;
Registrar kernels_contrib_stored, kernels_rnn_forward, kernels_upsampling, kernels_resample, kernels_sampler;
Registrar kernels_unfold, kernels_correlation, kernels_roi, kernels_deformable_roi, kernels_box;
Registrar kernels_multibox, kernels_proposal, kernels_sparse_storage, kernels_sparse_unary;
Registrar kernels_sparse_binary, kernels_sparse_dot, kernels_sparse_embedding, kernels_sparse_reduce;
Registrar kernels_sparse_rows, kernels_sparse_graph, kernels_graph_sample, kernels_blocked, kernels_fused;
Registrar kernels_blocked_lrn, kernels_quantize, kernels_quantized_layers, kernels_quantized_rnn;
Registrar kernels_packed, kernels_low_bit, kernels_low_bit_rnn, kernels_low_bit_products;

// Kernels of the operators that gradients build with, which libloomix_predict.so does without.
Registrar gradients_elemwise_cpu, gradients_reduce_cpu, gradients_shape_move, gradients_shape_slice;
Registrar gradients_shape_join, gradients_index, gradients_boolean_mask, gradients_ordering, gradients_random;
Registrar gradients_pdf_cpu, gradients_linear_cpu, gradients_conv_cpu, gradients_deformable;
Registrar gradients_pool_max, gradients_pool_dnnl, gradients_pool, gradients_batch_norm, gradients_row_norm;
Registrar gradients_l2_norm, gradients_leaky_relu, gradients_softmax, gradients_softmax_output;
Registrar gradients_regression_output, gradients_dropout, gradients_sequence, gradients_ctc_loss;
Registrar gradients_attention, gradients_contrib_elementwise, gradients_contrib_transforms, gradients_hawkes;
Registrar gradients_rnn, gradients_upsampling, gradients_resample, gradients_sampler, gradients_unfold;
Registrar gradients_correlation, gradients_roi, gradients_deformable_roi, gradients_box;
Registrar gradients_sparse_binary, gradients_sparse_dot, gradients_sparse_embedding, gradients_sparse_reduce;
Registrar register_blocked_training, register_blocked_conv_gradients, gradients_blocked_training;
Registrar register_blocked_lrn_gradient, gradients_blocked_lrn;

// Operators that end with max(x, 0), which graphs on GPUs are made of.
Registrar register_closed_products, kernels_closed_products;
Registrar register_closed_convolution, kernels_closed_convolution;

// Convolutions by Fourier transforms, which run where they are asked for; before the other kernels of convolutions.
Registrar kernels_conv_fft, kernels_conv_without_fft;

// Kernels by oneDNN, which the family's other kernels come behind.
Registrar kernels_linear_dnnl, kernels_bfloat16_dnnl, kernels_quantized_dnnl, kernels_conv_dnnl,
    gradients_linear_dnnl, gradients_bfloat16_dnnl, gradients_conv_dnnl;

}  // namespace loomix::ops
