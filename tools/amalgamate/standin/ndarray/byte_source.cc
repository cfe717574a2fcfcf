// SPDX-License-Identifier: Apache-2.0
#include "ndarray/byte_source.h"

#include <cstring>

namespace loomix {

ByteSource ByteSource::memory(std::span<const std::byte> bytes, std::string name) {
  ByteSource source;
  source.name_ = std::move(name);
  source.bytes_ = bytes;
  source.length_ = static_cast<int64_t>(bytes.size());
  return source;
}

int64_t ByteSource::require(int64_t count, int64_t item_bytes, const char* what) const {
  int64_t bytes = 0;
  if (count < 0 || __builtin_mul_overflow(count, item_bytes, &bytes) || bytes > left())
    fail("{} needs {} items of {} bytes, {} bytes are left", what, count, item_bytes, left());
  return bytes;
}

void ByteSource::read(void* destination, int64_t bytes, const char* what) {
  if (bytes > left())
    fail("the file ends inside of {}: {} bytes are needed, {} are left", what, bytes, left());
  if (bytes > 0) std::memcpy(destination, bytes_.data() + offset_, static_cast<size_t>(bytes));
  offset_ += bytes;
}

void ByteSource::throw_at(const std::string& problem) const {
  detail::throw_error<FileError>("[load] {}, offset {}: {}.", name_, offset_, problem);
}

}  // namespace loomix
