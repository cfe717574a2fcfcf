// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/histogram.h"

#include "base/error.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

void histogram_shape(const HistogramParams& p, ShapeInfer& s) {
  if (p.bin_cnt) {
    LOOMIX_CHECK(*p.bin_cnt > 0, ValueError, "[{}] bin_cnt is {}; expected 1 or more.", s.who(), *p.bin_cnt);
    LOOMIX_CHECK(p.range && p.range->size() == 2 && (*p.range)[0] < (*p.range)[1], ValueError,
                 "[{}] a count of bins needs the range: two numbers, the smaller one first.", s.who());
    s.set_out(0, Shape{*p.bin_cnt});
    s.set_out(1, Shape{*p.bin_cnt + 1});
    return;
  }
  const Shape& bins = s.in(1);
  if (!bins.is_known()) return;
  LOOMIX_CHECK(bins.ndim() == 1 && bins[0] >= 2, ShapeError,
               "[{}] bins has shape {}; expected the edges in one axis, 2 or more.", s.who(),
               bins.to_string());
  s.set_out(0, Shape{bins[0] - 1});
  s.set_out(1, bins);
}

void histogram_type(const HistogramParams& p, TypeInfer& t) {
  t.set_out(0, DType::int64);
  t.set_out(1, t.in(0));
  t.set_in(0, t.out(1));
  if (!p.bin_cnt) t.set_in(1, t.in(0));
}

}  // namespace

void register_histogram(OpTable& table) {
  table.add<HistogramParams>("_histogram", {"data", "bins"})
      .doc(
          "Counts the values of data in bins, and the bins' edges. Each bin holds its lower edge; the last "
          "one both.")
      .last_input_if([](const HistogramParams& p) { return !p.bin_cnt; })
      .outputs({"output0", "output1"})
      .infer_shape(histogram_shape)
      .infer_type(histogram_type)
      .types(kNumericTypes)
      .element_cost(10)
      .zero_gradient();
}

}  // namespace loomix::ops
