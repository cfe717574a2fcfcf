// SPDX-License-Identifier: Apache-2.0
#include "ops/dropout/dropout.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "engine/parallel_for.h"
#include "ops/random/philox.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kGrain = 8192;

// out = data * mask, the mask repeated along its axes of size one.
template <class T>
void multiply(const Shape& shape, const T* data, const Shape& mask_shape, const T* mask, T* out,
              engine::RunContext& context) {
  using A = Accum<T>;
  const int64_t size = shape.size();
  if (shape == mask_shape) {
    engine::parallel_for(context, size, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        out[i] = static_cast<T>(static_cast<A>(data[i]) * static_cast<A>(mask[i]));
    });
    return;
  }
  engine::parallel_each(context, size, kGrain, [&](int64_t i) {
    int64_t rest = i, at = 0, stride = 1;
    for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
      const int64_t position = rest % shape[axis];
      rest /= shape[axis];
      if (mask_shape[axis] != 1) at += position * stride;
      stride *= mask_shape[axis];
    }
    out[i] = static_cast<T>(static_cast<A>(data[i]) * static_cast<A>(mask[at]));
  });
}

// data -> data times mask, mask; the mask holds 0 or 1 / (1 - p), and 1 everywhere when nothing is dropped.
void dropout_cpu(const DropoutParams& p, const KernelArgs& args) {
  const TensorView& data = args.in[0];
  const TensorView& mask = args.out[1];
  const bool wants_mask = mask.data != nullptr && args.req[1] != Req::null;
  const bool wants_output = args.req[0] != Req::null;
  const bool drops = p.p > 0 && (args.training || p.mode == DropoutMode::always);
  if (data.size() == 0) return;
  dispatch_floating(data.dtype, "Dropout", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    if (!drops) {
      if (wants_mask) std::fill_n(mask.mutable_as<T>(), mask.size(), static_cast<T>(A{1}));
      if (wants_output && args.out[0].data != data.data) {
        std::memcpy(args.out[0].data, data.data, static_cast<size_t>(data.bytes()));
      }
      return;
    }
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
    engine::parallel_for(*args.context, mask.size(), kGrain, [&](int64_t begin, int64_t end) {
      philox_words(args.random, begin, end,
                   [&](int64_t i, uint32_t word) { factors[i] = word < threshold ? kept : dropped; });
    });
    if (wants_output) {
      multiply(data.shape, data.as<T>(), mask.shape, factors, args.out[0].mutable_as<T>(), *args.context);
    }
  });
}

// grad, mask -> grad times mask.
void dropout_backward_cpu(const DropoutParams&, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.in[0].dtype, "Dropout", [&]<class T>(Type<T>) {
    multiply(args.in[0].shape, args.in[0].as<T>(), args.in[1].shape, args.in[1].as<T>(),
             args.out[0].mutable_as<T>(), *args.context);
  });
}

}  // namespace

void kernels_dropout(OpTable& table) {
  table.kernel<dropout_cpu>("Dropout", "dropout_cpu");
  table.kernel<dropout_backward_cpu>("_backward_Dropout", "dropout_backward_cpu");
}

}  // namespace loomix::ops
