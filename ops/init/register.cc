// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/error.h"
#include "ops/init/init.h"
#include "ops/shape_rule.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// An attribute's type stands for a default where the consumer decides nothing else.
template <class P>
void typed_by_attribute(const P& p, TypeInfer& t) {
  t.set_out(0, p.dtype);
}

int64_t range_length(const RangeParams& p, const char* who) {
  LOOMIX_CHECK(p.step != 0, ValueError, "[{}] step is 0; expected any other number.", who);
  const double begin = p.stop ? p.start : 0.0;
  const double end = p.stop ? *p.stop : p.start;
  const double steps = std::ceil((end - begin) / p.step);
  if (numpy_shapes() && steps <= 0) return 0;
  LOOMIX_CHECK(steps > 0 && steps * p.repeat < 0x1p62, ValueError,
               "[{}] from {} to {} in steps of {} there are no values, or too many; expected at least one.",
               who, begin, end, p.step);
  return static_cast<int64_t>(steps) * p.repeat;
}

void fill_op(OpTable& table, const char* name, const char* doc, double (*value)(const FillParams&)) {
  table.add<FillParams>(name)
      .doc(doc)
      .fill(value)
      .infer_shape([](const FillParams& p, ShapeInfer& s) {
        if (p.shape.ndim() > 0 || numpy_shapes()) s.set_out(0, shape_of_attribute(p.shape));
      })
      .infer_type(typed_by_attribute<FillParams>)
      .zero_gradient();
}

}  // namespace

void register_init(OpTable& table) {
  fill_op(table, "_zeros", "Makes an array of zeros.", [](const FillParams&) { return 0.0; });
  fill_op(table, "_ones", "Makes an array of ones.", [](const FillParams&) { return 1.0; });
  table.add<ZerosWithoutDtypeParams>("_zeros_without_dtype")
      .doc("Makes an array of zeros whose type follows from its consumers; float32 if nothing says so.")
      .infer_shape([](const ZerosWithoutDtypeParams& p, ShapeInfer& s) {
        if (p.shape) s.set_out(0, shape_of_attribute(*p.shape));
      })
      .infer_type([](const ZerosWithoutDtypeParams& p, TypeInfer& t) {
        if (p.dtype >= 0) {
          LOOMIX_CHECK(is_valid(static_cast<DType>(p.dtype)), ValueError,
                       "[{}] dtype {} is no type code; expected 0 to 7 or 12.", t.who(), p.dtype);
          t.set_out(0, static_cast<DType>(p.dtype));
        } else if (t.out(0) == DType::unknown) {
          t.set_out(0, DType::float32);
        }
      })
      .zero_gradient();
  table.add<FullParams>("_full")
      .doc("Makes an array that holds one value everywhere.")
      .fill([](const FullParams& p) { return p.value; })
      .infer_shape([](const FullParams& p, ShapeInfer& s) {
        if (p.shape) s.set_out(0, shape_of_attribute(*p.shape));
      })
      .infer_type(typed_by_attribute<FullParams>)
      .zero_gradient();
  table.add<RangeParams>("_arange")
      .doc("Makes the values start, start + step, ... below stop, each `repeat` times.")
      .infer_shape([](const RangeParams& p, ShapeInfer& s) {
        if (!p.infer_range) s.set_out(0, Shape{range_length(p, s.who())});
      })
      .infer_type(typed_by_attribute<RangeParams>)
      .zero_gradient();
  table.add<LinspaceParams>("_linspace")
      .doc("Makes `num` evenly spaced values from start to stop.")
      .infer_shape([](const LinspaceParams& p, ShapeInfer& s) { s.set_out(0, Shape{p.num}); })
      .infer_type(typed_by_attribute<LinspaceParams>)
      .zero_gradient();
  table.add<EyeParams>("_eye")
      .doc("Makes a matrix with ones on one diagonal and zeros elsewhere.")
      .infer_shape([](const EyeParams& p, ShapeInfer& s) {
        s.set_out(0, Shape{p.N, p.M > 0 ? p.M : p.N});
      })
      .infer_type(typed_by_attribute<EyeParams>)
      .zero_gradient();
  table.add<SetValueParams>("_set_value")
      .doc(
          "Sets every element of the array given as `out` to `src`; without one, of a new array of one "
          "element.")
      .infer_shape([](const SetValueParams& p, ShapeInfer& s) {
        LOOMIX_CHECK(p.src, ValueError, "[{}] parameter src is missing; expected a number.", s.who());
        if (!s.out(0).ndim_known()) s.set_out(0, Shape{1});
      })
      .infer_type([](const SetValueParams&, TypeInfer& t) {
        if (t.out(0) == DType::unknown) t.set_out(0, DType::float32);
      })
      .no_symbol();
  table.add<ArangeLikeParams>("_contrib_arange_like", {"data"})
      .doc("Makes evenly spaced values, as many as data has elements, or as long as one of its axes.")
      .shape_only(0)
      .infer_shape([](const ArangeLikeParams& p, ShapeInfer& s) {
        if (!s.in(0).ndim_known()) return;
        if (!p.axis) return s.set_out(0, s.in(0));
        s.set_out(0, Shape{s.in(0)[normalize_axis(*p.axis, s.in(0).ndim(), s.who())]});
      })
      .types(kNumericTypes)
      .zero_gradient();
}

}  // namespace loomix::ops
