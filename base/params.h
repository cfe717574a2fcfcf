// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
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
#include "base/error.h"
#include "base/ref_counted.h"
#include "base/shape.h"

// Parameters of operators, iterators and the like are plain structs. Each declares its fields once, in
// `static void fields(FieldList<P>& f)`; text parsing and printing, range checks, hashing, documentation and Python
// signatures derive from that.
//
//   struct PoolingParams {
//     Shape kernel;
//     PoolType pool_type = PoolType::max;
//     static void fields(FieldList<PoolingParams>& f) {
//       f("kernel", &PoolingParams::kernel, "Window, (h, w).").required("(2, 2)");
//       f("pool_type", &PoolingParams::pool_type, "...").options({{"max", PoolType::max}, {"avg", PoolType::avg}});
//     }
//   };
//
// Field types: bool, int, int64_t, float, double, std::string, DType, Shape, enums, and std::optional of these;
// vectors of int64_t, std::optional<int64_t>, float, double, std::string; Ref<const Opaque>. The text forms are MXNet's. One field
// may be TextPairs: it has no name and takes the names that no other field has, sorted.

namespace loomix {

class ParamSchema;

// A value of a type that only its user knows: a subgraph, a handle of a Python object, a compiled fusion. Immutable.
class Opaque : public RefCounted {
 public:
  virtual std::string_view kind() const = 0;  // "subgraph", for messages
  virtual bool equals(const Opaque& other) const { return this == &other; }
  virtual size_t hash() const { return reinterpret_cast<size_t>(this) >> 4; }
  // Text from which the field's loader makes an equal value, JSON where there is structure; nothing: it cannot be saved.
  virtual std::optional<std::string> save() const { return std::nullopt; }
};
using OpaqueLoader = Ref<const Opaque> (*)(std::string_view text);  // null for text that is of no such value

using TextPairs = std::vector<std::pair<std::string, std::string>>;

enum class FieldKind {
  boolean,
  int32,
  int64,
  float32,
  float64,
  text,
  dtype,
  choice,
  shape,
  int_list,
  optional_int_list,
  float_list,
  double_list,
  text_list,
  opaque,
  others,
};

namespace detail {

struct Choice {
  std::string name;
  int64_t value;
};

// What a field's value must satisfy.
struct FieldRules {
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool minimum_excluded = false;
  bool maximum_excluded = false;
  std::vector<Choice> choices;  // of enums and data types
  OpaqueLoader load = nullptr;  // of opaque values that can be saved

  void allow(std::string_view name, int64_t value);
};

// Reads, prints and compares values of one type through untyped pointers.
class Codec {
 public:
  enum class Result { ok, bad_format, bad_choice, out_of_range };
  virtual ~Codec() = default;
  virtual Result parse(std::string_view text, const FieldRules& rules, void* value) const = 0;
  virtual std::string print(const void* value, const FieldRules& rules) const = 0;  // as Python does
  virtual std::string print_default(const void* value,
                                    const FieldRules& rules) const = 0;  // as MXNet's docs do
  virtual bool equal(const void* a, const void* b) const = 0;
  virtual size_t hash(const void* value) const = 0;
  virtual FieldKind kind() const = 0;
};

template <class T>
const Codec& codec();  // for the types listed above and std::optional of the single ones
template <class E>
const Codec& choice_codec();  // for an enum or std::optional of one

template <class T>
struct OptionalInner {
  using type = T;
  static constexpr bool optional = false;
};
template <class T>
struct OptionalInner<std::optional<T>> {
  using type = T;
  static constexpr bool optional = true;
};
template <class T>
inline constexpr bool is_choice_v = std::is_enum_v<typename OptionalInner<T>::type> &&
                                    !std::is_same_v<typename OptionalInner<T>::type, DType>;

}  // namespace detail

// One field of a schema.
struct FieldInfo {
  std::string name;
  std::string doc;
  std::string type;           // as MXNet documents it: "Shape(tuple)", "int (non-negative)", "{'a', 'b'}"
  std::string default_text;   // as MXNet documents it: "1", "0.899999976", "[0,0]"; empty if required
  std::string default_value;  // as Python prints it: "True", "0.9", "(0, 0)", "None"; empty if required
  std::string example;        // a value to try it with, if required
  FieldKind kind = FieldKind::text;  // of the value inside a std::optional
  bool required = false;
  bool optional = false;             // takes None
  std::vector<std::string> options;  // of enums and the like, sorted; "None" first if it is allowed

  // "int, optional, default='1'", as MXNet's documentation has it.
  std::string describe() const;

 private:
  friend class AttrsBase;
  friend class ParamSchema;
  template <class P>
  friend class FieldList;
  template <class T>
  friend class FieldBuilder;
  void set_required(std::string_view value);
  void set_type(std::string_view text);
  const detail::Codec* codec_ = nullptr;
  size_t offset_ = 0;
  detail::FieldRules rules_;
  std::string type_override_;
};

// Parsed parameters: immutable, shared by counted handles, comparable by value.
class AttrsBase : public RefCounted {
 public:
  const ParamSchema& schema() const noexcept { return *schema_; }

