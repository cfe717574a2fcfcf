// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_caches.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "base/settings.h"

namespace loomix {
namespace {

constexpr CacheSizes kUsual = {32 << 10, 512 << 10, 8 << 20};

// "512K": a whole number and K, M or G.
std::optional<int64_t> parse_size(std::string_view text) {
  if (text.empty()) return std::nullopt;
  constexpr std::string_view kUnits = "KMG";
  const size_t unit = kUnits.find(text.back());
  if (unit == std::string_view::npos) return std::nullopt;
  int64_t number = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stopped != end || number < 1 || number > 1 << 20) return std::nullopt;
  return number << (10 * (unit + 1));
}

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// sysconf() counts the last caches of all cores together on some processors, so the system's files are read.
CacheSizes of_processor() {
  std::array<int64_t, 5> by_level{};  // the largest of each
  int deepest = 0;
  for (int i = 0;; ++i) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", i);
    const std::string level = line_of(folder + "level"), type = line_of(folder + "type");
    if (level.size() != 1 || level[0] < '1' || level[0] > '4') break;
    const std::optional<int64_t> size = parse_size(line_of(folder + "size"));
    if (type == "Instruction" || !size) continue;
    const int number = level[0] - '0';
    by_level[static_cast<size_t>(number)] = *size;
    deepest = std::max(deepest, number);
  }
  if (deepest < 2 || by_level[1] == 0 || by_level[2] == 0) return kUsual;
  return {by_level[1], by_level[2], by_level[static_cast<size_t>(deepest)]};
}

}  // namespace

CacheSizes parse_cache_sizes(std::string_view text) {
  std::array<int64_t, 3> sizes{};
  std::string_view rest = text;
  size_t read = 0;
  for (; read < sizes.size(); ++read) {
    const size_t comma = rest.find(',');
    const std::optional<int64_t> size = parse_size(rest.substr(0, comma));
    if (!size || (read > 0 && *size < sizes[read - 1])) break;
    sizes[read] = *size;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  LOOMIX_CHECK(read == sizes.size() && std::ranges::count(text, ',') == 2, ValueError,
               "[LOOMIX_CACHE_SIZES] got '{}'; expected the sizes of the first, second and last cache, none "
               "smaller than "
               "the one before, as in 32K,1M,32M.",
               text);
  return {sizes[0], sizes[1], sizes[2]};
}

const CacheSizes& cache_sizes() {
  static const CacheSizes sizes =
      settings().cache_sizes.empty() ? of_processor() : parse_cache_sizes(settings().cache_sizes);
  return sizes;
}

}  // namespace loomix
