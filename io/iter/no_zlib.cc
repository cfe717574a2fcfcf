// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "io/iter/byte_file.h"

namespace loomix::io {
namespace {

class PlainFile final : public ByteFile {
 public:
  PlainFile(std::string path, const char* who)
      : path_(std::move(path)), who_(who), file_(path_, std::ios::binary) {
    LOOMIX_CHECK(file_, FileError, "[{}] cannot open {}.", who_, path_);
    const bool compressed = file_.get() == 0x1f && file_.get() == 0x8b;
    LOOMIX_CHECK(!compressed, NotImplementedError,
                 "[{}] {} is compressed with gzip; this library was built without zlib.", who_, path_);
    file_.clear();
    file_.seekg(0);
  }
  std::vector<uint8_t> read(uint64_t count) override {
    constexpr uint64_t kPiece = 1 << 20;
    std::vector<uint8_t> bytes;
    while (bytes.size() < count) {
      const size_t before = bytes.size();
      const auto wanted = static_cast<size_t>(std::min(kPiece, count - before));
      bytes.resize(before + wanted);
      file_.read(reinterpret_cast<char*>(bytes.data() + before), static_cast<std::streamsize>(wanted));
      LOOMIX_CHECK(!file_.bad(), FileError, "[{}] cannot read {}.", who_, path_);
      bytes.resize(before + static_cast<size_t>(file_.gcount()));
      if (file_.gcount() == 0) break;
    }
    return bytes;
  }

 private:
  const std::string path_;
  const char* const who_;
  std::ifstream file_;
};

}  // namespace

std::unique_ptr<ByteFile> open_byte_file(const std::string& path, const char* who) {
  return std::make_unique<PlainFile>(path, who);
}

}  // namespace loomix::io
