// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/record/image_record.h"

namespace loomix::io {

// Labels by id, from a list file: lines `ID<tab>LABEL[<tab>LABEL ...]<tab>PATH`. Throws FileError with file and line.
class LabelList {
 public:
  LabelList() = default;  // none: labels are those of the records
  explicit LabelList(const std::string& path);
  // The labels of a record; throws FileError if the list does not know its id. `out` is overwritten.
  void labels_of(const ImageRecord& record, std::vector<float>& out) const;

 private:
  std::string path_;
  std::unordered_map<uint64_t, std::vector<float>> labels_;
};

}  // namespace loomix::io
