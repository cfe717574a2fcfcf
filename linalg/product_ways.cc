// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "linalg/product.h"

// Which ways there are to multiply, and what they cost: bytes from the layouts, exactly; seconds by a model of links and processors.
namespace loomix::linalg {
namespace {

constexpr int64_t kPanel = 512;       // of the contracted axis, in a grid, at most,
constexpr int64_t kLeastPanel = 128;  // and at least
constexpr int64_t kLeastPiece = 256;  // below this, kernels of products lose speed
constexpr int kChunks =
    4;  // of a rank's part in a ring or a reduction, where that is enough to hide what travels,
constexpr int kMostChunks = 12;  // and where it is not
constexpr double kHidden = 1.03;
constexpr const char* kKept = ", of which this rank keeps a copy";

struct Sizes {
  int64_t m, k, n;
  int ranks;
};

std::vector<int> in_turn(int count, int each) {  // 0 each times, 1 each times, ...
  std::vector<int> owners;
  for (int i = 0; i < count * each; ++i) owners.push_back(i / each);
  return owners;
}

// Owners of `ranks` stretches that lie side by side, each in `blocks` blocks the other way.
Layout stretches(std::vector<int64_t> row_cuts, std::vector<int64_t> column_cuts, bool of_rows) {
  const int high = static_cast<int>(row_cuts.size()) - 1, wide = static_cast<int>(column_cuts.size()) - 1;
  std::vector<int> owners;
  for (int i = 0; i < high; ++i) {
    for (int j = 0; j < wide; ++j) owners.push_back(of_rows ? i : j);
  }
  return Layout::of_blocks(std::move(row_cuts), std::move(column_cuts), std::move(owners));
}

// `count` cut for the ranks, and each part into `chunks`.
std::vector<int64_t> unit_cuts(int64_t count, int ranks, int chunks) {
  std::vector<int64_t> cuts{0};
  const auto parts = even_cuts(count, ranks);
  for (size_t r = 0; r + 1 < parts.size(); ++r) {
    const auto inner = even_cuts(parts[r + 1] - parts[r], chunks);
    for (size_t i = 1; i < inner.size(); ++i) cuts.push_back(parts[r] + inner[i]);
  }
  return cuts;
}

// Which of the stretches between cuts has this place.
int stretch_at(const std::vector<int64_t>& cuts, int64_t place) {
  const auto above = std::upper_bound(cuts.begin(), cuts.end(), place) - cuts.begin();
  return std::clamp(static_cast<int>(above) - 1, 0, static_cast<int>(cuts.size()) - 2);
}

ProductWay local(const Sizes& s, bool moves_a) {
  ProductWay way{.algorithm = Algorithm::local, .moves_a = moves_a};
  way.a = moves_a ? Layout::replicated(s.m, s.k, s.ranks) : Layout::by_rows(s.m, s.k, s.ranks);
  way.b = moves_a ? Layout::by_columns(s.k, s.n, s.ranks) : Layout::replicated(s.k, s.n, s.ranks);
  way.c = moves_a ? Layout::by_columns(s.m, s.n, s.ranks) : Layout::by_rows(s.m, s.n, s.ranks);
  way.out = way.c;
  return way;
}

// Into how many pieces a rank's part is cut: as few as hide the computing behind the travelling, or the other way round. What is multiplied
// when the last piece has come, or before the first one goes, is not hidden.
int chunks_of(const Sizes& s, int64_t cut, double compute_s, double travel_s) {
  const auto most = std::clamp<int64_t>(cut / s.ranks / kLeastPiece, 1, kMostChunks);
  int chunks = static_cast<int>(std::min<int64_t>(most, kChunks));
  const double bound = kHidden * std::max(compute_s, travel_s);
  while (chunks < most && travel_s + compute_s / s.ranks / chunks > bound) ++chunks;
  return chunks;
}

ProductWay ring(const Sizes& s, bool moves_a, bool cuts_inner, const ProductCase& of) {
  ProductWay way{.algorithm = Algorithm::ring, .moves_a = moves_a, .cuts_inner = cuts_inner};
  const int64_t cut = cuts_inner ? s.k : moves_a ? s.m : s.n;
  const double moving = static_cast<double>((moves_a ? s.m : s.n) * s.k), ranks = s.ranks;
  const double work = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.k) * static_cast<double>(s.n);
  way.chunks = chunks_of(s, cut, work / ranks / of.links.flops,
                         moving * (ranks - 1) / ranks * size_of(of.dtype) / of.links.bytes_per_s);
  const auto units = unit_cuts(cut, s.ranks, way.chunks);
  const auto owners = in_turn(s.ranks, way.chunks);
  if (moves_a) {
    const auto own = even_cuts(s.n, s.ranks);
    way.a =
        cuts_inner ? Layout::of_blocks({0, s.m}, units, owners) : Layout::of_blocks(units, {0, s.k}, owners);
    way.b = stretches(cuts_inner ? units : std::vector<int64_t>{0, s.k}, own, false);
    way.c = stretches(cuts_inner ? std::vector<int64_t>{0, s.m} : units, own, false);
  } else {
    const auto own = even_cuts(s.m, s.ranks);
    way.b =
        cuts_inner ? Layout::of_blocks(units, {0, s.n}, owners) : Layout::of_blocks({0, s.k}, units, owners);
    way.a = stretches(own, cuts_inner ? units : std::vector<int64_t>{0, s.k}, true);
    way.c = stretches(own, cuts_inner ? std::vector<int64_t>{0, s.n} : units, true);
  }
  way.out = moves_a ? Layout::by_columns(s.m, s.n, s.ranks) : Layout::by_rows(s.m, s.n, s.ranks);
  return way;
}

// Until some panels of this width, of which each rank has some at once, have come to all ranks of their lines.
double fill_s(const Sizes& s, int p, int q, int64_t width, const ProductCase& of) {
  const auto bytes = static_cast<double>(width * size_of(of.dtype));
  const double a_hop = bytes * static_cast<double>(s.m) / p / of.links.bytes_per_s + of.links.latency_s;
  const double b_hop = bytes * static_cast<double>(s.n) / q / of.links.bytes_per_s + of.links.latency_s;
  return p > 1 && q > 1 ? std::max(p, q) / 2 * (a_hop + b_hop) : 0;  // in one line each begins with its own
}

// As wide as can be, unless ranks would wait long for the first one.
int64_t panel_width(const Sizes& s, int p, int q, const ProductCase& of) {
  const double work = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.k) * static_cast<double>(s.n);
  const double most = (kHidden - 1) * work / s.ranks / of.links.flops;
  int64_t width = std::max(kLeastPanel, kPanel / std::max(p, q));
  while (width > kLeastPanel && fill_s(s, p, q, width, of) > most) width /= 2;
  return width;
}

