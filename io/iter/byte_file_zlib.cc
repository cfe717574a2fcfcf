// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <algorithm>

#include "base/error.h"
#include "io/iter/byte_file.h"

namespace loomix::io {
namespace {

// zlib gives the bytes of a file that is not compressed as they are.
class GzipFile final : public ByteFile {
 public:
  GzipFile(std::string path, const char* who)
      : path_(std::move(path)), who_(who), file_(gzopen(path_.c_str(), "rb")) {
    LOOMIX_CHECK(file_, FileError, "[{}] cannot open {}.", who_, path_);
  }
  ~GzipFile() override { gzclose(file_); }

  // In pieces, so that memory follows what is there, not what a header tells of.
  std::vector<uint8_t> read(uint64_t count) override {
    constexpr uint64_t kPiece = 1 << 20;
    std::vector<uint8_t> bytes;
    while (bytes.size() < count) {
      const size_t before = bytes.size();
      const auto wanted = static_cast<unsigned>(std::min(kPiece, count - before));
      bytes.resize(before + wanted);
      const int got = gzread(file_, bytes.data() + before, wanted);
      int code = Z_OK;
      const char* const text = gzerror(file_, &code);
      LOOMIX_CHECK(got >= 0 && code == Z_OK, FileError, "[{}] cannot read {}: {}.", who_, path_, text);
      bytes.resize(before + static_cast<size_t>(got));
      if (got == 0) break;
    }
    return bytes;
  }

 private:
  const std::string path_;
  const char* const who_;
  const gzFile file_;
};

}  // namespace

std::unique_ptr<ByteFile> open_byte_file(const std::string& path, const char* who) {
  return std::make_unique<GzipFile>(path, who);
}

}  // namespace loomix::io
