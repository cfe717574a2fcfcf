// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/sequence/sequence.h"
#include "ops/table.h"

namespace loomix::ops {

void kernels_sequence_cpu(OpTable& table) {
  constexpr DeviceType cpu = DeviceType::cpu;
  table.kernel<SequenceParams, sequence_last_cpu>("SequenceLast", "sequence_last_cpu", cpu);
  table.kernel<SequenceParams, backward_sequence_last_cpu>("_backward_SequenceLast",
                                                           "backward_sequence_last_cpu", cpu);
  table.kernel<SequenceParams, sequence_reverse_cpu>("SequenceReverse", "sequence_reverse_cpu", cpu);
  table.kernel<SequenceMaskParams, sequence_mask_cpu>("SequenceMask", "sequence_mask_cpu", cpu);
  table.kernel<CtcParams, ctc_loss_cpu, nullptr, ctc_loss_scratch>("CTCLoss", "ctc_loss_cpu", cpu);
  table.kernel<NoParams, backward_ctc_loss_cpu>("_backward_CTCLoss", "backward_ctc_loss_cpu", cpu);
}

}  // namespace loomix::ops