ProductWay grid(const Sizes& s, int p, int q, const ProductCase& of) {
  const int64_t most = panel_width(s, p, q, of);
  ProductWay way{.algorithm = Algorithm::grid, .p = p, .q = q};
  const auto high = even_cuts(s.k, p), wide = even_cuts(s.k, q);
  std::vector<int64_t> panels;
  std::merge(high.begin(), high.end(), wide.begin(), wide.end(), std::back_inserter(panels));
  panels.erase(std::unique(panels.begin(), panels.end()), panels.end());
  std::vector<int64_t> cuts{0};
  for (size_t i = 0; i + 1 < panels.size(); ++i) {
    const int64_t width = panels[i + 1] - panels[i];
    const auto inner = even_cuts(width, static_cast<int>((width + most - 1) / most));
    for (size_t j = 1; j < inner.size(); ++j) cuts.push_back(panels[i] + inner[j]);
  }
  if (cuts.size() == 1) cuts.push_back(0);  // nothing to contract
  std::vector<int> a_owners, b_owners;
  for (int i = 0; i < p; ++i) {
    for (size_t t = 0; t + 1 < cuts.size(); ++t) a_owners.push_back(i * q + stretch_at(wide, cuts[t]));
  }
  for (size_t t = 0; t + 1 < cuts.size(); ++t) {
    for (int j = 0; j < q; ++j) b_owners.push_back(stretch_at(high, cuts[t]) * q + j);
  }
  way.a = Layout::of_blocks(even_cuts(s.m, p), cuts, a_owners);
  way.b = Layout::of_blocks(cuts, even_cuts(s.n, q), b_owners);
  way.c = way.out = Layout::on_grid(s.m, s.n, p, q);
  return way;
}

