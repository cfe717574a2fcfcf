// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"

namespace loomix {

// Bytes of known total length, read in order. Reading beyond the end throws a FileError with name and offset, so that
// callers can check lengths before they allocate.
class ByteSource {
 public:
  static ByteSource file(const std::string& path);
  static ByteSource memory(std::span<const std::byte> bytes, std::string name);

  int64_t offset() const { return offset_; }
  int64_t left() const { return length_ - offset_; }
  const std::string& name() const { return name_; }

  // Throws unless `count` items of `item_bytes` are left; returns their bytes.
  int64_t require(int64_t count, int64_t item_bytes, const char* what) const;
  void read(void* destination, int64_t bytes, const char* what);
  // Counts the next bytes as read, and tells where they lie. Null for a file, of which nothing is read then.
  const std::byte* borrow(int64_t bytes, const char* what);
  template <class T>
  T number(const char* what) {
    T value;
    read(&value, sizeof(T), what);
    return value;
  }
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw_at(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  [[noreturn]] void throw_at(const std::string& problem) const;

  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
  std::span<const std::byte> bytes_;
  int64_t offset_ = 0;
  int64_t length_ = 0;
};

// Writes `bytes` to a temporary file beside `path` and renames it, so that `path` is never half written.
void write_file_whole(const std::string& path, std::string_view bytes);
void write_file_whole(const std::string& path,
                      std::span<const std::string_view> pieces);  // one after the other

}  // namespace loomix
