// SPDX-License-Identifier: Apache-2.0
#include "io/record/reader.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace loomix::io {
namespace {

constexpr uint8_t kFirstByte = kMagic & 0xff;
constexpr size_t kScanBytes = 64 << 10;
constexpr uint64_t kMaxOffset = uint64_t{1} << 62;

}  // namespace

std::string Damage::text() const {
  return fmt::format("{}, offset {}: {} ({} bytes are no whole record)", file, offset, reason, bytes);
}

RecordReader::RecordReader(std::unique_ptr<ByteSource> source, OnDamage on_damage)
    : window_(std::move(source)), on_damage_(on_damage), size_at_open_(window_.source().size()) {}

std::optional<Bytes> RecordReader::next() {
  for (;;) {
    if (find_begin_) {
      next_ = resync(next_, false);
      find_begin_ = false;
    }
    if (next_ >= end_) return std::nullopt;
    std::optional<Fault> fault;
    const std::optional<Bytes> record = parse(fault);
    if (!fault) return record;
    handle(*fault);
  }
}

Bytes RecordReader::read_at(uint64_t offset) {
  seek(offset);
  const std::optional<Bytes> record = next();
  LOOMIX_CHECK(record, FileError, "[recordio] {}: no record begins at offset {}, where the file ends.",
               name(), offset);
  return *record;
}

void RecordReader::seek(uint64_t offset) {
  LOOMIX_CHECK(offset < kMaxOffset, FileError, "[recordio] {}: no record begins at offset {}.", name(),
               offset);
  // A record behind the last one is read in order, whatever the caller calls it.
  if (offset != next_) window_.jump(last_bytes_ + kPartHeaderBytes);
  next_ = offset;
  find_begin_ = false;
  exact_ = true;
}

void RecordReader::set_range(uint64_t begin, uint64_t end) {
  next_ = round_up4(begin);
  end_ = end > kMaxOffset ? UINT64_MAX : round_up4(end);
  find_begin_ = next_ > 0;
  exact_ = false;
}

// Reads the record at next_ and moves on. Where it finds a fault it leaves next_ alone.
std::optional<Bytes> RecordReader::parse(std::optional<Fault>& fault) {
  const uint64_t begin = next_;
  uint64_t at = begin;
  bool joined = false;
  for (;;) {
    const Bytes head = window_.at(at, kPartHeaderBytes);
    if (head.empty() && !joined) {
      check_shrunk();
      LOOMIX_CHECK(!exact_ || !size_at_open_ || at <= *size_at_open_, FileError,
                   "[recordio] {}: no record begins at offset {}; the file has {} bytes.", name(), at,
                   *size_at_open_);
      return std::nullopt;
    }
    fault = check_header(head, at, joined);
    if (fault) return std::nullopt;
    const PartHeader header = PartHeader::read(head.data());
    const size_t length = header.length();
    Bytes part = part_at(at, length);
    if (part.size() < kPartHeaderBytes + length) {
      fault = {at, true,
               fmt::format("the record's part has {} bytes, and the file ends before that", length)};
      return std::nullopt;
    }
    if (length_is_wrong(at, part)) {
      fault = {at, true, fmt::format("the length {} reaches over records that follow", length)};
      return std::nullopt;
    }
    at += part.size();
    const Bytes payload = part.subspan(kPartHeaderBytes, length);
    const PartKind kind = header.kind();
    if (kind != PartKind::whole) {
      if (joined) {
        const uint8_t* magic = reinterpret_cast<const uint8_t*>(&kMagic);
        joined_.insert(joined_.end(), magic, magic + sizeof kMagic);
      } else {
        joined_.clear();
        joined = true;
      }
      joined_.insert(joined_.end(), payload.begin(), payload.end());
      if (joined_.size() > kMaxRecordBytes) {
        fault = {at, false, fmt::format("its parts have more than {} bytes together", kMaxRecordBytes)};
        return std::nullopt;
      }
    }
    if (kind == PartKind::whole || kind == PartKind::last) {
      record_ = begin;
      next_ = at;
      last_bytes_ = static_cast<size_t>(std::min<uint64_t>(at - begin, 1 << 20));
      exact_ = false;
      return joined ? Bytes(joined_) : payload;
    }
  }
}

// Header, payload and padding of a part; too few bytes if the source ends before that.
Bytes RecordReader::part_at(uint64_t at, size_t length) {
  constexpr size_t kLong = 1 << 20;  // worth a look at the file's size, for the length may be wrong
  if (length > kLong) {
    if (const auto size = this->size(); size && at + kPartHeaderBytes + length > *size) return {};
  }
  return window_.at(at, kPartHeaderBytes + round_up4(length));
}

std::optional<RecordReader::Fault> RecordReader::check_header(Bytes head, uint64_t at, bool joined) const {
  if (head.empty()) return Fault{at, false, "the file ends before the record's last part"};
  if (head.size() < kPartHeaderBytes) {
    return Fault{at, true, fmt::format("the file ends inside a header, after {} bytes", head.size())};
  }
  const PartHeader header = PartHeader::read(head.data());
  if (header.magic != kMagic) {
    return Fault{at, true,
                 fmt::format("expected the magic number {:#010x}, found {:#010x}", kMagic, header.magic)};
  }
  if (!header.valid()) {
    return Fault{at, true, fmt::format("the flag {} of a part does not exist", header.kind_and_length >> 29)};
  }
  const bool begins = header.kind() <= PartKind::first;
  if (joined && begins) return Fault{at, false, "another record begins before the record's last part"};
  if (!joined && !begins) return Fault{at, true, "a record's later part without its first"};
  return std::nullopt;
}

