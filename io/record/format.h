// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace loomix::io {

using Bytes = std::span<const uint8_t>;

// A record is one or more parts, each `magic, flag << 29 | length, payload, 0 to 3 bytes of padding`. Where four
// payload bytes at a multiple of 4 equal the magic number, the writer leaves them out and begins another part, so no
// part holds the magic number at a multiple of 4:
//
//     whole record   [magic|0,n|payload|pad]
//     cut at magic   [magic|1,n|payload] [magic|2,n|payload] ... [magic|3,n|payload|pad]
inline constexpr uint32_t kMagic = 0xced7230a;
inline constexpr uint32_t kMaxRecordBytes = (1u << 29) - 1;
inline constexpr size_t kPartHeaderBytes = 8;

static_assert(std::endian::native == std::endian::little, "record files are read and written in place");

enum class PartKind : uint32_t { whole = 0, first = 1, middle = 2, last = 3 };  // 4 to 7 do not exist

struct PartHeader {
  uint32_t magic;
  uint32_t kind_and_length;

  static PartHeader make(PartKind kind, size_t length) {
    return {kMagic, static_cast<uint32_t>(kind) << 29 | static_cast<uint32_t>(length)};
  }
  static PartHeader read(const uint8_t* bytes) {
    PartHeader header;
    std::memcpy(&header, bytes, sizeof header);
    return header;
  }
  bool valid() const { return magic == kMagic && kind_and_length >> 31 == 0; }
  PartKind kind() const { return static_cast<PartKind>(kind_and_length >> 29); }
  uint32_t length() const { return kind_and_length & kMaxRecordBytes; }
  bool begins_record() const { return valid() && kind() <= PartKind::first; }
};
static_assert(sizeof(PartHeader) == kPartHeaderBytes);

constexpr uint64_t round_up4(uint64_t n) { return (n + 3) & ~uint64_t{3}; }

// Offset of the first magic number at a multiple of 4 from the beginning of `bytes`, at or after `from` (itself a
// multiple of 4).
std::optional<size_t> find_aligned_magic(Bytes bytes, size_t from = 0);

}  // namespace loomix::io
