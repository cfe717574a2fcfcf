// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loomix::io {

// One line `KEY<tab>OFFSET` of an index: the record of this key begins at this offset.
struct IndexEntry {
  int64_t key;
  uint64_t offset;
};

// The entries of an index in the order of its lines; blank lines are left out. Throws FileError with file and line.
std::vector<IndexEntry> parse_index(std::string_view text, const std::string& name);
std::vector<IndexEntry> read_index(const std::string& path);

// `KEY<tab>OFFSET<newline>`
std::string index_line(const IndexEntry& entry);

}  // namespace loomix::io
