// SPDX-License-Identifier: Apache-2.0
#include "memplan/reach.h"

#include <algorithm>

namespace loomix::memplan {

Reach::Reach(std::span<const Value> values) {
  std::vector<std::pair<int32_t, int32_t>> arrows;  // (reader, writer)
  for (const Value& value : values) {
    steps_ = std::max(steps_, value.writer + 1);
    for (int32_t reader : value.readers) {
      steps_ = std::max(steps_, reader + 1);
      if (value.writer >= 0) arrows.emplace_back(reader, value.writer);
    }
  }
  exact_ = steps_ <= kMaxSteps;
  if (!exact_) return;
  words_ = (static_cast<size_t>(steps_) + 63) / 64;
  bits_.assign(words_ * static_cast<size_t>(steps_), 0);
  std::sort(arrows.begin(), arrows.end());
  arrows.erase(std::unique(arrows.begin(), arrows.end()), arrows.end());
  for (const auto& [reader, writer] : arrows) {
    uint64_t* row = &bits_[static_cast<size_t>(reader) * words_];
    const uint64_t* earlier = &bits_[static_cast<size_t>(writer) * words_];
    for (size_t word = 0; word <= static_cast<size_t>(writer) / 64; ++word) row[word] |= earlier[word];
    row[writer / 64] |= uint64_t{1} << (writer % 64);
  }
}

}  // namespace loomix::memplan
