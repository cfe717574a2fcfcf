// SPDX-License-Identifier: Apache-2.0
#include "ndarray/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace loomix {

namespace {

[[noreturn]] void throw_system(const char* who, const std::string& path) {
  const int code = errno;
  detail::throw_error<FileError>("[{}] {}: {}.", who, path, std::strerror(code));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

void write_all(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_system("save", path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

ByteSource ByteSource::file(const std::string& path) {
  ByteSource source;
  source.name_ = path;
  source.file_.reset(std::fopen(path.c_str(), "rbe"));
  if (!source.file_) throw_system("load", path);
  struct stat info;
  if (::fstat(::fileno(source.file_.get()), &info) != 0) throw_system("load", path);
  LOOMIX_CHECK(S_ISREG(info.st_mode), FileError, "[load] {}: not a regular file.", path);
  source.length_ = info.st_size;
  return source;
}

ByteSource ByteSource::memory(std::span<const std::byte> bytes, std::string name) {
  ByteSource source;
  source.name_ = std::move(name);
  source.bytes_ = bytes;
  source.length_ = static_cast<int64_t>(bytes.size());
  return source;
}

int64_t ByteSource::require(int64_t count, int64_t item_bytes, const char* what) const {
  int64_t bytes = 0;
  if (count < 0 || __builtin_mul_overflow(count, item_bytes, &bytes) || bytes > left()) {
    fail("{} needs {} items of {} bytes, {} bytes are left", what, count, item_bytes, left());
  }
  return bytes;
}

const std::byte* ByteSource::borrow(int64_t bytes, const char* what) {
  if (file_) return nullptr;
  require(bytes, 1, what);
  const std::byte* const place = bytes_.data() + offset_;
  offset_ += bytes;
  return place;
}

void ByteSource::read(void* destination, int64_t bytes, const char* what) {
  if (bytes > left())
    fail("the file ends inside of {}: {} bytes are needed, {} are left", what, bytes, left());
  if (bytes == 0) return;
  if (file_) {
    const size_t got = std::fread(destination, 1, static_cast<size_t>(bytes), file_.get());
    if (static_cast<int64_t>(got) != bytes) fail("the file shrank or could not be read inside of {}", what);
  } else {
    std::memcpy(destination, bytes_.data() + offset_, static_cast<size_t>(bytes));
  }
  offset_ += bytes;
}

void ByteSource::throw_at(const std::string& problem) const {
  detail::throw_error<FileError>("[load] {}, offset {}: {}.", name_, offset_, problem);
}

void write_file_whole(const std::string& path, std::string_view bytes) {
  write_file_whole(path, std::span(&bytes, 1));
}

void write_file_whole(const std::string& path, std::span<const std::string_view> pieces) {
  std::string temporary = path + ".XXXXXX";
  const Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.number() < 0) throw_system("save", path);
  try {
    struct stat existing;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    const mode_t mode = ::stat(path.c_str(), &existing) == 0 ? existing.st_mode & 07777 : 0666 & ~mask;
    for (const std::string_view bytes : pieces) write_all(file.number(), bytes, path);
    if (::fchmod(file.number(), mode) != 0 || ::fsync(file.number()) != 0 ||
        ::rename(temporary.c_str(), path.c_str()) != 0) {
      throw_system("save", path);
    }
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace loomix
