// SPDX-License-Identifier: Apache-2.0
// The two ends of device tasks on the null device, completion tokens.
#include <atomic>
#include <chrono>
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

// What fails on the device after its task has returned is the error of what the task writes.
void expect_device_errors(Engine& engine) {
  const TaskInfo on_device{.device = Device::null()};
  const VarRef written = engine.new_var(), by_async = engine.new_var(), fine = engine.new_var();
  const auto fail = [] { throw DeviceError("[null] lost."); };
  push(
      engine, {{written.get(), Access::write}}, [&](RunContext& context) { queue_of(context).enqueue(fail); },
      on_device);
  const Tag tag{by_async.get(), Access::write};
  engine.push_async(on_device, {&tag, 1}, [&](RunContext& context, Completion completion) {
    queue_of(context).enqueue(fail);
    completion.done();
  });
  push(
      engine, {{fine.get(), Access::write}}, [&](RunContext& context) { queue_of(context).enqueue([] {}); },
      on_device);
  EXPECT_THROW(engine.wait(*written), DeviceError);
  EXPECT_THROW(engine.wait(*by_async), DeviceError);
  engine.wait(*fine);
  engine.wait_all();  // both errors were seen
}

TEST(NullDevice, ErrorsOfWorkOnTheDeviceAreThoseOfItsTask) {
  expect_device_errors(*make_naive_engine());
  expect_device_errors(*make_threaded_engine({.workers = 2}));
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

}  // namespace
}  // namespace loomix::engine
