// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/record/file_handle.h"
#include "io/record/format.h"

namespace loomix::io {

// Writes records, byte for byte as MXNet does. What was written is in the file after flush() or close(). A write that
// fails throws FileError and leaves whole records in the file. One thread at a time.
class RecordWriter {
 public:
  // Makes the file, or empties it. `-` is standard output, `fd://N` a descriptor.
  explicit RecordWriter(const std::string& uri);
  // Goes on in a file at `offset`, where a record ended; what lies behind is cut off.
  RecordWriter(const std::string& path, uint64_t offset);
  RecordWriter(RecordWriter&&) = default;
  ~RecordWriter();

  void write(Bytes record);
  // Whether a record of this size only goes into the buffer; if not, writing it may wait for the disk.
  bool fits(size_t bytes) const;
  // Where the next record will begin.
  uint64_t tell() const { return flushed_ + filled_; }
  void flush();
  void close();
  // Closes without writing what is buffered.
  void abandon();
  const std::string& name() const { return name_; }

 private:
  void append(std::span<const Bytes> pieces, size_t total);
  void send(std::span<const Bytes> pieces, size_t total);

  std::string name_;
  FileHandle file_;
  std::unique_ptr<uint8_t[]> buffer_;
  size_t filled_ = 0;  // whole records only
  uint64_t flushed_ = 0;
};

}  // namespace loomix::io
