// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/cpp/c_api/c_api_test.h"

namespace loomix::c_api_test {
namespace {

TEST(CApiArrays, AreMadeReadAndWritten) {
  const LoomixShape of = shape({2, 3});
  LoomixArray array = nullptr;
  expect_ok(LoomixArrayCreate(&of, LOOMIX_FLOAT32, kCpu, &array));
  EXPECT_EQ(values(array), std::vector<float>(6, 0));
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  expect_ok(LoomixArrayCopyFromHost(array, numbers.data(), 24));
  EXPECT_EQ(values(array), numbers);
  LoomixArrayInfo info{};
  expect_ok(LoomixArrayGetInfo(array, &info));
  EXPECT_EQ(info.shape.axes, 2);
  EXPECT_EQ(info.shape.sizes[1], 3);
  EXPECT_EQ(info.type, LOOMIX_FLOAT32);
  EXPECT_EQ(info.storage, 0);
  EXPECT_EQ(info.device.type, 1);
  void* data = nullptr;
  expect_ok(LoomixArrayGetData(array, &data));
  EXPECT_EQ(static_cast<float*>(data)[5], 6);
  expect_ok(LoomixFree(array));
}

TEST(CApiArrays, ViewsShareMemory) {
  const LoomixArray array = make_array(shape({2, 3}), {1, 2, 3, 4, 5, 6});
  LoomixArray row = nullptr, flat = nullptr;
  expect_ok(LoomixArraySlice(array, 1, 2, &row));
  EXPECT_EQ(values(row), (std::vector<float>{4, 5, 6}));
  const LoomixShape wanted = shape({3, -1});
  expect_ok(LoomixArrayReshape(array, &wanted, &flat));
  const std::vector<float> numbers{7, 8, 9};
  expect_ok(LoomixArrayCopyFromHost(row, numbers.data(), 12));
  EXPECT_EQ(values(flat), (std::vector<float>{1, 2, 3, 7, 8, 9}));
  expect_error(LoomixArraySlice(array, 1, 4, &row), "slice");
  const LoomixShape two = shape({-1, -1}), other = shape({4, -1});
  expect_error(LoomixArrayReshape(array, &two, &flat), "two sizes");
  expect_error(LoomixArrayReshape(array, &other, &flat), "do not fit");
}

TEST(CApiArrays, MemoryOfTheCallerIsUsedAndReleased) {
  std::vector<float> memory{1, 2};
  const LoomixShape of = shape({2});
  int released = 0;
  LoomixArray array = nullptr, view = nullptr;
  expect_ok(LoomixArrayFromMemory(
      memory.data(), 8, &of, LOOMIX_FLOAT32, [](void* context) { ++*static_cast<int*>(context); }, &released,
      &array));
  expect_ok(LoomixArraySlice(array, 1, 2, &view));
  memory[1] = 5;
  EXPECT_EQ(values(view), std::vector<float>{5});
  expect_ok(LoomixFree(array));
  EXPECT_EQ(released, 0);  // the view needs it
  expect_ok(LoomixFree(view));
  EXPECT_EQ(released, 1);
  expect_error(LoomixArrayFromMemory(memory.data(), 7, &of, LOOMIX_FLOAT32, nullptr, nullptr, &array),
               "7 bytes");
  void* const odd = reinterpret_cast<char*>(memory.data()) + 1;
  const LoomixShape one = shape({1});
  expect_error(LoomixArrayFromMemory(odd, 4, &one, LOOMIX_FLOAT32, nullptr, nullptr, &array),
               "multiple of the 4");
}

TEST(CApiArrays, CopiesConvertTypes) {
  const LoomixShape of = shape({2});
  const LoomixArray from = make_array(of, {1.5, -2});
  LoomixArray to = nullptr;
  expect_ok(LoomixArrayCreate(&of, LOOMIX_FLOAT64, kCpu, &to));
  expect_ok(LoomixArrayCopy(from, to));
  expect_ok(LoomixArrayWait(to));
  double numbers[2] = {};
  expect_ok(LoomixArrayCopyToHost(to, numbers, sizeof numbers));
  EXPECT_EQ(numbers[1], -2);
  expect_error(LoomixArrayCopy(from, make_array(shape({3}), {1, 2, 3})), "shape (3,)");
}

TEST(CApiArrays, FilesKeepNames) {
  const std::string path = (std::filesystem::temp_directory_path() / "loomix_c_api_arrays.params").string();
  const LoomixArray arrays[] = {make_array(shape({2}), {1, 2}), make_array(shape({1, 1}), {3})};
  const char* names[] = {"arg:a", "aux:b"};
  expect_ok(LoomixArraySave(path.c_str(), 2, arrays, names));
  size_t count = 0;
  const LoomixArray* loaded = nullptr;
  const char* const* texts = nullptr;
  expect_ok(LoomixArrayLoad(path.c_str(), &count, &loaded, &texts));
  ASSERT_EQ(count, 2u);
  EXPECT_STREQ(texts[1], "aux:b");
  const LoomixArray first = loaded[0];
  EXPECT_EQ(values(first), (std::vector<float>{1, 2}));

  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  expect_ok(LoomixArrayLoadFromMemory(bytes.data(), bytes.size(), &count, &loaded, &texts));
  EXPECT_EQ(count, 2u);
  expect_error(LoomixArrayLoadFromMemory(bytes.data(), bytes.size() / 2, &count, &loaded, &texts),
               "LoadFromMemory");
  expect_ok(LoomixArraySave(path.c_str(), 1, arrays, nullptr));
  expect_ok(LoomixArrayLoad(path.c_str(), &count, &loaded, &texts));
  EXPECT_EQ(texts, nullptr);
  std::remove(path.c_str());
  expect_error(LoomixArrayLoad(path.c_str(), &count, &loaded, &texts), path);
}

TEST(CApiArrays, BadInputIsAnError) {
  LoomixShape of = shape({2});
  LoomixArray array = nullptr;
  expect_error(LoomixArrayCreate(nullptr, LOOMIX_FLOAT32, kCpu, &array), "a shape is null");
  expect_error(LoomixArrayCreate(&of, LOOMIX_FLOAT32, kCpu, nullptr), "out is null");
  expect_error(LoomixArrayCreate(&of, 9, kCpu, &array), "type is 9");
  expect_error(LoomixArrayCreate(&of, LOOMIX_FLOAT32, {4, 0}, &array), "type of the device is 4");
  expect_error(LoomixArrayCreate(&of, LOOMIX_FLOAT32, {1, -1}, &array), "number of the device is -1");
  of.sizes[0] = -1;
  expect_error(LoomixArrayCreate(&of, LOOMIX_FLOAT32, kCpu, &array), "known");
  of.sizes[0] = -2;
  expect_error(LoomixArrayCreate(&of, LOOMIX_FLOAT32, kCpu, &array), "size -2");
  of.axes = 33;
  expect_error(LoomixArrayCreate(&of, LOOMIX_FLOAT32, kCpu, &array), "33 axes");
  const LoomixShape huge = shape({int64_t{1} << 40, int64_t{1} << 40});
  expect_error(LoomixArrayCreate(&huge, LOOMIX_FLOAT32, kCpu, &array), "more than");
  EXPECT_EQ(array, nullptr);

  array = make_array(shape({2}), {1, 2});
  float buffer[3] = {};
  expect_error(LoomixArrayCopyToHost(array, buffer, sizeof buffer), "12 bytes");
  expect_error(LoomixArrayCopyFromHost(array, nullptr, 8), "data is null");
  expect_error(LoomixArrayGetGradient(array, &array), "no gradient");
  expect_ok(LoomixFree(array));
  expect_error(LoomixFree(array), "no such handle");
  expect_error(LoomixArrayWait(array), "no such handle");
  expect_error(LoomixArrayWait(nullptr), "null");
  expect_error(LoomixArrayWait(reinterpret_cast<LoomixArray>(variable("x"))),
               "that of a symbol; expected that of an array");
}

}  // namespace
}  // namespace loomix::c_api_test
