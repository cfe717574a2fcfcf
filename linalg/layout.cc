// SPDX-License-Identifier: Apache-2.0
#include "linalg/layout.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace loomix::linalg {

struct Layout::Data {
  std::vector<int64_t> row_cuts, column_cuts;
  std::vector<int> owners;
  int copies = 1;
  std::string name;
  int ranks = 0;
  uint64_t hash = 0;
  std::vector<int> order;      // numbers of blocks, by rank
  std::vector<size_t> begins;  // in `order`, one a rank and the end
};

namespace {

template <class Numbers>
void add_to(uint64_t& hash, const Numbers& numbers) {
  constexpr uint64_t kPrime = 0x100000001b3ULL;  // FNV-1a, by words
  hash = (hash ^ numbers.size()) * kPrime;
  for (const auto number : numbers) {
    hash = (hash ^ static_cast<uint64_t>(number)) * kPrime;
    hash ^= hash >> 29;
  }
}

void check_sizes(int64_t rows, int64_t columns) {
  constexpr int64_t kMost = int64_t{1} << 40;
  LOOMIX_CHECK(rows >= 0 && columns >= 0 && rows <= kMost && columns <= kMost, ValueError,
               "[Layout] a matrix of ({}, {}); expected sizes from 0 to 2^40.", rows, columns);
}

void check_grid(int p, int q) {
  LOOMIX_CHECK(p >= 1 && q >= 1 && p <= (1 << 24) / q, ValueError,
               "[Layout] a grid of {} x {} ranks; expected one each way at least, and 2^24 at most.", p, q);
}

void check_cuts(const std::vector<int64_t>& cuts, const char* what) {
  LOOMIX_CHECK(cuts.size() >= 2 && cuts.front() == 0, ValueError,
               "[Layout] the cuts of the {} are [{}]; expected 0 first, and the number of {} last.", what,
               fmt::join(cuts, ", "), what);
  for (size_t i = 1; i < cuts.size(); ++i) {
    LOOMIX_CHECK(cuts[i] >= cuts[i - 1], ValueError,
                 "[Layout] cuts of the {} do not grow: {} comes after {}, at place {}.", what, cuts[i],
                 cuts[i - 1], i);
  }
}

std::vector<int> grid_owners(size_t block_rows, size_t block_columns, int p, int q, int first_row = 0,
                             int first_column = 0) {
  std::vector<int> owners;
  owners.reserve(block_rows * block_columns);
  for (size_t i = 0; i < block_rows; ++i) {
    for (size_t j = 0; j < block_columns; ++j) {
      const int row = static_cast<int>((i + static_cast<size_t>(first_row)) % static_cast<size_t>(p));
      const int column = static_cast<int>((j + static_cast<size_t>(first_column)) % static_cast<size_t>(q));
      owners.push_back(row * q + column);
    }
  }
  return owners;
}

std::string count_of(int ranks) { return fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s"); }

}  // namespace

std::vector<int64_t> even_cuts(int64_t count, int parts) {
  std::vector<int64_t> cuts;
  for (int64_t i = 0; i <= parts; ++i) cuts.push_back(count / parts * i + std::min(i, count % parts));
  return cuts;
}

std::vector<int64_t> cuts_of_size(int64_t count, int64_t size) {
  std::vector<int64_t> cuts{0};
  do {
    cuts.push_back(std::min(count, cuts.back() + size));
  } while (cuts.back() < count);
  return cuts;
}

// The checks, and the index of each rank's blocks: all that looks at every block, once.
Layout Layout::make(std::vector<int64_t> row_cuts, std::vector<int64_t> column_cuts, std::vector<int> owners,
                    int copies, std::string name) {
  check_cuts(row_cuts, "rows");
  check_cuts(column_cuts, "columns");
  check_sizes(row_cuts.back(), column_cuts.back());
  LOOMIX_CHECK(copies >= 1, ValueError, "[Layout] {} copies of each block; expected one at least.", copies);
  const size_t blocks = (row_cuts.size() - 1) * (column_cuts.size() - 1);
  const auto each = static_cast<size_t>(copies);
  LOOMIX_CHECK(owners.size() == blocks * each, ValueError,
               "[Layout] {} owners came for {} x {} blocks; expected {}, {} a block.", owners.size(),
               row_cuts.size() - 1, column_cuts.size() - 1, blocks * each, copies);
  auto data = std::make_shared<Data>();
  for (size_t b = 0; b < blocks; ++b) {
    const auto first = owners.begin() + static_cast<std::ptrdiff_t>(b * each);
    std::sort(first, first + copies);
    const size_t i = b / (column_cuts.size() - 1), j = b % (column_cuts.size() - 1);
    LOOMIX_CHECK(*first >= 0, ValueError, "[Layout] block ({}, {}) has no owner: {} is no rank.", i, j,
                 *first);
    LOOMIX_CHECK(std::adjacent_find(first, first + copies) == first + copies, ValueError,
                 "[Layout] the owners of block ({}, {}) are [{}]; expected different ranks.", i, j,
                 fmt::join(first, first + copies, ", "));
    data->ranks = std::max(data->ranks, *(first + copies - 1) + 1);
  }
  LOOMIX_CHECK(data->ranks <= 1 << 24, ValueError, "[Layout] an owner is rank {}; expected ranks below 2^24.",
               data->ranks - 1);
  data->begins.resize(static_cast<size_t>(data->ranks) + 1);
  for (const int owner : owners) ++data->begins[static_cast<size_t>(owner) + 1];
  std::partial_sum(data->begins.begin(), data->begins.end(), data->begins.begin());
  data->order.resize(owners.size());
  std::vector<size_t> next(data->begins.begin(), data->begins.end() - 1);
  for (size_t i = 0; i < owners.size(); ++i)
    data->order[next[static_cast<size_t>(owners[i])]++] = static_cast<int>(i / each);
  data->hash = 0xcbf29ce484222325ULL;
  add_to(data->hash, row_cuts);
  add_to(data->hash, column_cuts);
  add_to(data->hash, owners);
  data->row_cuts = std::move(row_cuts);
  data->column_cuts = std::move(column_cuts);
  data->owners = std::move(owners);
  data->copies = copies;
  data->name = name.empty() ? fmt::format("{} blocks on {}", blocks, count_of(data->ranks)) : std::move(name);
  Layout layout;
  layout.data_ = std::move(data);
  return layout;
}

// ---- by name ----------------------------------------------------------------------------------------------------------

Layout Layout::by_rows(int64_t rows, int64_t columns, int ranks) {
  check_sizes(rows, columns);
  check_grid(ranks, 1);
  std::vector<int> owners(static_cast<size_t>(ranks));
  std::iota(owners.begin(), owners.end(), 0);
  return make(even_cuts(rows, ranks), {0, columns}, std::move(owners), 1, "rows on " + count_of(ranks));
}

Layout Layout::by_columns(int64_t rows, int64_t columns, int ranks) {
  check_sizes(rows, columns);
  check_grid(1, ranks);
  std::vector<int> owners(static_cast<size_t>(ranks));
  std::iota(owners.begin(), owners.end(), 0);
  return make({0, rows}, even_cuts(columns, ranks), std::move(owners), 1, "columns on " + count_of(ranks));
}

Layout Layout::on_grid(int64_t rows, int64_t columns, int p, int q) {
  check_sizes(rows, columns);
  check_grid(p, q);
  return make(even_cuts(rows, p), even_cuts(columns, q),
              grid_owners(static_cast<size_t>(p), static_cast<size_t>(q), p, q), 1,
              fmt::format("grid of {} x {} ranks", p, q));
}

Layout Layout::cyclic(int64_t rows, int64_t columns, int64_t block_rows, int64_t block_columns, int p,
                      int q) {
  check_sizes(rows, columns);
  check_grid(p, q);
  LOOMIX_CHECK(block_rows >= 1 && block_columns >= 1, ValueError,
               "[Layout] blocks of ({}, {}); expected one row and one column at least.", block_rows,
               block_columns);
  auto row_cuts = cuts_of_size(rows, block_rows), column_cuts = cuts_of_size(columns, block_columns);
  auto owners = grid_owners(row_cuts.size() - 1, column_cuts.size() - 1, p, q);
  return make(std::move(row_cuts), std::move(column_cuts), std::move(owners), 1,
              fmt::format("cyclic blocks of {} x {} on {} x {} ranks", block_rows, block_columns, p, q));
}

Layout Layout::replicated(int64_t rows, int64_t columns, int ranks) {
  check_sizes(rows, columns);
  check_grid(ranks, 1);
  std::vector<int> owners(static_cast<size_t>(ranks));
  std::iota(owners.begin(), owners.end(), 0);
  return make({0, rows}, {0, columns}, std::move(owners), ranks, "replicated on " + count_of(ranks));
}

Layout Layout::on_rank(int64_t rows, int64_t columns, int rank) {
  return make({0, rows}, {0, columns}, {rank}, 1, fmt::format("whole on rank {}", rank));
}

Layout Layout::on_mesh(const Mesh& mesh, int64_t rows, int64_t columns, std::string_view row_axis,
                       std::string_view column_axis) {
  check_sizes(rows, columns);
  LOOMIX_CHECK(row_axis.empty() || row_axis != column_axis, ValueError,
               "[Layout] rows and columns are both cut over axis '{}'; expected two axes.", row_axis);
  const int p = row_axis.empty() ? 1 : mesh.size_of(row_axis);
  const int q = column_axis.empty() ? 1 : mesh.size_of(column_axis);
  std::vector<std::vector<int>> owners(static_cast<size_t>(p) * static_cast<size_t>(q));
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const std::vector<int> at = mesh.coordinates(rank);
    const int i = row_axis.empty() ? 0 : at[mesh.place_of(row_axis)];
    const int j = column_axis.empty() ? 0 : at[mesh.place_of(column_axis)];
    owners[static_cast<size_t>(i * q + j)].push_back(rank);
  }
  std::vector<int> all;
  for (const auto& some : owners) all.insert(all.end(), some.begin(), some.end());
  return make(even_cuts(rows, p), even_cuts(columns, q), std::move(all), mesh.size() / (p * q),
              fmt::format("rows over '{}', columns over '{}' of the mesh ({})", row_axis, column_axis,
                          mesh.to_string()));
}

