// SPDX-License-Identifier: Apache-2.0
// The two ends of device tasks on the null device, completion tokens, memory pools.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "engine/device/null_device.h"
#include "engine/engine.h"
#include "tests/cpp/engine/random_graph.h"

namespace loomix::engine {
namespace {

using namespace std::chrono_literals;

void push(Engine& engine, std::vector<Tag> tags, Work work, TaskInfo info = {}) {
  engine.push(std::move(info), tags, std::move(work));
}
NullQueue& queue_of(RunContext& context) { return static_cast<NullQueue&>(*context.queue); }

// Every step runs on the host or on one of two null devices; device steps compute when the device gets to them.
std::vector<uint64_t> run_mixed(Engine& engine, const RandomProgram& program) {
  std::vector<VarRef> vars;
  for (int i = 0; i < program.cells; ++i) vars.push_back(engine.new_var());
  std::vector<uint64_t> values(static_cast<size_t>(program.cells), 3);
  for (const auto& step : program.steps) {
    const auto place = step.salt % 3;
    const Device device = place == 0 ? Device::cpu() : Device::null(static_cast<int>(place) - 1);
    engine.push({.device = device, .lane = step.lane, .priority = step.priority}, program.tags(step, vars),
                [&step, &values](RunContext& context) {
                  if (context.queue == nullptr) {
                    RandomProgram::apply(step, values);
                  } else {
                    queue_of(context).enqueue([&step, &values] { RandomProgram::apply(step, values); });
                  }
                });
  }
  for (const VarRef& var : vars) engine.wait(*var);
  std::vector<uint64_t> early = values;  // ready without wait_all
  engine.wait_all();
  EXPECT_EQ(early, values);
  return values;
}

class NullDeviceTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, NullDeviceTest, testing::Values(1, 2, 4, 8, 16));

TEST_P(NullDeviceTest, MixedProgramsEqualTheNaiveEngine) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomProgram program = RandomProgram::make(seed, 5 + static_cast<int>(seed) * 10, 300, false);
    const auto naive = make_naive_engine();
    const auto engine = make_threaded_engine({.workers = GetParam()});
    EXPECT_EQ(run_mixed(*engine, program), run_mixed(*naive, program));
  }
}

TEST(NullDevice, SuccessorOnTheDeviceIsIssuedBeforeItsPredecessorCompletes) {
  const auto engine = make_threaded_engine({.workers = 1});
  const VarRef a = engine->new_var();
  std::atomic<bool> go{false}, second_issued{false}, host_ran{false};
  const TaskInfo on_device{.device = Device::null()};
  push(
      *engine, {{a.get(), Access::write}},
      [&](RunContext& context) {
        queue_of(context).enqueue([&] {
          while (!go) std::this_thread::yield();
        });
      },
      on_device);
  push(
      *engine, {{a.get(), Access::write}}, [&](RunContext&) { second_issued = true; }, on_device);
  push(*engine, {{a.get(), Access::read}}, [&](RunContext&) { host_ran = true; });
  while (!second_issued) std::this_thread::yield();
  std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(host_ran);
  EXPECT_FALSE(engine->is_ready(*a));
  EXPECT_EQ(a->pending_tokens().size(), 1u);
  go = true;
  engine->wait(*a);
  engine->wait_all();
  EXPECT_TRUE(host_ran);
  EXPECT_TRUE(a->pending_tokens().empty());
}

TEST(NullDevice, MissingDevicesAreNamed) {
  const auto engine = make_threaded_engine({.workers = 1});
  EXPECT_THROW(engine->device(Device::null(99)), DeviceError);
  EXPECT_THROW(engine->push({.device = Device::null(99)}, {}, [](RunContext&) {}), DeviceError);
  EXPECT_THROW(engine->device(Device::cpu()).memory(MemoryKind::cuda_managed), DeviceError);
}

TEST(CompletionToken, CallbacksRunOnceAndErrorsStay) {
  const auto runtime = make_null_runtime(Device::null(), {});
  const TokenRef token = make_ref<CompletionToken>(*runtime->queue(Lane::compute));
  int calls = 0;
  EXPECT_TRUE(token->subscribe([&] { ++calls; }));
  token->complete(std::make_exception_ptr(DeviceError("[cuda] lost.")));
  token->complete(nullptr);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(token->subscribe([&] { ++calls; }));
  EXPECT_TRUE(token->error());
}

MemoryPool make_pool(int64_t bound = 0) { return MemoryPool("test", make_host_source(), bound); }

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

TEST(MemoryPool, ABlockWithATokenGoesToItsQueueAtOnceAndElsewhereLater) {
  const auto runtime = make_null_runtime(Device::null(), {});
  DeviceQueue* const compute = runtime->queue(Lane::compute);
  MemoryPool pool = make_pool();
  constexpr size_t kBytes = 1 << 20;
  void* const block = pool.allocate(kBytes);
  const TokenRef token = make_ref<CompletionToken>(*compute);
  pool.free(block, kBytes, {&token, 1});
  void* const elsewhere = pool.allocate(kBytes, runtime->queue(Lane::copy_in));
  EXPECT_NE(elsewhere, block);
  void* const same = pool.allocate(kBytes, compute);
  EXPECT_EQ(same, block);
  pool.free(same, kBytes, {&token, 1});
  token->complete(nullptr);
  EXPECT_EQ(pool.allocate(kBytes), block);
  pool.free(block, kBytes);
  pool.free(elsewhere, kBytes);

  const TokenRef late = make_ref<CompletionToken>(*compute);
  void* const small = pool.allocate(100);
  pool.free(small, 100, {&late, 1});
  EXPECT_NE(pool.allocate(100), small);
  late->complete(nullptr);
  EXPECT_EQ(pool.allocate(100), small);
}

TEST(MemoryPool, OutOfMemoryWaitsThenNamesTheLargest) {
  MemoryPool pool = make_pool(100 << 20);
  void* const big = pool.allocate(60 << 20);
  pool.set_label(big, "fc1_weight");
  try {
    pool.allocate(48 << 20);
    FAIL() << "no error";
  } catch (const MemoryError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("48.0 MiB"), std::string::npos) << text;
    EXPECT_NE(text.find("60.0 MiB (fc1_weight)"), std::string::npos) << text;
  }
  const auto runtime = make_null_runtime(Device::null(), {});
  auto& queue = static_cast<NullQueue&>(*runtime->queue(Lane::compute));
  queue.enqueue([] { std::this_thread::sleep_for(20ms); });
  const TokenRef token = queue.record();
  pool.free(big, 60 << 20, {&token, 1});
  void* const next = pool.allocate(50 << 20);  // waits for the token, then gives the cached block up
  EXPECT_TRUE(token->done());
  pool.free(next, 50 << 20);
}

TEST(MemoryPool, OutOfMemoryWaitsForTasksInFlight) {
  const auto engine = make_threaded_engine({.workers = 1, .inline_cost_ns = 0, .pool_bytes = 100 << 20});
  MemoryPool& pool = engine->device(Device::cpu()).memory(MemoryKind::host);
  void* const block = pool.allocate(80 << 20);
  push(*engine, {}, [&](RunContext&) {
    std::this_thread::sleep_for(30ms);
    pool.free(block, 80 << 20);
  });
  void* const next = pool.allocate(70 << 20);
  pool.free(next, 70 << 20);
  engine->wait_all();
}

}  // namespace
}  // namespace loomix::engine
