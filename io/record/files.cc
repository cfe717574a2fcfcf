// SPDX-License-Identifier: Apache-2.0
#include "io/record/files.h"

#include <algorithm>

#include "base/error.h"

namespace loomix::io {

std::pair<uint64_t, uint64_t> part_range(uint64_t count, int64_t part_index, int64_t num_parts) {
  LOOMIX_CHECK(
      num_parts >= 1 && part_index >= 0 && part_index < num_parts, ValueError,
      "[recordio] part_index {} of num_parts {} does not exist; expected 0 <= part_index < num_parts.",
      part_index, num_parts);
  const auto parts = static_cast<uint64_t>(num_parts);
  const uint64_t step = count / parts + (count % parts != 0);
  const auto bound = [&](uint64_t i) {
    return i > 0 && step > count / i ? count : std::min(step * i, count);
  };
  return {bound(static_cast<uint64_t>(part_index)), bound(static_cast<uint64_t>(part_index) + 1)};
}

RecordFiles::RecordFiles(std::vector<std::string> uris, RecordFilesOptions options)
    : uris_(std::move(uris)), options_(std::move(options)) {
  LOOMIX_CHECK(!uris_.empty(), ValueError, "[recordio] no record file was named.");
  if (options_.num_parts != 1 || options_.part_index != 0) {
    std::vector<uint64_t> sizes;
    uint64_t words = 0;  // ranges begin at multiples of 4, as records do
    for (const std::string& uri : uris_) {
      const std::optional<uint64_t> size = open_source(uri, options_.http)->size();
      LOOMIX_CHECK(size, ValueError, "[recordio] {} has no size, so it cannot be read in {} parts.", uri,
                   options_.num_parts);
      sizes.push_back(round_up4(*size) / 4);
      words += sizes.back();
    }
    const auto [first, last] = part_range(words, options_.part_index, options_.num_parts);
    uint64_t begin = 0;
    for (const uint64_t size : sizes) {
      const uint64_t low = std::clamp(first, begin, begin + size) - begin;
      const uint64_t high = std::clamp(last, begin, begin + size) - begin;
      ranges_.emplace_back(4 * low, 4 * high);
      begin += size;
    }
  }
  open(0);
}

void RecordFiles::open(size_t file) {
  file_ = file;
  reader_.reset();
  if (file >= uris_.size()) return;
  if (!ranges_.empty() && ranges_[file].first == ranges_[file].second) return;
  reader_ = std::make_unique<RecordReader>(open_source(uris_[file], options_.http), options_.on_damage);
  if (!ranges_.empty()) reader_->set_range(ranges_[file].first, ranges_[file].second);
}

std::optional<Bytes> RecordFiles::next() {
  while (file_ < uris_.size()) {
    if (reader_ != nullptr) {
      if (const std::optional<Bytes> record = reader_->next()) {
        record_file_ = file_;
        record_offset_ = reader_->offset();
        return record;
      }
      damages_ = damages();
      damage_count_ = damage_count();
    }
    open(file_ + 1);
  }
  return std::nullopt;
}

void RecordFiles::reset() {
  damages_.clear();
  damage_count_ = 0;
  open(0);
}

std::vector<Damage> RecordFiles::damages() const {
  std::vector<Damage> all = damages_;
  if (reader_ != nullptr) {
    for (const Damage& damage : reader_->damages()) {
      if (all.size() < RecordReader::kDamagesKept) all.push_back(damage);
    }
  }
  return all;
}

uint64_t RecordFiles::damage_count() const {
  return damage_count_ + (reader_ != nullptr ? reader_->damage_count() : 0);
}

}  // namespace loomix::io