  // The typed struct; P must be the type that the schema was made from.
  template <class P>
  const P& as() const;

  // What the user gave, sorted by name, in the user's words; defaults are not in it.
  const TextPairs& given() const noexcept { return given_; }
  // Any field's value as text, as Python prints it; throws KeyError for an unknown name.
  std::string to_text(std::string_view field) const;
  // The first field whose value has no text, so that it would be lost in a file; null if there is none.
  const FieldInfo* unsaved_field() const;
  // Every field in one spelling: equal texts mean equal attributes, but for opaque values that cannot be saved.
  std::string canonical() const;

  size_t hash() const noexcept { return hash_; }
  friend bool operator==(const AttrsBase& a, const AttrsBase& b) noexcept { return a.equals(b); }

 protected:
  AttrsBase(const ParamSchema& schema, const void* tag) noexcept : schema_(&schema), tag_(tag) {}

 private:
  friend class ParamSchema;
  virtual const void* data() const noexcept = 0;
  bool equals(const AttrsBase& other) const noexcept;

  const ParamSchema* schema_;
  const void* tag_;  // identifies P
  size_t hash_ = 0;
  TextPairs given_;
};

// The fields of one parameter struct. Made once by param_schema<P>(), read-only afterwards.
class ParamSchema {
 public:
  std::span<const FieldInfo> fields() const noexcept { return fields_; }
  const FieldInfo* find(std::string_view name) const noexcept;
  // Where names go that no field has; null if there are none such.
  const FieldInfo* others() const noexcept;

  // Parses name and text pairs. `who` is the operator's name, for the ValueErrors: unknown or repeated names, bad
  // text, values out of range, required fields that are missing.
  Ref<const AttrsBase> parse(std::string_view who,
                             std::span<const std::pair<std::string, std::string>> given) const;

  // The least that parse() takes: the examples of the required fields.
  TextPairs example() const;

  // All fields, one a line, for documentation.
  std::string describe() const;

 private:
  friend class AttrsBase;
  template <class P>
  friend class FieldList;
  template <class P>
  friend Ref<const AttrsBase> make_attrs(P params);
  using Make = AttrsBase* (*)(const ParamSchema& schema, void** data);

  ParamSchema() = default;
  FieldInfo& add(std::string_view name, std::string_view doc, bool optional, const detail::Codec& codec,
                 size_t offset);
  void finish(const void* defaults);
  // Records the fields that differ from their defaults as given, and the hash.
  void adopt(AttrsBase& attrs, const void* defaults) const;
  static void* place_of(const FieldInfo& field, void* data);
  size_t hash_of(const void* data) const;
  bool equal(const void* a, const void* b) const noexcept;

  std::vector<FieldInfo> fields_;
  Make make_ = nullptr;
};

// Refines the field just declared.
template <class T>
class FieldBuilder {
  using Inner = typename detail::OptionalInner<T>::type;

 public:
  explicit FieldBuilder(FieldInfo& field) : field_(field) {}

  // It has no default. The example, as text, is what checks of a whole table of schemas try it with.
  FieldBuilder& required(std::string_view example) {
    field_.set_required(example);
    return *this;
  }
  FieldBuilder& above(double bound) {
    field_.rules_.minimum_excluded = true;
    field_.rules_.minimum = bound;
    return *this;
  }
  FieldBuilder& at_least(double bound) {
    field_.rules_.minimum_excluded = false;
    field_.rules_.minimum = bound;
    return *this;
  }
  FieldBuilder& below(double bound) {
    field_.rules_.maximum_excluded = true;
    field_.rules_.maximum = bound;
    return *this;
  }
  FieldBuilder& at_most(double bound) {
    field_.rules_.maximum_excluded = false;
    field_.rules_.maximum = bound;
    return *this;
  }
  // The names of an enum's values, or of the data types that are allowed.
  FieldBuilder& options(
      std::initializer_list<std::pair<std::string_view, Inner>> options) requires std::is_enum_v<Inner> {
    return this->options(std::span(options.begin(), options.size()));
  }
  FieldBuilder& options(
      std::span<const std::pair<std::string_view, Inner>> options) requires std::is_enum_v<Inner> {
    field_.rules_.choices.clear();
    for (const auto& [name, value] : options) field_.rules_.allow(name, static_cast<int64_t>(value));
    return *this;
  }
  // The strings that are allowed.
  FieldBuilder& options(
      std::initializer_list<std::string_view> options) requires std::is_same_v<Inner, std::string> {
    field_.rules_.choices.clear();
    for (const std::string_view name : options) field_.rules_.allow(name, 0);
    return *this;
  }
  // The data types that are allowed; DType::unknown allows the text "None". All nine real ones by default.
  FieldBuilder& dtypes(std::initializer_list<DType> dtypes) requires std::is_same_v<Inner, DType> {
    field_.rules_.choices.clear();
    for (const DType dtype : dtypes) field_.rules_.allow(name_of(dtype), static_cast<int64_t>(dtype));
    return *this;
  }
  FieldBuilder& floating() requires std::is_same_v<Inner, DType> {
    return dtypes({DType::float16, DType::bfloat16, DType::float32, DType::float64});
  }
  // Reads what Opaque::save wrote.
  FieldBuilder& loader(OpaqueLoader load) requires std::is_same_v<T, Ref<const Opaque>> {
    field_.rules_.load = load;
    return *this;
  }
  // Documents another type than the field's own.
  FieldBuilder& type(std::string_view text) {
    field_.set_type(text);
    return *this;
  }

