// SPDX-License-Identifier: Apache-2.0
#include "base/params.h"

#include <algorithm>

#include "base/nearest.h"

namespace loomix {

namespace {

// The names, sorted; None, the absence of a value, is written without quotes.
std::string join_options(const FieldInfo& field) {
  std::string text = "{";
  for (const std::string& name : field.options) {
    if (text.size() > 1) text += ", ";
    text += field.optional && name == "None" ? name : "'" + name + "'";
  }
  return text + "}";
}

std::string_view base_name(FieldKind kind) {
  switch (kind) {
    case FieldKind::boolean: return "boolean";
    case FieldKind::int32: return "int";
    case FieldKind::int64: return "long";
    case FieldKind::float32: return "float";
    case FieldKind::float64: return "double";
    case FieldKind::text: return "string";
    case FieldKind::shape:
    case FieldKind::optional_int_list: return "Shape(tuple)";
    case FieldKind::int_list: return "tuple of <long>";
    case FieldKind::float_list: return "tuple of <float>";
    case FieldKind::double_list: return "tuple of <double>";
    case FieldKind::text_list: return "tuple of <string>";
    case FieldKind::opaque: return "object";
    case FieldKind::others: return "any";
    case FieldKind::dtype:
    case FieldKind::choice: break;
  }
  return "";
}

// Text of a value with quotes where MXNet's documentation has them.
std::string quoted_default(const FieldInfo& field) {
  const bool plain_int = field.type == "int" || field.type == "int or None";
  const bool quotes = plain_int || !field.options.empty() || field.kind == FieldKind::text;
  return quotes ? "'" + field.default_text + "'" : field.default_text;
}

size_t mix(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2));
}

std::string bound_text(const detail::FieldRules& rules) {
  const bool low = rules.minimum > -std::numeric_limits<double>::infinity();
  const bool high = rules.maximum < std::numeric_limits<double>::infinity();
  if (low && high) {
    return fmt::format("exceed bound {}{},{}{}", rules.minimum_excluded ? '(' : '[', rules.minimum,
                       rules.maximum, rules.maximum_excluded ? ')' : ']');
  }
  if (high)
    return fmt::format("should be smaller {}{}", rules.maximum_excluded ? "than " : "equal to ",
                       rules.maximum);
  return fmt::format("should be greater {}{}", rules.minimum_excluded ? "than " : "equal to ", rules.minimum);
}

void sort_others(std::string_view who, TextPairs& others) {
  std::sort(others.begin(), others.end());
  const auto twice = std::adjacent_find(others.begin(), others.end(),
                                        [](const auto& a, const auto& b) { return a.first == b.first; });
  LOOMIX_CHECK(twice == others.end(), ValueError, "[{}] argument '{}' was given twice, as '{}' and as '{}'.",
               who, twice->first, twice->second, std::next(twice)->second);
}

}  // namespace

std::string FieldInfo::describe() const {
  if (required) return type + ", required";
  // MXNet puts no blank after an enumeration.
  return fmt::format("{},{}optional, default={}", type, options.empty() ? " " : "", quoted_default(*this));
}

TextPairs ParamSchema::example() const {
  TextPairs pairs;
  for (const FieldInfo& field : fields_) {
    if (field.required) pairs.emplace_back(field.name, field.example);
  }
  return pairs;
}

const FieldInfo* ParamSchema::find(std::string_view name) const noexcept {
  const auto found = std::find_if(fields_.begin(), fields_.end(), [name](const FieldInfo& field) {
    return field.name == name && field.kind != FieldKind::others;
  });
  return found == fields_.end() ? nullptr : &*found;
}

const FieldInfo* ParamSchema::others() const noexcept {
  const auto found = std::find_if(fields_.begin(), fields_.end(),
                                  [](const FieldInfo& field) { return field.kind == FieldKind::others; });
  return found == fields_.end() ? nullptr : &*found;
}

void detail::FieldRules::allow(std::string_view name, int64_t value) {
  choices.push_back({std::string(name), value});
}

void FieldInfo::set_required(std::string_view value) {
  required = true;
  example = value;
}

