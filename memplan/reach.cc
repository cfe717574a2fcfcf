// SPDX-License-Identifier: Apache-2.0
#include "memplan/reach.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace loomix::memplan {

constexpr int64_t kMostWords = 4 << 20;

Reach::Reach(std::span<const Value> values) {
  std::vector<std::pair<int32_t, int32_t>> arrows;  // (reader, writer)
  for (const Value& value : values) {
    steps_ = std::max(steps_, value.writer + 1);
    for (int32_t reader : value.readers) {
      steps_ = std::max(steps_, reader + 1);
      if (value.writer >= 0) arrows.emplace_back(reader, value.writer);
    }
  }
  const int64_t all = steps_ / 64 + 2;
  words_ = static_cast<int32_t>(std::min(all, std::max<int64_t>(2, kMostWords / std::max(steps_, 1))));
  bits_.assign(static_cast<size_t>(words_) * static_cast<size_t>(steps_), 0);
  std::sort(arrows.begin(), arrows.end());
  arrows.erase(std::unique(arrows.begin(), arrows.end()), arrows.end());
  for (const auto& [reader, writer] : arrows) {
    uint64_t* const row = &bits_[static_cast<size_t>(reader) * words_];
    const uint64_t* const earlier = &bits_[static_cast<size_t>(writer) * words_];
    const int32_t oldest = std::max(0, reader / 64 - words_ + 1);
    if (writer / 64 < oldest) continue;
    for (int32_t i = oldest; i <= writer / 64; ++i) row[i % words_] |= earlier[i % words_];
    row[writer / 64 % words_] |= uint64_t{1} << (writer % 64);
  }
}

// From the last step back; each step is found once.
std::vector<int32_t> Reach::last_beside() const {
  std::vector<int32_t> last(static_cast<size_t>(steps_));
  std::iota(last.begin(), last.end(), 0);
  std::vector<uint64_t> open(static_cast<size_t>(steps_) / 64 + 1, ~uint64_t{0});
  for (int32_t b = steps_ - 1; b >= 0; --b) {
    for (int32_t i = std::max(0, b / 64 - words_ + 1); i <= b / 64; ++i) {
      uint64_t beside = ~word(b, i) & open[static_cast<size_t>(i)];
      if (i == b / 64) beside &= (uint64_t{1} << (b % 64)) - 1;
      open[static_cast<size_t>(i)] &= ~beside;
      for (; beside != 0; beside &= beside - 1)
        last[static_cast<size_t>(i * 64 + std::countr_zero(beside))] = b;
    }
  }
  return last;
}

}  // namespace loomix::memplan
