// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ops/table.h"

namespace loomix::ops {
namespace {

TEST(Schema, UnknownOperatorsNameTheirNeighbours) {
  try {
    builtin_table().at("broadcst_add");
    FAIL();
  } catch (const KeyError& error) {
    EXPECT_NE(std::string(error.what()).find("broadcast_add"), std::string::npos) << error.what();
  }
}

TEST(Schema, RepeatedInputsAreTheLastOneDeclared) {
  const OpDef& op = builtin_table().at("_backward_concat");
  const auto attrs = builtin_table().parse(op, {{"num_args", "9"}});
  ASSERT_EQ(op.count_inputs(*attrs), 10);
  EXPECT_EQ(op.schema_position(*attrs, 0), 0);
  for (int i = 1; i < 10; ++i) EXPECT_EQ(op.schema_position(*attrs, i), 1);
}

std::string tuple_of(int length, const std::string& first, const std::string& others) {
  std::string text = "(" + first;
  for (int i = 1; i < length; ++i) text += ", " + others;
  return text + ",)";
}

// Sizes of arrays that are unknown are "?" in messages; numbers of parameters are numbers.
TEST(Schema, MessagesShowTheNumbersOfParameters) {
  int refused = 0;
  const auto try_one = [&](const OpDef& op, const std::string& field, const std::string& value, int ndim) {
    TextPairs texts = op.params->example();
    std::erase_if(texts, [&](const auto& pair) { return pair.first == field; });
    texts.emplace_back(field, value);
    try {
      const auto attrs = op.params->parse(op.name, texts);
      std::vector<Shape> in(static_cast<size_t>(op.count_inputs(*attrs)), Shape::filled(ndim, 4));
      std::vector<Shape> out(static_cast<size_t>(op.count_outputs(*attrs)), Shape::unknown());
      ShapeInfer rule(op, in, out);
      op.infer_shape(*attrs, rule);
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(std::string(error.what()).find('?'), std::string::npos) << error.what();
    }
  };
  for (const OpDef& op : builtin_table().all()) {
    for (const FieldInfo& field : op.params->fields()) {
      if (field.kind != FieldKind::shape && field.kind != FieldKind::int_list) continue;
      for (int length = 1; length <= 8; ++length) {
        for (int ndim = 1; ndim <= 4; ++ndim) {
          try_one(op, field.name, tuple_of(length, "0", "-7"), ndim);
          try_one(op, field.name, tuple_of(length, "-7", "1"), ndim);
        }
      }
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Dispatch, ReportsWhichKernelRuns) {
  const OpDef& op = builtin_table().at("exp");
  const auto attrs = builtin_table().parse(op, {});
  const TensorView view{nullptr, DType::float32, Shape{2}};
  const Req req = Req::write;
  std::string heard;
  const DispatchListener listener = [&](const std::string& line) { heard += line; };
  op.choose(*attrs, {std::span(&view, 1), std::span(&view, 1), std::span(&req, 1)}, DeviceType::cpu,
            &listener);
  EXPECT_EQ(heard, "exp: unary_cpu runs (float32 (2,))");
  EXPECT_THROW(
      op.choose(*attrs, {std::span(&view, 1), std::span(&view, 1), std::span(&req, 1)}, DeviceType::gpu),
      NotImplementedError);
  EXPECT_GT(op.estimate_ns(*attrs, {std::span(&view, 1), std::span(&view, 1), std::span(&req, 1)}), 0);
}

}  // namespace
}  // namespace loomix::ops
