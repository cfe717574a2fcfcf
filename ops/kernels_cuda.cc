// SPDX-License-Identifier: Apache-2.0
#include "ops/families_cuda.h"
#include "ops/kernel_module.h"

// All kernels of this folder for CUDA devices. Of two for one operator the one that is listed first is asked first.
namespace {

void add(loomix::ops::KernelList& list) {
  using namespace loomix::ops;
  kernels_unary_cuda(list);
  kernels_binary_cuda(list);
  kernels_scalar_cuda(list);
  kernels_convert_cuda(list);
  kernels_reduce_cuda(list);
  kernels_lines_cuda(list);
  kernels_softmax_cuda(list);
  kernels_loss_cuda(list);
  kernels_batch_norm_cuda(list);
  kernels_row_norm_cuda(list);
  kernels_activation_cuda(list);
  kernels_dropout_cuda(list);
  kernels_select_cuda(list);
  kernels_single_update_cuda(list);
  kernels_multi_update_cuda(list);
  kernels_init_cuda(list);
  kernels_random_cuda(list);
  kernels_pdf_cuda(list);
  kernels_contrib_elementwise_cuda(list);
  kernels_shape_join_cuda(list);
  kernels_shape_move_cuda(list);
  kernels_shape_slice_cuda(list);
  kernels_index_cuda(list);
  kernels_boolean_mask_cuda(list);
  kernels_contrib_index_cuda(list);
  kernels_sequence_cuda(list);
  kernels_ordering_cuda(list);
  kernels_resample_cuda(list);
  kernels_sampler_cuda(list);
  kernels_unfold_cuda(list);
  kernels_upsampling_cuda(list);
  kernels_box_cuda(list);
  kernels_roi_cuda(list);
  kernels_proposal_cuda(list);
  kernels_multibox_cuda(list);
  kernels_products_cuda(list);
  kernels_attention_cuda(list);
  kernels_linalg_products_cuda(list);
  kernels_conv_cuda(list);
  kernels_pool_cuda(list);
  kernels_rnn_forward_cuda(list);
  kernels_rnn_backward_cuda(list);
  kernels_linalg_factors_cuda(list);
  kernels_linalg_parts_cuda(list);
  kernels_ctc_loss_cuda(list);
  kernels_fft_cuda(list);
  kernels_deformable_cuda(list);
  kernels_deformable_roi_cuda(list);
  kernels_correlation_cuda(list);
  kernels_match_cuda(list);
  kernels_zipfian_cuda(list);
  kernels_hawkes_cuda(list);
  kernels_sketch_cuda(list);
  kernels_histogram_cuda(list);
  kernels_row_update_cuda(list);
  kernels_sparse_dot_cuda(list);
  kernels_sparse_embedding_cuda(list);
  kernels_sparse_storage_cuda(list);
  kernels_sparse_values_cuda(list);
  kernels_contrib_stored_cuda(list);
  kernels_sparse_binary_cuda(list);
  kernels_quantize_cuda(list);
  kernels_quantized_layers_cuda(list);
  kernels_quantized_products_cuda(list);
  kernels_low_bit_cuda(list);
  kernels_quantized_rnn_cuda(list);
  kernels_fused_cuda(list);
}

}  // namespace

// Looked up by load_kernel_module() and add_cuda_kernels().
extern "C" [[gnu::visibility("default")]] const loomix::ops::KernelModule loomix_kernel_module{
    loomix::ops::kKernelInterface,
    loomix::ops::kKernelInterfaceSize,
    "cuda",
    LOOMIX_VERSION,
    loomix::DeviceType::gpu,
    add};
