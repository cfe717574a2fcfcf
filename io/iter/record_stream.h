// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/record/files.h"
#include "io/record/index.h"
#include "io/record/reader.h"

namespace loomix::io {

struct StreamOptions {
  std::string records;  // files or folders, separated by `;`
  std::string index;    // of one file; may be empty
  bool shuffle = false;
  int64_t chunk_bytes = 0;  // without an index, records are shuffled among this many bytes; 0: 64 MB
  uint64_t seed = 0;
  int64_t part_index = 0;
  int64_t num_parts = 1;
  OnDamage on_damage = OnDamage::raise;
};

// The records of a data set, pass by pass, in the order of the files, of the index, or shuffled. The order follows from
// the seed and the pass. One thread at a time.
class RecordStream {
 public:
  virtual ~RecordStream() = default;

  struct Record {
    Bytes bytes;  // until the next call
    const std::string* file;
    uint64_t offset;
  };
  // Nothing at the end of the pass. Throws FileError for damage; the next call goes on behind it.
  virtual std::optional<Record> next() = 0;
  virtual void begin(uint64_t pass) = 0;
  virtual uint64_t damage_count() const = 0;
};

// Throws FileError for files that are missing, ValueError for options that make no sense. The first pass is number 0.
std::unique_ptr<RecordStream> open_stream(const StreamOptions& options);

}  // namespace loomix::io
