// SPDX-License-Identifier: Apache-2.0
#include "io/record/source.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "io/record/file_handle.h"
#include "io/record/guarded_map.h"

namespace loomix::io {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(std::string name, FileHandle file, Order order)
      : ByteSource(std::move(name)), file_(std::move(file)) {
    if (order == Order::random && in_memory()) map_ = GuardedMap::make(file_.get(), *size());
  }

  size_t read_at(uint64_t offset, std::span<uint8_t> out, size_t least) override {
    if (map_ != nullptr && offset < map_->bytes()) {
      const size_t n = std::min<uint64_t>(out.size(), map_->bytes() - offset);
      if (n >= least && map_->copy(offset, out.first(n))) return n;
    }
    size_t got = 0;
    while (got < least) {
      const ssize_t n =
          pread(file_.get(), out.data() + got, out.size() - got, static_cast<off_t>(offset + got));
      if (n == 0) break;
      if (n < 0 && errno == EINTR) continue;
      LOOMIX_CHECK(n > 0, FileError, "[recordio] {}: reading {} bytes at offset {} failed: {}.", name(),
                   out.size() - got, offset + got, std::strerror(errno));
      got += static_cast<size_t>(n);
    }
    return got;
  }

  std::optional<uint64_t> size() const override {
    struct stat info;
    LOOMIX_CHECK(fstat(file_.get(), &info) == 0, FileError, "[recordio] {}: asking for its size failed: {}.",
                 name(), std::strerror(errno));
    return static_cast<uint64_t>(info.st_size);
  }

  bool is_current() const override {
    struct stat named, ours;
    return stat(name().c_str(), &named) == 0 && fstat(file_.get(), &ours) == 0 &&
           named.st_dev == ours.st_dev && named.st_ino == ours.st_ino &&
           (map_ == nullptr || map_->bytes() == static_cast<uint64_t>(ours.st_size));
  }

 private:
  // On a disk, pread fetches a record in one go, and a map page by page.
  bool in_memory() const {
    struct statfs info;
    return fstatfs(file_.get(), &info) == 0 && (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
  }

  FileHandle file_;
  std::unique_ptr<GuardedMap> map_;
};

class PipeSource final : public ByteSource {
 public:
  PipeSource(std::string name, FileHandle file) : ByteSource(std::move(name)), file_(std::move(file)) {}

  size_t read_at(uint64_t offset, std::span<uint8_t> out, size_t least) override {
    LOOMIX_CHECK(offset == position_, FileError,
                 "[recordio] {}: a pipe cannot seek; asked for offset {} where {} comes next.", name(),
                 offset, position_);
    size_t got = 0;
    while (got < least) {
      const ssize_t n = read(file_.get(), out.data() + got, out.size() - got);
      if (n == 0) break;
      if (n < 0 && errno == EINTR) continue;
      LOOMIX_CHECK(n > 0, FileError, "[recordio] {}: reading at offset {} failed: {}.", name(),
                   position_ + got, std::strerror(errno));
      got += static_cast<size_t>(n);
    }
    position_ += got;
    return got;
  }

  std::optional<uint64_t> size() const override { return std::nullopt; }
  bool seekable() const override { return false; }

 private:
  FileHandle file_;
  uint64_t position_ = 0;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::span<const uint8_t> bytes)
      : ByteSource(std::move(name)), bytes_(bytes) {}

  size_t read_at(uint64_t offset, std::span<uint8_t> out, size_t) override {
    if (offset >= bytes_.size()) return 0;
    const size_t n = std::min<size_t>(out.size(), bytes_.size() - offset);
    std::memcpy(out.data(), bytes_.data() + offset, n);
    return n;
  }
  std::optional<uint64_t> size() const override { return bytes_.size(); }

 private:
  std::span<const uint8_t> bytes_;
};

std::unique_ptr<ByteSource> source_of(std::string name, FileHandle file, Order order) {
  struct stat info;
  LOOMIX_CHECK(fstat(file.get(), &info) == 0, FileError, "[recordio] {}: {}.", name, std::strerror(errno));
  LOOMIX_CHECK(!S_ISDIR(info.st_mode), FileError, "[recordio] {} is a folder; expected a record file.", name);
  if (S_ISREG(info.st_mode) || S_ISBLK(info.st_mode)) {
    return std::make_unique<FileSource>(std::move(name), std::move(file), order);
  }
  return std::make_unique<PipeSource>(std::move(name), std::move(file));
}

// A descriptor of the caller's: ours is a duplicate, so closing it leaves theirs open.
std::unique_ptr<ByteSource> open_descriptor(const std::string& uri, int descriptor, Order order) {
  FileHandle file(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  LOOMIX_CHECK(file.valid(), FileError, "[recordio] {}: there is no open file descriptor {}: {}.", uri,
               descriptor, std::strerror(errno));
  return source_of(uri, std::move(file), order);
}

}  // namespace

std::unique_ptr<ByteSource> open_source(const std::string& uri, const HttpOptions& http, Order order) {
  if (uri == "-") return open_descriptor("standard input", STDIN_FILENO, order);
  if (uri.starts_with("http://") || uri.starts_with("https://")) return open_http_source(uri, http);
  if (uri.starts_with("fd://")) {
    int descriptor = -1;
    const char* end = uri.data() + uri.size();
    const auto parsed = std::from_chars(uri.data() + 5, end, descriptor);
    LOOMIX_CHECK(parsed.ec == std::errc() && parsed.ptr == end && descriptor >= 0, ValueError,
                 "[recordio] {} names no file descriptor; expected fd://N with a number N.", uri);
    return open_descriptor(uri, descriptor, order);
  }
  const std::string path = uri.starts_with("file://") ? uri.substr(7) : uri;
  const size_t scheme = path.find("://");
  LOOMIX_CHECK(
      scheme == std::string::npos || path.find('/') < scheme, ValueError,
      "[recordio] {}: this kind of address is not known; expected a path, file://, http://, https://, "
      "fd://N or -.",
      uri);
  FileHandle file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  LOOMIX_CHECK(file.valid(), FileError, "[recordio] {} cannot be opened for reading: {}.", path,
               std::strerror(errno));
  return source_of(path, std::move(file), order);
}

std::unique_ptr<ByteSource> memory_source(std::span<const uint8_t> bytes, std::string name) {
  return std::make_unique<MemorySource>(std::move(name), bytes);
}

std::vector<std::string> split_uris(std::string_view uris) {
  std::vector<std::string> names;
  while (!uris.empty()) {
    const size_t cut = std::min(uris.find(';'), uris.size());
    if (cut > 0) names.emplace_back(uris.substr(0, cut));
    uris.remove_prefix(std::min(cut + 1, uris.size()));
  }
  return names;
}

}  // namespace loomix::io
