// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <vector>

#include "ops/conv/convolution.h"

namespace loomix::ops {

// Convolution by Fourier transforms: planes of data, weight and output are transformed, multiplied and added up, and what is
// computed is transformed back. Stride 1, one or two axes. Its work does not grow with the filters' size.
class ConvFft : public KernelState {
 public:
  static size_t bytes(const ConvGeometry& g, int cores);  // of scratch memory

 protected:
  using Complex = std::complex<float>;
  ConvFft(const ConvGeometry& g, ConvPass pass, int cores);
  void run(const ConvOperands& operands, const KernelArgs& args) const;

 private:
  // Where a plane lies, and where it is put in the padded one.
  struct Plane {
    int64_t count, rows, columns, top, left;
  };
  // Sums `count` products of planes; `step` apart in each list.
  struct Sum {
    int64_t first, second, first_step, second_step, count;
  };
  Plane data() const;
  Plane weight() const;
  Plane output() const;
  Plane result() const;
  Sum sum_of(int64_t unit) const;
  void transform_all(const TensorView& from, const Plane& plane, Complex* to, const KernelArgs& args) const;
  void transform(const float* from, const Plane& plane, Complex* to, Complex* row) const;
  void invert(Complex* from, const Plane& plane, float bias, bool add, float* to, Complex* row) const;
  void fourier(Complex* values, int64_t size, int64_t width, bool back) const;

  const ConvGeometry geometry_;
  const ConvPass pass_;
  const int slots_;
  const int64_t rows_, columns_, half_;  // of padded planes; columns of their spectra, the others follow
  std::vector<Complex> roots_;           // of 1, as many as the longer side
};

}  // namespace loomix::ops
