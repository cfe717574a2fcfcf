// SPDX-License-Identifier: Apache-2.0
#include "fuzz_record.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/record/image_record.h"
#include "io/record/index.h"
#include "io/record/reader.h"

namespace loomix::io {
namespace {

using Piece = std::pair<uint64_t, uint64_t>;  // begin and end

// Calls `function`, which may throw an Error and nothing else.
template <class F>
bool survives(F&& function) {
  try {
    function();
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string check_cover(const std::vector<Piece>& pieces, uint64_t size) {
  uint64_t at = 0;
  for (const auto& [begin, end] : pieces) {
    if (begin != at || end <= begin) return fmt::format("piece {} to {} after {}", begin, end, at);
    at = end;
  }
  return at == size ? "" : fmt::format("{} bytes of {} are covered", at, size);
}

}  // namespace

std::string check_any_bytes(std::span<const uint8_t> bytes) {
  RecordReader reader(memory_source(bytes), OnDamage::skip);
  std::vector<Piece> pieces;
  std::vector<uint64_t> offsets;
  while (const auto record = reader.next()) {
    if (reader.tell() <= reader.offset()) return "no progress";
    pieces.emplace_back(reader.offset(), reader.tell());
    offsets.push_back(reader.offset());
    const Bytes copy = *record;
    survives([&] {
      const ImageRecord image = parse_image_record(copy);
      for (size_t i = 0; i < image.label_count(); ++i) (void)image.label(i);
    });
  }
  if (reader.damage_count() == reader.damages().size()) {
    for (const Damage& damage : reader.damages())
      pieces.emplace_back(damage.offset, damage.offset + damage.bytes);
    std::sort(pieces.begin(), pieces.end());
    if (std::string fault = check_cover(pieces, bytes.size()); !fault.empty()) return fault;
  }

  RecordReader raising(memory_source(bytes));
  size_t found = 0;
  uint64_t raised = 0;
  for (bool more = true; more;) {
    if (!survives([&] { (raising.next() ? ++found : found, more = raising.tell() < bytes.size()); }))
      ++raised;
    if (raised > reader.damage_count() + 1) return "more errors than damages";
  }
  if (found != offsets.size() || raised != reader.damage_count()) {
    return fmt::format("raising: {} records and {} errors, skipping: {} and {}", found, raised,
                       offsets.size(), reader.damage_count());
  }
  for (const uint64_t offset : offsets) {
    if (!survives([&] { reader.read_at(offset); }))
      return fmt::format("the record at {} cannot be read again", offset);
  }
  for (uint64_t offset = 1; offset < bytes.size() + 9; offset = offset * 3 + 1) {
    survives([&] { reader.read_at(offset); });
  }
  if (reader.damage_count() == 0) {
    std::vector<uint64_t> joined;
    constexpr uint64_t kStep = 20;
    for (uint64_t begin = 0; begin < bytes.size(); begin += kStep) {
      RecordReader part(memory_source(bytes), OnDamage::skip);
      part.set_range(begin, begin + kStep);
      while (part.next()) joined.push_back(part.offset());
    }
    // A record that holds magic numbers which nobody cut is the one thing that parts cannot know.
    const bool uncut = joined.size() != offsets.size();
    if (!uncut && joined != offsets) return "parts give other records than the whole";
  }
  survives([&] { parse_index({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "index"); });
  return "";
}

}  // namespace loomix::io

#ifdef LOOMIX_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!loomix::io::check_any_bytes({data, size}).empty()) __builtin_trap();
  return 0;
}
#endif