ProductWay reduce(const Sizes& s, const ProductCase& of) {
  ProductWay way{.algorithm = Algorithm::reduce};
  const double m = static_cast<double>(s.m), n = static_cast<double>(s.n), ranks = s.ranks;
  way.chunks = chunks_of(s, s.m, 2 * m * static_cast<double>(s.k) * n / ranks / of.links.flops,
                         m * n * (ranks - 1) / ranks * size_of(of.dtype) / of.links.bytes_per_s);
  way.a = stretches(unit_cuts(s.m, s.ranks, way.chunks), even_cuts(s.k, s.ranks), false);
  way.b = Layout::by_rows(s.k, s.n, s.ranks);
  way.c = way.out = Layout::by_rows(s.m, s.n, s.ranks);
  return way;
}

Layout stored(const Layout& layout, bool transpose) { return transpose ? layout.transposed() : layout; }

void add_costs(ProductWay& way, const ProductCase& of, TransferCache& transfers,
               const ProductOptions& options, const Sizes& s) {
  const Links& links = of.links;
  const double ranks = s.ranks, m = static_cast<double>(s.m), k = static_cast<double>(s.k),
               n = static_cast<double>(s.n);
  const auto bytes = static_cast<double>(size_of(of.dtype));
  const Layout a_there = stored(way.a, options.transpose_a), b_there = stored(way.b, options.transpose_b);
  auto moved =
      static_cast<double>(transfers.moved(of.a, a_there, false) + transfers.moved(of.b, b_there, false));
  double copied = (of.a == a_there ? 0 : m * k) + (of.b == b_there ? 0 : k * n);
  if (options.out_layout) way.out = *options.out_layout;
  moved += static_cast<double>(transfers.moved(way.c, way.out, false));
  copied += way.c == way.out ? 0 : m * n;
  const double before = moved / ranks * bytes;
  way.compute_s = 2 * m * k * n / ranks / links.flops;
  double during = 0, buffers = 0;
  double filling = 0;  // seconds in which some ranks have nothing to multiply yet
  double alone = 0;    // seconds of the product in which nothing travels, or nothing is computed yet
  switch (way.algorithm) {
    case Algorithm::local: buffers = way.moves_a ? m * k : k * n; break;
    case Algorithm::ring: {
      const double moving = way.moves_a ? m * k : k * n;
      during = moving * (ranks - 1) / ranks;
      way.steps = (s.ranks - 1) * way.chunks;
      buffers = moving / ranks * (1 + (of.buffers - 1.0) / way.chunks);
      alone = way.compute_s / ranks / way.chunks;  // the last part
      break;
    }
    case Algorithm::grid: {
      during = (m * k * (way.q - 1) + k * n * (way.p - 1)) / ranks;
      const int panels = way.a.block_columns();
      way.steps = panels + way.p + way.q - 2;
      const int64_t width = s.k / panels;
      buffers = of.buffers * std::max(way.p, way.q) * static_cast<double>(width) * (m / way.p + n / way.q);
      alone = way.compute_s / panels;  // the last panel
      filling = fill_s(s, way.p, way.q, width, of);
      break;
    }
    case Algorithm::reduce:
      during = m * n * (ranks - 1) / ranks;
      way.steps = (s.ranks - 1) * way.chunks;
      buffers = m * n / ranks * (1 + (2.0 * of.buffers + 1) / way.chunks);
      alone = way.compute_s / ranks / way.chunks;  // the first part
      break;
  }
  way.travel_s = during * bytes / links.bytes_per_s + static_cast<double>(way.steps) * links.latency_s;
  way.bytes = before + during * bytes;
  way.memory = static_cast<int64_t>(bytes * (copied / ranks + m * n / ranks + buffers));
  const double not_hidden =
      (before + copied / ranks * bytes / 4) / links.bytes_per_s + (before > 0 ? links.latency_s : 0);
  way.seconds = not_hidden + std::max(way.compute_s + filling, way.travel_s + (way.travel_s > 0 ? alone : 0));
}

}  // namespace

std::string_view name_of(Algorithm algorithm) {
  constexpr std::string_view kNames[] = {"local", "ring", "grid", "reduce"};
  return kNames[static_cast<size_t>(algorithm)];
}

Algorithm parse_algorithm(std::string_view name) {
  for (const Algorithm one : {Algorithm::local, Algorithm::ring, Algorithm::grid, Algorithm::reduce}) {
    if (name_of(one) == name) return one;
  }
  detail::throw_error<ValueError>("[dot] algorithm '{}'; expected local, ring, grid or reduce.", name);
}

