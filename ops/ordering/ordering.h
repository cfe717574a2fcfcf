// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

// sort, argsort and topk: one stable order along one axis. NaN counts as larger than every number.
namespace loomix::ops {

inline constexpr std::initializer_list<DType> kOrderingIndexTypes = {
    DType::float16, DType::float32, DType::float64, DType::int32, DType::int64, DType::uint8};

struct SortParams {
  std::optional<int> axis = -1;
  bool is_ascend = true;
  static void fields(FieldList<SortParams>& f) {
    f("axis", &SortParams::axis, "Axis to sort along; None sorts the flattened input.");
    f("is_ascend", &SortParams::is_ascend, "Smallest first.");
  }
};

struct ArgsortParams {
  std::optional<int> axis = -1;
  bool is_ascend = true;
  DType dtype = DType::float32;
  static void fields(FieldList<ArgsortParams>& f) {
    f("axis", &ArgsortParams::axis, "Axis to sort along; None sorts the flattened input.");
    f("is_ascend", &ArgsortParams::is_ascend, "Smallest first.");
    f("dtype", &ArgsortParams::dtype, "Type of the output indices.").dtypes(kOrderingIndexTypes);
  }
};

enum class TopkReturn { both, indices, mask, value };

struct TopkParams {
  std::optional<int> axis = -1;
  int k = 1;
  TopkReturn ret_typ = TopkReturn::indices;
  bool is_ascend = false;
  DType dtype = DType::float32;
  static void fields(FieldList<TopkParams>& f) {
    f("axis", &TopkParams::axis, "Axis to choose along; None takes the flattened input.");
    f("k", &TopkParams::k, "How many elements; 0 or less takes all of the axis.");
    f("ret_typ", &TopkParams::ret_typ,
      "What to give: values, their indices, both, or a mask of ones over the input.")
        .options({{"both", TopkReturn::both},
                  {"indices", TopkReturn::indices},
                  {"mask", TopkReturn::mask},
                  {"value", TopkReturn::value}});
    f("is_ascend", &TopkParams::is_ascend, "Smallest first, and the smallest chosen.");
    f("dtype", &TopkParams::dtype, "Type of the output indices.").dtypes(kOrderingIndexTypes);
  }
};

}  // namespace loomix::ops
