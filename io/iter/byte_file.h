// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace loomix::io {

// The bytes of a file, compressed with gzip (where zlib is built in) or not.
class ByteFile {
 public:
  virtual ~ByteFile() = default;
  // Up to `count` further bytes; fewer at the end only. Throws FileError for what cannot be read.
  virtual std::vector<uint8_t> read(uint64_t count) = 0;
};

std::unique_ptr<ByteFile> open_byte_file(const std::string& path, const char* who);

}  // namespace loomix::io
