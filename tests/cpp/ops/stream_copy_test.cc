// SPDX-License-Identifier: Apache-2.0
#include "ops/stream_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "ops/isa.h"

namespace loomix::ops {
namespace {

using Copy = void (*)(std::byte* to, const std::byte* from, int64_t bytes);

constexpr int64_t kLine = 64;
constexpr auto kUntouched = std::byte{0xA5};

// Whether the bytes are those of a usual copy, and their neighbours as before.
void check(Copy copy, int64_t to, int64_t from, int64_t bytes) {
  struct alignas(64) Room {
    std::byte bytes[1280];
  };
  static Room source, target;
  for (size_t i = 0; i < sizeof source.bytes; ++i) source.bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  Room expected;
  std::memset(&expected, static_cast<int>(kUntouched), sizeof expected);
  std::memset(&target, static_cast<int>(kUntouched), sizeof target);
  std::memcpy(expected.bytes + to, source.bytes + from, static_cast<size_t>(bytes));
  copy(target.bytes + to, source.bytes + from, bytes);
  end_streams();
  EXPECT_EQ(std::memcmp(&target, &expected, sizeof expected), 0)
      << bytes << " bytes from " << from << " to " << to;
}

TEST(StreamCopy, IsAUsualCopyFromAnyPlaceToAnyPlace) {
  for (const Copy copy : {stream_copy, isa_base::compiled_loops<StreamLoops>().copy}) {
    for (int64_t to = 0; to < kLine; ++to) {
      for (const int64_t from : {int64_t{0}, int64_t{1}, int64_t{28}, kLine - 1}) {
        for (const int64_t bytes : {0, 1, 17, 63, 64, 65, 127, 128, 129, 512, 1021})
          check(copy, to, from, bytes);
      }
    }
  }
}

}  // namespace
}  // namespace loomix::ops
