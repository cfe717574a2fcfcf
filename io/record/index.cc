// SPDX-License-Identifier: Apache-2.0
#include "io/record/index.h"

#include <charconv>

#include "base/error.h"
#include "io/record/source.h"

namespace loomix::io {
namespace {

std::string_view strip(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  const std::string_view digits = strip(text);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
}

}  // namespace

std::vector<IndexEntry> parse_index(std::string_view text, const std::string& name) {
  std::vector<IndexEntry> entries;
  for (size_t line_number = 1; !text.empty(); ++line_number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = strip(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const size_t tab = line.find('\t');
    IndexEntry entry;
    LOOMIX_CHECK(tab != line.npos && parse_number(line.substr(0, tab), entry.key) &&
                     parse_number(line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1), entry.offset),
                 FileError,
                 "[recordio] {}, line {}: expected KEY<tab>OFFSET, two whole numbers; found \"{}\".", name,
                 line_number, line.substr(0, 80));
    entries.push_back(entry);
  }
  return entries;
}

std::vector<IndexEntry> read_index(const std::string& path) {
  const auto source = open_source(path);
  std::string text;
  constexpr size_t kStep = 1 << 20;
  for (size_t got = kStep; got == kStep;) {
    const size_t before = text.size();
    text.resize(before + kStep);
    got = source->read_at(before, {reinterpret_cast<uint8_t*>(text.data()) + before, kStep}, kStep);
    text.resize(before + got);
  }
  return parse_index(text, path);
}

std::string index_line(const IndexEntry& entry) { return fmt::format("{}\t{}\n", entry.key, entry.offset); }

}  // namespace loomix::io
