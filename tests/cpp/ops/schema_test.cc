// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

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