std::string ProductWay::name() const {
  switch (algorithm) {
    case Algorithm::local: return fmt::format("local, {} everywhere", moves_a ? "a" : "b");
    case Algorithm::ring:
      return fmt::format("ring, {} moves, cut along the {} axis", moves_a ? "a" : "b",
                         cuts_inner ? "contracted" : "other");
    case Algorithm::grid: return fmt::format("grid of {} x {}", p, q);
    case Algorithm::reduce: return "reduce";
  }
  return {};
}

std::vector<ProductWay> ways_to_multiply(const DistMatrix& a, const DistMatrix& b,
                                         const ProductOptions& options) {
  Job& job = *a.job();
  return ways_to_multiply({a.layout(), b.layout(), a.dtype(), job.size(), job.links, job.buffers},
                          job.transfers(), options);
}

std::vector<ProductWay> ways_to_multiply(const ProductCase& of, TransferCache& transfers,
                                         const ProductOptions& options) {
  const Sizes s{options.transpose_a ? of.a.columns() : of.a.rows(),
                options.transpose_a ? of.a.rows() : of.a.columns(),
                options.transpose_b ? of.b.rows() : of.b.columns(), of.ranks};
  const int64_t inner = options.transpose_b ? of.b.columns() : of.b.rows();
  LOOMIX_CHECK(s.k == inner, ShapeError,
               "[dot] {}({}, {}), {} and {}({}, {}), {} do not fit: {} columns meet {} rows.",
               options.transpose_a ? "transposed " : "", of.a.rows(), of.a.columns(), of.a.name(),
               options.transpose_b ? "transposed " : "", of.b.rows(), of.b.columns(), of.b.name(), s.k,
               inner);
  if (options.out_layout) {
    LOOMIX_CHECK(options.out_layout->rows() == s.m && options.out_layout->columns() == s.n, ShapeError,
                 "[dot] the result has shape ({}, {}), and its layout is {} of ({}, {}).", s.m, s.n,
                 options.out_layout->name(), options.out_layout->rows(), options.out_layout->columns());
    options.out_layout->check_ranks(s.ranks);
  }
  std::vector<ProductWay> ways{local(s, false), local(s, true)};
  if (s.ranks > 1) {
    for (const bool moves_a : {false, true}) {
      for (const bool cuts_inner : {false, true}) ways.push_back(ring(s, moves_a, cuts_inner, of));
    }
    ways.push_back(reduce(s, of));
  }
  for (int p = 1; p <= s.ranks; ++p) {
    if (s.ranks % p == 0) ways.push_back(grid(s, p, s.ranks / p, of));
  }
  if (options.algorithm) {
    std::erase_if(ways, [&](const ProductWay& way) { return way.algorithm != *options.algorithm; });
    if (ways.empty()) ways.push_back(local(s, false));  // one rank
  }
  for (ProductWay& way : ways) add_costs(way, of, transfers, options, s);
  std::stable_sort(ways.begin(), ways.end(),
                   [](const ProductWay& x, const ProductWay& y) { return x.seconds < y.seconds; });
  return ways;
}

std::string explain_dot(const DistMatrix& a, const DistMatrix& b, const ProductOptions& options) {
  const auto kept_a = a.kept_here(), kept_b = b.kept_here();
  const auto ways = ways_to_multiply(kept_a.value_or(a), kept_b.value_or(b), options);
  const Links& links = a.job()->links;
  std::string text = fmt::format("{}{}{}\ntimes {}{}{}\nby: {}\n", options.transpose_a ? "transposed " : "",
                                 a.to_string(), kept_a ? kKept : "", options.transpose_b ? "transposed " : "",
                                 b.to_string(), kept_b ? kKept : "", ways.front().name());
  text += fmt::format("(links of {:.3g} GB/s and {:.3g} us, ranks of {:.3g} GFLOP/s)\n",
                      links.bytes_per_s / 1e9, links.latency_s * 1e6, links.flops / 1e9);
  text += fmt::format("{:<46}{:>14}{:>8}{:>14}{:>12}{:>12}{:>12}\n", "way", "MB a rank", "steps",
                      "MB of memory", "computes ms", "sends ms", "in all ms");
  for (const ProductWay& way : ways) {
    text += fmt::format("{:<46}{:>14.3f}{:>8}{:>14.3f}{:>12.3f}{:>12.3f}{:>12.3f}\n", way.name(),
                        way.bytes / 1e6, way.steps, static_cast<double>(way.memory) / 1e6,
                        way.compute_s * 1e3, way.travel_s * 1e3, way.seconds * 1e3);
  }
  return text;
}

}  // namespace loomix::linalg
