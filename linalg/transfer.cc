// SPDX-License-Identifier: Apache-2.0
#include "linalg/transfer.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/error.h"
#include "ndarray/copy.h"

namespace loomix::linalg {
namespace {

// Which of the ranks that have a block gives it to `rank`, of so many ranks: one at about the same place in the order, so that
// those that have it share the work.
int giver(std::span<const int> owners, int rank, int ranks) {
  if (std::binary_search(owners.begin(), owners.end(), rank)) return rank;
  return owners[static_cast<size_t>(rank) * owners.size() / static_cast<size_t>(ranks)];
}

// Calls found(number, overlap) for each block of `layout` that shares elements with `part`.
template <class Found>
void each_overlap(const Layout& layout, const Block& part, Found&& found) {
  if (part.size() == 0) return;
  const auto &high = layout.row_cuts(), &wide = layout.column_cuts();
  const auto stretch_at = [](const std::vector<int64_t>& cuts, int64_t place) {
    return static_cast<size_t>(std::upper_bound(cuts.begin(), cuts.end(), place) - cuts.begin()) - 1;
  };
  const size_t first_column = stretch_at(wide, part.left);
  for (size_t i = stretch_at(high, part.top); i + 1 < high.size() && high[i] < part.top + part.rows; ++i) {
    const int64_t top = std::max(high[i], part.top);
    const int64_t rows = std::min(high[i + 1], part.top + part.rows) - top;
    for (size_t j = first_column; j + 1 < wide.size() && wide[j] < part.left + part.columns; ++j) {
      const int64_t left = std::max(wide[j], part.left);
      const int64_t columns = std::min(wide[j + 1], part.left + part.columns) - left;
      if (rows > 0 && columns > 0)
        found(static_cast<int>(i) * layout.block_columns() + static_cast<int>(j),
              Block{top, left, rows, columns});
    }
  }
}

// Looks at both layouts as the target has its rows and columns.
class Planner {
 public:
  Planner(const Layout& from, const Layout& to, bool transpose)
      : to_(to),
        transpose_(transpose),
        from_(transpose ? from.transposed() : from),
        ranks_(std::max(from.ranks(), to.ranks())) {
    LOOMIX_CHECK(from_.rows() == to.rows() && from_.columns() == to.columns(), ShapeError,
                 "[remap] a matrix of ({}, {}) {}cannot lie as {} of ({}, {}).", from.rows(), from.columns(),
                 transpose ? "that is transposed " : "", to.name(), to.rows(), to.columns());
  }

  // Calls found(giver, taker, piece) for all that `rank` gives.
  template <class Found>
  void each_given(int rank, Found&& found) const {
    for (const int mine : from_.blocks_of(rank)) {
      each_overlap(to_, from_.block(mine), [&](int theirs, const Block& part) {
        for (const int taker : to_.owners(theirs)) {
          if (giver(from_.owners(mine), taker, ranks_) == rank) found(taker, piece(mine, theirs, part));
        }
      });
    }
  }
  template <class Found>
  void each_taken(int rank, Found&& found) const {
    for (const int mine : to_.blocks_of(rank)) {
      each_overlap(from_, to_.block(mine), [&](int theirs, const Block& part) {
        found(giver(from_.owners(theirs), rank, ranks_), piece(theirs, mine, part));
      });
    }
  }
  // Calls found(taker, owner, elements) for all that each rank is to have and each one has, whoever gives it.
  template <class Found>
  void each_in_common(Found&& found) const {
    for (int theirs = 0; theirs < to_.blocks(); ++theirs) {
      each_overlap(from_, to_.block(theirs), [&](int mine, const Block& part) {
        for (const int taker : to_.owners(theirs)) {
          for (const int owner : from_.owners(mine)) found(taker, owner, part.size());
        }
      });
    }
  }
  // Both ends list their pieces in the order of places in the target.
  void sort(std::vector<Piece>& pieces) const {
    std::sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) {
      const Block in_a = to_.block(a.to_block), in_b = to_.block(b.to_block);
      return std::pair(in_a.top + a.to_row, in_a.left + a.to_column) <
             std::pair(in_b.top + b.to_row, in_b.left + b.to_column);
    });
  }

 private:
  Piece piece(int from_block, int to_block, const Block& part) const {
    const Block from = from_.block(from_block), to = to_.block(to_block);
    Piece result{
        from_block,          to_block,  part.top - from.top, part.left - from.left, part.top - to.top,
        part.left - to.left, part.rows, part.columns};
    if (transpose_) {
      result.from_block =
          from_block % from_.block_columns() * from_.block_rows() + from_block / from_.block_columns();
      std::swap(result.from_row, result.from_column);
    }
    return result;
  }

  const Layout& to_;
  const bool transpose_;
  const Layout from_;
  const int ranks_;
};

void add(Route& route, const Piece& piece) {
  route.pieces.push_back(piece);
  route.elements += piece.size();
}

std::vector<Route> in_order(std::map<int, Route>& routes, const Planner& planner) {
  std::vector<Route> result;
  for (auto& [rank, route] : routes) {
    route.rank = rank;
    planner.sort(route.pieces);
    result.push_back(std::move(route));
  }
  return result;
}

// The rectangle within a piece that begins at this row and column of it.
Piece part_of(const Piece& piece, int64_t row, int64_t column, int64_t rows, int64_t columns,
              bool transpose) {
  Piece part = piece;
  part.from_row += transpose ? column : row;
  part.from_column += transpose ? row : column;
  part.to_row += row;
  part.to_column += column;
  part.rows = rows;
  part.columns = columns;
  return part;
}

