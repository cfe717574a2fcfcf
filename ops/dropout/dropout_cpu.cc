// SPDX-License-Identifier: Apache-2.0
#include "ops/dropout/dropout.h"

#include <algorithm>
#include <memory>

#include "engine/parallel_for.h"
#include "ops/elemwise/apply.h"
#include "ops/elemwise/binary.h"
#include "ops/random/philox.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kNumbersPerThread = 8192;

void multiply(const TensorView& data, const TensorView& mask, const KernelArgs& args) {
  apply_broadcast(binary_code<fn::Mul>, data, mask, args.out[0], args);
}

// data -> data times mask, mask; the mask holds 0 or 1 / (1 - p), and 1 everywhere when nothing is dropped.
void dropout_cpu(const DropoutParams& p, const KernelArgs& args) {
  const TensorView& data = args.in[0];
  const TensorView& mask = args.out[1];
  const bool wants_mask = mask.data != nullptr && args.req[1] != Req::null;
  const bool wants_output = args.req[0] != Req::null;
  const bool drops = p.p > 0 && (args.training || p.mode == DropoutMode::always);
  if (data.size() == 0) return;
  if (!drops) {
    if (wants_mask) apply_fill(1, mask, args);
    if (wants_output) apply_convert(data, args.out[0], args);
    return;
  }
  dispatch_floating(data.dtype, "Dropout", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    std::unique_ptr<T[]> own;
    T* factors = wants_mask ? mask.mutable_as<T>() : nullptr;
    if (!factors) {
      own = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(mask.size()));
      factors = own.get();
    }
    // A word below the threshold keeps its element.
    const double keep = 1.0 - static_cast<double>(p.p);
    const auto threshold = static_cast<uint64_t>(keep * 0x1p32);
    const T kept = static_cast<T>(static_cast<A>(keep > 0 ? 1.0 / keep : 0.0));
    const T dropped = static_cast<T>(A{0});
    engine::parallel_for(*args.context, mask.size(), kNumbersPerThread, [&](int64_t begin, int64_t end) {
      philox_words(args.random, begin, end,
                   [&](int64_t i, uint32_t word) { factors[i] = word < threshold ? kept : dropped; });
    });
    if (wants_output) multiply(data, {factors, data.dtype, mask.shape}, args);
  });
}

// grad, mask -> grad times mask.
void dropout_backward_cpu(const KernelArgs& args) { multiply(args.in[0], args.in[1], args); }

}  // namespace

void kernels_dropout(OpTable& table) { table.kernel<dropout_cpu>("Dropout", "dropout_cpu"); }

void gradients_dropout(OpTable& table) {
  table.kernel<dropout_backward_cpu>("_backward_Dropout", "dropout_backward_cpu");
}

}  // namespace loomix::ops
