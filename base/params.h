// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ref_counted.h"
#include "base/shape.h"

// Self-describing attribute structs. A struct lists its fields once,
//
//   struct SoftmaxParams {
//     int axis = -1;
//     std::optional<double> temperature;
//     static void fields(FieldList<SoftmaxParams>& f) {
//       f("axis", &SoftmaxParams::axis, "Axis along which values sum to one.");
//       f("temperature", &SoftmaxParams::temperature, "Divides the input.").above(0);
//     }
//   };
//
// and from that list come parsing of text (Python values and files), defaults, range errors, printing, hashing, the
// Python signature and the documentation.
namespace loomix {

class ParamSchema;
using TextPairs = std::vector<std::pair<std::string, std::string>>;

// The attributes of one operator call, parsed: immutable and shared.
class AttrsBase : public RefCounted {
 public:
  const ParamSchema& schema() const { return *schema_; }
  // The struct itself; P must be the one that the schema was made from.
  template <class P>
  const P& as() const;
  // What the caller gave, sorted by name, in the caller's spelling; defaults are not in it.
  const TextPairs& given() const { return given_; }
  // Every field in one spelling: equal texts mean equal attributes.
  const std::string& canonical() const { return canonical_; }
  size_t hash() const { return hash_; }
  friend bool operator==(const AttrsBase& a, const AttrsBase& b) {
    return a.schema_ == b.schema_ && a.hash_ == b.hash_ && a.canonical_ == b.canonical_;
  }

 protected:
  explicit AttrsBase(const ParamSchema& schema) : schema_(&schema) {}

 private:
  friend class ParamSchema;
  const ParamSchema* schema_;
  TextPairs given_;
  std::string canonical_;
  size_t hash_ = 0;
};

template <class P>
class Attrs final : public AttrsBase {
 public:
  explicit Attrs(const ParamSchema& schema) : AttrsBase(schema) {}
  P value;
};

template <class P>
const P& AttrsBase::as() const {
  return static_cast<const Attrs<P>&>(*this).value;
}

struct FieldInfo {
  std::string name;
  std::string type;          // "int", "Shape(tuple)", "float or None", "{'avg', 'max'}"
  std::string default_text;  // as MXNet prints it: booleans 0/1, tuples in brackets; empty if required
  std::string doc;
  bool required = false;
  bool boolean = false;
  std::vector<std::string> options;  // of an enumeration; "None" among them if it is optional
};

// The fields of one struct, without its type.
class ParamSchema {
 public:
  struct Field {
    FieldInfo info;
    // Sets the field from text, or throws ValueError; `who` is the operator's name.
    std::function<void(AttrsBase&, std::string_view text, std::string_view who)> set;
    std::function<std::string(const AttrsBase&)> print;
  };

  explicit ParamSchema(std::function<Ref<AttrsBase>(const ParamSchema&)> make) : make_(std::move(make)) {}
  ParamSchema(const ParamSchema&) = delete;
  ParamSchema& operator=(const ParamSchema&) = delete;

  std::span<const Field> fields() const { return fields_; }
  const Field* find(std::string_view name) const;
  // Throws ValueError for unknown names, missing required ones, unreadable and out-of-range values.
  Ref<const AttrsBase> parse(std::string_view who, std::span<const std::pair<std::string, std::string>> texts) const;

  std::vector<Field>& mutable_fields() { return fields_; }

