// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/elementwise.h"
#include "ops/cuda/fill.h"
#include "ops/dropout/dropout.h"
#include "ops/elemwise/binary_functors.h"
#include "ops/elemwise/numbers_cuda.h"
#include "ops/families_cuda.h"
#include "ops/random/philox.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// A word of random numbers below the threshold keeps its element.
struct Keeps {
  RandomStream random;
  uint64_t threshold;
  __device__ PhiloxBlock block(uint64_t n) const { return philox(random.seed, n / 4, 0); }
};

// One thread takes the four elements whose words are one block of random numbers; with a mask of its own shape, all in one pass.
template <class T>
__global__ void drop_elements(int64_t blocks, int64_t count, Keeps keeps, const T* x, T kept, T* y, T* mask) {
  const uint64_t skipped = keeps.random.offset % 4;
  for (const int64_t block : own_items(blocks)) {
    const PhiloxBlock words = keeps.block(keeps.random.offset + 4 * static_cast<uint64_t>(block));
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int64_t i = 4 * block + k - static_cast<int64_t>(skipped);
      if (i < 0 || i >= count) continue;
      const T factor = words.word[k] < keeps.threshold ? kept : store<T>(Computed<T>(0));
      if (mask != nullptr) mask[i] = factor;
      if (y != nullptr) y[i] = store<T>(load(x[i]) * load(factor));
    }
  }
}

void multiply(const TensorView& data, const TensorView& mask, const KernelArgs& args) {
  dispatch_floating(data.dtype, "Dropout", [&]<class T>(Type<T>) {
    map_broadcast(stream_of(args), args.out[0].shape, Applied<fn::Mul>{}, args.out[0].mutable_as<T>(),
                  data.as<T>(), data.shape, mask.as<T>(), mask.shape);
  });
}

bool has_mask(const KernelArgs& args) { return args.out[1].data != nullptr && args.req[1] != Req::null; }

// For a mask that nobody wants, but the output needs.
size_t dropout_scratch(const KernelSpec& spec) {
  return spec.out[1].shape == spec.in[0].shape ? 0 : static_cast<size_t>(spec.out[1].bytes());
}

// data -> data times mask, mask; the mask holds 0 or 1 / (1 - p), and 1 everywhere when nothing is dropped.
void dropout_cuda(const DropoutParams& p, const KernelArgs& args) {
  const TensorView &data = args.in[0], &mask = args.out[1];
  const cudaStream_t stream = stream_of(args);
  const bool wants_output = args.req[0] != Req::null;
  if (data.size() == 0) return;
  if (!(p.p > 0 && (args.training || p.mode == DropoutMode::always))) {
    if (has_mask(args)) fill(mask, 1, stream);
    if (wants_output) convert_array(data, args.out[0], stream);
    return;
  }
  const double keep = 1.0 - static_cast<double>(p.p);
  const Keeps keeps{args.random, static_cast<uint64_t>(keep * 0x1p32)};
  dispatch_floating(data.dtype, "Dropout", [&]<class T>(Type<T>) {
    const T kept = store<T>(static_cast<Computed<T>>(keep > 0 ? 1.0 / keep : 0.0));
    T* factors = has_mask(args) ? mask.mutable_as<T>() : nullptr;
    const bool is_shared = mask.shape != data.shape;
    if (is_shared && factors == nullptr) factors = reinterpret_cast<T*>(args.scratch.data());
    T* const y = wants_output && !is_shared ? args.out[0].mutable_as<T>() : nullptr;
    const int64_t count = mask.size();
    const int64_t blocks = ceil_divide(count + static_cast<int64_t>(args.random.offset % 4), 4);
    launch(drop_elements<T>, grid_for(blocks), stream, blocks, count, keeps, data.as<T>(), kept, y, factors);
    if (wants_output && is_shared) multiply(data, {factors, data.dtype, mask.shape}, args);
  });
}

// grad, mask -> grad times mask.
void dropout_backward_cuda(const KernelArgs& args) { multiply(args.in[0], args.in[1], args); }

}  // namespace

void kernels_dropout_cuda(KernelList& list) {
  list.kernel<dropout_cuda, dropout_scratch>("Dropout", "dropout_cuda", DeviceType::gpu);
  list.kernel<dropout_backward_cuda>("_backward_Dropout", "dropout_backward_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops
