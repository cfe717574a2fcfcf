// SPDX-License-Identifier: Apache-2.0
#include "base/params.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loomix {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

enum class PoolType : int8_t { max, avg, sum };

struct Window {
  Shape kernel;
};

struct Params : Window {
  Shape stride;
  PoolType pool_type = PoolType::max;
  std::optional<PoolType> other;
  bool global = false;
  std::optional<bool> include;
  int num_filter = 1;
  int axis = -1;
  int64_t workspace = 1024;
  std::optional<int> maybe;
  float momentum = 0.9f;
  double eps = 1e-3f;
  std::optional<float> temperature;
  std::string name;
  DType dtype = DType::float32;
  std::optional<DType> out_dtype;
  std::optional<Shape> axes;
  std::vector<std::optional<int64_t>> begin;
  std::vector<float> scales = {0.1f, 1.0f};
  std::vector<int64_t> locs;
  std::vector<std::string> names;
  std::string layout = "NCHW";
  float rate = 0.5f;

  static void fields(FieldList<Params>& f) {
    f("kernel", &Params::kernel, "Window.").required("(2, 2)");
    f("stride", &Params::stride, "Step.");
    f("pool_type", &Params::pool_type, "How.")
        .options({{"max", PoolType::max}, {"avg", PoolType::avg}, {"sum", PoolType::sum}});
    f("other", &Params::other, "How else.").options({{"sum", PoolType::sum}, {"avg", PoolType::avg}});
    f("global", &Params::global, "Whole axis.");
    f("include", &Params::include, "Padding counts.");
    f("num_filter", &Params::num_filter, "Channels.").at_least(1).at_most(100);
    f("axis", &Params::axis, "Axis.");
    f("workspace", &Params::workspace, "MiB.").at_least(0);
    f("maybe", &Params::maybe, "An int.");
    f("momentum", &Params::momentum, "Decay.");
    f("eps", &Params::eps, "Epsilon.").above(0);
    f("temperature", &Params::temperature, "Divisor.").above(0);
    f("name", &Params::name, "A string.");
    f("dtype", &Params::dtype, "Type.");
    f("out_dtype", &Params::out_dtype, "Type.").floating();
    f("axes", &Params::axes, "Axes.");
    f("begin", &Params::begin, "Slice.");
    f("scales", &Params::scales, "Scales.");
    f("locs", &Params::locs, "Places.");
    f("names", &Params::names, "Names.");
    f("layout", &Params::layout, "Order.").options({"NHWC", "NCHW"});
    f("rate", &Params::rate, "Probability.").at_least(0).below(1).type("rate");
  }
};

Ref<const AttrsBase> parse(TextPairs given) {
  if (given.empty() || given[0].first != "kernel") given.insert(given.begin(), {"kernel", "(2, 2)"});
  return param_schema<Params>().parse("Pool", given);
}

const Params& value(const Ref<const AttrsBase>& attrs) { return attrs->as<Params>(); }

std::string error_of(TextPairs given) {
  try {
    parse(std::move(given));
  } catch (const ValueError& error) {
    return error.what();
  }
  return "no error";
}

std::string type_of(const char* field) { return param_schema<Params>().find(field)->type; }
std::string default_of(const char* field) { return param_schema<Params>().find(field)->default_text; }

TEST(Params, DocumentsTypesAsMxnetDoes) {
  EXPECT_EQ(type_of("kernel"), "Shape(tuple)");
  EXPECT_EQ(type_of("pool_type"), "{'avg', 'max', 'sum'}");
  EXPECT_EQ(type_of("other"), "{None, 'avg', 'sum'}");
  EXPECT_EQ(type_of("global"), "boolean");
  EXPECT_EQ(type_of("include"), "boolean or None");
  EXPECT_EQ(type_of("num_filter"), "int (non-negative)");
  EXPECT_EQ(type_of("axis"), "int");
  EXPECT_EQ(type_of("workspace"), "long (non-negative)");
  EXPECT_EQ(type_of("maybe"), "int or None");
  EXPECT_EQ(type_of("momentum"), "float");
  EXPECT_EQ(type_of("eps"), "double");
  EXPECT_EQ(type_of("temperature"), "float or None");
  EXPECT_EQ(type_of("name"), "string");
  EXPECT_EQ(type_of("dtype"),
            "{'bfloat16', 'bool', 'float16', 'float32', 'float64', 'int32', 'int64', 'int8', 'uint8'}");
  EXPECT_EQ(type_of("out_dtype"), "{None, 'bfloat16', 'float16', 'float32', 'float64'}");
  EXPECT_EQ(type_of("axes"), "Shape or None");
  EXPECT_EQ(type_of("begin"), "Shape(tuple)");
  EXPECT_EQ(type_of("scales"), "tuple of <float>");
  EXPECT_EQ(type_of("locs"), "tuple of <long>");
  EXPECT_EQ(type_of("layout"), "{'NCHW', 'NHWC'}");
  EXPECT_EQ(type_of("rate"), "rate");
}

