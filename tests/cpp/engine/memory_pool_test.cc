// SPDX-License-Identifier: Apache-2.0
// Memory pools and scratch blocks.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "engine/device/null_device.h"
#include "engine/device/scratch_block.h"
#include "engine/engine.h"

namespace loomix::engine {
namespace {

using namespace std::chrono_literals;

MemoryPool make_pool(int64_t bound = 0) { return MemoryPool("test", make_host_source(), {.held = bound}); }

TEST(MemoryPool, BlocksAreAlignedDistinctAndReused) {
  MemoryPool pool = make_pool();
  std::set<std::pair<uintptr_t, uintptr_t>> ranges;
  std::vector<std::pair<void*, size_t>> blocks;
  for (size_t bytes : {0, 1, 63, 64, 65, 1000, 1024, 1025, 5000, 32768, 32769, 100'000, 1 << 20, 3 << 20}) {
    for (int i = 0; i < 40; ++i) {
      void* const memory = pool.allocate(bytes);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
      std::memset(memory, 1, bytes);
      blocks.emplace_back(memory, bytes);
      const auto begin = reinterpret_cast<uintptr_t>(memory);
      const auto next = ranges.lower_bound({begin, 0});
      ASSERT_TRUE(next == ranges.end() || next->first >= begin + bytes);
      ASSERT_TRUE(next == ranges.begin() || std::prev(next)->second <= begin);
      ranges.insert({begin, begin + std::max<size_t>(bytes, 1)});
    }
  }
  const MemoryStats full = pool.stats();
  EXPECT_GT(full.in_use, 40 * (4 << 20));
  EXPECT_GE(full.reserved, full.in_use);
  for (auto [memory, bytes] : blocks) pool.free(memory, bytes);
  EXPECT_EQ(pool.stats().in_use, 0);
  EXPECT_GE(pool.stats().peak, full.in_use);
  void* const again = pool.allocate(3 << 20);
  EXPECT_TRUE(std::find(blocks.begin(), blocks.end(), std::pair<void*, size_t>(again, 3 << 20)) !=
              blocks.end());
  pool.free(again, 3 << 20);
  pool.release_cached();
  EXPECT_LT(pool.stats().reserved, 8 << 20);
}

#ifndef __SANITIZE_ADDRESS__  // there malloc gives what is freed back later
int64_t resident() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0;
  file >> pages >> pages;
  return pages * 4096;
}

// After 32 MiB were freed, malloc takes blocks up to that size from its heap, and larger ones where the heap has a gap.
TEST(MemoryPool, GivesBackWhatWouldFitIntoAGapOfTheHeap) {
  constexpr size_t kMegabyte = size_t{1} << 20;
  void* volatile first = std::malloc(32 * kMegabyte - 8192);  // volatile: compilers leave calls out
  std::free(first);
  std::array<void* volatile, 13> heap;
  for (void* volatile& block : heap) block = std::malloc(30 * kMegabyte);
  for (int i = 0; i < 12; ++i) std::free(heap[i]);

  MemoryPool pool = make_pool();
  void* const memory = pool.allocate(256 * kMegabyte);
  std::memset(memory, 1, 256 * kMegabyte);
  const int64_t full = resident();
  pool.free(memory, 256 * kMegabyte);
  pool.release_cached();
  EXPECT_LT(resident(), full - static_cast<int64_t>(250 * kMegabyte));
  std::free(heap.back());
}
#endif

TEST(MemoryPool, BlocksMoveBetweenThreads) {
  MemoryPool pool = make_pool();
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> blocks;
    std::thread maker([&] {
      for (int i = 0; i < 1000; ++i) blocks.push_back(pool.allocate(128));
    });
    maker.join();
    for (void* const block : blocks) pool.free(block, 128);
  }
  EXPECT_EQ(pool.stats().in_use, 0);
  EXPECT_LE(pool.stats().reserved, 2 << 20);
}

// So that tools that watch a source's memory see where each array ends, and who uses one too late.
TEST(MemoryPool, AnExactPoolAsksItsSourceForEachBlock) {
  class Source final : public MemorySource {
   public:
    explicit Source(std::vector<size_t>& held) : held_(held) {}
    void* allocate(size_t bytes) noexcept override {
      held_.push_back(bytes);
      return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    }
    void free(void* memory, size_t bytes) noexcept override {
      std::erase(held_, bytes);
      std::free(memory);
    }
    size_t capacity() const noexcept override { return size_t{1} << 30; }
    bool on_host() const noexcept override { return false; }

   private:
    std::vector<size_t>& held_;
  };
  std::vector<size_t> held;
  const auto runtime = make_null_runtime(Device::null(), {});
  {
    MemoryPool pool("test", std::make_unique<Source>(held), {.exact = true});
    void* const first = pool.allocate(1'000'001);
    void* const second = pool.allocate(7);
    EXPECT_EQ(held, (std::vector<size_t>{1'000'001, 7}));
    pool.free(first, 1'000'001);
    EXPECT_EQ(held, (std::vector<size_t>{7}));
    const TokenRef token = make_ref<CompletionToken>(*runtime->queue(Lane::compute));
    pool.free(second, 7, {&token, 1});
    EXPECT_EQ(held, (std::vector<size_t>{7}));  // the device still uses it
    std::vector<TokenRef> pending;
    void* const third = pool.allocate(7, runtime->queue(Lane::compute), pending);
    EXPECT_NE(third, second);
    token->complete(nullptr);
    pool.free(third, 7);
  }
  EXPECT_TRUE(held.empty());
}

TEST(MemoryPool, ABlockWithATokenGoesToItsQueueAtOnceAndElsewhereLater) {
  const auto runtime = make_null_runtime(Device::null(), {});
  DeviceQueue* const compute = runtime->queue(Lane::compute);
  MemoryPool pool = make_pool();
  constexpr size_t kBytes = 1 << 20;
  void* const block = pool.allocate(kBytes);
  const TokenRef token = make_ref<CompletionToken>(*compute);
  pool.free(block, kBytes, {&token, 1});
  std::vector<TokenRef> pending;
  void* const elsewhere = pool.allocate(kBytes, runtime->queue(Lane::copy_in), pending);
  EXPECT_NE(elsewhere, block);
  void* const idle = pool.allocate(kBytes);
  EXPECT_NE(idle, block);
  EXPECT_TRUE(pending.empty());
  void* const same = pool.allocate(kBytes, compute, pending);
  EXPECT_EQ(same, block);
  ASSERT_EQ(pending.size(), 1u);
  EXPECT_EQ(pending[0].get(), token.get());
  pool.free(same, kBytes, {&token, 1});
  token->complete(nullptr);
  EXPECT_EQ(pool.allocate(kBytes), block);
  pool.free(block, kBytes);
  pool.free(elsewhere, kBytes);
  pool.free(idle, kBytes);

  const TokenRef late = make_ref<CompletionToken>(*compute);
  void* const small = pool.allocate(100);
  pool.free(small, 100, {&late, 1});
  EXPECT_NE(pool.allocate(100), small);
  late->complete(nullptr);
  EXPECT_EQ(pool.allocate(100), small);
}

struct Named final : MemoryOwner {
  explicit Named(std::string text) : name(std::move(text)) {}
  std::string describe() const override { return name; }
  std::string name;
};

TEST(MemoryPool, OutOfMemoryWaitsThenNamesTheLargest) {
  MemoryPool pool = make_pool(100 << 20);
  void* const big = pool.allocate(60 << 20);
  const Named owner("fc1_weight");
  pool.add_owner(owner, 60 << 20);
  try {
    pool.allocate(48 << 20);
    FAIL() << "no error";
  } catch (const MemoryError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("48.0 MiB"), std::string::npos) << text;
    EXPECT_NE(text.find("60.0 MiB (fc1_weight)"), std::string::npos) << text;
  }
  pool.remove_owner(owner);
  const auto runtime = make_null_runtime(Device::null(), {});
  auto& queue = static_cast<NullQueue&>(*runtime->queue(Lane::compute));
  queue.enqueue([] { std::this_thread::sleep_for(20ms); });
  const TokenRef token = queue.record();
  pool.free(big, 60 << 20, {&token, 1});
  void* const next = pool.allocate(50 << 20);  // waits for the token, then gives the cached block up
  EXPECT_TRUE(token->done());
  pool.free(next, 50 << 20);
}

