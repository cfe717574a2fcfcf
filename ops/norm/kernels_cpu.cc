// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "ops/families.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/l2_norm.h"
#include "ops/norm/row_norm.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class P>
void batch_norm(const P& p, const KernelArgs& args) {
  batch_norm_cpu(full_params(p), args);
}
void batch_norm_relu(const BatchNormReluParams& p, const KernelArgs& args) {
  batch_norm_cpu(p, args);
  positive_part_cpu(args);
}
template <class P>
void batch_norm_backward(const P& p, const KernelArgs& args) {
  batch_norm_backward_cpu(full_params(p), args);
}

template <class P>
void add_batch_norm_backward(OpTable& table, const std::string& name) {
  for (const char* ending : {"", "_free_gamma"})
    table.kernel<P, batch_norm_backward<P>>("_backward_" + name + ending, "batch_norm_backward_cpu",
                                            DeviceType::cpu);
}

template <class P>
void add_batch_norm(OpTable& table, const std::string& name, const std::string& base) {
  table.kernel<P, batch_norm<P>>(name, "batch_norm_cpu", DeviceType::cpu);
  add_batch_norm_backward<P>(table, base);
}

template <class P>
void add_row_norm(OpTable& table, const std::string& name) {
  table.kernel<P, row_norm_cpu<P>>(name, "row_norm_cpu", DeviceType::cpu);
  table.kernel<P, row_norm_backward_cpu<P>>("_backward_" + name, "row_norm_backward_cpu", DeviceType::cpu);
}

}  // namespace

void kernels_norm_cpu(OpTable& table) {
  add_batch_norm<BatchNormParams>(table, "BatchNorm", "BatchNorm");
  add_batch_norm<BatchNormV1Params>(table, "BatchNorm_v1", "BatchNorm_v1");
  add_batch_norm<SyncBatchNormParams>(table, "_contrib_SyncBatchNorm", "SyncBatchNorm");
  table.kernel<BatchNormReluParams, batch_norm_relu>("_contrib_BatchNormWithReLU", "batch_norm_relu_cpu",
                                                     DeviceType::cpu);
  add_batch_norm_backward<BatchNormReluParams>(table, "BatchNormWithReLU");
  add_row_norm<LayerNormParams>(table, "LayerNorm");
  add_row_norm<InstanceNormParams>(table, "InstanceNorm");
  add_row_norm<GroupNormParams>(table, "GroupNorm");
  constexpr DeviceType cpu = DeviceType::cpu;
  table.kernel<L2NormalizationParams, l2_normalization_cpu>("L2Normalization", "l2_normalization_cpu", cpu);
  table.kernel<L2NormalizationParams, backward_l2_normalization_cpu>("_backward_L2Normalization",
                                                                     "backward_l2_normalization_cpu", cpu);
  table.kernel<LRNParams, lrn_cpu>("LRN", "lrn_cpu", cpu);
  table.kernel<LRNParams, backward_lrn_cpu>("_backward_LRN", "backward_lrn_cpu", cpu);
}

}  // namespace loomix::ops