Layout Layout::of_blocks(std::vector<int64_t> row_cuts, std::vector<int64_t> column_cuts,
                         std::vector<int> owners, int copies, std::string name) {
  return make(std::move(row_cuts), std::move(column_cuts), std::move(owners), copies, std::move(name));
}

// ---- ScaLAPACK --------------------------------------------------------------------------------------------------------

Layout Layout::from_scalapack(const ScalapackDescriptor& d, int p, int q) {
  check_grid(p, q);
  LOOMIX_CHECK(d[0] == 1, ValueError, "[Layout] the descriptor is of type {}; expected 1, a dense matrix.",
               d[0]);
  LOOMIX_CHECK(d[2] >= 0 && d[3] >= 0 && d[4] >= 1 && d[5] >= 1, ValueError,
               "[Layout] the descriptor is of a matrix of ({}, {}) in blocks of ({}, {}).", d[2], d[3], d[4],
               d[5]);
  LOOMIX_CHECK(d[6] >= 0 && d[6] < p && d[7] >= 0 && d[7] < q, ValueError,
               "[Layout] the descriptor's first block is at ({}, {}) of a grid of {} x {} ranks.", d[6], d[7],
               p, q);
  auto row_cuts = cuts_of_size(d[2], d[4]), column_cuts = cuts_of_size(d[3], d[5]);
  auto owners = grid_owners(row_cuts.size() - 1, column_cuts.size() - 1, p, q, d[6], d[7]);
  return make(std::move(row_cuts), std::move(column_cuts), std::move(owners), 1,
              fmt::format("cyclic blocks of {} x {} on {} x {} ranks", d[4], d[5], p, q));
}

