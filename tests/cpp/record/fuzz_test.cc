// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include <gtest/gtest.h>

#include "fuzz_record.h"
#include "record_test.h"

namespace loomix::io {
namespace {

// A file of records with some changes, each a place where lengths, flags and magic numbers suffer.
Record mutated(std::mt19937& random) {
  const auto draw = [&](size_t n) { return n == 0 ? 0 : random() % n; };
  Record bytes = write_records(random_records(random, 1 + draw(12), draw(3) == 0 ? 8 : 80)).bytes;
  for (size_t changes = draw(6); changes > 0 && !bytes.empty(); --changes) {
    const size_t at = draw(bytes.size());
    const auto place = bytes.begin() + static_cast<ptrdiff_t>(at);
    const size_t length = std::min<size_t>(1 + draw(24), bytes.size() - at);
    switch (draw(7)) {
      case 0: bytes[at] ^= static_cast<uint8_t>(1u << draw(8)); break;
      case 1: bytes[at] = static_cast<uint8_t>(random()); break;
      case 2: bytes.erase(place, place + static_cast<ptrdiff_t>(length)); break;
      case 3: bytes.insert(place, length, static_cast<uint8_t>(random())); break;
      case 4: bytes.resize(at); break;
      case 5: {  // a piece of the file again
        const Record piece(place, place + static_cast<ptrdiff_t>(length));
        bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(draw(bytes.size())), piece.begin(), piece.end());
        break;
      }
      case 6: {  // a header out of nothing
        const PartHeader header{kMagic, static_cast<uint32_t>(random() % 8 << 29 | draw(2 * bytes.size()))};
        for (size_t i = 0; i < std::min<size_t>(8, bytes.size() - at); ++i) {
          bytes[at + i] = reinterpret_cast<const uint8_t*>(&header)[i];
        }
        break;
      }
    }
  }
  return bytes;
}

// Three seconds of seeds from 0; the fuzzer fuzz_record searches longer, and wherever the compiler's coverage leads it.
TEST(Fuzz, AnyBytesAreReadByTheRules) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  for (uint32_t seed = 0; seed < 1000 || std::chrono::steady_clock::now() < end; ++seed) {
    std::mt19937 random(seed);
    const Record bytes = mutated(random);
    ASSERT_EQ(check_any_bytes(bytes), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace loomix::io
