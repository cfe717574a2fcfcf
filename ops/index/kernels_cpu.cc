// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/index/index.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// Space for the indices, input kInput, as int64.
template <class P, int kInput>
size_t index_scratch(const P&, const KernelSpec& spec) {
  return static_cast<size_t>(spec.in[kInput].size()) * sizeof(int64_t);
}

}  // namespace

void kernels_index_cpu(OpTable& table) {
  constexpr DeviceType cpu = DeviceType::cpu;
  table.kernel<TakeParams, take_cpu, nullptr, index_scratch<TakeParams, 1>>("take", "take_cpu", cpu);
  table.kernel<TakeParams, backward_take_cpu, nullptr, index_scratch<TakeParams, 1>>(
      "_backward_take", "backward_take_cpu", cpu);
  table.kernel<EmbeddingParams, embedding_cpu, nullptr, index_scratch<EmbeddingParams, 0>>(
      "Embedding", "embedding_cpu", cpu);
  table.kernel<EmbeddingParams, backward_embedding_cpu, nullptr, index_scratch<EmbeddingParams, 1>>(
      "_backward_Embedding", "backward_embedding_cpu", cpu);
  table.kernel<OneHotParams, one_hot_cpu, nullptr, index_scratch<OneHotParams, 0>>("one_hot", "one_hot_cpu",
                                                                                   cpu);
  table.kernel<NoParams, onehot_encode_cpu, nullptr, index_scratch<NoParams, 0>>("_onehot_encode",
                                                                                 "one_hot_cpu", cpu);
  table.kernel<MaskParams, boolean_mask_cpu>("_contrib_boolean_mask", "boolean_mask_cpu", cpu);
  table.kernel<MaskParams, backward_boolean_mask_cpu>("_backward_contrib_boolean_mask",
                                                      "backward_boolean_mask_cpu", cpu);
  table.kernel<PickParams, pick_cpu, nullptr, index_scratch<PickParams, 1>>("pick", "pick_cpu", cpu);
  table.kernel<PickParams, backward_pick_cpu, nullptr, index_scratch<PickParams, 1>>(
      "_backward_pick", "backward_pick_cpu", cpu);
  table.kernel<NoParams, batch_take_cpu, nullptr, index_scratch<NoParams, 1>>("batch_take", "batch_take_cpu",
                                                                              cpu);
  table.kernel<NoParams, backward_batch_take_cpu, nullptr, index_scratch<NoParams, 1>>(
      "_backward_batch_take", "backward_batch_take_cpu", cpu);
  table.kernel<NoParams, gather_nd_cpu, nullptr, index_scratch<NoParams, 1>>("gather_nd", "gather_nd_cpu",
                                                                             cpu);
  table.kernel<NoParams, backward_gather_nd_cpu, nullptr, index_scratch<NoParams, 1>>(
      "_backward_gather_nd", "backward_gather_nd_cpu", cpu);
  table.kernel<ScatterParams, scatter_nd_cpu, nullptr, index_scratch<ScatterParams, 1>>(
      "scatter_nd", "scatter_nd_cpu", cpu);
  table.kernel<ScatterParams, scatter_set_nd_cpu, nullptr, index_scratch<ScatterParams, 2>>(
      "_scatter_set_nd", "scatter_set_nd_cpu", cpu);
  table.kernel<RavelParams, ravel_multi_index_cpu>("_ravel_multi_index", "ravel_multi_index_cpu", cpu);
  table.kernel<RavelParams, unravel_index_cpu>("_unravel_index", "unravel_index_cpu", cpu);
}

}  // namespace loomix::ops
