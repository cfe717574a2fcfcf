// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/op_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "ops/kernel_module.h"
#include "run_fixture.h"
#include "symbol/executor/bound_executor.h"

namespace loomix {
namespace {

using ops::KernelArgs, ops::NoParams;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Kernels that complete on a thread of the test's.
struct Later {
  std::mutex mutex;
  std::vector<std::thread> threads;
  ~Later() {
    for (std::thread& thread : threads) thread.join();
  }
};
Later& later() {
  static Later all;
  return all;
}

void double_later(const NoParams&, const KernelArgs& args, engine::Completion completion) {
  const std::lock_guard lock(later().mutex);
  later().threads.emplace_back([&args, done = std::move(completion)]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const float* in = args.in[0].as<float>();
    float* out = args.out[0].mutable_as<float>();
    for (int64_t i = 0; i < args.in[0].size(); ++i) out[i] = 2 * in[i];
    done.done();
  });
}
void fail_later(const NoParams&, const KernelArgs&, engine::Completion completion) {
  const std::lock_guard lock(later().mutex);
  later().threads.emplace_back([done = std::move(completion)]() mutable {
    done.fail(std::make_exception_ptr(ValueError("[later] too late.")));
  });
}
void throw_at_once(const NoParams&, const KernelArgs&, engine::Completion) {
  throw ValueError("[later] thrown before it began.");
}

// Needs scratch memory; writes its size to the output.
size_t wants_scratch(const NoParams&, const ops::KernelSpec& spec) {
  return static_cast<size_t>(spec.in[0].bytes()) * 4;
}
void report_scratch(const NoParams&, const KernelArgs& args) {
  std::memset(args.scratch.data(), 0xab, args.scratch.size());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(args.scratch.data()) % 64, 0u);
  std::fill_n(args.out[0].mutable_as<float>(), args.out[0].size(), static_cast<float>(args.scratch.size()));
}

// On the null device only modules' kernels run; these compute, for the device's memory is the host's.
void add_null(const NoParams&, const KernelArgs& args) {
  EXPECT_NE(args.context->queue, nullptr) << "on a queue of the device";
  for (int64_t i = 0; i < args.out[0].size(); ++i) {
    args.out[0].mutable_as<float>()[i] = args.in[0].as<float>()[i] + args.in[1].as<float>()[i];
  }
}
void copy_null(const NoParams&, const KernelArgs& args) {
  std::memcpy(args.out[0].data, args.in[0].data, static_cast<size_t>(args.in[0].bytes()));
}
void reversed_null(const NoParams&, const KernelArgs& args) {
  const int64_t size = args.in[0].size();
  for (int64_t i = 0; i < size; ++i)
    args.out[0].mutable_as<float>()[i] = args.in[0].as<float>()[size - 1 - i];
}

ops::OpBuilder<NoParams> describe(ops::OpTable& table, const char* name) {
  auto builder = table.add<NoParams>(name);
  builder.doc("For tests.").input("data").output("output");
  builder.one_shape();
  return builder;
}

const ops::OpTable& table() {
  static const ops::OpTable* const made = [] {
    static ops::OpTable own;
    ops::register_all(own);
    autograd::register_operators(own);
    const auto async =
        [&]<void (*run)(const NoParams&, const KernelArgs&, engine::Completion)>(const char* name) {
          describe(own, name);
          own.async_kernel<NoParams, run>(name, name);
        };
    async.operator()<double_later>("_double_later");
    async.operator()<fail_later>("_fail_later");
    async.operator()<throw_at_once>("_throw_at_once");
    describe(own, "_scratch");
    own.kernel<report_scratch, wants_scratch>("_scratch", "scratch_cpu");
    describe(own, "_reversed");
    own.kernel<reversed_null>("_reversed", "reversed_cpu");
    own.validate();
    ops::add_kernel_module(own, {ops::kKernelInterface, ops::kKernelInterfaceSize, "null kernels", "1",
                                 DeviceType::null, [](ops::KernelList& list) {
                                   constexpr DeviceType null = DeviceType::null;
                                   list.kernel<add_null>("elemwise_add", "add_null", null);
                                   list.kernel<copy_null>("_copy", "copy_null", null);
                                   list.kernel<reversed_null>("_reversed", "reversed_null", null);
                                 }});
    return &own;
  }();
  return *made;
}

class OpCallTest : public ::testing::Test {
 protected:
  OpCallTest() : engine_(engine::make_threaded_engine()), runtime_(*engine_, table()) {}
  NDArray array(const std::vector<float>& items, Device device = Device::cpu()) {
    NDArray result(*engine_, Shape{static_cast<int64_t>(items.size())}, DType::float32, device);
    result.copy_from_host(items.data(), static_cast<int64_t>(items.size() * sizeof(float)));
    return result;
  }
  static std::vector<float> values(const NDArray& array) {
    std::vector<float> items(static_cast<size_t>(array.size()));
    array.copy_to_host(items.data(), array.bytes());
    return items;
  }
  void call(const char* op, std::initializer_list<NDArray> in, NDArray out, ops::Req req) {
    NDArray* const pointer = &out;
    RunOptions options;
    options.out = {&pointer, 1};
    options.req = {&req, 1};
    run_node(runtime_, op, in, {}, options);
  }

