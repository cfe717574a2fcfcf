// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

// The sizes of blocks in a memory pool: 64 bytes apart up to 1 KiB, then four a doubling, above 1 MiB eight.
namespace loomix::engine::size_class {

inline constexpr size_t kFineBytes = 1024;
inline constexpr size_t kFineClasses = kFineBytes / 64;
inline constexpr size_t kSmallBytes = 32768;
inline constexpr size_t kSmallClasses = kFineClasses + 4 * 5;  // 1 KiB to 32 KiB: five doublings
inline constexpr size_t kEightsFrom = size_t{1} << 20;
inline constexpr size_t kShelfBytes = size_t{16} << 20;
inline constexpr size_t kShelfClasses = 4 * 5 + 8 * 4;  // 32 KiB to 1 MiB, then to 16 MiB

constexpr size_t rounded(size_t bytes) noexcept {
  if (bytes <= kFineBytes) return std::max<size_t>((bytes + 63) & ~size_t{63}, 64);
  const int steps = bytes > kEightsFrom ? 4 : 3;
  const size_t grain = size_t{1} << (std::bit_width(bytes - 1) - steps);
  return (bytes + grain - 1) & ~(grain - 1);
}

// Of a rounded size up to kSmallBytes.
constexpr size_t small_class(size_t size) noexcept {
  if (size <= kFineBytes) return size / 64 - 1;
  const auto doubling = static_cast<size_t>(std::bit_width(size - 1)) - 11;  // 0: above 1 KiB, up to 2 KiB
  const size_t base = kFineBytes << doubling;
  return kFineClasses + doubling * 4 + (size - base) / (base / 4) - 1;
}

constexpr size_t small_class_bytes(size_t index) noexcept {
  if (index < kFineClasses) return (index + 1) * 64;
  const size_t step = index - kFineClasses;
  const size_t base = kFineBytes << (step / 4);
  return base + base / 4 * (step % 4 + 1);
}

constexpr bool fits_shelf(size_t size) noexcept { return size > kSmallBytes && size <= kShelfBytes; }

// Of a rounded size that fits_shelf().
constexpr size_t shelf_class(size_t size) noexcept {
  const auto bits = static_cast<size_t>(std::bit_width(size - 1));
  const size_t base = size_t{1} << (bits - 1);  // the size is above this and at most twice as much
  if (size <= kEightsFrom) return (bits - 16) * 4 + (size - base) / (base / 4) - 1;
  return 20 + (bits - 21) * 8 + (size - base) / (base / 8) - 1;
}

constexpr size_t shelf_class_bytes(size_t index) noexcept {
  if (index < 20) {
    const size_t base = kSmallBytes << (index / 4);
    return base + base / 4 * (index % 4 + 1);
  }
  const size_t base = kEightsFrom << ((index - 20) / 8);
  return base + base / 8 * ((index - 20) % 8 + 1);
}

static_assert(shelf_class(40960) == 0 && shelf_class(65536) == 3 && shelf_class(kEightsFrom) == 19);
static_assert(shelf_class(kShelfBytes) == kShelfClasses - 1);
static_assert(shelf_class_bytes(kShelfClasses - 1) == kShelfBytes && shelf_class_bytes(0) == 40960);

}  // namespace loomix::engine::size_class