void FieldInfo::set_type(std::string_view text) { type_override_ = text; }

FieldInfo& ParamSchema::add(std::string_view name, std::string_view doc, bool optional,
                            const detail::Codec& codec, size_t offset) {
  FieldInfo& field = fields_.emplace_back();
  field.name = name;
  field.doc = doc;
  field.optional = optional;
  field.codec_ = &codec;
  field.offset_ = offset;
  return field;
}

void ParamSchema::finish(const void* defaults) {
  static constexpr DType kAll[] = {DType::float32, DType::float64, DType::float16,
                                   DType::uint8,   DType::int32,   DType::int8,
                                   DType::int64,   DType::boolean, DType::bfloat16};
  for (FieldInfo& field : fields_) {
    field.kind = field.codec_->kind();
    detail::FieldRules& rules = field.rules_;
    if (field.kind == FieldKind::dtype && rules.choices.empty()) {
      for (DType dtype : kAll) {
        rules.choices.push_back({std::string(name_of(dtype)), static_cast<int64_t>(dtype)});
      }
    }
    for (const auto& choice : rules.choices) field.options.push_back(choice.name);
    std::sort(field.options.begin(), field.options.end());
    if (field.optional && !field.options.empty()) field.options.insert(field.options.begin(), "None");

    if (!field.type_override_.empty()) {
      field.type = field.type_override_;
    } else if (!field.options.empty()) {
      field.type = join_options(field);
    } else if (field.kind == FieldKind::shape && field.optional) {
      field.type = "Shape or None";
    } else {
      field.type = base_name(field.kind);
      const bool integer = field.kind == FieldKind::int32 || field.kind == FieldKind::int64;
      if (integer && rules.minimum >= 0) field.type += " (non-negative)";
      if (field.optional) field.type += " or None";
    }
    if (!field.required) {
      const void* value = static_cast<const char*>(defaults) + field.offset_;
      field.default_text = field.codec_->print_default(value, rules);
      field.default_value = field.codec_->print(value, rules);
    }
  }
}

size_t ParamSchema::hash_of(const void* data) const {
  size_t hash = reinterpret_cast<size_t>(this);
  for (const FieldInfo& field : fields_) {
    hash = mix(hash, field.codec_->hash(static_cast<const char*>(data) + field.offset_));
  }
  return hash;
}

bool ParamSchema::equal(const void* a, const void* b) const noexcept {
  return std::all_of(fields_.begin(), fields_.end(), [=](const FieldInfo& field) {
    return field.codec_->equal(static_cast<const char*>(a) + field.offset_,
                               static_cast<const char*>(b) + field.offset_);
  });
}

void ParamSchema::adopt(AttrsBase& attrs, const void* defaults) const {
  const char* data = static_cast<const char*>(attrs.data());
  for (const FieldInfo& field : fields_) {
    const void* value = data + field.offset_;
    const bool is_default =
        !field.required && field.codec_->equal(value, static_cast<const char*>(defaults) + field.offset_);
    if (field.kind == FieldKind::others) {
      const auto& others = *static_cast<const TextPairs*>(value);
      attrs.given_.insert(attrs.given_.end(), others.begin(), others.end());
    } else if (!is_default) {
      attrs.given_.emplace_back(field.name, field.codec_->print(value, field.rules_));
    }
  }
  std::sort(attrs.given_.begin(), attrs.given_.end());
  attrs.hash_ = hash_of(data);
}

void* ParamSchema::place_of(const FieldInfo& field, void* data) {
  return static_cast<char*>(data) + field.offset_;
}

