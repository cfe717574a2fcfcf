// SPDX-License-Identifier: Apache-2.0

#include "engine/parallel_for.h"
#include "ops/random/random.h"
#include "ops/random/zipfian.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

size_t unique_zipfian_scratch(const ZipfianParams&, const KernelSpec& spec) {
  const Shape& shape = spec.out[0].shape;
  return static_cast<size_t>(shape[0] * Seen::capacity(shape[1])) * sizeof(int64_t);
}

// The classes, and how many draws each row took.
// Row r draws from the stream of element r, so rows do not depend on each other.
void unique_zipfian_cpu(const ZipfianParams& p, const KernelArgs& args) {
  const int64_t rows = args.out[0].shape[0], length = args.out[0].shape[1];
  const double log_range = std::log(double(p.range_max) + 1);
  const auto wanted = [&](size_t i) { return args.req[i] != Req::null; };
  auto* memory = reinterpret_cast<int64_t*>(args.scratch.data());
  engine::parallel_each(*args.context, rows, 512 / std::max<int64_t>(1, length), [&](int64_t row) {
    int64_t* const out = wanted(0) ? args.out[0].mutable_as<int64_t>() + row * length : nullptr;
    const int64_t tries = draw_unique_zipfian<SamplerMath>(args.random, row, p.range_max, log_range, length,
                                                           memory + row * Seen::capacity(length), out);
    if (wanted(1)) args.out[1].mutable_as<int64_t>()[row] = tries;
  });
}

}  // namespace

void kernels_zipfian(OpTable& table) {
  table.kernel<unique_zipfian_cpu, unique_zipfian_scratch>("_sample_unique_zipfian", "unique_zipfian_cpu");
}

}  // namespace loomix::ops
