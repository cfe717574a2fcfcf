// SPDX-License-Identifier: Apache-2.0
#include "io/record/image_record.h"

#include "base/error.h"

namespace loomix::io {

ImageRecord parse_image_record(Bytes record, const std::string& where) {
  LOOMIX_CHECK(
      record.size() >= kImageHeaderBytes, FileError,
      "[recordio] {}: a record of {} bytes is too short for an image header; at least {} are needed.", where,
      record.size(), kImageHeaderBytes);
  ImageRecord image;
  std::memcpy(&image.flag, record.data(), 4);
  std::memcpy(&image.header_label, record.data() + 4, 4);
  std::memcpy(&image.id, record.data() + 8, 8);
  std::memcpy(&image.id2, record.data() + 16, 8);
  const Bytes rest = record.subspan(kImageHeaderBytes);
  LOOMIX_CHECK(image.flag <= rest.size() / 4, FileError,
               "[recordio] {}: the header announces {} labels, but {} bytes follow it.", where, image.flag,
               rest.size());
  image.label_bytes = rest.first(size_t{4} * image.flag);
  image.content = rest.subspan(size_t{4} * image.flag);
  return image;
}

std::vector<uint8_t> pack_image_record(std::span<const float> labels, uint64_t id, uint64_t id2,
                                       Bytes content) {
  const bool one = labels.size() == 1;
  const auto flag = static_cast<uint32_t>(one ? 0 : labels.size());
  const float label = one ? labels[0] : 0;
  std::vector<uint8_t> record(kImageHeaderBytes + size_t{4} * flag + content.size());
  std::memcpy(record.data(), &flag, 4);
  std::memcpy(record.data() + 4, &label, 4);
  std::memcpy(record.data() + 8, &id, 8);
  std::memcpy(record.data() + 16, &id2, 8);
  if (flag > 0) std::memcpy(record.data() + kImageHeaderBytes, labels.data(), size_t{4} * flag);
  if (!content.empty()) {
    std::memcpy(record.data() + kImageHeaderBytes + size_t{4} * flag, content.data(), content.size());
  }
  return record;
}

}  // namespace loomix::io
