// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "io/record/reader.h"
#include "io/record/writer.h"

namespace loomix::io {

using Record = std::vector<uint8_t>;

// A folder that goes away with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "loomix-record-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline Record bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::string& path, Bytes bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

inline Record text(const std::string& text) { return {text.begin(), text.end()}; }

// Random sizes up to `most`; every third record has magic numbers, aligned and not.
inline std::vector<Record> random_records(std::mt19937& random, size_t count, size_t most) {
  std::vector<Record> records(count);
  for (size_t i = 0; i < count; ++i) {
    records[i].resize(random() % (most + 1));
    for (uint8_t& byte : records[i]) byte = static_cast<uint8_t>(random());
    for (size_t k = 0; i % 3 == 0 && k < 3 && records[i].size() >= 4; ++k) {
      const size_t at = random() % (records[i].size() - 3);
      std::memcpy(records[i].data() + (k == 2 ? at : at / 4 * 4), &kMagic, 4);
    }
  }
  return records;
}

// A file's bytes, and where each record begins.
struct Written {
  Record bytes;
  std::vector<uint64_t> offsets;
};

inline Written write_records(const std::vector<Record>& records) {
  const TempFolder folder;
  Written written;
  RecordWriter writer(folder.file("r"));
  for (const Record& record : records) {
    written.offsets.push_back(writer.tell());
    writer.write(record);
  }
  writer.close();
  written.bytes = bytes_of(folder.file("r"));
  return written;
}

struct Found {
  uint64_t offset;
  Record record;
  bool operator==(const Found&) const = default;
};

inline std::vector<Found> read_all(RecordReader& reader) {
  std::vector<Found> found;
  while (const auto record = reader.next())
    found.push_back({reader.offset(), {record->begin(), record->end()}});
  return found;
}

}  // namespace loomix::io
