// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reduction_cuda.h"

namespace loomix::cuda {

template void run_reduction<ops::fn::Prod>(const FoldPlan&, ops::Finish, const TensorView&, const TensorView&,
                                           std::span<std::byte>, cudaStream_t);
template void run_reduction<ops::fn::NanProd>(const FoldPlan&, ops::Finish, const TensorView&,
                                              const TensorView&, std::span<std::byte>, cudaStream_t);
template void run_reduction<ops::fn::Max>(const FoldPlan&, ops::Finish, const TensorView&, const TensorView&,
                                          std::span<std::byte>, cudaStream_t);
template void run_reduction<ops::fn::Min>(const FoldPlan&, ops::Finish, const TensorView&, const TensorView&,
                                          std::span<std::byte>, cudaStream_t);

}  // namespace loomix::cuda