 private:
  FieldInfo& field_;
};

// What `P::fields` writes to.
template <class P>
class FieldList {
 public:
  // `member` may belong to a base class that several structs share.
  template <class Base, class T>
  FieldBuilder<T> operator()(std::string_view name, T Base::*member, std::string_view doc);

 private:
  template <class Q>
  friend const ParamSchema& param_schema();
  FieldList() = default;
  static ParamSchema build();

  const P defaults_{};
  ParamSchema schema_;
};

// The schema of P; made on first use, safe from any thread.
template <class P>
const ParamSchema& param_schema() {
  static const ParamSchema schema = FieldList<P>::build();
  return schema;
}

// Attributes from a typed struct. Fields that differ from their defaults count as given.
template <class P>
Ref<const AttrsBase> make_attrs(P params);

// Reads one value by the text rules of fields; false if the text is not of the type.
template <class T>
bool read_value(std::string_view text, T& value) {
  return detail::codec<T>().parse(text, detail::FieldRules(), &value) == detail::Codec::Result::ok;
}

// ---------------------------------------------------------------------------------------------------------------

namespace detail {

template <class P>
inline constexpr char kParamTag = 0;

template <class P>
class Attrs final : public AttrsBase {
 public:
  explicit Attrs(const ParamSchema& schema) : AttrsBase(schema, &kParamTag<P>) {}
  Attrs(const ParamSchema& schema, P params) : AttrsBase(schema, &kParamTag<P>), params(std::move(params)) {}
  P params{};

 private:
  const void* data() const noexcept override { return &params; }
};

// Enums differ only in how their number is stored.
class ChoiceCodec : public Codec {
 public:
  Result parse(std::string_view text, const FieldRules& rules, void* value) const final;
  std::string print(const void* value, const FieldRules& rules) const final;
  std::string print_default(const void* value, const FieldRules& rules) const final;
  bool equal(const void* a, const void* b) const final { return load(a) == load(b); }
  size_t hash(const void* value) const final;
  FieldKind kind() const override { return FieldKind::choice; }

 private:
  virtual std::optional<int64_t> load(const void* value) const = 0;
  virtual void store(void* value, std::optional<int64_t> number) const = 0;
  virtual bool takes_none() const = 0;
};

template <class E>
class TypedChoiceCodec : public ChoiceCodec {
  using Inner = typename OptionalInner<E>::type;
  std::optional<int64_t> load(const void* value) const final {
    const E& typed = *static_cast<const E*>(value);
    if constexpr (OptionalInner<E>::optional) {
      return typed ? std::optional<int64_t>(static_cast<int64_t>(*typed)) : std::nullopt;
    } else {
      return static_cast<int64_t>(typed);
    }
  }
  void store(void* value, std::optional<int64_t> number) const final {
    E& typed = *static_cast<E*>(value);
    if (number) typed = static_cast<Inner>(*number);
    else if constexpr (OptionalInner<E>::optional) typed = std::nullopt;
  }
  bool takes_none() const final { return OptionalInner<E>::optional; }
};

template <class E>
const Codec& choice_codec() {
  static const TypedChoiceCodec<E> codec;
  return codec;
}

}  // namespace detail

template <class P>
const P& AttrsBase::as() const {
  LOOMIX_INTERNAL_CHECK(tag_ == &detail::kParamTag<P>);
  return static_cast<const detail::Attrs<P>*>(this)->params;
}

template <class P>
template <class Base, class T>
FieldBuilder<T> FieldList<P>::operator()(std::string_view name, T Base::*member, std::string_view doc) {
  const detail::Codec* codec;
  if constexpr (detail::is_choice_v<T>) codec = &detail::choice_codec<T>();
  else codec = &detail::codec<T>();
  const auto offset = static_cast<size_t>(reinterpret_cast<const char*>(&(defaults_.*member)) -
                                          reinterpret_cast<const char*>(&defaults_));
  return FieldBuilder<T>(schema_.add(name, doc, detail::OptionalInner<T>::optional, *codec, offset));
}

template <class P>
ParamSchema FieldList<P>::build() {
  FieldList list;
  P::fields(list);
  list.schema_.make_ = [](const ParamSchema& schema, void** data) -> AttrsBase* {
    auto* attrs = new detail::Attrs<P>(schema);
    *data = &attrs->params;
    return attrs;
  };
  list.schema_.finish(&list.defaults_);
  return std::move(list.schema_);
}

template <class P>
Ref<const AttrsBase> make_attrs(P params) {
  const ParamSchema& schema = param_schema<P>();
  auto attrs = make_ref<detail::Attrs<P>>(schema, std::move(params));
  const P defaults{};
  schema.adopt(*attrs, &defaults);
  return attrs;
}

}  // namespace loomix
