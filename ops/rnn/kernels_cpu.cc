// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/rnn/rnn.h"
#include "ops/table.h"

namespace loomix::ops {

void kernels_rnn_cpu(OpTable& table) {
  table.kernel<RnnParams, rnn_cpu, nullptr, rnn_scratch>("RNN", "rnn_cpu", DeviceType::cpu);
  table.kernel<RnnParams, rnn_backward_cpu, nullptr, rnn_backward_scratch>(
      "_backward_RNN", "rnn_backward_cpu", DeviceType::cpu);
}

}  // namespace loomix::ops
