// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linalg/mesh.h"

namespace loomix::linalg {

// A part of a matrix that lies in one piece: its place in the matrix, in elements.
struct Block {
  int64_t top = 0, left = 0;
  int64_t rows = 0, columns = 0;
  int64_t size() const { return rows * columns; }
  bool operator==(const Block&) const = default;
};

// DTYPE, CTXT, M, N, MB, NB, RSRC, CSRC, LLD (ScaLAPACK Users' Guide, section 4.3.3).
using ScalapackDescriptor = std::array<int, 9>;

// Which rank holds which block of a matrix: the cuts of its rows, the cuts of its columns, and the owners of each block between
// them. A value that every rank has whole; it knows no MPI, and copies share what they hold. Blocks are numbered row by row. All
// blocks of a layout lie on equally many ranks (`copies`), one unless the matrix is replicated.
//
//   Layout::on_grid(8, 6, 2, 2)        0   3   6          A rank may have several blocks or none; blocks may be empty. Ranks that
//                                   0  +---+---+          a layout does not name hold nothing of the matrix.
//                                      | 0 | 1 |
//                                   4  +---+---+          The idea, and the picture: Eliuk, Upright, Skjellum, "dMath: A Scalable
//                                      | 2 | 3 |          Linear Algebra and Math Library for Heterogeneous GP-GPU
//                                   8  +---+---+          Architectures", arXiv 1604.01416, figure 1.
class Layout {
 public:
  // ---- by name ----
  // Contiguous stretches of rows, or columns, one a rank; their sizes differ by one at most.
  static Layout by_rows(int64_t rows, int64_t columns, int ranks);
  static Layout by_columns(int64_t rows, int64_t columns, int ranks);
  // Rank i * q + j has stretch i of the rows and j of the columns.
  static Layout on_grid(int64_t rows, int64_t columns, int p, int q);
  // Blocks of this size are dealt out in turn over a grid of p times q ranks, as ScaLAPACK does.
  static Layout cyclic(int64_t rows, int64_t columns, int64_t block_rows, int64_t block_columns, int p,
                       int q);
  // Each rank has all.
  static Layout replicated(int64_t rows, int64_t columns, int ranks);
  // All on one rank.
  static Layout on_rank(int64_t rows, int64_t columns, int rank);
  // The rows are cut over one axis of the mesh, the columns over another one; an empty name: not cut. Replicated over the axes that
  // are not named.
  static Layout on_mesh(const Mesh& mesh, int64_t rows, int64_t columns, std::string_view row_axis,
                        std::string_view column_axis);
  // Anything. Cuts begin with 0, end with the size and never fall; equal ones make an empty block. `owners`: of the blocks row by
  // row, `copies` different ranks each. `name`: as name() says it; by default the number of blocks. Throws ValueError that says what
  // is wrong.
  static Layout of_blocks(std::vector<int64_t> row_cuts, std::vector<int64_t> column_cuts,
                          std::vector<int> owners, int copies = 1, std::string name = {});

  // What ScaLAPACK's descriptor says, on a grid of p times q ranks that are numbered row by row. ScaLAPACK's local arrays are
  // column-major and in one piece; this is about places alone.
  static Layout from_scalapack(const ScalapackDescriptor& descriptor, int p, int q);
  // The other way, for a rank of the grid; ValueError for layouts that are not block-cyclic on it.
  ScalapackDescriptor to_scalapack(int rank, int p, int q, int context = 0) const;

  // ---- what it says ----
  int64_t rows() const;
  int64_t columns() const;
  const std::vector<int64_t>& row_cuts() const;
  const std::vector<int64_t>& column_cuts() const;
  int block_rows() const { return static_cast<int>(row_cuts().size()) - 1; }  // blocks on top of each other
  int block_columns() const { return static_cast<int>(column_cuts().size()) - 1; }
  int blocks() const { return block_rows() * block_columns(); }
  Block block(int number) const;
  int copies() const;
  std::span<const int> owners(int block) const;    // ascending where replicated
  std::span<const int> blocks_of(int rank) const;  // their numbers, ascending
  int64_t elements_of(int rank) const;
  int ranks() const;                                    // the highest owner, plus one
  void check_ranks(int ranks) const;                    // ValueError if it names others
  uint64_t hash() const;                                // the same on every rank
  Layout transposed() const;                            // of the transposed matrix, each element where it was
  Layout relabelled(std::span<const int> ranks) const;  // what was on rank r is on ranks[r]
  bool operator==(const Layout& other) const;

  std::string name() const;       // "rows on 4 ranks", "grid of 2 x 2 ranks", "6 blocks on 3 ranks"
  std::string to_string() const;  // a drawing, as above; of large layouts the first blocks
  std::string to_svg() const;     // a picture, true to scale, a colour a rank

 private:
  struct Data;
  static Layout make(std::vector<int64_t> row_cuts, std::vector<int64_t> column_cuts, std::vector<int> owners,
                     int copies, std::string name);
  std::shared_ptr<const Data> data_;
};

// Numbers 0 = first <= ... <= last = count that cut `count` things into `parts` stretches whose sizes differ by one at most.
std::vector<int64_t> even_cuts(int64_t count, int parts);
// Likewise into stretches of `size`, the last one smaller; one cut more than stretches, of which there is one at least.
std::vector<int64_t> cuts_of_size(int64_t count, int64_t size);

}  // namespace loomix::linalg