TEST(MemoryPool, TheCacheIsBoundedApartFromWhatIsInUse) {
  constexpr size_t kBytes = 1 << 20;
  for (const int64_t bound : {int64_t{0}, int64_t{5} << 20}) {
    MemoryPool pool("test", make_host_source(), {.cached = bound});
    std::vector<void*> blocks;
    for (int i = 0; i < 20; ++i) blocks.push_back(pool.allocate(kBytes));  // more than may be cached
    blocks.push_back(pool.allocate(32 * kBytes));
    EXPECT_EQ(pool.stats().in_use, 52 << 20);
    pool.free(blocks.back(), 32 * kBytes);
    blocks.pop_back();
    for (void* const block : blocks) {
      pool.free(block, kBytes);
      EXPECT_LE(pool.stats().cached, bound);
    }
    EXPECT_EQ(pool.stats().cached, bound);
    EXPECT_EQ(pool.stats().reserved, bound);
  }
}

TEST(MemoryPool, TheCacheOfAnEngineIsBounded) {
  const auto engine = make_threaded_engine({.workers = 1, .host_cache_bytes = 1 << 20});
  MemoryPool& pool = engine->device(Device::cpu()).memory(MemoryKind::host);
  void* const block = pool.allocate(8 << 20);
  pool.free(block, 8 << 20);
  EXPECT_EQ(pool.stats().cached, 0);
}

