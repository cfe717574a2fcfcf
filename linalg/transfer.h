// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "base/dtype.h"
#include "linalg/layout.h"

namespace loomix::linalg {

// A rectangle that goes from a block to a block. Rows and columns are those of the target; of a transposition, the source's
// rectangle has them exchanged. Places are within the blocks, in elements.
struct Piece {
  int from_block = 0, to_block = 0;  // their numbers in the layouts
  int64_t from_row = 0, from_column = 0;
  int64_t to_row = 0, to_column = 0;
  int64_t rows = 0, columns = 0;
  int64_t size() const { return rows * columns; }
  bool operator==(const Piece&) const = default;
};

// All that goes between this rank and another one, as one message: the pieces one after the other, each row by row.
struct Route {
  int rank = 0;
  std::vector<Piece> pieces;  // in the order of their places in the target, so both ends have the same
  int64_t elements = 0;
};

// What one rank does so that a matrix of one layout comes to lie in another one. Made from the two layouts alone, by each rank for
// itself, without a message. Each element that a rank lacks comes once, from one rank; what is there already is copied. Of several ranks
// that have a replicated block, each serves some of those that want it.
//
// The work, and the size, grow with the own blocks and what they overlap, not with all blocks or ranks.
struct Transfer {
  // Throws ShapeError unless `to` is of the same sizes as `from`, or, for a transposition, of the exchanged ones.
  Transfer(const Layout& from, const Layout& to, int rank, bool transpose = false);
  int64_t elements_to_send() const;

  bool transpose = false;
  std::vector<Route> sends, receives;  // by rank, without those that nothing goes to
  Route copies;                        // from own blocks to own blocks
};

// A route cut into messages of `most` elements at most, one after the other: both ends cut alike. Rectangles are cut between rows where
// a row fits.
std::vector<Route> cut_into_messages(const Route& route, int64_t most, bool transpose);
// No route of a matrix of so many elements makes more of them.
int most_messages(int64_t elements, int64_t most);

// Elements that travel when all ranks do theirs.
int64_t elements_moved(const Layout& from, const Layout& to, bool transpose = false);
// How many of the elements that rank i is to have rank j has, at place i * ranks + j.
std::vector<int64_t> elements_in_common(const Layout& from, const Layout& to, int ranks, bool transpose);

// The plans that were made last. Any thread.
class TransferCache {
 public:
  explicit TransferCache(int rank) : rank_(rank) {}
  std::shared_ptr<const Transfer> find(const Layout& from, const Layout& to, bool transpose);
  int64_t moved(const Layout& from, const Layout& to, bool transpose);

 private:
  struct Entry {
    Layout from, to;
    bool transpose;
    std::shared_ptr<const Transfer> transfer;
    int64_t moved = -1;
  };
  Entry& entry(const Layout& from, const Layout& to, bool transpose);
  static constexpr size_t kMost = 128;
  const int rank_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the latest first
};

// Blocks and messages as a copy sees them.
struct ConstElements {
  const std::byte* data = nullptr;
  DType dtype = DType::float32;
  int64_t stride = 0;  // elements from row to row
};
struct Elements {
  std::byte* data = nullptr;
  DType dtype = DType::float32;
  int64_t stride = 0;
};
// to(i, j) = from(i, j), or from(j, i), of the rows and columns of `to`. Converts, rounding once.
void copy_elements(const ConstElements& from, const Elements& to, int64_t rows, int64_t columns,
                   bool transpose);

}  // namespace loomix::linalg
