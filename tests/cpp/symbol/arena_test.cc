// SPDX-License-Identifier: Apache-2.0
// The memory of an arena is not reused while a device works with the values that lay in it.
#include "symbol/executor/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "ndarray/copy.h"
#include "tests/cpp/ndarray/late_device.h"

namespace loomix {
namespace {

using namespace std::chrono_literals;
using testing_arrays::push_late;

constexpr int64_t kCount = 64 * 1024;
constexpr int64_t kBytes = kCount * 4;
constexpr int64_t kHalf = kCount / 2;

class ArenaMemory : public testing::Test {
 protected:
  NDArray host_array(float value, int64_t count) {
    NDArray array(*engine_, Shape{count}, DType::float32, Device::cpu());
    fill(array, value);
    return array;
  }
  // Fills the array with ones and has it read late. Returns when that is issued; then only its maker holds the array.
  void read_late(const NDArray& array) {
    copy(host_array(1, array.size()), array);
    push_late(array, result_, engine::Lane::compute, gate_, [from = array.view().data, this] {
      std::memcpy(seen_.data(), from, seen_.size() * sizeof(float));
    });
    std::atomic<bool> issued{false};
    const engine::Tag behind{&array.var(), engine::Access::read};
    engine_->push({.device = Device::null()}, {&behind, 1}, [&](engine::RunContext&) { issued = true; });
    while (!issued) std::this_thread::yield();
  }
  void expect_ones() {
    std::this_thread::sleep_for(20ms);  // for a copy that does not wait
    gate_->complete(nullptr);
    engine_->wait_all();
    EXPECT_EQ(std::count(seen_.begin(), seen_.end(), 1.0f), kHalf);
  }
  Ref<ArenaBlock> make_block() { return make_ref<ArenaBlock>(*engine_, Device::null(), kBytes); }
  static NDArray second_half(ArenaBlock& block) {
    return block.place(kBytes / 2, Shape{kHalf}, DType::float32);
  }

  std::vector<float> seen_ = std::vector<float>(kHalf);
  std::unique_ptr<engine::Engine> engine_ = engine::make_threaded_engine({.workers = 1});
  engine::TokenRef gate_ = testing_arrays::make_gate(*engine_);
  NDArray result_{*engine_, Shape{8}, DType::float32, Device::null()};
};

TEST_F(ArenaMemory, IsGivenToOthersWithTheWorkOnItsParts) {
  const NDArray twos = host_array(2, kCount);
  Ref<ArenaBlock> block = make_block();
  read_late(second_half(*block));
  block.reset();
  const NDArray next = copy_to(twos, Device::null());
  expect_ones();
}

TEST_F(ArenaMemory, HasPartsThatWaitForTheWorkOnEarlierOnes) {
  const NDArray twos = host_array(2, kHalf);
  const Ref<ArenaBlock> block = make_block();
  read_late(second_half(*block));
  copy(twos, second_half(*block));
  expect_ones();
}

TEST_F(ArenaMemory, HasPartsThatWaitForWhoHadTheMemoryBefore) {
  const NDArray twos = host_array(2, kHalf);
  read_late(NDArray(*engine_, Shape{kCount}, DType::float32, Device::null()).slice(kHalf, kCount));
  const Ref<ArenaBlock> block = make_block();
  copy(twos, second_half(*block));
  expect_ones();
}

}  // namespace
}  // namespace loomix
