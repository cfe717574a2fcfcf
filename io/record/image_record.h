// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "io/record/format.h"

namespace loomix::io {

inline constexpr size_t kImageHeaderBytes = 24;

// A record that holds labels, ids and an encoded image: `u32 flag, f32 label, u64 id, u64 id2`, then `flag` labels if
// flag > 0, then the image. A view: the record's bytes must outlive it.
struct ImageRecord {
  uint32_t flag = 0;
  float header_label = 0;
  uint64_t id = 0;
  uint64_t id2 = 0;
  Bytes label_bytes;  // `flag` floats, at any alignment
  Bytes content;

  size_t label_count() const { return flag == 0 ? 1 : flag; }
  float label(size_t i) const {
    if (flag == 0) return header_label;
    float value;
    std::memcpy(&value, label_bytes.data() + 4 * i, sizeof value);
    return value;
  }
};

// Throws FileError, which names `where` (file and offset), if the record is shorter than its header says.
ImageRecord parse_image_record(Bytes record, const std::string& where = "record");

// One label goes into the header; none or several become `flag` labels behind it.
std::vector<uint8_t> pack_image_record(std::span<const float> labels, uint64_t id, uint64_t id2,
                                       Bytes content);

}  // namespace loomix::io
