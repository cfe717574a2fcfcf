// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "ops/table.h"

// MXNet's schemas, a line an operator (name, aliases, inputs, counting parameter, parameters), against the table.
namespace loomix::ops {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  std::istringstream stream(text);
  while (std::getline(stream, part, separator)) parts.push_back(part);
  return parts;
}

std::vector<std::filesystem::path> schema_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(LOOMIX_SOURCE_DIR "/tests/ops/schema")) {
    if (entry.path().extension() == ".tsv") files.push_back(entry.path());
  }
  return files;
}

std::string describe(const OpDef& op) {
  std::string text;
  for (const auto& field : op.params->fields()) {
    if (field.name == op.variadic_count && op.name == "add_n") continue;  // MXNet does not list it
    text += (text.empty() ? "" : ";") + field.name + ": " + field.describe();
  }
  return text;
}

TEST(Schema, IsMxnets) {
  int operators = 0;
  for (const auto& path : schema_files()) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line); ++operators) {
      auto columns = split(line, '\t');
      columns.resize(5);
      const OpDef* op = builtin_table().find(columns[0]);
      ASSERT_NE(op, nullptr) << columns[0];
      EXPECT_EQ(op->name, columns[0]);
      const auto aliases = split(columns[1], ',');
      EXPECT_EQ(std::set(op->aliases.begin(), op->aliases.end()), std::set(aliases.begin(), aliases.end()))
          << op->name;
      std::string inputs;
      for (const auto& input : op->inputs) inputs += (inputs.empty() ? "" : ",") + input.name;
      EXPECT_EQ(inputs, columns[2]) << op->name;
      EXPECT_EQ(op->variadic_count, op->name == "amp_multicast" ? "num_outputs" : columns[3]) << op->name;
      if (op->name == "smooth_l1") columns[4] += ", optional, default=1";  // MXNet does not tell the default
      EXPECT_EQ(describe(*op), columns[4]) << op->name;
    }
  }
  EXPECT_GT(operators, 100);
}

TEST(Schema, UnknownOperatorsNameTheirNeighbours) {
  try {
    builtin_table().at("broadcst_add");
    FAIL();
  } catch (const KeyError& error) {
    EXPECT_NE(std::string(error.what()).find("broadcast_add"), std::string::npos) << error.what();
  }
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