Ref<const AttrsBase> ParamSchema::parse(std::string_view who,
                                        std::span<const std::pair<std::string, std::string>> given) const {
  using Result = detail::Codec::Result;
  void* data = nullptr;
  const Ref<AttrsBase> attrs(make_(*this, &data));
  std::vector<bool> seen(fields_.size());
  attrs->given_.reserve(given.size());
  for (const auto& [name, text] : given) {
    const FieldInfo* field = find(name);
    if (field == nullptr && others()) {
      static_cast<TextPairs*>(place_of(*others(), data))->emplace_back(name, text);
      attrs->given_.emplace_back(name, text);
      continue;
    }
    if (field == nullptr && fields_.empty()) {  // operators without parameters keep whatever a file says
      attrs->given_.emplace_back(name, text);
      continue;
    }
    if (field == nullptr) {
      constexpr size_t kMostListed = 10;
      std::vector<std::string_view> names;
      std::string list;
      for (const FieldInfo& known : fields_) {
        names.push_back(known.name);
        if (names.size() <= kMostListed) list += fmt::format("\n  {}: {}", known.name, known.describe());
      }
      if (names.size() > kMostListed) list += fmt::format("\n  and {} more", names.size() - kMostListed);
      throw ValueError(fmt::format("[{}] Cannot find argument '{}'.{} Possible Arguments:{}", who, name,
                                   did_you_mean(name, names), fields_.empty() ? " none." : list));
    }
    const auto index = static_cast<size_t>(field - fields_.data());
    LOOMIX_CHECK(!seen[index], ValueError, "[{}] argument '{}' was given twice; the second value is '{}'.",
                 who, name, text);
    seen[index] = true;
    switch (field->codec_->parse(text, field->rules_, static_cast<char*>(data) + field->offset_)) {
      case Result::ok: break;
      case Result::bad_format:
        throw ValueError(fmt::format("[{}] Invalid Parameter format for {} expect {} but value='{}'", who,
                                     name, field->type, text));
      case Result::bad_choice:
        throw ValueError(fmt::format(
            "[{}] Invalid Input: '{}' for {}.{} valid values are: {}", who, text, name,
            did_you_mean(text, std::vector<std::string_view>(field->options.begin(), field->options.end())),
            join_options(*field)));
      case Result::out_of_range:
        throw ValueError(
            fmt::format("[{}] value {} for Parameter {} {}", who, text, name, bound_text(field->rules_)));
    }
    attrs->given_.emplace_back(name, text);
  }
  std::sort(attrs->given_.begin(), attrs->given_.end());
  if (others()) sort_others(who, *static_cast<TextPairs*>(place_of(*others(), data)));
  for (size_t i = 0; i < fields_.size(); ++i) {
    const FieldInfo& field = fields_[i];
    LOOMIX_CHECK(
        seen[i] || !field.required, ValueError,
        "[{}] {} is missing: expected {}, which has no default; given: {}", who, field.name, field.type,
        given.empty() ? "nothing" : [&] {
          std::string names;
          for (const auto& entry : given) names += (names.empty() ? "" : ", ") + std::string(entry.first);
          return names;
        }());
  }
  attrs->hash_ = hash_of(data);
  return attrs;
}

std::string ParamSchema::describe() const {
  std::string text;
  for (const FieldInfo& field : fields_) {
    text += fmt::format("{} : {}\n    {}\n", field.name, field.describe(), field.doc);
  }
  return text;
}

std::string AttrsBase::to_text(std::string_view name) const {
  const FieldInfo* field = schema_->find(name);
  LOOMIX_CHECK(field != nullptr, KeyError, "[attributes] there is no field '{}'.", name);
  return field->codec_->print(static_cast<const char*>(data()) + field->offset_, field->rules_);
}

const FieldInfo* AttrsBase::unsaved_field() const {
  for (const FieldInfo& field : schema_->fields_) {
    if (field.kind != FieldKind::opaque) continue;
    const void* value = static_cast<const char*>(data()) + field.offset_;
    const auto& opaque = *static_cast<const Ref<const Opaque>*>(value);
    if (opaque && !opaque->save()) return &field;
  }
  return nullptr;
}

std::string AttrsBase::canonical() const {
  std::string text;
  for (const FieldInfo& field : schema_->fields_) {
    const void* value = static_cast<const char*>(data()) + field.offset_;
    text += fmt::format("{}={}\n", field.name, field.codec_->print(value, field.rules_));
  }
  return text;
}

bool AttrsBase::equals(const AttrsBase& other) const noexcept {
  if (this == &other) return true;
  return tag_ == other.tag_ && hash_ == other.hash_ && schema_->equal(data(), other.data());
}

}  // namespace loomix
