// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/index/index.h"
#include "ops/table.h"

namespace loomix::ops {

void kernels_index_cpu(OpTable& table) {
  constexpr DeviceType cpu = DeviceType::cpu;
  table.kernel<TakeParams, take_cpu>("take", "take_cpu", cpu);
  table.kernel<TakeParams, backward_take_cpu>("_backward_take", "backward_take_cpu", cpu);
  table.kernel<EmbeddingParams, embedding_cpu>("Embedding", "embedding_cpu", cpu);
  table.kernel<EmbeddingParams, backward_embedding_cpu>("_backward_Embedding", "backward_embedding_cpu", cpu);
  table.kernel<OneHotParams, one_hot_cpu>("one_hot", "one_hot_cpu", cpu);
  table.kernel<NoParams, onehot_encode_cpu>("_onehot_encode", "one_hot_cpu", cpu);
  table.kernel<MaskParams, boolean_mask_cpu>("_contrib_boolean_mask", "boolean_mask_cpu", cpu);
  table.kernel<MaskParams, backward_boolean_mask_cpu>("_backward_contrib_boolean_mask",
                                                      "backward_boolean_mask_cpu", cpu);
  table.kernel<PickParams, pick_cpu>("pick", "pick_cpu", cpu);
  table.kernel<PickParams, backward_pick_cpu>("_backward_pick", "backward_pick_cpu", cpu);
  table.kernel<NoParams, batch_take_cpu>("batch_take", "batch_take_cpu", cpu);
  table.kernel<NoParams, backward_batch_take_cpu>("_backward_batch_take", "backward_batch_take_cpu", cpu);
  table.kernel<NoParams, gather_nd_cpu>("gather_nd", "gather_nd_cpu", cpu);
  table.kernel<NoParams, backward_gather_nd_cpu>("_backward_gather_nd", "backward_gather_nd_cpu", cpu);
  table.kernel<ScatterParams, scatter_nd_cpu>("scatter_nd", "scatter_nd_cpu", cpu);
  table.kernel<ScatterParams, scatter_set_nd_cpu>("_scatter_set_nd", "scatter_set_nd_cpu", cpu);
  table.kernel<RavelParams, ravel_multi_index_cpu>("_ravel_multi_index", "ravel_multi_index_cpu", cpu);
  table.kernel<RavelParams, unravel_index_cpu>("_unravel_index", "unravel_index_cpu", cpu);
}

}  // namespace loomix::ops
