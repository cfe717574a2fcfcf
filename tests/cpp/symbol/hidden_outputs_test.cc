// SPDX-License-Identifier: Apache-2.0
// Outputs that only a gradient reads: who asks for them, and that nobody pays for them otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "symbol/executor/bound_executor.h"
#include "symbol/executor/cached_graph.h"
#include "symbol/symbol.h"
#include "tests/cpp/symbol/run_fixture.h"

namespace loomix {
namespace {

using autograd::Scope;
using ::testing::HasSubstr;
using ::testing::Not;
using Floats = std::vector<float>;

std::atomic<int> runs, computed;

// The square, and for the gradient twice the input.
void square(const ops::NoParams&, const ops::KernelArgs& args) {
  EXPECT_EQ(args.out[1].shape, args.in[0].shape) << "a kernel may look at the shape of what it leaves out";
  EXPECT_EQ(args.out[1].dtype, args.in[0].dtype);
  EXPECT_EQ(args.out[1].data == nullptr, args.req[1] == ops::Req::null);
  const float* const x = args.in[0].as<float>();
  float* const out = args.out[0].mutable_as<float>();
  float* const slope = args.req[1] == ops::Req::null ? nullptr : args.out[1].mutable_as<float>();
  for (int64_t i = 0; i < args.in[0].size(); ++i) {
    if (slope) slope[i] = 2 * x[i];
    out[i] = x[i] * x[i];
  }
  ++runs;
  if (slope) ++computed;
}

class HiddenOutputsTest : public testing_run::RunTest {
 protected:
  static const ops::OpTable& own_table() {
    static const ops::OpTable* const made = [] {
      static ops::OpTable own;
      ops::register_all(own);
      autograd::register_operators(own);
      own.add<ops::NoParams>("_test_square")
          .doc("The square.")
          .input("data")
          .outputs({"output", "slope"})
          .num_visible_outputs([](const ops::NoParams&) { return 1; })
          .one_shape()
          .gradient_op("elemwise_mul", {ops::head(0), ops::output(1)});
      own.kernel<square>("_test_square", "square_cpu");
      own.validate();
      return &own;
    }();
    return *made;
  }

  HiddenOutputsTest() : own_(*engine_, own_table()) {
    runs = 0;
    computed = 0;
  }
  void expect(int of_all, int with_slope) {
    engine_->wait_all();
    EXPECT_EQ(runs, of_all);
    EXPECT_EQ(computed, with_slope);
  }
  static Symbol net() {
    const NamedSymbol x{"", Symbol::variable("x")};
    return Symbol::create(own_table(), "_test_square", {}, {&x, 1}, "square");
  }
  Ref<BoundExecutor> bind(ops::Req request) {
    SimpleBindRequest wanted;
    wanted.shapes.emplace_back("x", Shape{2});
    wanted.requests = {request};
    auto executor = BoundExecutor::simple_bind(own_, net(), Device::cpu(), wanted, {});
    NDArray(executor->arrays().arguments[0]).copy_from_host(Floats{3, 4}.data(), 8);
    return executor;
  }

  Runtime own_;
};

TEST_F(HiddenOutputsTest, CallsComputeThemWhenTheyAreRecorded) {
  NDArray x = array({2}, {3, 4});
  EXPECT_EQ(values(run_node(own_, "_test_square", {x})[0]), (Floats{9, 16}));
  expect(1, 0);
  {
    const Scope training(false, true);
    run_node(own_, "_test_square", {x});
  }
  expect(2, 0);
  const NDArray grad = attach(x);
  NDArray y;
  {
    const Scope recording(true, true);
    y = run_node(own_, "_test_square", {x})[0];
  }
  expect(3, 1);
  autograd::backward(own_, {&y, 1}, {}, {});
  EXPECT_EQ(values(grad), (Floats{6, 8}));
}

TEST_F(HiddenOutputsTest, BoundGraphsComputeThemForTheirGradients) {
  const auto plain = bind(ops::Req::null);
  for (const RunMode mode : {RunMode::inference, RunMode::training}) plain->forward(mode);
  expect(2, 0);
  EXPECT_EQ(values(plain->outputs()[0]), (Floats{9, 16}));
  EXPECT_THAT(plain->explain(RunMode::inference), HasSubstr("unused"));

  const auto trained = bind(ops::Req::write);
  trained->forward(RunMode::inference);
  expect(3, 0);
  trained->forward(RunMode::training);
  expect(4, 1);
  EXPECT_THAT(trained->explain(RunMode::training), Not(HasSubstr("unused")));
  const NDArray head = array({2}, {1, 1});
  trained->backward({&head, 1});
  EXPECT_EQ(values(trained->arrays().gradients[0]), (Floats{6, 8}));
}

TEST_F(HiddenOutputsTest, MonitorsSeeThem) {
  const auto executor = bind(ops::Req::null);
  std::vector<std::string> seen;
  executor->set_monitor(
      {[&](const std::string& name, const std::string&, const NDArray&) { seen.push_back(name); }});
  executor->forward(RunMode::inference);
  EXPECT_THAT(seen, ::testing::ElementsAre("square_output", "square_slope"));
  expect(1, 1);
}

TEST_F(HiddenOutputsTest, GraphsThatAreCalledComputeThemWhenTheyAreRecorded) {
  const auto graph = CachedGraph::make(own_, net(), "net", {});
  NDArray x = array({2}, {3, 4});
  EXPECT_EQ(values(graph->call({&x, 1})[0]), (Floats{9, 16}));
  expect(1, 0);
  const NDArray grad = attach(x);
  NDArray y;
  {
    const Scope recording(true, true);
    y = graph->call({&x, 1})[0];
  }
  expect(2, 1);
  autograd::backward(own_, {&y, 1}, {}, {});
  EXPECT_EQ(values(grad), (Floats{6, 8}));
}

}  // namespace
}  // namespace loomix
