// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace loomix::io {

// Reads the bytes as a record file in every way there is, and as an index and an image header. Returns what rule was
// broken, or nothing: pieces lie in the file, in order and apart; records and damages cover it; parts give what the
// whole gives; a record written again reads the same.
std::string check_any_bytes(std::span<const uint8_t> bytes);

}  // namespace loomix::io