// Whether the part's length must be wrong, because records begin inside of it. `part` may move in memory.
bool RecordReader::length_is_wrong(uint64_t at, Bytes& part) {
  const std::optional<size_t> magic = find_aligned_magic(part, kPartHeaderBytes);
  // A pipe is asked for what comes behind only if there is reason to, for that may not be written yet.
  if (!magic && !window_.source().seekable()) return false;
  const size_t size = part.size();
  const Bytes more = window_.at(at, size + kPartHeaderBytes);
  part = more.first(size);
  const Bytes behind = more.subspan(size);
  const bool followed =
      behind.empty() || (behind.size() == kPartHeaderBytes && PartHeader::read(behind.data()).valid());
  if (!magic) return !followed && begins_inside(at, part);
  if (!followed) return true;
  // Written by a program that does not cut at magic numbers, or parts that fill this one exactly.
  size_t inner = *magic;
  while (inner + kPartHeaderBytes <= size) {
    const PartHeader header = PartHeader::read(part.data() + inner);
    if (!header.valid()) return false;
    inner += kPartHeaderBytes + round_up4(header.length());
  }
  return inner == size;
}

// Whether a record seems to begin somewhere inside the part, or in the part and what is behind it.
bool RecordReader::begins_inside(uint64_t at, Bytes part) {
  for (size_t i = 1; i < part.size(); ++i) {
    const void* found = std::memchr(part.data() + i, kFirstByte, part.size() - i);
    if (found == nullptr) return false;
    i = static_cast<size_t>(static_cast<const uint8_t*>(found) - part.data());
    uint8_t bytes[kPartHeaderBytes];
    if (!window_.peek(at + i, bytes)) return false;
    const PartHeader header = PartHeader::read(bytes);
    if (header.begins_record() && believable(at + i, header.length())) return true;
  }
  return false;
}

void RecordReader::handle(const Fault& fault) {
  LOOMIX_CHECK(
      !exact_, FileError, "[recordio] {}: no whole record begins at offset {}: {}.", name(), next_,
      fault.offset == next_ ? fault.reason : fmt::format("at offset {}, {}", fault.offset, fault.reason));
  const uint64_t begin = next_;
  next_ = fault.rescan ? resync(fault.offset + 1, true) : fault.offset;
  Damage damage{name(), begin, next_ - begin, fault.reason};
  std::string message;
  if (on_damage_ == OnDamage::raise) {
    message = fmt::format("[recordio] {}. Read on for the next whole record{}.", damage.text(),
                          next_ < end_ ? fmt::format(", at offset {}", next_) : "");
  }
  note(std::move(damage));
  if (on_damage_ == OnDamage::raise) throw FileError(std::move(message));
}

// The first offset at or after `from` where a record may begin; the end of the source if there is none. Beginnings at
// multiples of 4 are trusted, others (bytes were lost or added before them) only if another part or the end follows.
uint64_t RecordReader::resync(uint64_t from, bool any_alignment) {
  uint64_t at = from;
  for (;;) {
    const Bytes chunk = window_.at(at, kScanBytes);
    if (chunk.size() < kPartHeaderBytes) return at + chunk.size();
    const size_t candidates = chunk.size() - kPartHeaderBytes + 1;
    const uint8_t* const begin = chunk.data();
    const void* found = begin;
    size_t i = 0;
    while ((found = std::memchr(begin + i, kFirstByte, candidates - i)) != nullptr) {
      i = static_cast<size_t>(static_cast<const uint8_t*>(found) - begin);
      const PartHeader header = PartHeader::read(begin + i);
      if (header.begins_record()) {
        if ((at + i) % 4 == 0) return at + i;
        if (any_alignment && believable(at + i, header.length())) return at + i;
      }
      if (++i == candidates) break;
    }
    at += candidates;
  }
}

// Whether a part of this length fits at `at`: another part follows it, or the end of the source. Leaves the window.
bool RecordReader::believable(uint64_t at, size_t length) {
  const uint64_t behind = at + kPartHeaderBytes + round_up4(length);
  const std::optional<uint64_t> size = this->size();
  if (!size) return false;  // a pipe cannot look ahead
  if (behind == *size) return true;
  uint8_t bytes[kPartHeaderBytes];
  return window_.peek(behind, bytes) && PartHeader::read(bytes).valid();
}

void RecordReader::check_shrunk() {
  if (!size_at_open_) return;
  const uint64_t now = *size();
  const uint64_t before = std::exchange(size_at_open_, now).value();
  if (now >= before) return;
  const std::string reason =
      fmt::format("the file had {} bytes when it was opened and has {} now", before, now);
  note({name(), now, before - now, reason});
  LOOMIX_CHECK(on_damage_ == OnDamage::skip, FileError, "[recordio] {}, offset {}: {}.", name(), next_,
               reason);
}

void RecordReader::note(Damage damage) {
  ++damage_count_;
  if (damages_.size() < kDamagesKept) damages_.push_back(std::move(damage));
}

}  // namespace loomix::io
