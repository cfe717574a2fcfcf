// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/families.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

void refuse(const KernelArgs&) {
  detail::throw_error<StateError>("[predict] this library has no gradients; train with the whole of Loomix.");
}

void register_operators(OpTable& table) {
  const auto run = [&](auto*... registrars) { (registrars(table), ...); };
  run(register_unary, register_binary, register_scalar, register_cast, register_select,
      register_elemwise_traits, register_reductions, register_broadcasts, register_histogram, register_cumsum,
      register_reshapes, register_slices, register_joins, register_moves, register_init, register_index,
      register_boolean_mask, register_ordering, register_random, register_pdf, register_fully_connected,
      register_dot, register_conv, register_deconvolution, register_deformable, register_pool,
      register_batch_norm, register_row_norm, register_l2_norm, register_activation, register_leaky_relu,
      register_softmax, register_softmax_output, register_regression_output, register_dropout,
      register_linalg_products, register_linalg_factors, register_linalg_parts,
      register_linalg_singular_values, register_sequence, register_ctc_loss, register_attention,
      register_contrib_elementwise, register_contrib_index, register_contrib_transforms,
      register_contrib_stored, register_hawkes, register_rnn, register_upsampling, register_resample,
      register_sampler, register_unfold, register_correlation, register_roi, register_deformable_roi,
      register_box, register_multibox, register_proposal, register_sparse, register_graph,
      register_graph_sample, register_blocked, register_blocked_conv, register_blocked_lrn, register_quantize,
      register_quantized_layers, register_packed, register_packed_products, register_low_bit, register_fused);
}

void kernels_for_prediction(OpTable& table) {
  const auto run = [&](auto*... registrars) { (registrars(table), ...); };
  run(kernels_elemwise_cpu, kernels_reduce_cpu, kernels_shape_move, kernels_shape_slice, kernels_shape_join,
      kernels_init, kernels_index, kernels_boolean_mask, kernels_ordering, kernels_random, kernels_zipfian,
      kernels_pdf_cpu, kernels_linear_cpu, kernels_conv_cpu, kernels_deformable, kernels_pool_max,
      kernels_pool_dnnl, kernels_pool, kernels_batch_norm, kernels_row_norm, kernels_l2_norm,
      kernels_activation, kernels_leaky_relu, kernels_softmax, kernels_softmax_output,
      kernels_regression_output, kernels_dropout, kernels_linalg_products, kernels_linalg_factors,
      kernels_linalg_parts, kernels_linalg_singular_values, kernels_sequence, kernels_ctc_loss,
      kernels_attention, kernels_contrib_elementwise, kernels_contrib_index, kernels_contrib_transforms,
      kernels_hawkes, kernels_contrib_stored, kernels_rnn_forward, kernels_upsampling, kernels_resample,
      kernels_sampler, kernels_unfold, kernels_correlation, kernels_roi, kernels_deformable_roi, kernels_box,
      kernels_multibox, kernels_proposal, kernels_sparse_storage, kernels_sparse_unary, kernels_sparse_binary,
      kernels_sparse_dot, kernels_sparse_embedding, kernels_sparse_reduce, kernels_sparse_rows,
      kernels_sparse_graph, kernels_graph_sample, kernels_blocked, kernels_blocked_lrn, kernels_quantize,
      kernels_quantized_dnnl, kernels_quantized_layers, kernels_quantized_rnn, kernels_packed,
      kernels_low_bit, kernels_low_bit_rnn, kernels_low_bit_products, kernels_fused);
}

}  // namespace

void register_for_prediction(OpTable& table) {
  register_operators(table);
  kernels_conv_without_fft(table);
  kernels_for_prediction(table);
}

void refuse_gradients(OpTable& table) {
  for (const OpDef& op : table.all()) {
    if (op.kernels.empty()) table.kernel<refuse>(op.name, "none");
  }
}

void register_all(OpTable& table) {
  register_operators(table);
  kernels_conv_fft(table);
  kernels_for_prediction(table);
  const auto run = [&](auto*... registrars) { (registrars(table), ...); };
  run(register_blocked_training, register_blocked_conv_gradients, register_blocked_lrn_gradient,
      gradients_blocked_training, gradients_blocked_lrn);
  run(register_closed_products, kernels_closed_products, register_closed_convolution,
      kernels_closed_convolution);
  run(register_optimizer, kernels_single_update, kernels_multi_update, kernels_row_update);
  run(gradients_elemwise_cpu, gradients_reduce_cpu, gradients_shape_move, gradients_shape_slice,
      gradients_shape_join, gradients_index, gradients_boolean_mask, gradients_ordering, gradients_random,
      gradients_pdf_cpu, gradients_linear_cpu, gradients_conv_cpu, gradients_deformable, gradients_pool_max,
      gradients_pool_dnnl, gradients_pool, gradients_batch_norm, gradients_row_norm, gradients_l2_norm,
      gradients_leaky_relu, gradients_softmax, gradients_softmax_output, gradients_regression_output,
      gradients_dropout, gradients_sequence, gradients_ctc_loss, gradients_attention,
      gradients_contrib_elementwise, gradients_contrib_transforms, gradients_hawkes, gradients_rnn,
      gradients_upsampling, gradients_resample, gradients_sampler, gradients_unfold, gradients_correlation,
      gradients_roi, gradients_deformable_roi, gradients_box, gradients_sparse_binary, gradients_sparse_dot,
      gradients_sparse_embedding, gradients_sparse_reduce);
}

const OpTable& builtin_table() {
  static const OpTable* const table = [] {
    auto* made = new OpTable;  // lives as long as the process: pending tasks refer to its operators
    register_all(*made);
    made->validate();
    return made;
  }();
  return *table;
}

}  // namespace loomix::ops
