// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/record/reader.h"

namespace loomix::io {

struct RecordFilesOptions {
  // Which of how many parts to read. The files' bytes, taken together, are cut into equal ranges as MXNet does, and a
  // record belongs to the range where it begins. Pipes cannot be cut.
  int64_t part_index = 0;
  int64_t num_parts = 1;
  OnDamage on_damage = OnDamage::raise;
  HttpOptions http;
};

// The records of several files, one file after the other, or one part of them. One thread at a time.
class RecordFiles {
 public:
  explicit RecordFiles(std::vector<std::string> uris, RecordFilesOptions options = {});

  // The next record, or nullopt after the last; valid until the next call. Throws as RecordReader::next() does.
  std::optional<Bytes> next();
  // Begins again; throws if one of the files is a pipe that has been read from.
  void reset();

  // Where the record last returned begins.
  const std::string& file() const { return uris_[record_file_]; }
  uint64_t offset() const { return record_offset_; }
  std::vector<Damage> damages() const;
  uint64_t damage_count() const;

 private:
  void open(size_t file);

  const std::vector<std::string> uris_;
  const RecordFilesOptions options_;
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;  // of each file; empty if there is one part
  std::unique_ptr<RecordReader> reader_;
  size_t file_ = 0;  // that reader_ reads
  size_t record_file_ = 0;
  uint64_t record_offset_ = 0;
  std::vector<Damage> damages_;  // of the files that were left
  uint64_t damage_count_ = 0;
};

// The range [first, last) of `count` things that belongs to one of `num_parts` parts, by MXNet's rule for indexed
// files: parts of equal size, rounded up, so the last ones may have less or nothing.
std::pair<uint64_t, uint64_t> part_range(uint64_t count, int64_t part_index, int64_t num_parts);

}  // namespace loomix::io
