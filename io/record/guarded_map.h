// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace loomix::io {

// A file in memory. Reading where the file has become shorter gives an error instead of ending the process: SIGBUS is
// handled for the thread and the range that copy() reads, and goes to the handler that was there before otherwise.
class GuardedMap {
 public:
  // Null where a map is impossible, or where another program part has taken the handler of SIGBUS from us.
  static std::unique_ptr<GuardedMap> make(int descriptor, size_t bytes);
  ~GuardedMap();
  GuardedMap(const GuardedMap&) = delete;

  size_t bytes() const { return bytes_; }
  // Copies the bytes at `offset`, which must lie inside the map; false if the file does not have them any more.
  bool copy(size_t offset, std::span<uint8_t> out);

 private:
  GuardedMap(const uint8_t* data, size_t bytes) : data_(data), bytes_(bytes) {}

  const uint8_t* data_;
  size_t bytes_;
  uint32_t copies_ = 0;
};

}  // namespace loomix::io