TEST(MemoryPool, WhatIsMoreThanTheBoundFailsAtOnce) {
  const auto engine = make_threaded_engine({.workers = 1, .inline_cost_ns = 0, .pool_bytes = 10 << 20});
  MemoryPool& pool = engine->device(Device::cpu()).memory(MemoryKind::host);
  std::atomic<bool> go{false};
  engine->push({}, {}, [&](RunContext&) {
    while (!go) std::this_thread::yield();
  });
  EXPECT_THROW(pool.allocate(20 << 20), MemoryError);  // with a task in flight
  go = true;
  engine->wait_all();
}

TEST(MemoryPool, OutOfMemoryWaitsForTasksInFlight) {
  const auto engine = make_threaded_engine({.workers = 1, .inline_cost_ns = 0, .pool_bytes = 100 << 20});
  MemoryPool& pool = engine->device(Device::cpu()).memory(MemoryKind::host);
  void* const block = pool.allocate(80 << 20);
  engine->push({}, {}, [&](RunContext&) {
    std::this_thread::sleep_for(30ms);
    pool.free(block, 80 << 20);
  });
  void* const next = pool.allocate(70 << 20);
  pool.free(next, 70 << 20);
  engine->wait_all();
}

// What is in flight grows all the time, as others push; that one task ends is what counts.
TEST(MemoryPool, OutOfMemoryWaitsForOneTaskAmongMoreAndMore) {
  const auto engine = make_threaded_engine({.workers = 2, .inline_cost_ns = 0, .pool_bytes = 100 << 20});
  MemoryPool& pool = engine->device(Device::cpu()).memory(MemoryKind::host);
  void* const block = pool.allocate(80 << 20);
  engine->push({}, {}, [&](RunContext&) {
    std::this_thread::sleep_for(50ms);
    pool.free(block, 80 << 20);
  });
  std::atomic<bool> enough{false};
  std::vector<Completion> open;
  std::mutex mutex;
  std::thread pusher([&] {
    while (!enough) {
      engine->push_async({}, {}, [&](RunContext&, Completion completion) {
        const std::lock_guard lock(mutex);
        open.push_back(std::move(completion));
      });
      std::this_thread::sleep_for(1ms);
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  void* const next = pool.allocate(70 << 20);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  pool.free(next, 70 << 20);
  enough = true;
  pusher.join();
  engine->push({.lane = Lane::io}, {}, [&](RunContext&) {
    std::this_thread::sleep_for(20ms);
    const std::lock_guard lock(mutex);
    for (Completion& completion : open) completion.done();
  });
  engine->wait_all();
}

TEST(MemoryPool, ATaskWaitsForAnotherThatRunsLong) {
  const auto engine = make_threaded_engine({.workers = 2, .inline_cost_ns = 0, .pool_bytes = 100 << 20});
  MemoryPool& pool = engine->device(Device::cpu()).memory(MemoryKind::host);
  void* const block = pool.allocate(80 << 20);
  std::atomic<bool> runs{false};
  engine->push({}, {}, [&](RunContext&) {
    runs = true;
    std::this_thread::sleep_for(500ms);
    pool.free(block, 80 << 20);
  });
  while (!runs) std::this_thread::yield();
  engine->push({}, {}, [&](RunContext&) { pool.free(pool.allocate(70 << 20), 70 << 20); });
  EXPECT_NO_THROW(engine->wait_all());
}

TEST(MemoryPool, TasksThatAllWaitForMemoryFail) {
  const auto engine = make_threaded_engine({.workers = 2, .inline_cost_ns = 0, .pool_bytes = 100 << 20});
  MemoryPool& pool = engine->device(Device::cpu()).memory(MemoryKind::host);
  std::atomic<int> holding{0}, failed{0};
  for (int i = 0; i < 2; ++i) {
    engine->push({}, {}, [&](RunContext&) {
      const ScratchBlock held(pool, 40 << 20, nullptr);
      ++holding;
      while (holding < 2) std::this_thread::yield();
      try {
        const ScratchBlock more(pool, 40 << 20, nullptr);
      } catch (const MemoryError&) {
        ++failed;
      }
    });
  }
  const auto begin = std::chrono::steady_clock::now();
  engine->wait_all();
  EXPECT_GE(failed, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  EXPECT_EQ(pool.stats().in_use, 0);
}

TEST(MemoryPool, MemoryIsShortOnlyWhileOtherQueuesUseIt) {
  const auto runtime = make_null_runtime(Device::null(), {});
  MemoryPool pool = make_pool(16 << 20);
  constexpr size_t kBytes = 12 << 20;
  void* const block = pool.allocate(kBytes);
  const TokenRef token = make_ref<CompletionToken>(*runtime->queue(Lane::compute));
  pool.free(block, kBytes, {&token, 1});
  std::vector<TokenRef> pending;
  EXPECT_EQ(pool.allocate(kBytes, runtime->queue(Lane::copy_in), pending), block);  // no room beside it
  ASSERT_EQ(pending.size(), 1u);
  EXPECT_EQ(pending[0].get(), token.get());
  pool.free(block, kBytes, pending);
  token->complete(nullptr);
  EXPECT_EQ(pool.allocate(kBytes), block);
  pool.free(block, kBytes);
}

TEST(MemoryPool, LargeBlocksOfManyThreadsStayDistinct) {
  MemoryPool pool = make_pool();
  std::vector<std::thread> threads;
  std::atomic<int> overwritten{0};
  for (int id = 0; id < 8; ++id) {
    threads.emplace_back([&, id] {
      std::mt19937 random(static_cast<uint32_t>(id));
      std::vector<std::pair<int*, size_t>> held;
      for (int step = 0; step < 20000; ++step) {
        if (held.size() < 4 && random() % 2 == 0) {
          const size_t bytes = size_t{40'000} << random() % 6;
          auto* const memory = static_cast<int*>(pool.allocate(bytes));
          memory[0] = memory[bytes / sizeof(int) - 1] = id;
          held.emplace_back(memory, bytes);
        } else if (!held.empty()) {
          const auto [memory, bytes] = held.back();
          held.pop_back();
          if (memory[0] != id || memory[bytes / sizeof(int) - 1] != id) ++overwritten;
          pool.free(memory, bytes);
        }
      }
      for (const auto& [memory, bytes] : held) pool.free(memory, bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overwritten, 0);
  EXPECT_EQ(pool.stats().in_use, 0);
  pool.release_cached();
  EXPECT_EQ(pool.stats().reserved, 0);
}

TEST(SizeClass, EveryShelfClassIsARoundedSizeOfItsOwn) {
  for (size_t index = 0; index < size_class::kShelfClasses; ++index) {
    const size_t bytes = size_class::shelf_class_bytes(index);
    EXPECT_EQ(size_class::rounded(bytes), bytes);
    EXPECT_EQ(size_class::shelf_class(bytes), index);
    EXPECT_EQ(size_class::shelf_class(size_class::rounded(bytes - 1)), index);
    EXPECT_TRUE(size_class::fits_shelf(bytes));
  }
  EXPECT_FALSE(size_class::fits_shelf(size_class::rounded(size_class::kShelfBytes + 1)));
}

TEST(ScratchBlock, IsAlignedReusedAndGivenBack) {
  const auto engine = make_threaded_engine({.workers = 1});
  MemoryPool& pool = ScratchBlock::pool_of(*engine, Device::cpu());
  EXPECT_TRUE(ScratchBlock(pool, 0, nullptr).bytes().empty());
  for (const size_t bytes : {1, 1000, 100'000, 5 << 20, 40 << 20}) {
    void* first = nullptr;
    {
      ScratchBlock block(pool, bytes, nullptr);
      first = block.bytes().data();
      EXPECT_EQ(block.bytes().size(), bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
      std::memset(first, 1, bytes);
      EXPECT_GE(pool.stats().in_use, static_cast<int64_t>(bytes));
      ScratchBlock moved = std::move(block);
      EXPECT_TRUE(block.bytes().empty());
      block = std::move(moved);
    }
    EXPECT_EQ(pool.stats().in_use, 0);
    EXPECT_EQ(ScratchBlock(pool, bytes, nullptr).bytes().data(), first);
  }
}

// Two lanes of a device take scratch from one pool, write to it late and look whether it is still theirs.
TEST(ScratchBlock, OnADeviceIsReusedBehindTheWorkThatUsesIt) {
  const auto engine = make_threaded_engine({.workers = 1, .pool_bytes = 3 << 20});
  MemoryPool& pool = ScratchBlock::pool_of(*engine, Device::null());
  std::atomic<int> overwritten{0};
  for (int i = 0; i < 400; ++i) {
    const Lane lane = i % 2 ? Lane::compute : Lane::copy_in;
    engine->push({.device = Device::null(), .lane = lane}, {}, [&pool, &overwritten, i](RunContext& context) {
      auto& queue = static_cast<NullQueue&>(*context.queue);
      const ScratchBlock block(pool, 1 << 20, context.queue);
      auto* const mine = reinterpret_cast<int*>(block.bytes().data());
      queue.enqueue([mine, i] { *mine = i; });
      queue.enqueue([] {});
      queue.enqueue([mine, i, &overwritten] { overwritten += *mine != i; });
    });
  }
  engine->wait_all();
  EXPECT_EQ(overwritten, 0);
  EXPECT_EQ(pool.stats().in_use, 0);
  EXPECT_LE(pool.stats().reserved, 3 << 20);
}

}  // namespace
}  // namespace loomix::engine
