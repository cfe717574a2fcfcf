// SPDX-License-Identifier: Apache-2.0
// A signal interrupts a copy from the caller's memory: nobody reads that memory afterwards.
#include <atomic>
#include <chrono>
#include <latch>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "ndarray/copy.h"
#include "ndarray/ndarray.h"

namespace loomix {
namespace {

using namespace std::chrono_literals;

std::atomic<bool> g_interrupt;

class InterruptedCopy : public testing::Test {
 protected:
  InterruptedCopy() {
    g_interrupt = false;
    engine_ = engine::make_threaded_engine(
        {.workers = 2,
         .help_while_waiting = false,
         .block_hook = {.enter = []() -> void* { return nullptr; },
                        .leave = [](void*) {},
                        .interrupted = [](void*) { return g_interrupt.load(); }}});
  }
  // Keeps whoever writes `array` waiting until `open`.
  void hold(const NDArray& array) {
    const engine::Tag tag{&array.var(), engine::Access::read};
    engine_->push({.may_inline = false}, {&tag, 1}, [this](engine::RunContext&) { open_.wait(); });
  }
  std::unique_ptr<engine::Engine> engine_;
  std::latch open_{1};
};

TEST_F(InterruptedCopy, OnAHostTheArrayGetsTheDataAsItWas) {
  constexpr int64_t kItems = 300'000;
  NDArray array = zeros(*engine_, Shape{kItems}, DType::float32, Device::cpu());
  hold(array);
  std::vector<float> items(kItems);
  std::iota(items.begin(), items.end(), 1.0f);
  std::vector<float> expected = items;
  g_interrupt = true;
  EXPECT_THROW(array.copy_from_host(items.data(), array.bytes()), Interrupted);
  g_interrupt = false;
  std::fill(items.begin(), items.end(), -1.0f);
  items = {};
  open_.count_down();
  std::vector<float> found(kItems);
  array.copy_to_host(found.data(), array.bytes());
  EXPECT_EQ(found, expected);
}

TEST_F(InterruptedCopy, OnADeviceTheWaitGoesOnUntilTheMemoryWasRead) {
  NDArray array(*engine_, Shape{4}, DType::float32, Device::null());
  fill(array, 0);
  engine_->wait_all();
  hold(array);
  const std::vector<float> items{1, 2, 3, 4};
  g_interrupt = true;
  std::atomic<bool> opened{false};
  std::thread later([&] {
    std::this_thread::sleep_for(120ms);
    opened = true;
    open_.count_down();
  });
  EXPECT_THROW(array.copy_from_host(items.data(), array.bytes()), Interrupted);
  EXPECT_TRUE(opened);
  later.join();
  g_interrupt = false;
  engine_->wait_all();
}

}  // namespace
}  // namespace loomix
