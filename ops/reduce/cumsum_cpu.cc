// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/cumsum.h"

#include "engine/parallel_for.h"
#include "ops/axis_split.h"
#include "ops/elemwise/apply.h"

namespace loomix::ops {
namespace {

// Strips of neighbouring lines at once, with their sums in registers or in cache. `to` may be `from`.
template <class T>
void cumulate(const AxisSplit& lines, const T* from, T* to, bool backwards, engine::RunContext& context) {
  constexpr int64_t kStrip = 64;
  constexpr int64_t kElementsPerThread = 16384;
  const int64_t strips = (lines.inner + kStrip - 1) / kStrip;
  const int64_t grain = kElementsPerThread / std::max<int64_t>(1, lines.size * kStrip);
  engine::parallel_each(context, lines.outer * strips, grain, [&](int64_t strip) {
    const int64_t left = strip % strips * kStrip;
    const int64_t width = std::min(kStrip, lines.inner - left);
    const int64_t first = strip / strips * lines.size * lines.inner + left;
    Accum<T> sums[kStrip] = {};
    for (int64_t i = 0; i < lines.size; ++i) {
      const int64_t at = first + (backwards ? lines.size - 1 - i : i) * lines.inner;
      for (int64_t j = 0; j < width; ++j) {
        sums[j] += static_cast<Accum<T>>(from[at + j]);
        to[at + j] = static_cast<T>(sums[j]);
      }
    }
  });
}

void run(const CumsumParams& p, const KernelArgs& args, const Shape& shape, bool backwards) {
  const TensorView& out = args.out[0];
  const bool converts = args.in[0].dtype != out.dtype;
  if (converts) apply_convert(args.in[0], out, args);
  dispatch_numeric(out.dtype, "cumsum", [&]<class T>(Type<T>) {
    cumulate(AxisSplit(shape, p.axis, "cumsum"), converts ? out.as<T>() : args.in[0].as<T>(),
             out.mutable_as<T>(), backwards, *args.context);
  });
}

}  // namespace

void cumsum_cpu(const CumsumParams& p, const KernelArgs& args) { run(p, args, args.in[0].shape, false); }
void backward_cumsum_cpu(const CumsumParams& p, const KernelArgs& args) {
  run(p, args, args.out[0].shape, true);
}

}  // namespace loomix::ops
