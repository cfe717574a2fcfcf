// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linalg/dist_matrix.h"

// Products of matrices of any layouts, in four ways:
//
//   local    one operand is on every rank, or is brought there first; each rank multiplies its part of the other one.
//   ring     one operand lies in stretches, a stretch a rank, and stays; the parts of the other one go round from neighbour to
//            neighbour, and each rank multiplies what comes by. (Eliuk, Upright, Skjellum, "dMath", arXiv 1604.01416, section 4.)
//   grid     all three lie on p times q ranks. Panels of the contracted axis go along the rows of ranks, of the left operand, and along the
//            columns, of the right one, as a pipeline. (van de Geijn, Watts, "SUMMA: Scalable Universal Matrix Multiplication
//            Algorithm", 1997.)
//   reduce   the contracted axis is cut; each rank multiplies its own parts, and the ranks' results are added, in one order always.
//
// Receiving a part is a task that writes its buffer, multiplying it is one that reads it, so the next part travels meanwhile, and
// there are Job::buffers of them, two if nothing else is said. What comes out depends on layouts and the number of ranks, not on timing. Halves are multiplied in float32,
// and rounded once.
//
// An operand that comes to all ranks in a product, at once or in the parts of a ring, is kept (Job::kept), so the next product with it
// sends nothing of it until it is written: dX = dY W after Y = X W^T. (dMath, figure 3.)
namespace loomix::linalg {

enum class Algorithm : uint8_t { local, ring, grid, reduce };
std::string_view name_of(Algorithm algorithm);
Algorithm parse_algorithm(std::string_view name);  // ValueError lists the names

struct ProductOptions {
  bool transpose_a = false, transpose_b = false;
  std::optional<Layout> out_layout = {};    // else rows, columns or a grid, whichever costs nothing
  std::optional<Algorithm> algorithm = {};  // else the one that is fastest by the model
};

// A way to multiply: an algorithm with its variant, and where the operands, as they are multiplied, and the result lie for it.
struct ProductWay {
  Algorithm algorithm = Algorithm::ring;
  bool moves_a = false;                     // ring: the left operand goes round; local: it is everywhere
  bool cuts_inner = false;                  // ring: the parts are of the contracted axis
  int p = 1, q = 1;                         // grid
  int chunks = 1;                           // ring, reduce: pieces of a rank's part
  Layout a = {}, b = {}, c = {}, out = {};  // `out`: where the result goes at last
  std::string name() const;                 // "ring, b moves, cut along the contracted axis"

  // By the model: layouts, links and speed as Job::links says.
  double bytes =
      0;  // that a rank sends, as the mean, with the operands brought there and the result to its layout
  int64_t steps = 0;                   // messages one after the other
  int64_t memory = 0;                  // bytes a rank, beyond the operands as given
  double compute_s = 0, travel_s = 0;  // of the product itself, at the same time
  double seconds =
      0;  // with what is not hidden: what goes before and after, and the first and the last steps
};

// What a product is of, and what its costs depend on, for ranks that need not be there.
struct ProductCase {
  Layout a, b;
  DType dtype = DType::float32;  // of `a`
  int ranks = 1;
  Links links = {};
  int buffers = 2;
};
// All ways that there are, the fastest first. ShapeError where sizes do not fit.
std::vector<ProductWay> ways_to_multiply(const ProductCase& of, TransferCache& transfers,
                                         const ProductOptions& options);
std::vector<ProductWay> ways_to_multiply(const DistMatrix& a, const DistMatrix& b,
                                         const ProductOptions& options);

// op(a) op(b), where op transposes if that is said; of the type of `a`, which `b` is converted to. ShapeError says both shapes and layouts.
// Where ranks have kept an operand ever, it asks them whether all copies are good, and waits for their word.
DistMatrix dot(const DistMatrix& a, const DistMatrix& b, const ProductOptions& options = {});
// Which way dot() takes, and what the others would cost: a table.
std::string explain_dot(const DistMatrix& a, const DistMatrix& b, const ProductOptions& options = {});

}  // namespace loomix::linalg
