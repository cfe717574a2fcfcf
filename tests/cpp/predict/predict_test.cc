// SPDX-License-Identifier: Apache-2.0
#include "loomix/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace {

using ::testing::HasSubstr;

std::string content(const std::string& path) {
  std::ifstream file(LOOMIX_SOURCE_DIR "/tests/compat/files/" + path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr mx_uint kImages = 2, kPixels = 28 * 28, kClasses = 10;
const char* kData = "data";
const mx_uint kIndptr[] = {0, 4};
const mx_uint kShape[] = {kImages, 1, 28, 28};

// A model that MXNet wrote.
class PredictTest : public ::testing::Test {
 protected:
  int create(PredictorHandle* out, const std::string& json, const std::string& params, int device = 1,
             const mx_uint* shape = kShape) {
    return MXPredCreate(json.c_str(), params.data(), static_cast<int>(params.size()), device, 0, 1, &kData,
                        kIndptr, shape, out);
  }
  PredictorHandle create() {
    PredictorHandle handle = nullptr;
    EXPECT_EQ(create(&handle, json_, params_), 0) << MXGetLastError();
    return handle;
  }
  static std::vector<float> predict(PredictorHandle handle) {
    set_images(handle);
    EXPECT_EQ(MXPredForward(handle), 0) << MXGetLastError();
    return output(handle);
  }
  static void set_images(PredictorHandle handle) {
    EXPECT_EQ(MXPredSetInput(handle, "data", images().data(), kImages * kPixels), 0) << MXGetLastError();
  }
  static std::vector<float> output(PredictorHandle handle) {
    std::vector<float> result(kImages * kClasses, -1);
    EXPECT_EQ(MXPredGetOutput(handle, 0, result.data(), kImages * kClasses), 0) << MXGetLastError();
    return result;
  }
  static const std::vector<float>& images() {
    static const std::vector<float> all = [] {
      std::vector<float> items(kImages * kPixels);
      for (size_t i = 0; i < items.size(); ++i) items[i] = static_cast<float>(i % 29) / 29;
      return items;
    }();
    return all;
  }
  static void expect_error(int code, const std::string& text) {
    EXPECT_EQ(code, -1);
    EXPECT_THAT(MXGetLastError(), HasSubstr(text));
  }

  const std::string json_ = content("checkpoint/lenet-symbol.json");
  const std::string params_ = content("checkpoint/lenet-0001.params");
};

TEST_F(PredictTest, Predicts) {
  const PredictorHandle handle = create();
  mx_uint *shape = nullptr, axes = 0;
  ASSERT_EQ(MXPredGetOutputShape(handle, 0, &shape, &axes), 0);
  EXPECT_EQ(std::vector<mx_uint>(shape, shape + axes), (std::vector<mx_uint>{kImages, kClasses}));
  int type = -1;
  ASSERT_EQ(MXPredGetOutputType(handle, 0, &type), 0);
  EXPECT_EQ(type, 0);
  const std::vector<float> result = predict(handle);
  float sum = 0;
  for (mx_uint i = 0; i < kClasses; ++i) sum += result[i];
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_EQ(predict(handle), result);
  EXPECT_EQ(MXPredFree(handle), 0);
}

// As many as the network has nodes. (MXNet: 18 for this one, whose nodes it fuses first, unless told not to.)
TEST_F(PredictTest, PredictsInSteps) {
  constexpr int kNodes = 21;
  const PredictorHandle handle = create();
  const std::vector<float> expected = predict(handle);
  const PredictorHandle stepped = create();
  set_images(stepped);
  int left = -1;
  for (int step = 0; step < kNodes; ++step) {
    ASSERT_EQ(MXPredPartialForward(stepped, step, &left), 0);
    EXPECT_EQ(left, kNodes - 1 - step);
  }
  EXPECT_EQ(output(stepped), expected);
  ASSERT_EQ(MXPredPartialForward(stepped, kNodes, &left), 0);
  EXPECT_EQ(left, 0);
  expect_error(MXPredPartialForward(stepped, -1, &left), "step is -1");
  EXPECT_EQ(MXPredFree(stepped), 0);
  EXPECT_EQ(MXPredFree(handle), 0);
}

TEST_F(PredictTest, HandlesThatAreNoneAreErrors) {
  const PredictorHandle handle = create();
  EXPECT_EQ(MXPredFree(handle), 0);
  expect_error(MXPredFree(handle), "there is no such handle");
  expect_error(MXPredForward(handle), "there is no such handle");
  expect_error(MXPredForward(nullptr), "the handle is null");
  expect_error(MXNDListFree(handle), "there is no such handle");
  int left = 0;
  expect_error(MXPredPartialForward(handle, 0, &left), "there is no such handle");
}

TEST_F(PredictTest, WrongSizesAndNamesAreErrors) {
  const PredictorHandle handle = create();
  std::vector<float> result(kImages * kClasses);
  expect_error(MXPredGetOutput(handle, 0, result.data(), kImages * kClasses),
               "no MXPredForward has succeeded yet");
  EXPECT_EQ(MXPredForward(handle), 0);
  expect_error(MXPredGetOutput(handle, 0, result.data(), 3), "got room for 3 elements");
  expect_error(MXPredGetOutput(handle, 0, nullptr, kImages * kClasses), "data is null");
  expect_error(MXPredGetOutput(handle, 1, result.data(), 3), "output 1 of 1");
  expect_error(MXPredSetInput(handle, "data", images().data(), 7), "got 7 elements for 'data'");
  expect_error(MXPredSetInput(handle, "data", nullptr, kImages * kPixels), "data is null");
  expect_error(MXPredSetInput(handle, "nothing", images().data(), 7), "'nothing' is no input");
  expect_error(MXPredSetInput(handle, "fc2_bias", images().data(), 10), "'fc2_bias' is no input");
  expect_error(MXPredSetInput(handle, nullptr, images().data(), 7), "key is null");
  EXPECT_EQ(MXPredFree(handle), 0);
}

TEST_F(PredictTest, DamagedModelsAreErrors) {
  PredictorHandle handle = nullptr;
  for (size_t size = 0; size < params_.size(); size = size * 3 + 1)
    EXPECT_EQ(create(&handle, json_, params_.substr(0, size)), -1) << size;
  for (size_t size = 0; size + 1 < json_.size(); size += 97)
    EXPECT_EQ(create(&handle, json_.substr(0, size), params_), -1) << size;
  std::string unknown = json_;
  unknown.replace(unknown.find("\"Convolution\""), 13, "\"Convolucion\"");
  expect_error(create(&handle, unknown, params_), "node 'conv1' needs the operator 'Convolucion'");
  std::string renamed = params_;
  renamed.replace(renamed.find("arg:fc2_bias"), 12, "arg:fc9_bias");
  expect_error(create(&handle, json_, renamed), "'fc2_bias' is neither in param_bytes nor among the inputs");
  EXPECT_EQ(handle, nullptr);
}

TEST_F(PredictTest, WrongRequestsAreErrors) {
  PredictorHandle handle = nullptr;
  expect_error(create(&handle, json_, params_, 2), "dev_type is 2");
  expect_error(create(&handle, json_, params_, 99), "dev_type is 99");
  expect_error(create(nullptr, json_, params_), "out is null");
  const mx_uint empty[] = {0, 1, 28, 28}, wide[] = {2, 3, 28, 28}, huge[] = {~0u, ~0u, ~0u, ~0u};
  expect_error(create(&handle, json_, params_, 1, empty), "size 0");
  expect_error(create(&handle, json_, params_, 1, wide), "conv1");
  expect_error(create(&handle, json_, params_, 1, huge), "more than");
  const char* nothing = "nothing";
  const int size = static_cast<int>(params_.size());
  expect_error(MXPredCreate(json_.c_str(), params_.data(), size, 1, 0, 1, &nothing, kIndptr, kShape, &handle),
               "'nothing' is no argument");
  expect_error(MXPredCreate(nullptr, params_.data(), size, 1, 0, 1, &kData, kIndptr, kShape, &handle),
               "symbol_json_str is null");
  expect_error(MXPredCreate(json_.c_str(), nullptr, size, 1, 0, 1, &kData, kIndptr, kShape, &handle),
               "param_bytes is null");
  expect_error(MXPredCreate(json_.c_str(), params_.data(), -1, 1, 0, 1, &kData, kIndptr, kShape, &handle),
               "the size of param_bytes is -1");
  expect_error(MXPredCreatePartialOut(json_.c_str(), params_.data(), size, 1, 0, 1, &kData, kIndptr, kShape,
                                      1, &nothing, &handle),
               "no node or output 'nothing'");
  const int type = 99;
  expect_error(MXPredCreateEx(json_.c_str(), params_.data(), size, 1, 0, 1, &kData, kIndptr, kShape, 1,
                              &kData, &type, &handle),
               "the type of 'data' is 99");
  expect_error(MXPredCreateMultiThread(json_.c_str(), params_.data(), size, 1, 0, 1, &kData, kIndptr, kShape,
                                       0, &handle),
               "num_threads is 0");
  EXPECT_EQ(handle, nullptr);
}

TEST_F(PredictTest, InnerOutputs) {
  PredictorHandle handle = nullptr;
  const char* names[] = {"fc2", "conv1_output"};
  ASSERT_EQ(MXPredCreatePartialOut(json_.c_str(), params_.data(), static_cast<int>(params_.size()), 1, 0, 1,
                                   &kData, kIndptr, kShape, 2, names, &handle),
            0)
      << MXGetLastError();
  mx_uint *shape = nullptr, axes = 0;
  ASSERT_EQ(MXPredGetOutputShape(handle, 1, &shape, &axes), 0);
  EXPECT_EQ(axes, 4u);
  predict(handle);
  EXPECT_EQ(MXPredFree(handle), 0);
}

TEST_F(PredictTest, OtherShapesShareTheWeights) {
  const PredictorHandle handle = create();
  const std::vector<float> both = predict(handle);
  const mx_uint one[] = {1, 1, 28, 28};
  PredictorHandle reshaped = nullptr;
  ASSERT_EQ(MXPredReshape(1, &kData, kIndptr, one, handle, &reshaped), 0) << MXGetLastError();
  EXPECT_EQ(MXPredFree(handle), 0);
  std::vector<float> first(kClasses);
  EXPECT_EQ(MXPredSetInput(reshaped, "data", images().data(), kPixels), 0);
  EXPECT_EQ(MXPredForward(reshaped), 0);
  EXPECT_EQ(MXPredGetOutput(reshaped, 0, first.data(), kClasses), 0);
  for (size_t i = 0; i < kClasses; ++i) EXPECT_NEAR(first[i], both[i], 1e-5);
  EXPECT_EQ(MXPredFree(reshaped), 0);
}

TEST_F(PredictTest, ManyThreads) {
  constexpr int kThreads = 16, kTimes = 10;
  PredictorHandle handles[kThreads] = {};
  ASSERT_EQ(MXPredCreateMultiThread(json_.c_str(), params_.data(), static_cast<int>(params_.size()), 1, 0, 1,
                                    &kData, kIndptr, kShape, kThreads, handles),
            0)
      << MXGetLastError();
  const std::vector<float> expected = predict(handles[0]);
  expect_error(MXPredFree(nullptr), "the handle is null");
  const std::string own_error = MXGetLastError();
  std::vector<std::thread> threads;
  for (PredictorHandle handle : handles) {
    threads.emplace_back([&expected, handle] {
      for (int i = 0; i < kTimes; ++i) EXPECT_EQ(predict(handle), expected);
      EXPECT_STREQ(MXGetLastError(), "");
      expect_error(MXPredSetInput(handle, "nothing", nullptr, 0), "'nothing' is no input");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(MXGetLastError(), own_error);
  for (PredictorHandle handle : handles) EXPECT_EQ(MXPredFree(handle), 0);
}

TEST_F(PredictTest, ListsOfArrays) {
  for (const char* file : {"dict.params", "list.nd", "sparse.params", "bool.nd", "legacy_v0.params"}) {
    const std::string bytes = content(std::string("ndarray/") + file);
    NDListHandle list = nullptr;
    mx_uint length = 0;
    ASSERT_EQ(MXNDListCreate(bytes.data(), static_cast<int>(bytes.size()), &list, &length), 0)
        << MXGetLastError();
    EXPECT_GT(length, 0u);
    const char* key = nullptr;
    const float* data = nullptr;
    const mx_uint* shape = nullptr;
    mx_uint axes = 0;
    for (mx_uint i = 0; i < length; ++i) EXPECT_EQ(MXNDListGet(list, i, &key, &data, &shape, &axes), 0);
    expect_error(MXNDListGet(list, length, &key, &data, &shape, &axes), "is asked for");
    EXPECT_EQ(MXNDListFree(list), 0);
  }
  const std::string bad = content("ndarray/truncated.bad");
  NDListHandle list = nullptr;
  mx_uint length = 0;
  expect_error(MXNDListCreate(bad.data(), static_cast<int>(bad.size()), &list, &length), "nd_file_bytes");
}

}  // namespace
