// SPDX-License-Identifier: Apache-2.0

#include "engine/parallel_for.h"
#include "ops/random/random.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// Whole numbers in a table with open addressing that is at most half full.
class Seen {
 public:
  Seen(int64_t* memory, int64_t capacity) : slots_(memory), mask_(capacity - 1) {
    std::fill_n(slots_, capacity, kFree);
  }
  static int64_t capacity(int64_t numbers) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * numbers + 1)));
  }
  bool add(int64_t number) {  // false if it is there
    for (int64_t at = (number * 0x9E3779B1) & mask_;; at = (at + 1) & mask_) {
      if (slots_[at] == number) return false;
      if (slots_[at] != kFree) continue;
      slots_[at] = number;
      return true;
    }
  }

 private:
  static constexpr int64_t kFree = -1;
  int64_t* slots_;
  int64_t mask_;
};

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
    PhiloxStream stream(args.random, row);
    Seen seen(memory + row * Seen::capacity(length), Seen::capacity(length));
    int64_t* out = wanted(0) ? args.out[0].mutable_as<int64_t>() + row * length : nullptr;
    int64_t tries = 0;
    for (int64_t i = 0; i < length; ++tries) {
      const auto drawn = static_cast<int64_t>(std::exp(stream.uniform() * log_range)) - 1;
      const int64_t number = std::clamp<int64_t>(drawn, 0, p.range_max - 1);
      if (!seen.add(number)) continue;
      if (out) out[i] = number;
      ++i;
    }
    if (wanted(1)) args.out[1].mutable_as<int64_t>()[row] = tries;
  });
}

}  // namespace

void kernels_zipfian(OpTable& table) {
  table.kernel<unique_zipfian_cpu, unique_zipfian_scratch>("_sample_unique_zipfian", "unique_zipfian_cpu");
}

}  // namespace loomix::ops