TEST(Params, DocumentsDefaultsAsMxnetDoes) {
  EXPECT_EQ(default_of("kernel"), "");
  EXPECT_EQ(default_of("stride"), "[]");
  EXPECT_EQ(default_of("pool_type"), "max");
  EXPECT_EQ(default_of("other"), "None");
  EXPECT_EQ(default_of("global"), "0");
  EXPECT_EQ(default_of("momentum"), "0.899999976");
  EXPECT_EQ(default_of("eps"), "0.0010000000474974513");
  EXPECT_EQ(default_of("scales"), "[0.1,1]");
  EXPECT_EQ(default_of("out_dtype"), "None");
}

TEST(Params, DescribesFields) {
  const ParamSchema& schema = param_schema<Params>();
  EXPECT_EQ(schema.find("kernel")->describe(), "Shape(tuple), required");
  EXPECT_EQ(schema.find("pool_type")->describe(), "{'avg', 'max', 'sum'},optional, default='max'");
  EXPECT_EQ(schema.find("axis")->describe(), "int, optional, default='-1'");
  EXPECT_EQ(schema.find("num_filter")->describe(), "int (non-negative), optional, default=1");
  EXPECT_EQ(schema.find("maybe")->describe(), "int or None, optional, default='None'");
  EXPECT_EQ(schema.find("name")->describe(), "string, optional, default=''");
  EXPECT_EQ(schema.find("global")->describe(), "boolean, optional, default=0");
  EXPECT_EQ(schema.find("momentum")->default_value, "0.9");
  EXPECT_EQ(schema.find("global")->default_value, "False");
  EXPECT_EQ(schema.find("scales")->default_value, "(0.1, 1.0)");
  EXPECT_EQ(schema.find("nothing"), nullptr);
  EXPECT_THAT(schema.describe(), HasSubstr("axis : int, optional, default='-1'\n    Axis.\n"));
}

TEST(Params, TheExamplesOfRequiredFieldsAreEnough) {
  const ParamSchema& schema = param_schema<Params>();
  EXPECT_EQ(schema.example(), (TextPairs{{"kernel", "(2, 2)"}}));
  EXPECT_EQ(value(schema.parse("test", schema.example())).kernel, Shape({2, 2}));
}

TEST(Params, ParsesTuples) {
  for (const char* text : {"(3, 4)", "[3,4]", "(3,4,)", "(3L, 4L)", " ( 3 , 4 ) ", "[3, 4,]"}) {
    EXPECT_EQ(value(parse({{"kernel", text}})).kernel, Shape({3, 4})) << text;
  }
  EXPECT_EQ(value(parse({{"kernel", "()"}})).kernel, Shape());
  EXPECT_EQ(value(parse({{"kernel", "(-1, 0)"}})).kernel, Shape({-1, 0}));
  EXPECT_EQ(value(parse({{"stride", "2"}})).stride, Shape({2}));
  EXPECT_EQ(value(parse({{"kernel", "3"}})).kernel, Shape({3}));
  EXPECT_THAT(value(parse({{"begin", "-1"}})).begin, ElementsAre(std::optional<int64_t>(-1)));
  EXPECT_THAT(value(parse({{"scales", "2.5"}})).scales, ElementsAre(2.5f));
  EXPECT_EQ(value(parse({{"axes", "-1"}})).axes, Shape({-1}));
  EXPECT_EQ(value(parse({{"axes", "None"}})).axes, std::nullopt);
  EXPECT_EQ(value(parse({{"axes", "()"}})).axes, Shape());
  EXPECT_THAT(value(parse({{"begin", "(None, 2, -1)"}})).begin,
              ElementsAre(std::nullopt, std::optional<int64_t>(2), std::optional<int64_t>(-1)));
  EXPECT_THAT(value(parse({{"scales", "(1, 2.5, 1e-3)"}})).scales, ElementsAre(1.0f, 2.5f, 1e-3f));
  EXPECT_THAT(value(parse({{"names", "('a', \"b\", c)"}})).names, ElementsAre("a", "b", "c"));
  for (const char* text :
       {"3.0", "", "(", "(3", "3)", "(3]", "(3,,4)", "(,)", "(a, b)", "(3.0, 3)", "(3 4)", "3, 4"}) {
    EXPECT_THAT(error_of({{"kernel", text}}),
                HasSubstr("Invalid Parameter format for kernel expect Shape(tuple)"))
        << text;
  }
  std::string long_tuple = "(1";
  for (int i = 0; i < Shape::kMaxDims; ++i) long_tuple += ",1";
  EXPECT_THAT(error_of({{"kernel", long_tuple + ")"}}), HasSubstr("Invalid Parameter format"));
}

