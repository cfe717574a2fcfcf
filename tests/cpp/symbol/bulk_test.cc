// SPDX-License-Identifier: Apache-2.0
// Short neighbours of a bound graph as one task: nothing but the number of tasks shows it.
#include <gmock/gmock.h>

#include "engine/trace.h"
#include "symbol/executor/bound_executor.h"
#include "symbol/symbol.h"
#include "tests/cpp/symbol/run_fixture.h"

namespace loomix {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class BulkTest : public testing_run::RunTest {
 protected:
  static Symbol apply(std::string_view op, const Symbol& in, const std::string& name,
                      const TextPairs& attrs = {}) {
    const NamedSymbol input{"", in};
    return Symbol::create(table(), op, attrs, {&input, 1}, name);
  }
  // transpose, reverse, softmax and again, none of which is fused with another one.
  static Symbol chain(const Symbol& x, int length, const std::string& prefix) {
    Symbol net = x;
    for (int i = 0; i < length; ++i) {
      const std::string name = prefix + std::to_string(i);
      if (i % 3 == 0) net = apply("transpose", net, name);
      if (i % 3 == 1) net = apply("reverse", net, name, {{"axis", "0"}});
      if (i % 3 == 2) net = apply("softmax", net, name);
    }
    return net;
  }
  Ref<BoundExecutor> bind(const Symbol& net, int bulk, ops::Req request = ops::Req::null) {
    SimpleBindRequest wanted;
    for (const std::string& name : net.list_arguments()) wanted.shapes.emplace_back(name, Shape{3, 3});
    wanted.requests.assign(wanted.shapes.size(), request);
    BindOptions options;
    options.plan.bulk_inference = options.plan.bulk_forward = options.plan.bulk_backward = bulk;
    const auto executor = BoundExecutor::simple_bind(runtime_, net, Device::cpu(), wanted, options);
    for (const NDArray& argument : executor->arrays().arguments)
      copy(array({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), argument);
    return executor;
  }
  static int num_tasks(BoundExecutor& executor, RunMode mode) {
    return executor.explanation(mode, false).program.num_tasks;
  }
};

TEST_F(BulkTest, AChainIsFewTasksWithTheSameResults) {
  const Symbol net = chain(Symbol::variable("x"), 30, "op");
  const auto apart = bind(net, 1), joined = bind(net, 64);
  const auto want = values(apart->forward(RunMode::inference)[0]);
  for (int run = 0; run < 3; ++run) EXPECT_EQ(values(joined->forward(RunMode::inference)[0]), want);
  EXPECT_EQ(num_tasks(*apart, RunMode::inference), 30);
  EXPECT_EQ(num_tasks(*joined, RunMode::inference), 1);
  const auto sevens = bind(net, 7);
  sevens->forward(RunMode::training);
  EXPECT_EQ(num_tasks(*sevens, RunMode::training), 5);
}

TEST_F(BulkTest, EachGradientAndOutputEndsATask) {
  const Symbol first = chain(Symbol::variable("x"), 6, "a");
  const Symbol second = chain(Symbol::variable("y"), 6, "b");
  const Symbol both[] = {first, second};
  const auto executor = bind(Symbol::group(both), 64, ops::Req::write);
  executor->forward(RunMode::training);
  const NDArray heads[] = {array({3, 3}, std::vector<float>(9, 1)), array({3, 3}, std::vector<float>(9, 1))};
  executor->backward(heads);
  EXPECT_EQ(num_tasks(*executor, RunMode::training), 4);
}

TEST_F(BulkTest, GradientsAreTheSame) {
  const Symbol net = chain(chain(Symbol::variable("x"), 9, "a"), 9, "b");
  const NDArray head = array({3, 3}, {1, 0, 2, 0, 3, 0, 4, 0, 5});
  std::vector<float> results[2];
  for (const int bulk : {1, 64}) {
    const auto executor = bind(net, bulk, ops::Req::add);
    for (int run = 0; run < 3; ++run) {
      executor->forward(RunMode::training);
      executor->backward({&head, 1});
    }
    results[bulk > 1] = values(executor->arrays().gradients[0]);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(BulkTest, RandomNumbersAreTheSame) {
  Symbol net = Symbol::variable("x");
  for (int i = 0; i < 4; ++i) {
    net = apply("Dropout", net, "dropout" + std::to_string(i), {{"p", "0.3"}});
    net = apply("transpose", net, "t" + std::to_string(i));
  }
  std::vector<float> results[2];
  for (const int bulk : {1, 64}) {
    runtime_.generators().seed_all(3);
    const auto executor = bind(net, bulk);
    executor->forward(RunMode::training);
    results[bulk > 1] = values(executor->forward(RunMode::training)[0]);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(BulkTest, ErrorsNameTheOperatorAndLeaveOthersAlone) {
  const Symbol broken = chain(apply("_test_fail", chain(Symbol::variable("x"), 4, "a"), "culprit"), 4, "b");
  const Symbol sound = chain(Symbol::variable("x"), 8, "c");
  const Symbol both[] = {broken, sound};
  const auto executor = bind(Symbol::group(both), 64);
  for (int run = 0; run < 2; ++run) {
    const auto outputs = executor->forward(RunMode::inference);
    EXPECT_NO_THROW(outputs[1].wait_to_read());
    try {
      outputs[0].wait_to_read();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const ValueError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("node 'culprit'"), Not(HasSubstr("node 'a3'"))));
    }
  }
  EXPECT_NO_THROW(engine_->wait_all());
}

TEST_F(BulkTest, ReplacedArraysAreUsed) {
  const auto executor = bind(chain(Symbol::variable("x"), 6, "op"), 64);
  const auto before = values(executor->forward(RunMode::inference)[0]);
  executor->replace_argument(0, array({3, 3}, {9, 7, 5, 3, 1, 2, 4, 6, 8}));
  executor->renew_outputs();
  const NDArray after = executor->forward(RunMode::inference)[0];
  EXPECT_NE(values(after), before);
  const auto apart = bind(chain(Symbol::variable("x"), 6, "op"), 1);
  copy(array({3, 3}, {9, 7, 5, 3, 1, 2, 4, 6, 8}), apart->arrays().arguments[0]);
  EXPECT_EQ(values(after), values(apart->forward(RunMode::inference)[0]));
}

TEST_F(BulkTest, CheckedValuesNameTheOperator) {
  const auto executor = bind(apply("log", chain(Symbol::variable("x"), 3, "op"), "minus"), 64);
  executor->forward(RunMode::inference);
  runtime_.check_values = true;
  copy(array({3, 3}, std::vector<float>(9, std::numeric_limits<float>::quiet_NaN())),
       executor->arrays().arguments[0]);
  const NDArray output = executor->forward(RunMode::inference)[0];
  runtime_.check_values = false;
  EXPECT_THROW(output.wait_to_read(), Error);
}

TEST_F(BulkTest, TheTraceHasEachOperator) {
  const auto executor = bind(chain(Symbol::variable("x"), 3, "op"), 64);
  executor->forward(RunMode::inference)[0].wait_to_read();
  engine_->trace().start();
  executor->forward(RunMode::inference)[0].wait_to_read();
  engine_->wait_all();
  engine_->trace().stop();
  EXPECT_THAT(engine_->trace().to_json(),
              AllOf(HasSubstr("transpose"), HasSubstr("reverse"), HasSubstr("softmax")));
}

}  // namespace
}  // namespace loomix