ScalapackDescriptor Layout::to_scalapack(int rank, int p, int q, int context) const {
  check_grid(p, q);
  LOOMIX_CHECK(rank >= 0 && rank < p * q, IndexError,
               "[Layout] rank {} is not in a grid of {} x {} ranks; expected 0 to {}.", rank, p, q,
               p * q - 1);
  const int64_t high = std::max<int64_t>(row_cuts()[1], 1), wide = std::max<int64_t>(column_cuts()[1], 1);
  const int first = owners(0).front();
  const bool fits =
      copies() == 1 && first < p * q && row_cuts() == cuts_of_size(rows(), high) &&
      column_cuts() == cuts_of_size(columns(), wide) &&
      data_->owners == grid_owners(static_cast<size_t>(block_rows()), static_cast<size_t>(block_columns()), p,
                                   q, first / q, first % q);
  LOOMIX_CHECK(fits, ValueError, "[Layout] {} is not block-cyclic on {} x {} ranks.", name(), p, q);
  LOOMIX_CHECK(rows() <= INT32_MAX && columns() <= INT32_MAX, ValueError,
               "[Layout] ({}, {}) does not fit into a descriptor, whose sizes have 32 bits.", rows(),
               columns());
  int64_t own_rows = 0;  // of the rank's row of the grid
  for (int i = 0; i < block_rows(); ++i) {
    if ((i + first / q) % p == rank / q) own_rows += block(i * block_columns()).rows;
  }
  return {1,
          context,
          static_cast<int>(rows()),
          static_cast<int>(columns()),
          static_cast<int>(high),
          static_cast<int>(wide),
          first / q,
          first % q,
          static_cast<int>(std::max<int64_t>(own_rows, 1))};
}

