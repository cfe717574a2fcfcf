// SPDX-License-Identifier: Apache-2.0
#include "tests/cpp/c_api/c_api_test.h"

namespace loomix::c_api_test {
namespace {

std::vector<LoomixArray> arrays_of(LoomixExecutor executor, const char* kind) {
  size_t count = 0;
  const LoomixArray* arrays = nullptr;
  expect_ok(LoomixExecutorList(executor, kind, &count, &arrays));
  return {arrays, arrays + count};
}

LoomixExecutor simple_bind(LoomixSymbol symbol, const LoomixShape& of, const int32_t* requests = nullptr) {
  const char* name = "data";
  LoomixExecutor executor = nullptr;
  expect_ok(LoomixExecutorSimpleBind(symbol, kCpu, 1, &name, &of, nullptr, requests, &executor));
  return executor;
}

TEST(CApiExecutors, BoundArraysGetGradients) {
  const LoomixSymbol product = compose("elemwise_mul", {}, {variable("a"), variable("b")}, "product");
  const LoomixArray arguments[] = {make_array(shape({2}), {2, 3}), make_array(shape({2}), {5, 7})};
  const LoomixArray gradients[] = {make_array(shape({2}), {100, 100}), nullptr};
  const int32_t requests[] = {LOOMIX_ADD, LOOMIX_NULL};
  const LoomixBinding binding{2, 0, arguments, gradients, requests, nullptr, nullptr};
  LoomixExecutor executor = nullptr;
  expect_ok(LoomixExecutorBind(product, kCpu, &binding, &executor));
  expect_ok(LoomixExecutorForward(executor, 1));
  EXPECT_EQ(values(arrays_of(executor, "outputs").at(0)), (std::vector<float>{10, 21}));
  const LoomixArray head = make_array(shape({2}), {1, 2});
  expect_ok(LoomixExecutorBackward(executor, 1, &head));
  EXPECT_EQ(values(gradients[0]), (std::vector<float>{105, 114}));
  EXPECT_EQ(arrays_of(executor, "gradients").at(1), nullptr);
}

TEST(CApiExecutors, SimpleBindMakesArraysAndReshapes) {
  const LoomixExecutor executor = simple_bind(small_network(), shape({4, 5}));
  EXPECT_EQ(arrays_of(executor, "arguments").size(), 4u);
  EXPECT_EQ(arrays_of(executor, "auxiliary_states").size(), 0u);
  expect_ok(LoomixExecutorForward(executor, 0));
  EXPECT_NEAR(values(arrays_of(executor, "outputs").at(0)).at(0), 1.0 / 3, 1e-6);
  const char* text = nullptr;
  expect_ok(LoomixExecutorDescribe(executor, 0, &text));
  EXPECT_THAT(text, ::testing::HasSubstr("FullyConnected"));

  const char* name = "data";
  const LoomixShape smaller = shape({2, 5});
  LoomixExecutor other = nullptr;
  expect_ok(LoomixExecutorReshape(executor, 1, &name, &smaller, &other));
  expect_ok(LoomixFree(executor));
  expect_ok(LoomixExecutorForward(other, 0));
  EXPECT_EQ(values(arrays_of(other, "outputs").at(0)).size(), 6u);
}

TEST(CApiExecutors, TrainsASmallNetwork) {
  const int32_t requests[] = {LOOMIX_NULL, LOOMIX_WRITE, LOOMIX_WRITE, LOOMIX_NULL};
  const LoomixExecutor executor = simple_bind(small_network(), shape({6, 2}), requests);
  const std::vector<LoomixArray> arguments = arrays_of(executor, "arguments"),
                                 gradients = arrays_of(executor, "gradients");
  const std::vector<float> data{1, 0, 0, 1, 1, 1, 2, 0, 0, 2, 2, 2}, labels{0, 1, 2, 0, 1, 2};
  expect_ok(LoomixArrayCopyFromHost(arguments[0], data.data(), 48));
  expect_ok(LoomixArrayCopyFromHost(arguments[3], labels.data(), 24));
  for (int step = 0; step < 200; ++step) {
    expect_ok(LoomixExecutorForward(executor, 1));
    expect_ok(LoomixExecutorBackward(executor, 0, nullptr));
    for (const size_t i : {1, 2}) {
      const LoomixArray inputs[] = {arguments[i], gradients[i]};
      size_t count = 1;
      const LoomixArray* out = &arguments[i];
      expect_ok(LoomixOperatorInvoke("sgd_update", 2, inputs, Pairs({{"lr", "0.3"}}).get(), &count, &out));
    }
  }
  expect_ok(LoomixExecutorForward(executor, 0));
  const std::vector<float> output = values(arrays_of(executor, "outputs").at(0));
  for (size_t i = 0; i < 6; ++i) {
    const auto right = static_cast<size_t>(labels[i]);
    for (size_t k = 0; k < 3; ++k) EXPECT_LE(output[i * 3 + k], output[i * 3 + right]) << i;
  }
}

TEST(CApiExecutors, MonitorSeesValues) {
  const LoomixExecutor executor = simple_bind(small_network(), shape({1, 2}));
  struct Seen {
    LoomixExecutor executor;
    std::vector<std::string> names;
    int nested = 0;
  } seen{executor, {}, 0};
  const auto monitor = [](const char* name, LoomixArray array, void* context) {
    auto* const to = static_cast<Seen*>(context);
    to->names.emplace_back(name);
    to->nested = LoomixExecutorForward(to->executor, 0);
    expect_ok(LoomixFree(array));
  };
  expect_ok(LoomixExecutorSetMonitor(executor, monitor, &seen));
  expect_ok(LoomixExecutorForward(executor, 0));
  EXPECT_THAT(seen.names, ::testing::ElementsAre("fc_output", "softmax_output"));
  EXPECT_EQ(seen.nested, -1);
  expect_ok(LoomixExecutorSetMonitor(executor, nullptr, nullptr));
  expect_ok(LoomixExecutorForward(executor, 0));
  EXPECT_EQ(seen.names.size(), 2u);
}

TEST(CApiExecutors, BadInputIsAnError) {
  const LoomixSymbol network = small_network();
  LoomixExecutor executor = nullptr;
  expect_error(LoomixExecutorBind(network, kCpu, nullptr, &executor), "binding is null");
  const LoomixArray one[] = {make_array(shape({2, 2}), {1, 2, 3, 4})};
  const LoomixBinding binding{1, 0, one, nullptr, nullptr, nullptr, nullptr};
  expect_error(LoomixExecutorBind(network, kCpu, &binding, &executor), "4");
  const char* name = "data";
  const LoomixShape of = shape({2, 2});
  expect_error(LoomixExecutorSimpleBind(network, kCpu, 0, nullptr, nullptr, nullptr, nullptr, &executor), "");
  expect_error(LoomixExecutorSimpleBind(network, {7, 0}, 1, &name, &of, nullptr, nullptr, &executor),
               "device is 7");
  EXPECT_EQ(executor, nullptr);
  executor = simple_bind(network, of);
  size_t count = 0;
  const LoomixArray* arrays = nullptr;
  expect_error(LoomixExecutorList(executor, "output", &count, &arrays), "'output'");
  expect_ok(LoomixExecutorForward(executor, 1));
  const LoomixArray two[] = {one[0], one[0]};
  expect_error(LoomixExecutorBackward(executor, 2, two), "");
  expect_ok(LoomixFree(executor));
  expect_error(LoomixExecutorForward(executor, 0), "no such handle");
}

}  // namespace
}  // namespace loomix::c_api_test
