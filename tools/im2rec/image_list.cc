// SPDX-License-Identifier: Apache-2.0
#include "tools/im2rec/image_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/core.h>

#include "base/error.h"

namespace loomix::tools {
namespace {

namespace fs = std::filesystem;

// Python's random.Random(seed): MT19937, started by init_by_array.
class PythonRandom {
 public:
  explicit PythonRandom(uint32_t seed) {
    state_[0] = 19650218;
    for (uint32_t i = 1; i < kSize; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
    uint32_t i = 1;
    const auto carry = [&] {
      if (++i == kSize) state_[0] = state_[kSize - 1], i = 1;
    };
    for (uint32_t k = 0; k < kSize; ++k, carry()) {
      state_[i] = (state_[i] ^ (state_[i - 1] ^ state_[i - 1] >> 30) * 1664525u) + seed;
    }
    for (uint32_t k = 0; k < kSize - 1; ++k, carry()) {
      state_[i] = (state_[i] ^ (state_[i - 1] ^ state_[i - 1] >> 30) * 1566083941u) - i;
    }
    state_[0] = 0x80000000u;
  }

  // A number below `n`, as randrange() draws it.
  uint64_t below(uint64_t n) {
    const int bits = 64 - std::countl_zero(n);
    uint64_t value;
    do {
      value = bits <= 32 ? next() >> (32 - bits) : next() | uint64_t{next() >> (64 - bits)} << 32;
    } while (value >= n);
    return value;
  }

 private:
  static constexpr uint32_t kSize = 624;

  uint32_t next() {
    if (at_ == kSize) {
      for (uint32_t i = 0; i < kSize; ++i) {
        const uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % kSize] & 0x7fffffffu);
        state_[i] = state_[(i + 397) % kSize] ^ y >> 1 ^ ((y & 1) != 0 ? 0x9908b0dfu : 0u);
      }
      at_ = 0;
    }
    uint32_t y = state_[at_++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
  }

  std::array<uint32_t, kSize> state_;
  uint32_t at_ = kSize;
};

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    entries.push_back(it->path());
  }
  LOOMIX_CHECK(!failed, FileError, "[im2rec] folder {} cannot be read: {}.", folder.string(),
               failed.message());
  std::sort(entries.begin(), entries.end(), [](const fs::path& a, const fs::path& b) {
    return a.filename().native() < b.filename().native();
  });
  return entries;
}

std::string lower(std::string text) {
  for (char& c : text) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

class Finder {
 public:
  Finder(const fs::path& root, const ListOptions& options) : root_(root), options_(options) {}

  void walk(const fs::path& folder, std::vector<fs::path>& above) {
    const fs::path real = fs::canonical(folder);
    if (std::find(above.begin(), above.end(), real) != above.end())
      return;  // a link to a folder that it is in
    above.push_back(real);
    const std::vector<fs::path> entries = sorted_entries(folder);
    int label = -1;
    for (const fs::path& entry : entries) {
      if (!is_image(entry)) continue;
      if (label < 0) {
        label = static_cast<int>(found.folders.size());
        found.folders.push_back(fs::relative(folder, root_).string());
      }
      add(entry, options_.recursive ? static_cast<float>(label) : 0);
    }
    for (const fs::path& entry : entries) {
      std::error_code ignored;
      if (options_.recursive && fs::is_directory(entry, ignored)) walk(entry, above);
    }
    above.pop_back();
  }

  FoundImages found;

 private:
  bool is_image(const fs::path& entry) const {
    std::error_code ignored;
    return std::find(options_.extensions.begin(), options_.extensions.end(),
                     lower(entry.extension().string())) != options_.extensions.end() &&
           fs::is_regular_file(entry, ignored);
  }
  void add(const fs::path& file, float label) {
    found.images.push_back(
        {static_cast<int64_t>(found.images.size()), {label}, file.lexically_relative(root_).string()});
  }

  const fs::path root_;
  const ListOptions& options_;
};

std::string write_list(const std::string& path, const std::vector<ListedImage>& images, size_t first,
                       size_t last) {
  std::ofstream out(path, std::ios::binary);
  for (size_t i = std::min(first, images.size()); i < std::min(last, images.size()); ++i)
    out << list_line(images[i]);
  out.close();
  LOOMIX_CHECK(out, FileError, "[im2rec] {} cannot be written.", path);
  return path;
}

std::string_view strip(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

template <class T>
bool parse(std::string_view text, T& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

}  // namespace

FoundImages find_images(const std::string& root, const ListOptions& options) {
  Finder finder(fs::path(root), options);
  LOOMIX_CHECK(fs::is_directory(root), FileError, "[im2rec] there is no folder {}.", root);
  std::vector<fs::path> above;
  finder.walk(root, above);
  return std::move(finder.found);
}

std::string list_line(const ListedImage& image) {
  std::string line = fmt::format("{}\t", image.index);
  for (const float label : image.labels) line += fmt::format("{:f}\t", label);
  return line + image.path + "\n";
}

std::vector<std::string> write_lists(const std::string& prefix, std::vector<ListedImage> images,
                                     const ListOptions& options) {
  if (options.shuffle && !images.empty()) {
    PythonRandom random(100);
    for (size_t i = images.size() - 1; i > 0; --i) std::swap(images[i], images[random.below(i + 1)]);
  }
  std::vector<std::string> written;
  const auto chunks = static_cast<size_t>(options.chunks);
  const size_t size = (images.size() + chunks - 1) / chunks;
  for (size_t i = 0; i < chunks; ++i) {
    const size_t first = std::min(i * size, images.size());
    const size_t last = std::min(first + size, images.size());
    const std::string name = prefix + (chunks > 1 ? fmt::format("_{}", i) : "");
    const auto train = static_cast<size_t>(static_cast<double>(size) * options.train_ratio);
    const auto test = static_cast<size_t>(static_cast<double>(size) * options.test_ratio);
    const size_t train_end = std::min(first + test + train, last);
    if (options.train_ratio == 1) {
      written.push_back(write_list(name + ".lst", images, first, last));
      continue;
    }
    if (options.test_ratio > 0) {
      written.push_back(write_list(name + "_test.lst", images, first, std::min(first + test, last)));
    }
    if (options.train_ratio + options.test_ratio < 1) {
      written.push_back(write_list(name + "_val.lst", images, train_end, last));
    }
    written.push_back(write_list(name + "_train.lst", images, std::min(first + test, last), train_end));
  }
  return written;
}

ReadList read_list(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  LOOMIX_CHECK(in, FileError, "[im2rec] {} cannot be read.", path);
  return parse_list(std::string(std::istreambuf_iterator<char>(in), {}), path);
}

ReadList parse_list(std::string_view text, const std::string& path) {
  ReadList list;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    std::string_view line = strip(whole);
    if (line.empty()) continue;
    std::vector<std::string_view> fields;
    for (;;) {
      const size_t tab = std::min(line.find('\t'), line.size());
      fields.push_back(strip(line.substr(0, tab)));
      if (tab == line.size()) break;
      line.remove_prefix(tab + 1);
    }
    ListedImage image;
    bool good = fields.size() >= 3 && parse(fields.front(), image.index);
    for (size_t i = 1; good && i + 1 < fields.size(); ++i) {
      good = parse(fields[i], image.labels.emplace_back());
    }
    if (good) {
      image.path = fields.back();
      list.images.push_back(std::move(image));
    } else {
      list.bad_lines.push_back(fmt::format("{}, line {}: expected INDEX<tab>LABEL<tab>PATH; found \"{}\"",
                                           path, number, whole.substr(0, 80)));
    }
  }
  return list;
}

}  // namespace loomix::tools
