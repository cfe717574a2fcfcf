// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/table.h"

// The registrars of kernels for CUDA devices, one a file; kernels_cuda.cc calls them.
namespace loomix::ops {

void kernels_unary_cuda(KernelList& list);
void kernels_binary_cuda(KernelList& list);
void kernels_scalar_cuda(KernelList& list);
void kernels_convert_cuda(KernelList& list);
void kernels_reduce_cuda(KernelList& list);
void kernels_lines_cuda(KernelList& list);
void kernels_softmax_cuda(KernelList& list);
void kernels_loss_cuda(KernelList& list);
void kernels_batch_norm_cuda(KernelList& list);
void kernels_row_norm_cuda(KernelList& list);
void kernels_activation_cuda(KernelList& list);
void kernels_dropout_cuda(KernelList& list);
void kernels_select_cuda(KernelList& list);
void kernels_single_update_cuda(KernelList& list);
void kernels_multi_update_cuda(KernelList& list);
void kernels_init_cuda(KernelList& list);
void kernels_random_cuda(KernelList& list);
void kernels_pdf_cuda(KernelList& list);
void kernels_contrib_elementwise_cuda(KernelList& list);
void kernels_shape_join_cuda(KernelList& list);
void kernels_shape_move_cuda(KernelList& list);
void kernels_shape_slice_cuda(KernelList& list);
void kernels_index_cuda(KernelList& list);
void kernels_boolean_mask_cuda(KernelList& list);
void kernels_contrib_index_cuda(KernelList& list);
void kernels_sequence_cuda(KernelList& list);
void kernels_ordering_cuda(KernelList& list);
void kernels_resample_cuda(KernelList& list);
void kernels_sampler_cuda(KernelList& list);
void kernels_unfold_cuda(KernelList& list);
void kernels_upsampling_cuda(KernelList& list);
void kernels_box_cuda(KernelList& list);
void kernels_roi_cuda(KernelList& list);
void kernels_proposal_cuda(KernelList& list);
void kernels_multibox_cuda(KernelList& list);
void kernels_products_cuda(KernelList& list);
void kernels_attention_cuda(KernelList& list);
void kernels_linalg_products_cuda(KernelList& list);
void kernels_conv_cuda(KernelList& list);
void kernels_pool_cuda(KernelList& list);
void kernels_rnn_forward_cuda(KernelList& list);
void kernels_rnn_backward_cuda(KernelList& list);
void kernels_linalg_factors_cuda(KernelList& list);
void kernels_linalg_parts_cuda(KernelList& list);
void kernels_ctc_loss_cuda(KernelList& list);
void kernels_fft_cuda(KernelList& list);
void kernels_deformable_cuda(KernelList& list);
void kernels_deformable_roi_cuda(KernelList& list);
void kernels_correlation_cuda(KernelList& list);
void kernels_match_cuda(KernelList& list);
void kernels_zipfian_cuda(KernelList& list);
void kernels_hawkes_cuda(KernelList& list);
void kernels_sketch_cuda(KernelList& list);
void kernels_histogram_cuda(KernelList& list);
void kernels_row_update_cuda(KernelList& list);
void kernels_sparse_dot_cuda(KernelList& list);
void kernels_sparse_embedding_cuda(KernelList& list);
void kernels_sparse_storage_cuda(KernelList& list);
void kernels_sparse_values_cuda(KernelList& list);
void kernels_contrib_stored_cuda(KernelList& list);
void kernels_sparse_binary_cuda(KernelList& list);
void kernels_quantize_cuda(KernelList& list);
void kernels_quantized_layers_cuda(KernelList& list);
void kernels_quantized_products_cuda(KernelList& list);
void kernels_low_bit_cuda(KernelList& list);
void kernels_quantized_rnn_cuda(KernelList& list);
void kernels_fused_cuda(KernelList& list);

}  // namespace loomix::ops
