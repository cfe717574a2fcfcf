// SPDX-License-Identifier: Apache-2.0
#include "ops/compression/codes.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace loomix::ops {
namespace {

TEST(Codes, AreReadAndWritten) {
  for (const char* text : {"float16", "bfloat16", "2bit:0.25", "topk:0.125"})
    EXPECT_EQ(Code::parse(text, "test").to_string(), text);
  EXPECT_EQ(Code::parse("2bit", "test").to_string(), "2bit:0.5");
  EXPECT_EQ(Code::parse("topk", "test").to_string(), "topk:0.01");
}

TEST(Codes, MistakesAreNamed) {
  for (const char* text : {"", "zip", "float32", "2bit:", "2bit:0", "2bit:-1", "2bit:inf", "2bit:nan",
                           "topk:0", "topk:1.5", "topk:0.1x", "topk:0,1", "float16:2"})
    EXPECT_THROW(Code::parse(text, "test"), ValueError) << text;
}

TEST(Codes, NothingStaysNothing) {
  for (const char* text : {"float16", "2bit:0.5", "topk:0.01"}) {
    const Code code = Code::parse(text, "test");
    EXPECT_EQ(compressed_bytes(code, 0), 0) << text;
    compress(code, nullptr, nullptr, nullptr, 0);
    decompress(code, {}, nullptr, 0);
  }
  EXPECT_EQ(compressed_bytes(Code::parse("topk:0.01", "test"), 1), 8);
}

TEST(Codes, PlacesOutOfRangeAreRefused) {
  const Code code = Code::parse("topk:0.5", "test");
  const std::vector<float> values = {1, 2, 3, 4};
  std::vector<float> residual(4), arrived(4);
  std::vector<std::byte> packed(static_cast<size_t>(compressed_bytes(code, 4)));
  compress(code, values.data(), residual.data(), packed.data(), 4);
  decompress(code, packed, arrived.data(), 4);
  EXPECT_EQ(arrived, (std::vector<float>{0, 0, 3, 4}));
  packed[0] = std::byte{4};
  EXPECT_THROW(decompress(code, packed, arrived.data(), 4), ValueError);
}

TEST(Codes, HalvesOfBothKinds) {
  for (const char* name : {"float16", "bfloat16"}) {
    const Code code = Code::parse(name, "test");
    const std::vector<float> values = {1.5f, -2, 0, 1024};
    std::vector<float> arrived(4), passed(4);
    std::vector<std::byte> packed(static_cast<size_t>(compressed_bytes(code, 4)));
    EXPECT_EQ(packed.size(), 8u);
    compress(code, values.data(), nullptr, packed.data(), 4);
    decompress(code, packed, arrived.data(), 4);
    pass_compressed(code, values.data(), nullptr, passed.data(), 4);
    EXPECT_EQ(arrived, values);
    EXPECT_EQ(passed, values);
  }
}

}  // namespace
}  // namespace loomix::ops
