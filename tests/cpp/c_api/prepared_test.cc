// SPDX-License-Identifier: Apache-2.0
// Operators, graphs and optimizers that are made once and called often, and arrays shared with other libraries.
#include <thread>

#include "tests/cpp/c_api/c_api_test.h"

namespace loomix::c_api_test {
namespace {

using ::testing::ElementsAre;

TEST(CApiPrepared, AnOperatorRunsAgainAndAgain) {
  LoomixOperator op = nullptr;
  expect_ok(LoomixOperatorPrepare("_mul_scalar", 1, Pairs({{"scalar", "3"}}).get(), &op));
  LoomixArray array = make_array(shape({2}), {1, 2});
  for (int i = 0; i < 2; ++i) {
    size_t count = 1;
    const LoomixArray* outputs = &array;
    expect_ok(LoomixOperatorRun(op, 1, &array, &count, &outputs));
  }
  EXPECT_THAT(values(array), ElementsAre(9, 18));
  size_t count = 0;
  const LoomixArray* made = nullptr;
  expect_ok(LoomixOperatorRun(op, 1, &array, &count, &made));
  EXPECT_EQ(count, 1u);
  EXPECT_THAT(values(made[0]), ElementsAre(27, 54));
  expect_error(LoomixOperatorPrepare("_mul_scalar", 1, Pairs({{"scale", "3"}}).get(), &op), "scale");
  expect_error(LoomixOperatorRun(reinterpret_cast<LoomixOperator>(array), 1, &array, &count, &made),
               "that of an array; expected that of an operator");
  expect_ok(LoomixFree(op));
  expect_error(LoomixOperatorRun(op, 1, &array, &count, &made), "no such handle");
}

TEST(CApiPrepared, HandlesAreNotGivenTwice) {
  LoomixArray first = make_array(shape({1}), {1});
  expect_ok(LoomixFree(first));
  LoomixArray second = make_array(shape({1}), {2});
  EXPECT_NE(first, second);
  expect_error(LoomixFree(first), "no such handle");
  EXPECT_THAT(values(second), ElementsAre(2));
  std::vector<LoomixArray> many;  // more than a chunk of handles
  for (int i = 0; i < 5000; ++i) many.push_back(make_array(shape({1}), {static_cast<float>(i)}));
  EXPECT_THAT(values(many[4321]), ElementsAre(4321));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t; i < many.size(); i += 4) expect_ok(LoomixFree(many[i]));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (LoomixArray array : many) EXPECT_EQ(LoomixFree(array), -1);
}

TEST(CApiPrepared, AGraphIsCalledAndDifferentiated) {
  LoomixSymbol x = nullptr, square = nullptr, product = nullptr;
  expect_ok(LoomixSymbolVariable("x", nullptr, &x));
  const LoomixSymbolInputs one{1, nullptr, &x};
  expect_ok(LoomixSymbolCreate("square", nullptr, &one, "s", &square));
  const LoomixSymbol both[] = {square, x};
  const LoomixSymbolInputs two{2, nullptr, both};
  expect_ok(LoomixSymbolCreate("elemwise_mul", nullptr, &two, "p", &product));
  LoomixGraph graph = nullptr;
  expect_ok(LoomixGraphCreate(product, "cube", &graph));
  const char* text = nullptr;
  expect_error(LoomixGraphDescribe(graph, &text), "no call of the graph was compiled yet");
  LoomixArray array = make_array(shape({2}), {1, 2}), gradient = make_array(shape({2}), {0, 0});
  expect_ok(LoomixAutogradMark(1, &array, &gradient, nullptr));
  size_t count = 0;
  const LoomixArray* made = nullptr;
  expect_ok(LoomixAutogradSetMode(1, 1, nullptr, nullptr));
  expect_ok(LoomixGraphCall(graph, 1, &array, &count, &made));
  expect_ok(LoomixAutogradSetMode(0, 0, nullptr, nullptr));
  ASSERT_EQ(count, 1u);
  const LoomixArray cube = made[0];
  EXPECT_THAT(values(cube), ElementsAre(1, 8));
  expect_ok(LoomixAutogradBackward(1, &cube, nullptr, 0, 1));
  EXPECT_THAT(values(gradient), ElementsAre(3, 12));
  expect_ok(LoomixGraphCall(graph, 1, &array, &count,
                            &made));  // a recorded call of so few operators is not compiled
  expect_ok(LoomixGraphDescribe(graph, &text));
  EXPECT_NE(std::string(text), "");
  expect_error(LoomixGraphCall(graph, 0, nullptr, &count, &made), "1");
}

TEST(CApiPrepared, AnOptimizerKeepsItsStates) {
  LoomixOptimizer sgd = nullptr;
  const Pairs settings({{"learning_rate", "0.5"}, {"momentum", "0.5"}});
  expect_ok(LoomixOptimizerCreate("sgd", settings.get(), &sgd));
  LoomixArray weight = make_array(shape({2}), {1, 2}), gradient = make_array(shape({2}), {1, 1});
  const LoomixKey key{"w", 0};
  for (int i = 0; i < 2; ++i) expect_ok(LoomixOptimizerUpdate(sgd, 1, &key, &weight, &gradient));
  EXPECT_THAT(values(weight), ElementsAre(-0.25, 0.75));
  int64_t updates = 0;
  size_t count = 0;
  const LoomixArray* states = nullptr;
  expect_ok(LoomixOptimizerGetState(sgd, &key, &updates, &count, &states));
  EXPECT_EQ(updates, 2);
  ASSERT_EQ(count, 1u);
  const LoomixArray momentum = states[0];
  EXPECT_THAT(values(momentum), ElementsAre(-0.75, -0.75));
  // Another one goes on from there, with another rate.
  LoomixOptimizer other = nullptr;
  expect_ok(LoomixOptimizerCreate("sgd", settings.get(), &other));
  expect_ok(LoomixOptimizerSetState(other, &key, updates, 1, &momentum));
  expect_ok(LoomixOptimizerConfigure(other, Pairs({{"learning_rate", "0"}, {"momentum", "0.5"}}).get()));
  expect_ok(LoomixOptimizerUpdate(other, 1, &key, &weight, &gradient));
  EXPECT_THAT(values(weight), ElementsAre(-0.625, 0.375));
  expect_error(LoomixOptimizerCreate("newton", nullptr, &other), "no optimizer 'newton'");
  expect_error(LoomixOptimizerCreate("sgd", Pairs({{"rate", "1"}}).get(), &other), "rate");
  LoomixArray wrong = make_array(shape({3}), {1, 1, 1});
  expect_error(LoomixOptimizerUpdate(sgd, 1, &key, &weight, &wrong),
               "key 'w' has shape (2,) and its gradient (3,)");
}

TEST(CApiPrepared, MemoryIsSharedByDLPack) {
  LoomixArray array = make_array(shape({2}), {1, 2}), same = nullptr;
  void* tensor = nullptr;
  expect_ok(LoomixArrayToDLPack(array, &tensor));
  expect_ok(LoomixArrayFromDLPack(tensor, &same));
  const std::vector<float> numbers = {5, 6};
  expect_ok(LoomixArrayCopyFromHost(same, numbers.data(), 8));
  EXPECT_THAT(values(array), ElementsAre(5, 6));
  expect_error(LoomixArrayFromDLPack(nullptr, &same), "tensor is null");
}

}  // namespace
}  // namespace loomix::c_api_test
