// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reduction_cuda.h"

namespace loomix::cuda {

template void run_reduction<ops::fn::Sum>(const FoldPlan&, ops::Finish, const TensorView&, const TensorView&,
                                          std::span<std::byte>, cudaStream_t);
template void run_reduction<ops::fn::SquareSum>(const FoldPlan&, ops::Finish, const TensorView&,
                                                const TensorView&, std::span<std::byte>, cudaStream_t);
template void run_reduction<ops::fn::AbsSum>(const FoldPlan&, ops::Finish, const TensorView&,
                                             const TensorView&, std::span<std::byte>, cudaStream_t);
template void run_reduction<ops::fn::NanSum>(const FoldPlan&, ops::Finish, const TensorView&,
                                             const TensorView&, std::span<std::byte>, cudaStream_t);

}  // namespace loomix::cuda
