// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <thread>

#include "tests/cpp/c_api/c_api_test.h"

namespace loomix::c_api_test {
namespace {

TEST(CApiProcess, TellsVersionAndNames) {
  int version = -1, gpus = -1;
  expect_ok(LoomixGetInfo(&version, &gpus));
  EXPECT_GE(version, 100);
  EXPECT_GE(gpus, 0);
  size_t count = 0;
  const char* const* names = nullptr;
  expect_ok(LoomixListNames("operators", &count, &names));
  const std::vector<std::string> all(names, names + count);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  for (const char* name : {"Convolution", "dot", "reshape"})
    EXPECT_TRUE(std::count(all.begin(), all.end(), name)) << name;
  expect_ok(LoomixListNames("iterators", &count, &names));
  EXPECT_THAT(std::vector<std::string>(names, names + count),
              ::testing::ElementsAre("CSVIter", "ImageDetRecordIter", "ImageRecordIter", "MNISTIter"));
  expect_error(LoomixListNames("metrics", &count, &names), "'metrics'");
}

TEST(CApiOperators, AreDescribed) {
  LoomixOperatorInfo info{};
  expect_ok(LoomixOperatorDescribe("Concat", &info));
  EXPECT_STREQ(info.name, "Concat");
  EXPECT_STREQ(info.count_parameter, "num_args");
  ASSERT_EQ(info.parameters, 2u);
  EXPECT_STREQ(info.parameter_names[1], "dim");
  EXPECT_STREQ(info.parameter_types[1], "int, optional, default='1'");
  EXPECT_STRNE(info.parameter_descriptions[1], "");
  ASSERT_EQ(info.inputs, 1u);
  EXPECT_STREQ(info.input_names[0], "data");
  expect_error(LoomixOperatorDescribe("Concatt", &info), "Concat");
}

TEST(CApiOperators, RunOnArrays) {
  const LoomixArray inputs[] = {make_array(shape({2}), {1, 2}), make_array(shape({2}), {3, 4})};
  size_t count = 0;
  const LoomixArray* outputs = nullptr;
  expect_ok(LoomixOperatorInvoke("Concat", 2, inputs, Pairs({{"dim", "0"}}).get(), &count, &outputs));
  ASSERT_EQ(count, 1u);
  const LoomixArray joined = outputs[0];
  EXPECT_EQ(values(joined), (std::vector<float>{1, 2, 3, 4}));

  const LoomixArray target = make_array(shape({2}), {0, 0});
  outputs = &target;
  count = 1;
  expect_ok(LoomixOperatorInvoke("elemwise_add", 2, inputs, nullptr, &count, &outputs));
  EXPECT_EQ(values(target), (std::vector<float>{4, 6}));

  outputs = nullptr;
  expect_ok(LoomixOperatorInvoke("_ones", 0, nullptr, Pairs({{"shape", "(2,)"}, {"ctx", "cpu(0)"}}).get(),
                                 &count, &outputs));
  const LoomixArray ones = outputs[0];
  EXPECT_EQ(values(ones), (std::vector<float>{1, 1}));
}

TEST(CApiOperators, BadInputIsAnError) {
  const LoomixArray inputs[] = {make_array(shape({2}), {1, 2}), make_array(shape({3}), {3, 4, 5})};
  size_t count = 0;
  const LoomixArray* outputs = nullptr;
  expect_error(LoomixOperatorInvoke("no_such_operator", 2, inputs, nullptr, &count, &outputs),
               "no_such_operator");
  expect_error(LoomixOperatorInvoke("elemwise_add", 2, inputs, nullptr, &count, &outputs), "elemwise_add");
  expect_error(LoomixOperatorInvoke("elemwise_add", 1, inputs, nullptr, &count, &outputs), "elemwise_add");
  expect_error(LoomixOperatorInvoke("Concat", 2, inputs, Pairs({{"dimm", "0"}}).get(), &count, &outputs),
               "dimm");
  expect_error(LoomixOperatorInvoke("Concat", 2, inputs, Pairs({{"dim", "x"}}).get(), &count, &outputs),
               "dim");
  expect_error(LoomixOperatorInvoke("Activation", 1, inputs, nullptr, &count, &outputs), "act_type");
  expect_error(LoomixOperatorInvoke(nullptr, 1, inputs, nullptr, &count, &outputs), "name is null");
  expect_error(LoomixOperatorInvoke("relu", 1, nullptr, nullptr, &count, &outputs), "list of arrays is null");
  EXPECT_EQ(outputs, nullptr);
  const LoomixArray targets[] = {inputs[0], inputs[1]};
  outputs = targets;
  count = 2;
  expect_error(LoomixOperatorInvoke("relu", 1, inputs, nullptr, &count, &outputs), "1 outputs");
  const LoomixPairs broken{1, nullptr, nullptr};
  outputs = nullptr;
  expect_error(LoomixOperatorInvoke("relu", 1, inputs, &broken, &count, &outputs), "list of names is null");
}

TEST(CApiOperators, SeedMakesRandomNumbersTheSame) {
  const auto draw = [] {
    size_t count = 0;
    const LoomixArray* outputs = nullptr;
    expect_ok(LoomixSeed(7));
    expect_ok(LoomixOperatorInvoke("_random_normal", 0, nullptr, Pairs({{"shape", "(4,)"}}).get(), &count,
                                   &outputs));
    const LoomixArray made = outputs[0];
    return values(made);
  };
  EXPECT_EQ(draw(), draw());
}

TEST(CApiAutograd, GradientsReachMarkedArrays) {
  const LoomixArray x = make_array(shape({2}), {1, 3});
  const LoomixArray gradient = make_array(shape({2}), {0, 0});
  expect_ok(LoomixAutogradMark(1, &x, &gradient, nullptr));
  int recording = -1, training = -1;
  expect_ok(LoomixAutogradSetMode(1, 1, &recording, &training));
  EXPECT_EQ(recording, 0);
  size_t count = 0;
  const LoomixArray* outputs = nullptr;
  expect_ok(LoomixOperatorInvoke("square", 1, &x, nullptr, &count, &outputs));
  const LoomixArray head = outputs[0];
  expect_ok(LoomixAutogradSetMode(0, 0, &recording, &training));
  EXPECT_EQ(recording, 1);
  EXPECT_EQ(training, 1);
  expect_ok(LoomixAutogradBackward(1, &head, nullptr, 1, 1));
  EXPECT_EQ(values(gradient), (std::vector<float>{2, 6}));
  const LoomixArray head_gradient = make_array(shape({2}), {10, 1});
  expect_ok(LoomixAutogradBackward(1, &head, &head_gradient, 0, 1));
  LoomixArray same = nullptr;
  expect_ok(LoomixArrayGetGradient(x, &same));
  EXPECT_EQ(values(same), (std::vector<float>{20, 6}));
  expect_error(LoomixAutogradBackward(1, &gradient, nullptr, 0, 1), "");
  expect_error(LoomixAutogradSetMode(2, 0, nullptr, nullptr), "recording is 2");
  const int32_t request = 5;
  expect_error(LoomixAutogradMark(1, &x, &gradient, &request), "request is 5");
}

TEST(CApiProcess, AnErrorIsOfItsThread) {
  expect_error(LoomixArrayWait(nullptr), "null");
  std::thread([] { EXPECT_STREQ(LoomixGetLastError(), ""); }).join();
}

TEST(CApiProcess, ManyThreadsCall) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      const auto number = static_cast<float>(i);
      for (int k = 0; k < 50; ++k) {
        const LoomixArray array = make_array(shape({3}), {number, number, number});
        size_t count = 0;
        const LoomixArray* outputs = nullptr;
        expect_ok(LoomixOperatorInvoke("square", 1, &array, nullptr, &count, &outputs));
        const LoomixArray squared = outputs[0];
        EXPECT_EQ(values(squared)[2], number * number);
        expect_ok(LoomixFree(array));
        expect_ok(LoomixFree(squared));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect_ok(LoomixWaitAll());
}

}  // namespace
}  // namespace loomix::c_api_test