template <class T>
void transpose_bits(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t rows,
                    int64_t columns) {
  constexpr int64_t kTile = 32;  // a tile of either lies in the first cache
  for (int64_t i0 = 0; i0 < rows; i0 += kTile) {
    for (int64_t j0 = 0; j0 < columns; j0 += kTile) {
      for (int64_t i = i0; i < std::min(rows, i0 + kTile); ++i) {
        for (int64_t j = j0; j < std::min(columns, j0 + kTile); ++j)
          to[i * to_stride + j] = from[j * from_stride + i];
      }
    }
  }
}

}  // namespace

Transfer::Transfer(const Layout& from, const Layout& to, int rank, bool transposes) : transpose(transposes) {
  const Planner planner(from, to, transpose);
  std::map<int, Route> given, taken;
  copies.rank = rank;
  planner.each_given(
      rank, [&](int taker, const Piece& piece) { add(taker == rank ? copies : given[taker], piece); });
  planner.each_taken(rank, [&](int from_rank, const Piece& piece) {
    if (from_rank != rank) add(taken[from_rank], piece);
  });
  sends = in_order(given, planner);
  receives = in_order(taken, planner);
}

int64_t Transfer::elements_to_send() const {
  int64_t sum = 0;
  for (const Route& route : sends) sum += route.elements;
  return sum;
}

std::vector<Route> cut_into_messages(const Route& route, int64_t most, bool transpose) {
  std::vector<Route> messages;
  const auto put = [&](const Piece& piece) {
    if (messages.empty() || messages.back().elements + piece.size() > most)
      messages.push_back({route.rank, {}, 0});
    add(messages.back(), piece);
  };
  for (const Piece& piece : route.pieces) {
    const int64_t columns = std::min(piece.columns, most);
    for (int64_t column = 0; column < piece.columns; column += columns) {
      const int64_t wide = std::min(columns, piece.columns - column);
      for (int64_t row = 0; row < piece.rows;) {
        const int64_t room = messages.empty() ? 0 : (most - messages.back().elements) / wide;
        const int64_t rows = std::min(piece.rows - row, room > 0 ? room : most / wide);
        put(part_of(piece, row, column, rows, wide, transpose));
        row += rows;
      }
    }
  }
  return messages;
}

// Two that follow each other have more than `most` together.
int most_messages(int64_t elements, int64_t most) { return static_cast<int>(2 * elements / most + 1); }

int64_t elements_moved(const Layout& from, const Layout& to, bool transpose) {
  const Planner planner(from, to, transpose);
  int64_t sum = 0;
  for (int rank = 0; rank < from.ranks(); ++rank) {
    planner.each_given(rank, [&](int taker, const Piece& piece) { sum += taker == rank ? 0 : piece.size(); });
  }
  return sum;
}

std::vector<int64_t> elements_in_common(const Layout& from, const Layout& to, int ranks, bool transpose) {
  const Planner planner(from, to, transpose);
  const auto n = static_cast<size_t>(ranks);
  std::vector<int64_t> common(n * n);
  planner.each_in_common([&](int taker, int owner, int64_t elements) {
    common[static_cast<size_t>(taker) * n + static_cast<size_t>(owner)] += elements;
  });
  return common;
}

TransferCache::Entry& TransferCache::entry(const Layout& from, const Layout& to, bool transpose) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.transpose == transpose && entry.from == from && entry.to == to;
  });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
  } else {
    entries_.push_front({from, to, transpose, nullptr});
    if (entries_.size() > kMost) entries_.pop_back();
  }
  return entries_.front();
}

std::shared_ptr<const Transfer> TransferCache::find(const Layout& from, const Layout& to, bool transpose) {
  const std::lock_guard lock(mutex_);
  Entry& found = entry(from, to, transpose);
  if (!found.transfer) found.transfer = std::make_shared<const Transfer>(from, to, rank_, transpose);
  return found.transfer;
}

int64_t TransferCache::moved(const Layout& from, const Layout& to, bool transpose) {
  const std::lock_guard lock(mutex_);
  Entry& found = entry(from, to, transpose);
  if (found.moved < 0) found.moved = elements_moved(from, to, transpose);
  return found.moved;
}

void copy_elements(const ConstElements& from, const Elements& to, int64_t rows, int64_t columns,
                   bool transpose) {
  if (rows == 0 || columns == 0) return;
  if (transpose) {
    if (from.dtype == to.dtype) {
      dispatch_bits(from.dtype, [&]<class T>(Type<T>) {
        transpose_bits(reinterpret_cast<const T*>(from.data), from.stride, reinterpret_cast<T*>(to.data),
                       to.stride, rows, columns);
      });
      return;
    }
    std::vector<std::byte> turned(static_cast<size_t>(rows * columns * size_of(from.dtype)));
    copy_elements(from, {turned.data(), from.dtype, columns}, rows, columns, true);
    copy_elements({turned.data(), from.dtype, columns}, to, rows, columns, false);
    return;
  }
  if (from.stride == columns && to.stride == columns) {  // one stretch
    columns *= rows;
    rows = 1;
  }
  const int64_t from_step = from.stride * size_of(from.dtype), to_step = to.stride * size_of(to.dtype);
  for (int64_t i = 0; i < rows; ++i) {
    const std::byte* const source = from.data + i * from_step;
    std::byte* const target = to.data + i * to_step;
    if (from.dtype == to.dtype) {
      std::memcpy(target, source, static_cast<size_t>(columns * size_of(from.dtype)));
    } else {
      convert_elements(source, from.dtype, target, to.dtype, columns);
    }
  }
}

}  // namespace loomix::linalg
