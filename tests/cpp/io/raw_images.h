// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "io/image/image.h"

namespace loomix::io::test {

inline std::vector<uint8_t> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
inline std::string images() { return LOOMIX_SOURCE_DIR "/tests/cpp/io/images/"; }
inline std::vector<uint8_t> read_image_file(const std::string& name) { return read_bytes(images() + name); }

// The named arrays of a .raw file; see images/make.py.
inline std::vector<std::pair<std::string, Image>> read_raw(const std::string& name) {
  std::ifstream file(images() + name, std::ios::binary);
  std::vector<std::pair<std::string, Image>> arrays;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key;
    int height = 0, width = 0, channels = 0;
    words >> key >> height >> width >> channels;
    Image image(height, width, channels);
    file.read(reinterpret_cast<char*>(image.data()), static_cast<std::streamsize>(image.bytes()));
    arrays.emplace_back(key, std::move(image));
  }
  return arrays;
}

// The largest difference of two pictures; 1000 if their shapes differ.
inline int distance(const Image& a, const Image& b) {
  if (a.height() != b.height() || a.width() != b.width() || a.channels() != b.channels()) return 1000;
  int most = 0;
  for (size_t i = 0; i < a.bytes(); ++i) most = std::max(most, std::abs(a.data()[i] - b.data()[i]));
  return most;
}

}  // namespace loomix::io::test
