// SPDX-License-Identifier: Apache-2.0
#include "io/record/writer.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"

namespace loomix::io {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
constexpr uint8_t kZeros[4] = {};

FileHandle open_for_writing(const std::string& uri) {
  int descriptor = -1;
  if (uri == "-") {
    descriptor = STDOUT_FILENO;
  } else if (uri.starts_with("fd://")) {
    const char* end = uri.data() + uri.size();
    const auto parsed = std::from_chars(uri.data() + 5, end, descriptor);
    LOOMIX_CHECK(parsed.ec == std::errc() && parsed.ptr == end && descriptor >= 0, ValueError,
                 "[recordio] {} names no file descriptor; expected fd://N with a number N.", uri);
  }
  if (descriptor >= 0) {
    FileHandle file(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    LOOMIX_CHECK(file.valid(), FileError, "[recordio] {}: there is no open file descriptor {}.", uri,
                 descriptor);
    return file;
  }
  const std::string path = uri.starts_with("file://") ? uri.substr(7) : uri;
  LOOMIX_CHECK(path.find("://") == std::string::npos, ValueError,
               "[recordio] {} cannot be written to; expected a path, file://, fd://N or -.", uri);
  FileHandle file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  LOOMIX_CHECK(file.valid(), FileError, "[recordio] {} cannot be opened for writing: {}.", path,
               std::strerror(errno));
  return file;
}

void append_bytes(std::vector<uint8_t>& to, const void* bytes, size_t size) {
  const auto* begin = static_cast<const uint8_t*>(bytes);
  to.insert(to.end(), begin, begin + size);
}

}  // namespace

RecordWriter::RecordWriter(const std::string& uri) : name_(uri), file_(open_for_writing(uri)) {}

RecordWriter::RecordWriter(const std::string& path, uint64_t offset)
    : name_(path), file_(open(path.c_str(), O_WRONLY | O_CLOEXEC)), flushed_(offset) {
  LOOMIX_CHECK(file_.valid(), FileError, "[recordio] {} cannot be opened for writing: {}.", path,
               std::strerror(errno));
  const off_t size = lseek(file_.get(), 0, SEEK_END);
  LOOMIX_CHECK(size >= 0 && offset <= static_cast<uint64_t>(size) && offset % 4 == 0, ValueError,
               "[recordio] {} has {} bytes; writing cannot go on at offset {}.", path, size, offset);
  LOOMIX_CHECK(ftruncate(file_.get(), static_cast<off_t>(offset)) == 0 &&
                   lseek(file_.get(), static_cast<off_t>(offset), SEEK_SET) >= 0,
               FileError, "[recordio] {} cannot be cut at offset {}: {}.", path, offset,
               std::strerror(errno));
}

RecordWriter::~RecordWriter() {
  try {
    close();
  } catch (const Error&) {  // only close() can tell
  }
}

void RecordWriter::write(Bytes record) {
  LOOMIX_CHECK(file_.valid(), StateError, "[recordio] {} is closed.", name_);
  LOOMIX_CHECK(record.size() <= kMaxRecordBytes, ValueError,
               "[recordio] {}: a record of {} bytes cannot be written; at most {} are allowed.", name_,
               record.size(), kMaxRecordBytes);
  std::optional<size_t> magic = find_aligned_magic(record);
  std::vector<uint8_t> cut;  // the parts before the last one
  size_t from = 0;
  while (magic) {
    const PartKind kind = from == 0 ? PartKind::first : PartKind::middle;
    const PartHeader header = PartHeader::make(kind, *magic - from);
    append_bytes(cut, &header, sizeof header);
    append_bytes(cut, record.data() + from, *magic - from);
    from = *magic + sizeof kMagic;
    magic = find_aligned_magic(record, from);
  }
  const Bytes rest = record.subspan(from);
  const PartHeader header = PartHeader::make(from == 0 ? PartKind::whole : PartKind::last, rest.size());
  const Bytes head(reinterpret_cast<const uint8_t*>(&header), sizeof header);
  const Bytes padding(kZeros, round_up4(rest.size()) - rest.size());
  append(std::array{Bytes(cut), head, rest, padding},
         cut.size() + head.size() + rest.size() + padding.size());
}

bool RecordWriter::fits(size_t bytes) const {
  // A record that is cut has a header more for each four bytes that are left out.
  return filled_ + bytes + bytes / 4 * 4 + 2 * kPartHeaderBytes <= kBufferBytes;
}

void RecordWriter::append(std::span<const Bytes> pieces, size_t total) {
  if (filled_ + total > kBufferBytes) flush();
  if (total > kBufferBytes / 2) return send(pieces, total);
  if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<uint8_t[]>(kBufferBytes);
  for (const Bytes piece : pieces) {
    if (!piece.empty()) std::memcpy(buffer_.get() + filled_, piece.data(), piece.size());
    filled_ += piece.size();
  }
}

// Writes whole records. If that fails, what was written of them is cut off again.
void RecordWriter::send(std::span<const Bytes> pieces, size_t total) {
  std::vector<iovec> rest;
  for (const Bytes piece : pieces) {
    if (!piece.empty()) rest.push_back({const_cast<uint8_t*>(piece.data()), piece.size()});
  }
  size_t first = 0;
  while (first < rest.size()) {
    ssize_t n = writev(file_.get(), rest.data() + first, static_cast<int>(rest.size() - first));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int reason = errno;
      const auto end = static_cast<off_t>(flushed_);
      if (ftruncate(file_.get(), end) != 0 || lseek(file_.get(), end, SEEK_SET) < 0) {
        filled_ = 0;
        file_ = FileHandle();  // a pipe: its reader has seen a piece of a record
      }
      throw FileError(fmt::format("[recordio] {}: writing {} bytes at offset {} failed: {}.", name_, total,
                                  flushed_, std::strerror(reason)));
    }
    for (; n > 0 && static_cast<size_t>(n) >= rest[first].iov_len; ++first) {
      n -= static_cast<ssize_t>(rest[first].iov_len);
    }
    if (n > 0) {
      rest[first].iov_base = static_cast<uint8_t*>(rest[first].iov_base) + n;
      rest[first].iov_len -= static_cast<size_t>(n);
    }
  }
  flushed_ += total;
}

void RecordWriter::flush() {
  if (filled_ == 0) return;
  send(std::array{Bytes(buffer_.get(), filled_)}, filled_);
  filled_ = 0;
}

void RecordWriter::close() {
  if (!file_.valid()) return;
  flush();
  LOOMIX_CHECK(file_.close(), FileError, "[recordio] {}: closing it failed: {}.", name_,
               std::strerror(errno));
}

void RecordWriter::abandon() {
  filled_ = 0;
  file_ = FileHandle();
}

}  // namespace loomix::io
