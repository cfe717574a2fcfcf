// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/record/format.h"
#include "io/record/source.h"
#include "io/record/window.h"

namespace loomix::io {

// Bytes that belong to no whole record.
struct Damage {
  std::string file;
  uint64_t offset;
  uint64_t bytes;
  std::string reason;

  std::string text() const;  // "images.rec, offset 120: ..."
};

enum class OnDamage {
  raise,  // throw FileError; the next call goes on with the next whole record
  skip,   // go on, and note it in damages()
};

// Reads the records of one source in order, or those at given offsets. Every whole record of a damaged file is read:
// after bytes that are no record, reading goes on at the next magic number. One thread at a time.
class RecordReader {
 public:
  static constexpr size_t kDamagesKept = 1000;

  explicit RecordReader(std::unique_ptr<ByteSource> source, OnDamage on_damage = OnDamage::raise);

  // The next record, or nullopt at the end of the source or range. The bytes are valid until the next call of any
  // function. Throws FileError also if the file has become shorter than it was when it was opened.
  std::optional<Bytes> next();
  // The record that begins at `offset`; throws FileError if none does. Reading goes on behind it.
  Bytes read_at(uint64_t offset);

  // Where the next call looks for a record. After seek() a record must begin there, or next() throws.
  uint64_t tell() const { return next_; }
  void seek(uint64_t offset);
  // Only records that begin in [begin, end), which need not be where records begin: cutting a file into ranges
  // gives every record to one range exactly.
  void set_range(uint64_t begin, uint64_t end);

  // Where the record last returned begins.
  uint64_t offset() const { return record_; }
  const std::string& name() const { return window_.source().name(); }
  std::optional<uint64_t> size() const { return window_.source().size(); }

  // What was skipped or thrown: the first kDamagesKept pieces, and the number of all.
  const std::vector<Damage>& damages() const { return damages_; }
  uint64_t damage_count() const { return damage_count_; }

 private:
  struct Fault {
    uint64_t offset;  // of the part
    bool rescan;      // whether records may begin inside the part; else one begins at `offset`
    std::string reason;
  };
  std::optional<Bytes> parse(std::optional<Fault>& fault);
  Bytes part_at(uint64_t at, size_t length);
  std::optional<Fault> check_header(Bytes head, uint64_t at, bool joined) const;
  bool length_is_wrong(uint64_t at, Bytes& part);
  bool begins_inside(uint64_t at, Bytes part);
  void handle(const Fault& fault);
  uint64_t resync(uint64_t from, bool any_alignment);
  bool believable(uint64_t at, size_t length);
  void check_shrunk();
  void note(Damage damage);

  Window window_;
  const OnDamage on_damage_;
  std::optional<uint64_t> size_at_open_;
  uint64_t next_ = 0;
  uint64_t end_ = UINT64_MAX;
  uint64_t record_ = 0;
  size_t last_bytes_ = 16 << 10;
  bool find_begin_ = false;  // at the beginning of a range
  bool exact_ = false;       // after seek()
  std::vector<uint8_t> joined_;
  std::vector<Damage> damages_;
  uint64_t damage_count_ = 0;
};

}  // namespace loomix::io
