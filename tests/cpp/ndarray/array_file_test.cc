// SPDX-License-Identifier: Apache-2.0
#include "ndarray/array_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "ndarray/copy.h"
#include "ndarray/sparse.h"
#include "tests/cpp/ndarray/array_fixture.h"

namespace loomix {
namespace {

namespace fs = std::filesystem;
using ArrayFileTest = testing_arrays::ArrayTest;

const fs::path kFiles = fs::path(LOOMIX_SOURCE_DIR) / "tests/compat/files";

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST_F(ArrayFileTest, RewritesMXNetsFilesByteForByte) {
  for (const char* name : {"ndarray/dict.params", "ndarray/list.nd", "ndarray/empty.nd", "ndarray/bool.nd",
                           "ndarray/bfloat16.nd", "ndarray/sparse.params", "checkpoint/lenet-0001.params"}) {
    const std::string original = content(kFiles / name);
    ASSERT_FALSE(original.empty()) << name;
    const ArrayList list = load_arrays(*engine_, (kFiles / name).string());
    EXPECT_EQ(save_arrays_to_buffer(list.arrays, list.names), original) << name;
  }
}

TEST_F(ArrayFileTest, RewritesOldVersionsInTheirOwnFormat) {
  const auto check = [&](const char* name, ArrayFormat format, LoadOptions options) {
    const std::string original = content(kFiles / name);
    const ArrayList list = load_arrays(*engine_, (kFiles / name).string(), options);
    EXPECT_EQ(save_arrays_to_buffer(list.arrays, list.names, format), original) << name;
  };
  check("ndarray/legacy_v0.params", ArrayFormat::v0, {});
  check("ndarray/legacy_v1.params", ArrayFormat::v1, {});
  check("ndarray/np_shape_v3.npx", ArrayFormat::v3, {.numpy_shapes = true});
  EXPECT_THROW(load_arrays(*engine_, (kFiles / "ndarray/np_shape_v3.npx").string()), FileError);
}

TEST_F(ArrayFileTest, ReadsTheExampleOfTheFormat) {
  const NDArray w = array<float>({2, 2}, {1, 2, 3, 4});
  const std::vector<std::string> names = {"w"};
  const std::string text = save_arrays_to_buffer({&w, 1}, names);
  EXPECT_EQ(text.size(), 97u);
  const ArrayList list = load_arrays_from_buffer(*engine_, bytes_of(text));
  ASSERT_EQ(list.names, names);
  EXPECT_EQ(values<float>(list.arrays[0]), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(ArrayFileTest, RecordsAndNoneArrays) {
  const NDArray rows = cast_storage(array<float>({3, 2}, {0, 0, 1, 2, 0, 0}), StorageType::row_sparse);
  const std::string record = save_array_record(rows);
  const NDArray back = load_array_record(*engine_, bytes_of(record));
  EXPECT_EQ(back.stype(), StorageType::row_sparse);
  EXPECT_EQ(values<float>(cast_storage(back, StorageType::dense)), (std::vector<float>{0, 0, 1, 2, 0, 0}));
  const std::vector<NDArray> arrays = {NDArray(), array<float>({1}, {3})};
  const ArrayList list = load_arrays_from_buffer(*engine_, bytes_of(save_arrays_to_buffer(arrays, {})));
  EXPECT_TRUE(list.arrays[0].is_none());
  EXPECT_EQ(values<float>(list.arrays[1]), std::vector<float>{3});
  EXPECT_THROW(save_array_record(array<float>(Shape{}, {1})), ValueError);
}

TEST_F(ArrayFileTest, ListsOfEmptyArraysLoadInEachVersion) {
  const std::vector<NDArray> empty(4);
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  for (const ArrayFormat format : {ArrayFormat::v1, ArrayFormat::v2, ArrayFormat::v3}) {
    const LoadOptions options{.numpy_shapes = format == ArrayFormat::v3};
    for (const auto& given : {std::vector<std::string>(), names}) {
      const std::string text = save_arrays_to_buffer(empty, given, format);
      const ArrayList list = load_arrays_from_buffer(*engine_, bytes_of(text), options);
      EXPECT_EQ(list.names, given);
      ASSERT_EQ(list.arrays.size(), 4u);
      for (const NDArray& array : list.arrays) EXPECT_TRUE(array.is_none());
    }
  }
}

TEST_F(ArrayFileTest, DeviceArraysLoadToTheCpu) {
  for (const NDArray& array : load_arrays(*engine_, (kFiles / "ndarray/from_gpu.params").string()).arrays) {
    EXPECT_EQ(array.device(), Device::cpu());
  }
}

TEST_F(ArrayFileTest, BadFilesSayWhereTheyAreBad) {
  for (const char* name : {"truncated.bad", "bad_magic.bad", "short_names.bad"}) {
    const std::string path = (kFiles / "ndarray" / name).string();
    try {
      load_arrays(*engine_, path);
      FAIL() << name;
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("offset"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(load_arrays(*engine_, "/nowhere/x.params"), FileError);
  EXPECT_THROW(load_arrays(*engine_, fs::temp_directory_path().string()), FileError);
}

TEST_F(ArrayFileTest, SavesWholeFilesOrNothing) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("loomix_save_{}", ::getpid());
  fs::create_directory(folder);
  const fs::path path = folder / "a.params";
  const NDArray good = array<float>({2}, {1, 2});
  save_arrays(path.string(), {&good, 1}, {});
  const std::string before = content(path);
  const NDArray broken = array<float>({2}, {1, 2});
  engine_->poison(broken.var(), std::make_exception_ptr(ValueError("[test] broken")));
  EXPECT_THROW(save_arrays(path.string(), {&broken, 1}, {}), ValueError);
  EXPECT_EQ(content(path), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  EXPECT_THROW(save_arrays((folder / "missing" / "a").string(), {&good, 1}, {}), FileError);
  fs::remove_all(folder);
}

// Whatever the bytes are: arrays or an Error, and no more memory than the file has bytes (and a little).
TEST_F(ArrayFileTest, DamagedFilesNeverCrash) {
  const auto load = [&](const std::string& text) {
    for (const bool numpy : {false, true}) {
      try {
        load_arrays_from_buffer(*engine_, bytes_of(text), {.numpy_shapes = numpy});
      } catch (const Error&) {}
    }
  };
  for (const char* name : {"dict.params", "list.nd", "sparse.params", "legacy_v0.params", "legacy_v1.params",
                           "np_shape_v3.npx", "bool.nd", "bfloat16.nd"}) {
    const std::string original = content(kFiles / "ndarray" / name);
    ASSERT_FALSE(original.empty()) << name;
    for (size_t length = 0; length < original.size(); ++length) {
      const std::string cut = original.substr(0, length);
      EXPECT_THROW(load_arrays_from_buffer(*engine_, bytes_of(cut), {.numpy_shapes = true}), FileError)
          << name << " cut at " << length;
    }
    std::mt19937 random(20);
    for (int round = 0; round < 3000; ++round) {
      std::string damaged = original;
      for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips) {
        damaged[random() % damaged.size()] = static_cast<char>(random() % 4 == 0 ? 0xff : random());
      }
      load(damaged);
    }
  }
}

}  // namespace
}  // namespace loomix