  std::unique_ptr<engine::Engine> engine_;
  Runtime runtime_;
};

TEST_F(OpCallTest, KernelsMayCompleteLater) {
  const NDArray x = array({1, 2, 3});
  NDArray y = run_node(runtime_, "_double_later", {x})[0];
  y = run_node(runtime_, "_double_later", {y})[0];
  EXPECT_THAT(values(run_node(runtime_, "elemwise_add", {y, x})[0]), ElementsAre(5, 10, 15));
  const NDArray sum = array({1, 1, 1});
  call("_double_later", {x}, sum, ops::Req::add);
  EXPECT_THAT(values(sum), ElementsAre(3, 5, 7));
}

TEST_F(OpCallTest, ErrorsOfLateKernelsNameTheOperator) {
  const NDArray x = array({1, 2, 3});
  for (const auto& [op, text] :
       {std::pair("_fail_later", "too late"), {"_throw_at_once", "before it began"}}) {
    const NDArray y = run_node(runtime_, "_double_later", {run_node(runtime_, op, {x})[0]})[0];
    try {
      values(y);
      FAIL() << op;
    } catch (const ValueError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr(text), HasSubstr(op)));
    }
  }
}

TEST_F(OpCallTest, ScratchMemoryComesFromThePool) {
  EXPECT_THAT(values(run_node(runtime_, "_scratch", {array({1, 2, 3})})[0]), Each(48));
  const NDArray sum = array({1, 2, 3});
  call("_scratch", {sum}, sum, ops::Req::add);  // and room for what is added
  EXPECT_THAT(values(sum), ElementsAre(49, 50, 51));
}

TEST_F(OpCallTest, SumsAndOverlapsAreBroughtToTheirPlaceOnTheDevice) {
  const Device null = Device::null();
  const NDArray x = array({1, 2, 3}, null), sum = array({10, 20, 30}, null);
  call("_reversed", {x}, sum, ops::Req::add);
  EXPECT_THAT(values(sum), ElementsAre(13, 22, 31));
  call("_reversed", {x}, x, ops::Req::write);  // would overwrite what it still reads
  EXPECT_THAT(values(x), ElementsAre(3, 2, 1));
}

TEST_F(OpCallTest, ScratchMemoryIsPlannedInBoundGraphs) {
  const Symbol x = Symbol::variable("x");
  const auto node = [&](const Symbol& in, const char* name) {
    const NamedSymbol input{"", in};
    return Symbol::create(table(), "_scratch", {}, {&input, 1}, name);
  };
  const Symbol net = node(node(node(x, "a"), "b"), "c");
  SimpleBindRequest wanted;
  wanted.shapes.emplace_back("x", Shape{1000});
  wanted.requests = {ops::Req::null};
  const auto executor = BoundExecutor::simple_bind(runtime_, net, Device::cpu(), wanted, {});
  for (int i = 0; i < 3; ++i) executor->forward(RunMode::inference);
  EXPECT_THAT(values(executor->outputs()[0]), Each(16000));
  const std::string text = executor->explain(RunMode::inference);
  EXPECT_THAT(text, HasSubstr("scratch 16000 bytes @"));
  // The three share one place: each is free when the next begins.
  EXPECT_LT(executor->plan(RunMode::inference).memory.bytes(), 16000 + 64 + 2 * 4096);
}

// An executor may be gone before its last run begins.
TEST_F(OpCallTest, PlannedScratchMemoryLivesAsLongAsRuns) {
  const NamedSymbol input{"", Symbol::variable("x")};
  const Symbol net = Symbol::create(table(), "_scratch", {}, {&input, 1}, "a");
  SimpleBindRequest wanted;
  wanted.shapes.emplace_back("x", Shape{1000});
  wanted.requests = {ops::Req::null};
  auto executor = BoundExecutor::simple_bind(runtime_, net, Device::cpu(), wanted, {});
  values(executor->forward(RunMode::inference)[0]);
  const NDArray x = executor->arrays().arguments[0];
  std::promise<void> release;
  const engine::Tag tag{&x.var(), engine::Access::use};
  engine::TaskInfo info;
  info.cost_ns = 1'000'000'000;  // so that this thread does not run it itself
  engine_->push(std::move(info), {&tag, 1},
                [held = release.get_future().share()](engine::RunContext&) { held.wait(); });
  const NDArray output = executor->forward(RunMode::inference)[0];
  executor = {};
  std::vector<NDArray> others;  // would get the memory if it were free
  for (int i = 0; i < 4; ++i) others.push_back(array(std::vector<float>(4000, 7)));
  release.set_value();
  EXPECT_THAT(values(output), Each(16000));
  for (const NDArray& other : others) EXPECT_THAT(values(other), Each(7));
}

}  // namespace
}  // namespace loomix
