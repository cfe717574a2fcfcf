// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "linalg/layout.h"

// A layout as text and as a picture.
namespace loomix::linalg {
namespace {

std::string text_of(std::span<const int> owners) {
  if (owners.size() > 4) return fmt::format("{}..{}", owners.front(), owners.back());
  return fmt::format("{}", fmt::join(owners, ","));
}

// Colours that differ well for neighbours: steps of the golden angle round the wheel.
std::string colour_of(int rank) {
  return fmt::format("hsl({:.0f},55%,{}%)",
                     static_cast<double>(rank % 360) * 137.508 - 360.0 * (rank * 137 / 360),
                     70 + 6 * (rank % 3));
}

}  // namespace

std::string Layout::to_string() const {
  constexpr int kMost = 16;  // blocks each way
  const int high = std::min(block_rows(), kMost), wide = std::min(block_columns(), kMost);
  size_t width = 1;
  for (int i = 0; i < high; ++i) {
    for (int j = 0; j < wide; ++j) width = std::max(width, text_of(owners(i * block_columns() + j)).size());
  }
  for (int j = 0; j <= wide; ++j) {
    const size_t digits = fmt::format("{}", column_cuts()[static_cast<size_t>(j)]).size();
    width = std::max(width, digits > 1 ? digits - 1 : digits);
  }
  const size_t margin = fmt::format("{}", rows()).size();
  std::string text = fmt::format("({}, {}): {}\n{:{}}", rows(), columns(), name(), "", margin + 2);
  std::string line = "+";
  for (int j = 0; j < wide; ++j) line += std::string(width + 2, '-') + "+";
  for (int j = 0; j <= wide; ++j)
    text += fmt::format("{:<{}}", column_cuts()[static_cast<size_t>(j)], width + 3);
  text.erase(text.find_last_not_of(' ') + 1);
  for (int i = 0; i <= high; ++i) {
    text += fmt::format("\n{:>{}}  {}", row_cuts()[static_cast<size_t>(i)], margin, line);
    if (i == high) break;
    text += fmt::format("\n{:{}}|", "", margin + 2);
    for (int j = 0; j < wide; ++j)
      text += fmt::format(" {:^{}} |", text_of(owners(i * block_columns() + j)), width);
  }
  if (high < block_rows() || wide < block_columns())
    text += fmt::format("\n... {} x {} blocks in all", block_rows(), block_columns());
  return text;
}

std::string Layout::to_svg() const {
  constexpr double kSize = 480, kMargin = 20;
  const double scale = kSize / static_cast<double>(std::max<int64_t>({rows(), columns(), 1}));
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" "
      "font-size=\"11\"><title>{}</title>\n",
      static_cast<double>(columns()) * scale + 2 * kMargin, static_cast<double>(rows()) * scale + 2 * kMargin,
      name());
  for (int number = 0; number < blocks(); ++number) {
    const Block b = block(number);
    if (b.size() == 0) continue;
    const double x = kMargin + static_cast<double>(b.left) * scale;
    const double y = kMargin + static_cast<double>(b.top) * scale;
    const double width = static_cast<double>(b.columns) * scale, height = static_cast<double>(b.rows) * scale;
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" stroke=\"#333\"/>\n",
        x, y, width, height, colour_of(owners(number).front()));
    if (width > 12 && height > 12)
      svg += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"middle\">{}</text>\n", x + width / 2,
                         y + height / 2 + 4, text_of(owners(number)));
  }
  return svg + "</svg>\n";
}

}  // namespace loomix::linalg