// ---- what it says -----------------------------------------------------------------------------------------------------

int64_t Layout::rows() const { return data_->row_cuts.back(); }
int64_t Layout::columns() const { return data_->column_cuts.back(); }
const std::vector<int64_t>& Layout::row_cuts() const { return data_->row_cuts; }
const std::vector<int64_t>& Layout::column_cuts() const { return data_->column_cuts; }
int Layout::copies() const { return data_->copies; }
int Layout::ranks() const { return data_->ranks; }
uint64_t Layout::hash() const { return data_->hash; }
std::string Layout::name() const { return data_->name; }

Block Layout::block(int number) const {
  const auto i = static_cast<size_t>(number / block_columns());
  const auto j = static_cast<size_t>(number % block_columns());
  const auto &high = data_->row_cuts, &wide = data_->column_cuts;
  return {high[i], wide[j], high[i + 1] - high[i], wide[j + 1] - wide[j]};
}

std::span<const int> Layout::owners(int block) const {
  const auto each = static_cast<size_t>(data_->copies);
  return std::span(data_->owners).subspan(static_cast<size_t>(block) * each, each);
}

std::span<const int> Layout::blocks_of(int rank) const {
  if (rank < 0 || rank >= data_->ranks) return {};
  const auto at = static_cast<size_t>(rank);
  return std::span(data_->order).subspan(data_->begins[at], data_->begins[at + 1] - data_->begins[at]);
}

int64_t Layout::elements_of(int rank) const {
  int64_t count = 0;
  for (const int number : blocks_of(rank)) count += block(number).size();
  return count;
}

void Layout::check_ranks(int ranks) const {
  LOOMIX_CHECK(data_->ranks <= ranks, ValueError,
               "[Layout] {} names rank {}, and the job has {} ranks; expected 0 to {}.", name(),
               data_->ranks - 1, ranks, ranks - 1);
}

Layout Layout::relabelled(std::span<const int> ranks) const {
  std::vector<int> owners;
  for (const int owner : data_->owners) owners.push_back(ranks[static_cast<size_t>(owner)]);
  return make(row_cuts(), column_cuts(), std::move(owners), copies(), name() + ", relabelled");
}

Layout Layout::transposed() const {
  std::vector<int> owners;
  owners.reserve(data_->owners.size());
  for (int j = 0; j < block_columns(); ++j) {
    for (int i = 0; i < block_rows(); ++i) {
      const auto some = this->owners(i * block_columns() + j);
      owners.insert(owners.end(), some.begin(), some.end());
    }
  }
  constexpr std::string_view kTransposed = "transposed ";
  std::string name = data_->name.starts_with(kTransposed) ? data_->name.substr(kTransposed.size())
                                                          : std::string(kTransposed) + data_->name;
  return make(data_->column_cuts, data_->row_cuts, std::move(owners), copies(), std::move(name));
}

bool Layout::operator==(const Layout& other) const {
  return data_ == other.data_ ||
         (data_->hash == other.data_->hash && data_->row_cuts == other.data_->row_cuts &&
          data_->column_cuts == other.data_->column_cuts && data_->owners == other.data_->owners);
}

}  // namespace loomix::linalg