TEST(Params, ParsesBooleans) {
  for (const char* text : {"True", "true", "TRUE", "1"}) EXPECT_TRUE(value(parse({{"global", text}})).global);
  for (const char* text : {"False", "false", "0"}) EXPECT_FALSE(value(parse({{"global", text}})).global);
  EXPECT_EQ(value(parse({{"include", "None"}})).include, std::nullopt);
  EXPECT_EQ(value(parse({{"include", "1"}})).include, true);
  for (const char* text : {"yes", "2", "", "None"}) {
    EXPECT_EQ(error_of({{"global", text}}),
              fmt::format("[Pool] Invalid Parameter format for global expect boolean but value='{}'", text));
  }
}

TEST(Params, ParsesNumbers) {
  EXPECT_EQ(value(parse({{"axis", " -7 "}})).axis, -7);
  EXPECT_EQ(value(parse({{"axis", "+7"}})).axis, 7);
  EXPECT_EQ(value(parse({{"workspace", "9223372036854775807"}})).workspace,
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(value(parse({{"maybe", "None"}})).maybe, std::nullopt);
  EXPECT_EQ(value(parse({{"maybe", "3"}})).maybe, 3);
  for (const char* text : {"2.0", "2147483648", "", "0x10", "1 2", "+-1", "True"}) {
    EXPECT_THAT(error_of({{"axis", text}}), HasSubstr("expect int but value=")) << text;
  }
  EXPECT_EQ(value(parse({{"momentum", "2"}})).momentum, 2.0f);
  EXPECT_EQ(value(parse({{"momentum", "1e-8"}})).momentum, 1e-8f);
  EXPECT_EQ(value(parse({{"momentum", "1e-60"}})).momentum, 0.0f);
  EXPECT_EQ(value(parse({{"momentum", "1e60"}})).momentum, HUGE_VALF);
  EXPECT_EQ(value(parse({{"momentum", "-inf"}})).momentum, -HUGE_VALF);
  EXPECT_TRUE(std::isnan(value(parse({{"momentum", "nan"}})).momentum));
  EXPECT_THAT(error_of({{"eps", "1e-400"}}), HasSubstr("should be greater than 0"));
  for (const char* text : {"0x1p3", "", "1.0.0", "1e", "one"}) {
    EXPECT_THAT(error_of({{"momentum", text}}), HasSubstr("expect float but value=")) << text;
  }
}

TEST(Params, ParsesChoices) {
  EXPECT_EQ(value(parse({{"pool_type", "avg"}})).pool_type, PoolType::avg);
  EXPECT_EQ(value(parse({{"other", "sum"}})).other, PoolType::sum);
  EXPECT_EQ(value(parse({{"other", "None"}})).other, std::nullopt);
  EXPECT_EQ(value(parse({{"dtype", "bool"}})).dtype, DType::boolean);
  EXPECT_EQ(value(parse({{"out_dtype", "float16"}})).out_dtype, DType::float16);
  EXPECT_EQ(error_of({{"pool_type", "Max"}}),
            "[Pool] Invalid Input: 'Max' for pool_type. Did you mean 'max'? valid values are: {'avg', 'max', "
            "'sum'}");
  EXPECT_EQ(value(parse({{"layout", "NHWC"}})).layout, "NHWC");
  EXPECT_THAT(error_of({{"layout", "NWHC"}}), HasSubstr("valid values are: {'NCHW', 'NHWC'}"));
  EXPECT_THAT(param_schema<Params>().find("other")->options, ElementsAre("None", "avg", "sum"));
  EXPECT_THAT(error_of({{"pool_type", "None"}}), HasSubstr("Invalid Input: 'None'"));
  EXPECT_THAT(error_of({{"out_dtype", "int32"}}),
              HasSubstr("Invalid Input: 'int32' for out_dtype. valid values are: {None, "));
}

TEST(Params, ChecksRanges) {
  EXPECT_EQ(error_of({{"num_filter", "0"}}), "[Pool] value 0 for Parameter num_filter exceed bound [1,100]");
  EXPECT_EQ(error_of({{"num_filter", "101"}}),
            "[Pool] value 101 for Parameter num_filter exceed bound [1,100]");
  EXPECT_EQ(error_of({{"workspace", "-1"}}),
            "[Pool] value -1 for Parameter workspace should be greater equal to 0");
  EXPECT_EQ(error_of({{"temperature", "0"}}),
            "[Pool] value 0 for Parameter temperature should be greater than 0");
  EXPECT_THAT(error_of({{"eps", "nan"}}), HasSubstr("should be greater than 0"));
  EXPECT_EQ(value(parse({{"num_filter", "100"}})).num_filter, 100);
  EXPECT_EQ(error_of({{"rate", "1"}}), "[Pool] value 1 for Parameter rate exceed bound [0,1)");
}

TEST(Params, RefusesUnknownRepeatedAndMissingArguments) {
  EXPECT_THAT(
      error_of({{"pool_typ", "max"}}),
      testing::AllOf(HasSubstr("[Pool] Cannot find argument 'pool_typ'. Did you mean 'pool_type'? Possible "
                               "Arguments:\n  kernel: "),
                     HasSubstr("\n  and ")));
  EXPECT_THAT(error_of({{"axis", "1"}, {"axis", "2"}}), HasSubstr("argument 'axis' was given twice"));
  try {
    param_schema<Params>().parse("Pool", TextPairs{{"axis", "1"}});
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_STREQ(error.what(),
                 "[Pool] kernel is missing: expected Shape(tuple), which has no default; given: axis");
  }
}

TEST(Params, KeepsTheUsersWords) {
  const auto attrs = parse({{"kernel", "[3,3]"}, {"momentum", "1e-1"}, {"axis", "2"}});
  EXPECT_THAT(attrs->given(),
              ElementsAre(Pair("axis", "2"), Pair("kernel", "[3,3]"), Pair("momentum", "1e-1")));
  EXPECT_EQ(attrs->to_text("kernel"), "(3, 3)");
  EXPECT_EQ(attrs->to_text("momentum"), "0.1");
  EXPECT_EQ(attrs->to_text("pool_type"), "max");
  EXPECT_EQ(attrs->to_text("global"), "False");
  EXPECT_EQ(attrs->to_text("other"), "None");
  EXPECT_THROW(attrs->to_text("nothing"), KeyError);
}

TEST(Params, ComparesByValue) {
  const auto a = parse({{"kernel", "[3,3]"}, {"axis", "-1"}});
  const auto b = parse({{"kernel", "(3, 3)"}});
  EXPECT_EQ(*a, *b);
  EXPECT_EQ(a->hash(), b->hash());
  EXPECT_EQ(a->canonical(), b->canonical());
  for (const auto& [name, text] : TextPairs{{"stride", "(1,)"},
                                            {"pool_type", "avg"},
                                            {"other", "avg"},
                                            {"global", "1"},
                                            {"include", "0"},
                                            {"num_filter", "2"},
                                            {"axis", "1"},
                                            {"workspace", "1"},
                                            {"maybe", "0"},
                                            {"momentum", "1"},
                                            {"eps", "1"},
                                            {"temperature", "1"},
                                            {"name", "x"},
                                            {"dtype", "int8"},
                                            {"axes", "()"},
                                            {"begin", "(None,)"},
                                            {"scales", "(1,)"},
                                            {"out_dtype", "float16"},
                                            {"locs", "(0,)"}}) {
    const auto c = parse({{"kernel", "(3, 3)"}, {name, text}});
    EXPECT_FALSE(*b == *c) << name;
    EXPECT_NE(b->hash(), c->hash()) << name;
    EXPECT_NE(b->canonical(), c->canonical()) << name;
  }
}

TEST(Params, PrintedTextParsesToTheSameValue) {
  const auto a = parse({{"kernel", "(3,)"},
                        {"stride", "(2,1)"},
                        {"pool_type", "sum"},
                        {"momentum", "0.1"},
                        {"eps", "1e-300"},
                        {"begin", "(None,1)"},
                        {"axes", "(0,)"},
                        {"dtype", "bfloat16"},
                        {"scales", "(1e-8,)"},
                        {"temperature", "3.4e38"},
                        {"names", "(a, b)"},
                        {"locs", "(5,)"}});
  TextPairs texts;
  for (const FieldInfo& field : a->schema().fields()) texts.emplace_back(field.name, a->to_text(field.name));
  EXPECT_EQ(*a, *param_schema<Params>().parse("Pool", texts));
}

TEST(Params, MakesAttributesFromAStruct) {
  Params params;
  params.kernel = {2, 2};
  params.pool_type = PoolType::avg;
  const auto made = make_attrs(params);
  EXPECT_EQ(*made, *parse({{"kernel", "(2,2)"}, {"pool_type", "avg"}}));
  EXPECT_THAT(made->given(), ElementsAre(Pair("kernel", "(2, 2)"), Pair("pool_type", "avg")));
}

struct Nothing {
  static void fields(FieldList<Nothing>&) {}
};

TEST(Params, TypeIsChecked) {
  const auto nothing = param_schema<Nothing>().parse("x", {});
  EXPECT_THROW(nothing->as<Params>(), InternalError);
  EXPECT_NO_THROW(nothing->as<Nothing>());
  EXPECT_FALSE(*nothing == *parse({}));
}

TEST(Params, StructWithoutFieldsKeepsWhatIsGiven) {
  const TextPairs given = {{"axis", "1"}};
  EXPECT_EQ(param_schema<Nothing>().parse("x", given)->given(), given);
}

struct OpenParams {
  std::string kind;
  TextPairs others;
  static void fields(FieldList<OpenParams>& f) {
    f("kind", &OpenParams::kind, "What it is.");
    f("", &OpenParams::others, "What else there is.");
  }
};

TEST(OpenParams, TakesNamesThatNoFieldHas) {
  const ParamSchema& schema = param_schema<OpenParams>();
  EXPECT_NE(schema.others(), nullptr);
  EXPECT_EQ(param_schema<Params>().others(), nullptr);
  EXPECT_EQ(schema.find(""), nullptr);
  const TextPairs given = {{"z", "1"}, {"kind", "any"}, {"a", "2"}};
  const auto attrs = schema.parse("test", given);
  EXPECT_EQ(attrs->as<OpenParams>().kind, "any");
  EXPECT_THAT(attrs->as<OpenParams>().others, ElementsAre(Pair("a", "2"), Pair("z", "1")));
  EXPECT_THAT(attrs->given(), ElementsAre(Pair("a", "2"), Pair("kind", "any"), Pair("z", "1")));
  EXPECT_THAT(attrs->canonical(), HasSubstr("kind=any\n=a=2, z=1\n"));
  EXPECT_EQ(make_attrs(attrs->as<OpenParams>())->given(), attrs->given());
}

TEST(OpenParams, ComparesThem) {
  const ParamSchema& schema = param_schema<OpenParams>();
  const auto parse = [&](const TextPairs& given) { return schema.parse("test", given); };
  EXPECT_EQ(*parse({{"a", "1"}, {"b", "2"}}), *parse({{"b", "2"}, {"a", "1"}}));
  EXPECT_EQ(parse({{"a", "1"}})->hash(), parse({{"a", "1"}})->hash());
  EXPECT_FALSE(*parse({{"a", "1"}}) == *parse({{"a", "2"}}));
  EXPECT_THROW(parse({{"a", "1"}, {"a", "2"}}), ValueError);
}

}  // namespace
}  // namespace loomix
