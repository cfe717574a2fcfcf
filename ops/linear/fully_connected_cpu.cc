// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/fully_connected.h"
#include "ops/linear/gemm.h"

namespace loomix::ops {

void fully_connected_bias_cpu(const FullyConnectedParams& p, const KernelArgs& args) {
  const TensorView& grad = args.in[0];
  sum_rows(grad.size() / p.num_hidden, p.num_hidden, grad.dtype, grad.data, args.out[0].data,
           args.req[0] == Req::add, *args.context);
}

}  // namespace loomix::ops
