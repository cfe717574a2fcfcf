// SPDX-License-Identifier: Apache-2.0
#include "base/params.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace loomix {
namespace {

enum class Mode { fast, slow };

struct SampleParams {
  int axis = -1;
  float rate = 0.9f;
  bool flag = true;
  std::optional<double> temperature;
  Shape kernel;
  std::optional<Shape> axes;
  std::vector<std::optional<int64_t>> begin;
  Mode mode = Mode::slow;
  std::optional<DType> dtype;
  int64_t count = 0;

  static void fields(FieldList<SampleParams>& f) {
    f("axis", &SampleParams::axis, "An axis.").at_least(-4).at_most(3);
    f("rate", &SampleParams::rate, "A rate.");
    f("flag", &SampleParams::flag, "A flag.");
    f("temperature", &SampleParams::temperature, "Divides.").above(0);
    f("kernel", &SampleParams::kernel, "A kernel.");
    f("axes", &SampleParams::axes, "Axes.").or_int();
    f("begin", &SampleParams::begin, "Begins.");
    f("mode", &SampleParams::mode, "A mode.").options({{"slow", Mode::slow}, {"fast", Mode::fast}});
    f("dtype", &SampleParams::dtype, "A type.").floating();
    f("count", &SampleParams::count, "A count.").required();
  }
};

Ref<const AttrsBase> parse(TextPairs texts) { return param_schema<SampleParams>().parse("sample", texts); }

std::string message_of(TextPairs texts) {
  try {
    parse(std::move(texts));
  } catch (const ValueError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Params, DefaultsAndText) {
  const auto attrs = parse({{"count", "7"}});
  const auto& p = attrs->as<SampleParams>();
  EXPECT_EQ(p.axis, -1);
  EXPECT_TRUE(p.flag);
  EXPECT_FALSE(p.temperature);
  EXPECT_EQ(p.mode, Mode::slow);
  EXPECT_EQ(p.count, 7);
  const auto& schema = param_schema<SampleParams>();
  EXPECT_EQ(schema.find("rate")->info.default_text, "0.899999976");
  EXPECT_EQ(schema.find("flag")->info.default_text, "1");
  EXPECT_EQ(schema.find("mode")->info.default_text, "slow");
  EXPECT_EQ(schema.find("mode")->info.type, "{'fast', 'slow'}");
  EXPECT_EQ(schema.find("dtype")->info.default_text, "None");
  EXPECT_EQ(schema.find("kernel")->info.default_text, "[]");
  EXPECT_EQ(schema.find("temperature")->info.type, "double or None");
}

TEST(Params, ReadsEverySpelling) {
  for (const char* text : {"(3, 5)", "[3,5]", " ( 3 , 5 , ) ", "(3L, 5L)"}) {
    EXPECT_EQ(parse({{"count", "1"}, {"kernel", text}})->as<SampleParams>().kernel, (Shape{3, 5})) << text;
  }
  EXPECT_EQ(parse({{"count", "1"}, {"kernel", "()"}})->as<SampleParams>().kernel, Shape());
  EXPECT_EQ(*parse({{"count", "1"}, {"axes", "2"}})->as<SampleParams>().axes, Shape{2});
  EXPECT_FALSE(parse({{"count", "1"}, {"axes", "None"}})->as<SampleParams>().axes);
  for (const char* text : {"True", "true", "1", "TRUE"}) {
    EXPECT_TRUE(parse({{"count", "1"}, {"flag", text}})->as<SampleParams>().flag) << text;
  }
  const auto begin = parse({{"count", "1"}, {"begin", "(1, None, -2)"}});
  EXPECT_EQ(begin->as<SampleParams>().begin, (std::vector<std::optional<int64_t>>{1, std::nullopt, -2}));
  EXPECT_FLOAT_EQ(parse({{"count", "1"}, {"rate", "1e-8"}})->as<SampleParams>().rate, 1e-8f);
  EXPECT_EQ(parse({{"count", " 12 "}})->as<SampleParams>().count, 12);
  EXPECT_EQ(*parse({{"count", "1"}, {"dtype", "float16"}})->as<SampleParams>().dtype, DType::float16);
}

TEST(Params, RefusesWithTheAllowedValues) {
  EXPECT_EQ(message_of({}), "[sample] Required parameter count of long is not presented");
  EXPECT_EQ(message_of({{"count", "2.0"}}), "[sample] Invalid Parameter format for count expect long but value='2.0'");
  EXPECT_NE(message_of({{"count", "1"}, {"flag", "yes"}}).find("expect boolean but value='yes'"), std::string::npos);
  EXPECT_NE(message_of({{"count", "1"}, {"kernel", "3"}}).find("expect Shape(tuple)"), std::string::npos);
  EXPECT_NE(message_of({{"count", "1"}, {"mode", "Fast"}})
                .find("Invalid Input: 'Fast', valid values are: {'fast', 'slow'}"),
            std::string::npos);
  EXPECT_NE(message_of({{"count", "1"}, {"dtype", "int32"}}).find("Invalid Input: 'int32'"), std::string::npos);
  EXPECT_NE(message_of({{"count", "1"}, {"axi", "1"}}).find("Cannot find argument 'axi', Possible Arguments:"),
            std::string::npos);
  EXPECT_NE(message_of({{"count", "1"}, {"axis", "4"}}).find("at least -4 and at most 3"), std::string::npos);
  EXPECT_NE(message_of({{"count", "1"}, {"temperature", "0"}}).find("above 0"), std::string::npos);
}

TEST(Params, EqualityIgnoresSpelling) {
  EXPECT_TRUE(*parse({{"count", "1"}, {"kernel", "(3,5)"}}) == *parse({{"kernel", "[3, 5]"}, {"count", "1"}}));
  EXPECT_FALSE(*parse({{"count", "1"}}) == *parse({{"count", "2"}}));
  const auto attrs = parse({{"mode", "fast"}, {"count", "1"}});
  EXPECT_EQ(attrs->given(), (TextPairs{{"count", "1"}, {"mode", "fast"}}));
}

}  // namespace
}  // namespace loomix
