// SPDX-License-Identifier: Apache-2.0
#include "base/params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loomix {
namespace {

using ::testing::HasSubstr;

// A value with a text form, and one that lives in this process only.
class Subgraph final : public Opaque {
 public:
  explicit Subgraph(std::string text) : text_(std::move(text)) {}
  std::string_view kind() const override { return "subgraph"; }
  bool equals(const Opaque& other) const override {
    return text_ == static_cast<const Subgraph&>(other).text_;
  }
  size_t hash() const override { return std::hash<std::string>()(text_); }
  std::optional<std::string> save() const override { return text_; }
  static Ref<const Opaque> load(std::string_view text) {
    if (!text.starts_with('{')) return {};
    return make_ref<Subgraph>(std::string(text));
  }

 private:
  const std::string text_;
};

class Handle final : public Opaque {
 public:
  std::string_view kind() const override { return "handle"; }
};

struct LoopParams {
  Ref<const Opaque> body;
  Ref<const Opaque> function;
  int steps = 1;
  static void fields(FieldList<LoopParams>& f) {
    f("body", &LoopParams::body, "What is repeated.").loader(Subgraph::load);
    f("function", &LoopParams::function, "What is called.");
    f("steps", &LoopParams::steps, "How often.");
  }
};

LoopParams loop(Ref<const Opaque> body, Ref<const Opaque> function = {}) {
  LoopParams params;
  params.body = std::move(body);
  params.function = std::move(function);
  return params;
}

TEST(OpaqueAttributes, AreComparedByTheirOwnRules) {
  const auto one = make_attrs(loop(make_ref<Subgraph>("{1}")));
  EXPECT_EQ(*one, *make_attrs(loop(make_ref<Subgraph>("{1}"))));
  EXPECT_EQ(one->hash(), make_attrs(loop(make_ref<Subgraph>("{1}")))->hash());
  EXPECT_FALSE(*one == *make_attrs(loop(make_ref<Subgraph>("{2}"))));
  const Ref<const Opaque> handle = make_ref<Handle>();
  EXPECT_EQ(*make_attrs(loop({}, handle)), *make_attrs(loop({}, handle)));
  EXPECT_FALSE(*make_attrs(loop({}, handle)) == *make_attrs(loop({}, make_ref<Handle>())));
}

TEST(OpaqueAttributes, AreSavedAndLoadedWhereTheyHaveAText) {
  const auto attrs = make_attrs(loop(make_ref<Subgraph>("{\"nodes\": []}")));
  EXPECT_EQ(attrs->to_text("body"), "{\"nodes\": []}");
  EXPECT_EQ(attrs->unsaved_field(), nullptr);
  const auto loaded = param_schema<LoopParams>().parse("loop", {{{"body", attrs->to_text("body")}}});
  EXPECT_EQ(*loaded, *attrs);
  const auto bound = make_attrs(loop({}, make_ref<Handle>()));
  EXPECT_EQ(bound->to_text("function"), "<handle>");
  ASSERT_NE(bound->unsaved_field(), nullptr);
  EXPECT_EQ(bound->unsaved_field()->name, "function");
}

TEST(OpaqueAttributes, RefuseTextThatIsNone) {
  for (const auto& [field, text] : TextPairs{{"body", "42"}, {"function", "<handle>"}}) {
    try {
      const std::pair<std::string, std::string> given{field, text};
      param_schema<LoopParams>().parse("loop", {&given, 1});
      FAIL() << field;
    } catch (const ValueError& error) {
      EXPECT_THAT(error.what(), HasSubstr(field));
    }
  }
  EXPECT_EQ(param_schema<LoopParams>().find("body")->describe(), "object, optional, default=None");
}

}  // namespace
}  // namespace loomix
