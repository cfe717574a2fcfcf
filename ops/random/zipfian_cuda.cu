// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/math.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/random/random.h"
#include "ops/random/zipfian.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// A thread a row: what is drawn next depends on what was drawn.
struct DrawRows {
  RandomStream random;
  int64_t classes, length, capacity;
  double log_range;
  int64_t *memory, *numbers, *tries;  // the last two may be null
  __device__ void operator()(int64_t row) const {
    int64_t* const out = numbers == nullptr ? nullptr : numbers + row * length;
    const int64_t count =
        draw_unique_zipfian<Math>(random, row, classes, log_range, length, memory + row * capacity, out);
    if (tries != nullptr) tries[row] = count;
  }
};

size_t unique_zipfian_scratch(const KernelSpec& spec) {
  const Shape& shape = spec.out[0].shape;
  return static_cast<size_t>(shape[0] * Seen::capacity(shape[1])) * sizeof(int64_t);
}

void unique_zipfian_cuda(const ZipfianParams& p, const KernelArgs& args) {
  const int64_t rows = args.out[0].shape[0], length = args.out[0].shape[1];
  launch_each(stream_of(args), rows,
              DrawRows{args.random, p.range_max, length, Seen::capacity(length),
                       std::log(double(p.range_max) + 1), reinterpret_cast<int64_t*>(args.scratch.data()),
                       args.wanted<int64_t>(0), args.wanted<int64_t>(1)});
}

}  // namespace

void kernels_zipfian_cuda(KernelList& list) {
  list.kernel<unique_zipfian_cuda, unique_zipfian_scratch>("_sample_unique_zipfian", "unique_zipfian_cuda",
                                                           DeviceType::gpu);
}

}  // namespace loomix::ops
