// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

// Products, factorisations and parts of matrices. An array is a batch of them: the last two axes are rows and columns,
// those before count matrices. Types are float32 and float64.
namespace loomix::ops {

inline constexpr DTypeSet kMatrixTypes{DType::float32, DType::float64};

struct Gemm2Params {
  bool transpose_a = false;
  bool transpose_b = false;
  double alpha = 1;
  int axis = -2;
  template <class P>
  static void fields(FieldList<P>& f) {
    f("transpose_a", &P::transpose_a, "Multiplies the transpose of A.");
    f("transpose_b", &P::transpose_b, "Multiplies by the transpose of B.");
    f("alpha", &P::alpha, "Factor of the product.");
    if constexpr (requires { &P::beta; }) f("beta", &P::beta, "Factor of C.");
    f("axis", &P::axis, "Axis of the rows; the columns are the last one.");
  }
};

struct GemmParams : Gemm2Params {
  double beta = 1;
};

// trmm and trsm.
struct TriangularParams {
  bool transpose = false;
  bool rightside = false;
  bool lower = true;
  double alpha = 1;
  static void fields(FieldList<TriangularParams>& f) {
    using P = TriangularParams;
    f("transpose", &P::transpose, "Uses the transpose of A.");
    f("rightside", &P::rightside, "A stands on the right of the other matrix.");
    f("lower", &P::lower, "A is its lower triangle, else its upper one; the rest is not read.");
    f("alpha", &P::alpha, "Factor of the result.");
  }
};

struct SolveParams {
  bool transpose = false;
  static void fields(FieldList<SolveParams>& f) {
    f("transpose", &SolveParams::transpose, "Uses the transpose of A.");
  }
};

struct PotrfParams {
  bool lower = true;
  static void fields(FieldList<PotrfParams>& f) {
    f("lower", &PotrfParams::lower,
      "Gives L of A = L L^T from A's lower triangle, else U of A = U^T U from its upper one.");
  }
};

struct SyrkParams {
  bool transpose = false;
  double alpha = 1;
  static void fields(FieldList<SyrkParams>& f) {
    f("transpose", &SyrkParams::transpose, "Multiplies the transpose of A by A.");
    f("alpha", &SyrkParams::alpha, "Factor of the product.");
  }
};

struct DiagonalParams {
  int offset = 0;
  static void fields(FieldList<DiagonalParams>& f) {
    f("offset", &DiagonalParams::offset, "Which diagonal: 0 is the main one, 1 the one above, -1 below.");
  }
};

struct TriangleParams {
  int offset = 0;
  bool lower = true;
  static void fields(FieldList<TriangleParams>& f) {
    f("offset", &TriangleParams::offset,
      "The diagonal where the triangle begins; above 0 it is an upper triangle, below 0 a lower one.");
    f("lower", &TriangleParams::lower, "Whether it is the lower triangle; read where offset is 0.");
  }
};

// Linear maps of a square matrix that gradients are made of.
//   lower, upper: the triangle with its diagonal, zeros elsewhere
//   mirrored: half of the symmetric matrix with that lower triangle
//   folded: the transpose of that map, the symmetric part of the matrix written to its lower triangle
enum class TrianglePart { lower, upper, mirrored, folded };

struct TrianglePartParams {
  TrianglePart part = TrianglePart::lower;
  static void fields(FieldList<TrianglePartParams>& f) {
    f("part", &TrianglePartParams::part, "Which map.")
        .options({{"lower", TrianglePart::lower},
                  {"upper", TrianglePart::upper},
                  {"mirrored", TrianglePart::mirrored},
                  {"folded", TrianglePart::folded}});
  }
};

}  // namespace loomix::ops
