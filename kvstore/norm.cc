// SPDX-License-Identifier: Apache-2.0
#include "kvstore/norm.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "engine/parallel_for.h"
#include "ops/elemwise/loops.h"

namespace loomix::kvstore {
namespace {

constexpr int64_t kBlock =
    2048;  // elements that are added one after the other; in the first-level cache as doubles
constexpr int64_t kBlocksOfThread = 32;  // fewer are not worth a thread
constexpr size_t kLanes = 8;

double squares_of_block(const double* items, int64_t count) {
  std::array<double, kLanes> sums = {};
  int64_t i = 0;
  for (; i + static_cast<int64_t>(kLanes) <= count; i += static_cast<int64_t>(kLanes)) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double item = items[i + static_cast<int64_t>(lane)];
      sums[lane] += item * item;
    }
  }
  for (; i < count; ++i) sums[0] += items[i] * items[i];
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

class SquaresTask final : public StoreTask {
 public:
  SquaresTask(const Request& request, const NDArray& array, const NDArray& out)
      : StoreTask(request), array_(array), out_(out) {}

  void run(engine::RunContext& context) const override {
    const DType dtype = array_.dtype();
    const auto* const data =
        static_cast<const std::byte*>(array_.storage().data()) + (array_.is_dense() ? array_.offset() : 0);
    const int64_t items =
        array_.is_dense() ? array_.size()
                          : array_.storage().count() * array_.shape().size_between(1, array_.shape().ndim());
    std::vector<double> blocks(static_cast<size_t>((items + kBlock - 1) / kBlock));
    engine::parallel_for(
        context, static_cast<int64_t>(blocks.size()), kBlocksOfThread, [&](int64_t begin, int64_t end) {
          std::array<double, kBlock> doubles;
          for (int64_t block = begin; block < end; ++block) {
            const int64_t first = block * kBlock;
            const int64_t count = std::min(kBlock, items - first);
            ops::convert_row(dtype, data + first * size_of(dtype), DType::float64, doubles.data(), count);
            blocks[static_cast<size_t>(block)] = squares_of_block(doubles.data(), count);
          }
        });
    *static_cast<double*>(out_.storage().data()) = std::accumulate(blocks.begin(), blocks.end(), 0.0);
  }

 private:
  const NDArray array_;
  const NDArray out_;
};

}  // namespace

NDArray sum_of_squares(const Request& request, const NDArray& array) {
  NDArray out(array.engine(), Shape{1}, DType::float64, Device::cpu());
  ArrayTags tags;
  tags.read(array);
  tags.write(out);
  push_task(make_ref<SquaresTask>(request, array, out), tags, out, array.is_dense() ? array.bytes() : 0,
            array.is_dense() && array.size() > 2 * kBlocksOfThread * kBlock ? 255 : 1);
  return out;
}

}  // namespace loomix::kvstore
