// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "engine/parallel_for.h"
#include "ops/blocked/lrn_loops.h"
#include "ops/families.h"
#include "ops/isa.h"
#include "ops/norm/l2_norm.h"
#include "ops/norm/lrn_power.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kFloats = 4096;  // of a buffer: they stay in the caches nearest to the core

// Some pixels of an image, with what is kept of them.
struct Piece {
  LrnRows shape;
  int64_t at;  // of their first element in the image's array
  float rows[kFloats], denominators[kFloats], power[kFloats];
};

// Finds what elements are divided by: `denominators` before the power, and in `power` by what they are multiplied.
template <class T>
void find_denominators(const LRNParams& p, const LrnLoops& loops, const T* in, Piece& piece) {
  loops.of<T>().squares(piece.shape, in + piece.at, piece.rows);
  loops.windows(piece.shape, p.knorm, p.alpha / static_cast<float>(p.nsize), piece.rows, piece.denominators);
  lrn_power<float>(p.beta, piece.denominators, piece.power, piece.shape.count * piece.shape.channels());
}

// Calls fn(piece) for all pixels of the images.
template <class Fn>
void each_piece(const LRNParams& p, const KernelArgs& args, Fn&& fn) {
  const Shape& data = args.out[0].shape;
  const int64_t pixels = data[2] * data[3];
  const LrnRows whole{data[4], data[1], pixels, pixels, p.nsize / 2};
  LOOMIX_INTERNAL_CHECK(whole.length() <= kFloats);
  const int64_t at_once = kFloats / whole.length(), pieces = (pixels + at_once - 1) / at_once;
  engine::parallel_each(*args.context, data[0] * pieces, 2, [&](int64_t i) {
    const int64_t first = i % pieces * at_once;
    Piece piece;
    piece.shape = whole;
    piece.shape.count = std::min(at_once, pixels - first);
    piece.at = i / pieces * whole.channels() * pixels + first * whole.block;
    for (float* row = piece.rows; row < piece.rows + piece.shape.count * whole.length();
         row += whole.length()) {
      std::fill_n(row, whole.block, 0.0f);
      std::fill_n(row + whole.block + whole.channels(), whole.block, 0.0f);
    }
    fn(piece);
  });
}

// Calls fn(Type<T>) for the element type of the data.
template <class Fn>
void with_type(const KernelArgs& args, Fn&& fn) {
  if (args.in[0].dtype == DType::bfloat16) fn(Type<bfloat16>{});
  else fn(Type<float>{});
}

// data -> output
void lrn(const LRNParams& p, const KernelArgs& args) {
  const LrnLoops& loops = best_loops<LrnLoops>();
  with_type(args, [&]<class T>(Type<T>) {
    const T* const in = args.in[0].as<T>();
    T* const out = args.out[0].mutable_as<T>();
    each_piece(p, args, [&](Piece& piece) {
      find_denominators(p, loops, in, piece);
      loops.of<T>().scale(piece.shape, piece.power, in + piece.at, out + piece.at);
    });
  });
}

// grad, data -> gradient of the data
void lrn_gradient(const LRNParams& p, const KernelArgs& args) {
  const LrnLoops& loops = best_loops<LrnLoops>();
  const float factor = 2 * p.alpha * p.beta / static_cast<float>(p.nsize);
  with_type(args, [&]<class T>(Type<T>) {
    const LrnGradientLoopsOf<T>& gradient = best_loops<LrnGradientLoops>().of<T>();
    const T *const grad = args.in[0].as<T>(), *const in = args.in[1].as<T>();
    T* const out = args.out[0].mutable_as<T>();
    each_piece(p, args, [&](Piece& piece) {
      const int64_t at = piece.at;
      find_denominators(p, loops, in, piece);
      gradient.terms(piece.shape, piece.denominators, grad + at, in + at, piece.power, piece.rows);
      gradient.gradient(piece.shape, factor, piece.power, piece.rows, in + at, out + at);
    });
  });
}

}  // namespace

void kernels_blocked_lrn(OpTable& table) { table.kernel<lrn>("_blocked_LRN", "blocked_lrn_cpu"); }

void gradients_blocked_lrn(OpTable& table) {
  table.kernel<lrn_gradient>("_backward_blocked_LRN", "blocked_lrn_backward_cpu");
}

}  // namespace loomix::ops