 private:
  std::function<Ref<AttrsBase>(const ParamSchema&)> make_;
  std::vector<Field> fields_;
};

// The schema of P, made on first use.
template <class P>
const ParamSchema& param_schema();

namespace params_detail {

// How one C++ type reads and prints. `read` returns false for text that is not of the type.
bool read(std::string_view text, bool& value);
bool read(std::string_view text, int& value);
bool read(std::string_view text, int64_t& value);
bool read(std::string_view text, float& value);
bool read(std::string_view text, double& value);
bool read(std::string_view text, std::string& value);
bool read(std::string_view text, DType& value);
bool read(std::string_view text, Shape& value);
bool read(std::string_view text, std::vector<float>& value);
bool read(std::string_view text, std::vector<double>& value);
bool read(std::string_view text, std::vector<int64_t>& value);
bool read(std::string_view text, std::vector<std::optional<int64_t>>& value);
bool read_int_as_shape(std::string_view text, Shape& value);
bool is_none(std::string_view text);

std::string print(bool value);
std::string print(int value);
std::string print(int64_t value);
std::string print(float value);
std::string print(double value);
std::string print(const std::string& value);
std::string print(const std::optional<int64_t>& value);
std::string print(DType value);
std::string print(const Shape& value);
std::string print(const std::vector<float>& value);
std::string print(const std::vector<double>& value);
std::string print(const std::vector<int64_t>& value);
std::string print(const std::vector<std::optional<int64_t>>& value);

inline const char* type_text(Type<bool>) { return "boolean"; }
inline const char* type_text(Type<int>) { return "int"; }
inline const char* type_text(Type<int64_t>) { return "long"; }
inline const char* type_text(Type<float>) { return "float"; }
inline const char* type_text(Type<double>) { return "double"; }
inline const char* type_text(Type<std::string>) { return "string"; }
inline const char* type_text(Type<DType>) { return "dtype"; }
inline const char* type_text(Type<Shape>) { return "Shape(tuple)"; }
inline const char* type_text(Type<std::vector<float>>) { return "tuple of <float>"; }
inline const char* type_text(Type<std::vector<double>>) { return "tuple of <double>"; }
inline const char* type_text(Type<std::vector<int64_t>>) { return "tuple of <long>"; }
inline const char* type_text(Type<std::vector<std::optional<int64_t>>>) { return "Shape(tuple)"; }

template <class T>
struct Unwrap {
  using type = T;
  static constexpr bool optional = false;
};
template <class T>
struct Unwrap<std::optional<T>> {
  using type = T;
  static constexpr bool optional = true;
};

struct Limits {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool open_below = false;
  bool open_above = false;
  bool int_as_shape = false;
};

// Each throws the ValueError of the same name in MXNet's words.
[[noreturn]] void fail_format(std::string_view who, const FieldInfo& info, std::string_view text);
[[noreturn]] void fail_option(std::string_view who, const FieldInfo& info, std::string_view text);
[[noreturn]] void fail_range(std::string_view who, const FieldInfo& info, std::string_view text, const Limits& limits);
std::string options_text(const std::vector<std::string>& options);

}  // namespace params_detail

// Narrows one field; returned by FieldList.
template <class P, class T>
class FieldRule {
 public:
  using Value = typename params_detail::Unwrap<T>::type;
  static constexpr bool kOptional = params_detail::Unwrap<T>::optional;

  struct State {
    params_detail::Limits limits;
    std::vector<std::pair<std::string, Value>> options;
  };

  using PrintDefault = std::function<std::string(const std::vector<std::pair<std::string, Value>>& options)>;

  FieldRule(ParamSchema::Field& field, std::shared_ptr<State> state, PrintDefault print_default)
      : field_(field), state_(std::move(state)), print_default_(std::move(print_default)) {}

  FieldRule& above(double bound) { state_->limits.least = bound; state_->limits.open_below = true; return *this; }
  FieldRule& at_least(double bound) { state_->limits.least = bound; return *this; }
  FieldRule& below(double bound) { state_->limits.most = bound; state_->limits.open_above = true; return *this; }
  FieldRule& at_most(double bound) { state_->limits.most = bound; return *this; }
  FieldRule& required() {
    field_.info.required = true;
    field_.info.default_text.clear();
    return *this;
  }
  // For enumerations, and strings and types that only some values are allowed for.
  FieldRule& options(std::vector<std::pair<std::string, Value>> options) {
    state_->options = std::move(options);
    describe_options();
    return *this;
  }
  FieldRule& floating()
    requires std::same_as<Value, DType>
  {
    return dtypes({DType::float16, DType::float32, DType::float64, DType::bfloat16});
  }
  FieldRule& dtypes(std::vector<DType> allowed)
    requires std::same_as<Value, DType>
  {
    std::vector<std::pair<std::string, Value>> options;
    for (DType dtype : allowed) options.emplace_back(std::string(name_of(dtype)), dtype);
    return this->options(std::move(options));
  }
  // A Shape that also takes a bare number: "2" is (2,).
  FieldRule& or_int() { state_->limits.int_as_shape = true; return *this; }
  // Overrides how the documentation names the type.
  FieldRule& type(std::string text) { field_.info.type = std::move(text); return *this; }

