// SPDX-License-Identifier: Apache-2.0
#include "io/iter/labels.h"

#include <charconv>
#include <fstream>
#include <string_view>

#include "base/error.h"

namespace loomix::io {
namespace {

std::vector<std::string_view> split_tabs(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t tab = line.find('\t');
    fields.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return fields;
    line.remove_prefix(tab + 1);
  }
}

template <class T>
bool read_number(std::string_view text, T& value) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

LabelList::LabelList(const std::string& path) : path_(path) {
  std::ifstream file(path);
  LOOMIX_CHECK(file.is_open(), FileError, "[ImageRecordIter] the list {} cannot be opened.", path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    const auto fields = split_tabs(line);
    double id = 0;  // lists may be written with ids such as 17.0
    bool good = fields.size() >= 3 && read_number(fields[0], id) && id >= 0 && id < 0x1p63;
    std::vector<float> labels(fields.size() >= 3 ? fields.size() - 2 : 0);
    for (size_t i = 0; good && i < labels.size(); ++i) good = read_number(fields[i + 1], labels[i]);
    LOOMIX_CHECK(good, FileError,
                 "[ImageRecordIter] {}, line {}: '{}'; expected `id, labels, path` with tabs between.", path,
                 number, line.substr(0, 80));
    labels_[static_cast<uint64_t>(id)] = std::move(labels);
  }
}

void LabelList::labels_of(const ImageRecord& record, std::vector<float>& out) const {
  if (path_.empty()) {
    out.resize(record.label_count());
    for (size_t i = 0; i < out.size(); ++i) out[i] = record.label(i);
    return;
  }
  const auto found = labels_.find(record.id);
  LOOMIX_CHECK(found != labels_.end(), FileError, "[ImageRecordIter] the list {} has no labels for id {}.",
               path_, record.id);
  out = found->second;
}

}  // namespace loomix::io
