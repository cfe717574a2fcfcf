// SPDX-License-Identifier: Apache-2.0
//
// Passes with gradients on a GPU, each operator by itself and captured, with all memory that is about to be written filled with NaN.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/device/device_runtime.h"
#include "symbol/executor/bound_executor.h"
#include "tests/cpp/symbol/run_fixture.h"

namespace loomix {
namespace {

class GpuExecutor : public testing_run::RunTest {
 protected:
  void SetUp() override {
    if (engine::count_gpus() == 0) GTEST_SKIP() << "no GPU, nor a stand-in for one";
  }
  static Symbol apply(std::string_view op, std::vector<NamedSymbol> inputs, const std::string& name) {
    return Symbol::create(table(), op, {}, inputs, name);
  }
  // Branches that meet, so that values live long and share memory.
  static Symbol random_net(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Symbol> made{Symbol::variable("x"), Symbol::variable("y")};
    for (int i = 0; i < 25; ++i) {
      const auto any = [&] { return made[made.size() - 1 - random() % std::min<size_t>(made.size(), 5)]; };
      const std::string name = "op" + std::to_string(i);
      switch (random() % 4) {
        case 0: made.push_back(apply("tanh", {{"", any()}}, name)); break;
        case 1: made.push_back(apply("softmax", {{"", any()}}, name)); break;
        case 2: made.push_back(apply("elemwise_add", {{"", any()}, {"", any()}}, name)); break;
        default: made.push_back(apply("elemwise_mul", {{"", any()}, {"", any()}}, name)); break;
      }
    }
    return apply("elemwise_add", {{"", made.back()}, {"", made[made.size() - 4]}}, "sum");
  }
  // All outputs and gradients of some passes, pushed without waiting in between.
  std::vector<std::vector<float>> run(const Symbol& net, Device device, int captured, int streams = 1) {
    SimpleBindRequest request;
    for (const std::string& name : net.list_arguments()) request.shapes.emplace_back(name, Shape{8, 16});
    request.requests.assign(request.shapes.size(), ops::Req::add);
    BindOptions options;
    options.plan.captured = captured;
    options.plan.streams = streams;
    options.plan.poison = true;
    const auto executor = BoundExecutor::simple_bind(runtime_, net, device, request, options);
    std::vector<float> items(8 * 16);
    for (size_t i = 0; i < items.size(); ++i) items[i] = static_cast<float>(i % 7) / 7 - 0.3F;
    for (const NDArray& argument : executor->arrays().arguments) copy(array({8, 16}, items), argument);
    const NDArray head = array({8, 16}, items, device);
    for (int pass = 0; pass < 6; ++pass) {
      executor->forward(RunMode::training);
      executor->backward({&head, 1});
    }
    std::vector<std::vector<float>> results{values(executor->outputs()[0])};
    for (const NDArray& gradient : executor->arrays().gradients) results.push_back(values(gradient));
    return results;
  }
};

TEST_F(GpuExecutor, CapturedPassesReadNothingThatIsNotThere) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    const Symbol net = random_net(seed);
    const auto want = run(net, Device::cpu(), 1);
    for (const int captured : {1, 3, 4096}) {
      const auto got = run(net, Device::gpu(0), captured);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_THAT(got[i], ::testing::Pointwise(::testing::FloatNear(1e-3F), want[i])) << captured;
    }
  }
}

// The stand-in plays what is captured in any order that its events allow, so a branch that misses one reads NaN, or what it should not.
TEST_F(GpuExecutor, BranchesOnSeveralStreamsComputeWhatTheyDoOnOne) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const Symbol net = random_net(seed);
    const auto want = run(net, Device::gpu(0), 4096);
    for (const int streams : {2, 4, 8}) EXPECT_EQ(run(net, Device::gpu(0), 4096, streams), want) << streams;
  }
}

}  // namespace
}  // namespace loomix
