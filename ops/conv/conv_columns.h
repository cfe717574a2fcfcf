// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/conv/convolution.h"

// Convolution as BLAS's products of pieces of the unfolded image, float64, channels first.
namespace loomix::ops {

// Scratch memory: what the threads share, then some unfolded pixels for each of them.
class PreparedConvColumns : public KernelState {
 protected:
  PreparedConvColumns(const ConvGeometry& g, int64_t shared, int cores);  // `shared`: elements
  // Calls fn(i, unfolded pixels) for i in [0, count).
  template <class Fn>
  void each(const KernelArgs& args, int64_t count, Fn&& fn) const;
  const ConvGeometry geometry;

 private:
  const size_t shared_bytes_, slot_bytes_;
  const int slots_;
};

class ConvColumns : public PreparedConvColumns {
 public:
  static constexpr ConvPass kPass = ConvPass::forward;
  ConvColumns(const ConvGeometry& g, bool with_bias, int cores);
  void run(const ConvOperands& operands, const KernelArgs& args) const;
};

class ConvDataColumns : public PreparedConvColumns {
 public:
  static constexpr ConvPass kPass = ConvPass::data;
  ConvDataColumns(const ConvGeometry& g, bool with_bias, int cores);
  void run(const ConvOperands& operands, const KernelArgs& args) const;
};

class ConvWeightColumns : public PreparedConvColumns {
 public:
  static constexpr ConvPass kPass = ConvPass::weight;
  ConvWeightColumns(const ConvGeometry& g, bool with_bias, int cores);
  void run(const ConvOperands& operands, const KernelArgs& args) const;

 private:
  static int64_t parts(const ConvGeometry& g);
};

Support conv_columns_support(const ConvolutionParams&, const KernelSpec&);

}  // namespace loomix::ops