 private:
  void describe_options() {
    auto& info = field_.info;
    info.options.clear();
    if (kOptional) info.options.emplace_back("None");
    for (const auto& option : state_->options) info.options.push_back(option.first);
    std::sort(info.options.begin(), info.options.end());
    info.type = params_detail::options_text(info.options);
    if (!info.required) info.default_text = print_default_(state_->options);
  }

  ParamSchema::Field& field_;
  std::shared_ptr<State> state_;
  PrintDefault print_default_;
};

template <class P>
class FieldList {
 public:
  explicit FieldList(ParamSchema& schema) : schema_(schema) {}

  // `member` may belong to a base class that several attribute structs share.
  template <class T, class Base>
    requires std::derived_from<P, Base>
  FieldRule<P, T> operator()(std::string name, T Base::*base_member, std::string doc) {
    T P::*const member = base_member;
    using Rule = FieldRule<P, T>;
    using Value = typename Rule::Value;
    auto state = std::make_shared<typename Rule::State>();
    auto& field = schema_.mutable_fields().emplace_back();
    field.info.name = std::move(name);
    field.info.doc = std::move(doc);
    field.info.boolean = std::is_same_v<Value, bool>;
    const auto print_value = [](const T& value, const auto& options) -> std::string {
      if constexpr (Rule::kOptional) {
        return value ? print_plain(*value, options) : "None";
      } else {
        return print_plain(value, options);
      }
    };
    if constexpr (!std::is_enum_v<Value> || std::is_same_v<Value, DType>) {
      field.info.type = params_detail::type_text(Type<Value>{});
      if (Rule::kOptional) field.info.type += " or None";
    }
    const T initial = P{}.*member;
    field.info.default_text = print_value(initial, state->options);
    field.print = [member, state, print_value](const AttrsBase& attrs) {
      return print_value(attrs.as<P>().*member, state->options);
    };
    // The schema's fields move while the list grows, so the setter carries what it needs of its own.
    const size_t position = schema_.mutable_fields().size() - 1;
    field.set = [member, state, position, &schema = schema_](AttrsBase& attrs, std::string_view text,
                                                              std::string_view who) {
      const FieldInfo& info = schema.fields()[position].info;
      static_cast<Attrs<P>&>(attrs).value.*member = read_value<T, Rule>(*state, info, text, who);
    };
    return Rule(field, state,
                [initial, print_value](const auto& options) { return print_value(initial, options); });
  }

 private:
  template <class Value>
  static std::string print_plain(const Value& value, const std::vector<std::pair<std::string, Value>>& options) {
    for (const auto& [name, option] : options) {
      if (option == value) return name;
    }
    if constexpr (std::is_enum_v<Value> && !std::is_same_v<Value, DType>) {
      return std::to_string(static_cast<int64_t>(value));
    } else {
      return params_detail::print(value);
    }
  }

  template <class T, class Rule>
  static T read_value(const typename Rule::State& state, const FieldInfo& info, std::string_view text,
                      std::string_view who) {
    using Value = typename Rule::Value;
    if constexpr (Rule::kOptional) {
      if (params_detail::is_none(text)) return std::nullopt;
    }
    if (!state.options.empty()) {
      for (const auto& [name, option] : state.options) {
        if (name == text) return option;
      }
      params_detail::fail_option(who, info, text);
    }
    if constexpr (std::is_enum_v<Value> && !std::is_same_v<Value, DType>) {
      params_detail::fail_option(who, info, text);
    } else {
      Value value{};
      bool ok = params_detail::read(text, value);
      if constexpr (std::is_same_v<Value, Shape>) {
        if (!ok && state.limits.int_as_shape) ok = params_detail::read_int_as_shape(text, value);
      }
      if (!ok) params_detail::fail_format(who, info, text);
      if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) {
        const auto& limits = state.limits;
        const double number = static_cast<double>(value);
        const bool low = limits.open_below ? number <= limits.least : number < limits.least;
        const bool high = limits.open_above ? number >= limits.most : number > limits.most;
        if (low || high) params_detail::fail_range(who, info, text, limits);
      }
      return value;
    }
  }

  ParamSchema& schema_;
};

template <class P>
const ParamSchema& param_schema() {
  static const ParamSchema* const schema = [] {
    auto* made = new ParamSchema(  // lives as long as the process: operators are never removed
        [](const ParamSchema& self) -> Ref<AttrsBase> { return make_ref<Attrs<P>>(self); });
    FieldList<P> list(*made);
    P::fields(list);
    return made;
  }();
  return *schema;
}

}  // namespace loomix
