// SPDX-License-Identifier: Apache-2.0
// The text forms of parameter values: what MXNet's front ends write and its parsers accept.
#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

#include "base/params.h"
#include "base/tuple_text.h"

namespace loomix::detail {
namespace {

using Result = Codec::Result;

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool equal_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(text[i])) != lower[i]) return false;
  }
  return true;
}

Result in_range(double value, const FieldRules& rules) {
  const bool low = rules.minimum_excluded ? value > rules.minimum : value >= rules.minimum;
  const bool high = rules.maximum_excluded ? value < rules.maximum : value <= rules.maximum;
  const bool bounded = rules.minimum > -HUGE_VAL || rules.maximum < HUGE_VAL;
  return !bounded || (low && high) ? Result::ok : Result::out_of_range;
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  text = trim(text);
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return false;
  }
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if constexpr (std::is_floating_point_v<T>) {
    if (error == std::errc::result_out_of_range &&
        stop == end) {  // "1e-60" is 0 and "1e60" infinity for float
      double wide = 0;
      if constexpr (std::is_same_v<T, float>) {
        if (!parse_number(text, wide)) return false;
      } else {
        wide = std::strtod(std::string(text).c_str(), nullptr);
      }
      value = static_cast<T>(wide);
      return true;
    }
  }
  return error == std::errc() && stop == end && !text.empty();
}

// Splits "(a, b,)" or "[a, b]" at its commas. As in MXNet, a bare number is a tuple of one. False if it is none of these.
bool split_tuple(std::string_view text, bool of_numbers, std::vector<std::string_view>& items) {
  text = trim(text);
  if (text.empty()) return false;
  const char close = text.front() == '(' ? ')' : text.front() == '[' ? ']' : '\0';
  if (close == '\0') {
    if (!of_numbers || text.find(',') != std::string_view::npos) return false;
    items.push_back(text);
    return true;
  }
  if (text.size() < 2 || text.back() != close) return false;
  text = trim(text.substr(1, text.size() - 2));
  while (!text.empty()) {
    const size_t comma = text.find(',');
    items.push_back(trim(text.substr(0, comma)));
    if (items.back().empty()) return false;
    text = comma == std::string_view::npos ? std::string_view() : trim(text.substr(comma + 1));
  }
  return true;
}

bool parse_long_item(std::string_view text, int64_t& value) {
  if (!text.empty() && text.back() == 'L') text.remove_suffix(1);  // Python 2's long
  return parse_number(text, value);
}

template <class T>
std::string float_text(T value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;  // "n": inf and nan
}

std::string short_text(float value) { return fmt::format("{:.9g}", value); }
std::string short_text(double value) { return fmt::format("{:.17g}", value); }

size_t hash_number(uint64_t bits) {
  bits ^= bits >> 33;
  bits *= 0xff51afd7ed558ccdu;
  return bits ^ (bits >> 33);
}
size_t hash_text(std::string_view text) { return std::hash<std::string_view>()(text); }

// One trait per value type: parse, print (as Python), print_default (as MXNet's documentation).
template <class T>
struct Text;

template <>
struct Text<bool> {
  static constexpr FieldKind kKind = FieldKind::boolean;
  static Result parse(std::string_view text, const FieldRules&, bool& value) {
    text = trim(text);
    if (equal_ignoring_case(text, "true") || text == "1") value = true;
    else if (equal_ignoring_case(text, "false") || text == "0") value = false;
    else return Result::bad_format;
    return Result::ok;
  }
  static std::string print(bool value, const FieldRules&) { return value ? "True" : "False"; }
  static std::string print_default(bool value, const FieldRules&) { return value ? "1" : "0"; }
  static bool equal(bool a, bool b) { return a == b; }
  static size_t hash(bool value) { return hash_number(value); }
};

template <class T>
requires(std::is_same_v<T, int> || std::is_same_v<T, int64_t>) struct Text<T> {
  static constexpr FieldKind kKind = sizeof(T) == 4 ? FieldKind::int32 : FieldKind::int64;
  static Result parse(std::string_view text, const FieldRules& rules, T& value) {
    return parse_number(text, value) ? in_range(static_cast<double>(value), rules) : Result::bad_format;
  }
  static std::string print(T value, const FieldRules&) { return std::to_string(value); }
  static std::string print_default(T value, const FieldRules&) { return std::to_string(value); }
  static bool equal(T a, T b) { return a == b; }
  static size_t hash(T value) { return hash_number(static_cast<uint64_t>(value)); }
};

template <class T>
requires std::is_floating_point_v<T>
struct Text<T> {
  static constexpr FieldKind kKind = sizeof(T) == 4 ? FieldKind::float32 : FieldKind::float64;
  static Result parse(std::string_view text, const FieldRules& rules, T& value) {
    return parse_number(text, value) ? in_range(static_cast<double>(value), rules) : Result::bad_format;
  }
  static std::string print(T value, const FieldRules&) { return float_text(value); }
  static std::string print_default(T value, const FieldRules&) { return short_text(value); }
  // By bits, so that NaN equals itself and the two zeros differ.
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  static bool equal(T a, T b) { return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b); }
  static size_t hash(T value) { return hash_number(std::bit_cast<Bits>(value)); }
};

template <>
struct Text<std::string> {
  static constexpr FieldKind kKind = FieldKind::text;
  static Result parse(std::string_view text, const FieldRules& rules, std::string& value) {
    value = text;
    const bool known = rules.choices.empty() || std::any_of(rules.choices.begin(), rules.choices.end(),
                                                            [&](const Choice& c) { return c.name == text; });
    return known ? Result::ok : Result::bad_choice;
  }
  static std::string print(const std::string& value, const FieldRules&) { return value; }
  static std::string print_default(const std::string& value, const FieldRules&) { return value; }
  static bool equal(const std::string& a, const std::string& b) { return a == b; }
  static size_t hash(const std::string& value) { return hash_text(value); }
};

template <>
struct Text<DType> {
  static constexpr FieldKind kKind = FieldKind::dtype;
  static Result parse(std::string_view text, const FieldRules& rules, DType& value) {
    for (const Choice& choice : rules.choices) {
      if (choice.name != text) continue;
      value = static_cast<DType>(choice.value);
      return Result::ok;
    }
    return Result::bad_choice;
  }
  static std::string print(DType value, const FieldRules&) { return std::string(name_of(value)); }
  static std::string print_default(DType value, const FieldRules&) { return std::string(name_of(value)); }
  static bool equal(DType a, DType b) { return a == b; }
  static size_t hash(DType value) { return hash_number(static_cast<uint64_t>(value)); }
};

// Items of tuples.
Result parse_item(std::string_view text, const FieldRules&, int64_t& value) {
  return parse_long_item(text, value) ? Result::ok : Result::bad_format;
}
Result parse_item(std::string_view text, const FieldRules& rules, std::optional<int64_t>& value) {
  if (text == "None") {
    value.reset();
    return Result::ok;
  }
  return parse_item(text, rules, value.emplace());
}
template <class T>
requires std::is_floating_point_v<T> Result parse_item(std::string_view text, const FieldRules& rules,
                                                       T& value) {
  return Text<T>::parse(text, rules, value);
}
Result parse_item(std::string_view text, const FieldRules&, std::string& value) {
  const bool quoted = text.size() >= 2 && (text.front() == '\'' || text.front() == '"');
  if (quoted && text.back() != text.front()) return Result::bad_format;
  value = quoted ? text.substr(1, text.size() - 2) : text;
  return Result::ok;
}

std::string item_text(int64_t value) { return std::to_string(value); }
std::string item_text(const std::optional<int64_t>& value) { return value ? item_text(*value) : "None"; }
std::string item_text(float value) { return float_text(value); }
std::string item_text(double value) { return float_text(value); }
std::string item_text(const std::string& value) { return "'" + value + "'"; }

// MXNet prints the items of tuples through a stream of six digits.
template <class T>
std::string short_item(const T& value) {
  if constexpr (std::is_floating_point_v<T>) return fmt::format("{:.6g}", value);
  else return item_text(value);
}

template <class Items>
std::string python_tuple(const Items& items) {
  std::string text = "(";
  size_t count = 0;
  for (const auto& item : items) {
    if (count++ > 0) text += ", ";
    text += item_text(item);
  }
  return text + (count == 1 ? ",)" : ")");
}

template <class Items>
std::string bracket_tuple(const Items& items) {
  std::string text = "[";
  for (const auto& item : items) {
    if (text.size() > 1) text += ',';
    text += short_item(item);
  }
  return text + "]";
}

template <class T>
size_t hash_item(const T& value) {
  return Text<T>::hash(value);
}
size_t hash_item(const std::optional<int64_t>& value) {
  return value ? Text<int64_t>::hash(*value) : 0x5bd1e995u;
}

template <class Items>
size_t hash_items(const Items& items) {
  size_t hash = 1;
  for (const auto& item : items) hash = hash * 1000003 + hash_item(item);
  return hash;
}

template <class T>
constexpr FieldKind list_kind() {
  if constexpr (std::is_same_v<T, int64_t>) return FieldKind::int_list;
  else if constexpr (std::is_same_v<T, std::optional<int64_t>>) return FieldKind::optional_int_list;
  else if constexpr (std::is_same_v<T, float>) return FieldKind::float_list;
  else if constexpr (std::is_same_v<T, double>) return FieldKind::double_list;
  else return FieldKind::text_list;
}

template <class T>
struct Text<std::vector<T>> {
  static constexpr FieldKind kKind = list_kind<T>();
  static Result parse(std::string_view text, const FieldRules& rules, std::vector<T>& value) {
    std::vector<std::string_view> items;
    if (!split_tuple(text, !std::is_same_v<T, std::string>, items)) return Result::bad_format;
    value.resize(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      if (const Result result = parse_item(items[i], rules, value[i]); result != Result::ok) return result;
    }
    return Result::ok;
  }
  static std::string print(const std::vector<T>& value, const FieldRules&) { return python_tuple(value); }
  static std::string print_default(const std::vector<T>& value, const FieldRules&) {
    return bracket_tuple(value);
  }
  static bool equal(const std::vector<T>& a, const std::vector<T>& b) { return a == b; }
  static size_t hash(const std::vector<T>& value) { return hash_items(value); }
};

template <>
struct Text<Shape> {
  static constexpr FieldKind kKind = FieldKind::shape;
  static Result parse(std::string_view text, const FieldRules& rules, Shape& value) {
    if (trim(text) == "None") {
      value = Shape::unknown();
      return Result::ok;
    }
    std::vector<std::string_view> items;
    if (!split_tuple(text, true, items)) return Result::bad_format;
    if (items.size() > Shape::kMaxDims) return Result::bad_format;
    value = Shape::filled(static_cast<int>(items.size()), 0);
    for (int i = 0; i < value.ndim(); ++i) {
      if (!parse_long_item(items[static_cast<size_t>(i)], value[i])) return Result::bad_format;
      if (const Result result = in_range(static_cast<double>(value[i]), rules); result != Result::ok) {
        return result;
      }
    }
    return Result::ok;
  }
  static std::string print(const Shape& value, const FieldRules&) { return tuple_text(value); }
  static std::string print_default(const Shape& value, const FieldRules&) {
    return value.ndim_known() ? bracket_tuple(value) : "None";
  }
  static bool equal(const Shape& a, const Shape& b) { return a == b; }
  static size_t hash(const Shape& value) { return value.ndim_known() ? hash_items(value) : 0; }
};

template <class T>
struct Text<std::optional<T>> {
  static constexpr FieldKind kKind = Text<T>::kKind;
  static Result parse(std::string_view text, const FieldRules& rules, std::optional<T>& value) {
    if (trim(text) == "None") {
      value.reset();
      return Result::ok;
    }
    return Text<T>::parse(text, rules, value.emplace());
  }
  static std::string print(const std::optional<T>& value, const FieldRules& rules) {
    return value ? Text<T>::print(*value, rules) : "None";
  }
  static std::string print_default(const std::optional<T>& value, const FieldRules& rules) {
    return value ? Text<T>::print_default(*value, rules) : "None";
  }
  static bool equal(const std::optional<T>& a, const std::optional<T>& b) {
    return a.has_value() == b.has_value() && (!a || Text<T>::equal(*a, *b));
  }
  static size_t hash(const std::optional<T>& value) { return value ? Text<T>::hash(*value) : 0x5bd1e995u; }
};

template <>
struct Text<Ref<const Opaque>> {
  using Value = Ref<const Opaque>;
  static constexpr FieldKind kKind = FieldKind::opaque;
  static Result parse(std::string_view text, const FieldRules& rules, Value& value) {
    value = text == "None" || !rules.load ? Value() : rules.load(text);
    return value || text == "None" ? Result::ok : Result::bad_format;
  }
  static std::string print(const Value& value, const FieldRules&) {
    if (!value) return "None";
    return value->save().value_or(fmt::format("<{}>", value->kind()));
  }
  static std::string print_default(const Value& value, const FieldRules& rules) {
    return print(value, rules);
  }
  static bool equal(const Value& a, const Value& b) {
    return a.get() == b.get() || (a && b && a->kind() == b->kind() && a->equals(*b));
  }
  static size_t hash(const Value& value) { return value ? value->hash() : 0x5bd1e995u; }
};

// The names that no other field has: read one by one, by ParamSchema.
template <>
struct Text<TextPairs> {
  static constexpr FieldKind kKind = FieldKind::others;
  static Result parse(std::string_view, const FieldRules&, TextPairs&) { return Result::bad_format; }
  static std::string print(const TextPairs& value, const FieldRules&) {
    std::string text;
    for (const auto& [name, item] : value)
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, item);
    return text;
  }
  static std::string print_default(const TextPairs& value, const FieldRules& rules) {
    return print(value, rules);
  }
  static bool equal(const TextPairs& a, const TextPairs& b) { return a == b; }
  static size_t hash(const TextPairs& value) { return std::hash<std::string>()(print(value, {})); }
};

template <class T>
class TextCodec final : public Codec {
 public:
  Result parse(std::string_view text, const FieldRules& rules, void* value) const override {
    return Text<T>::parse(text, rules, *static_cast<T*>(value));
  }
  std::string print(const void* value, const FieldRules& rules) const override {
    return Text<T>::print(*static_cast<const T*>(value), rules);
  }
  std::string print_default(const void* value, const FieldRules& rules) const override {
    return Text<T>::print_default(*static_cast<const T*>(value), rules);
  }
  bool equal(const void* a, const void* b) const override {
    return Text<T>::equal(*static_cast<const T*>(a), *static_cast<const T*>(b));
  }
  size_t hash(const void* value) const override { return Text<T>::hash(*static_cast<const T*>(value)); }
  FieldKind kind() const override { return Text<T>::kKind; }
};

}  // namespace

Codec::Result ChoiceCodec::parse(std::string_view text, const FieldRules& rules, void* value) const {
  for (const Choice& choice : rules.choices) {
    if (choice.name != text) continue;
    store(value, choice.value);
    return Result::ok;
  }
  if (!takes_none() || text != "None") return Result::bad_choice;
  store(value, std::nullopt);
  return Result::ok;
}

std::string ChoiceCodec::print(const void* value, const FieldRules& rules) const {
  const std::optional<int64_t> number = load(value);
  if (!number) return "None";
  for (const Choice& choice : rules.choices) {
    if (choice.value == *number) return choice.name;
  }
  LOOMIX_INTERNAL_CHECK(!"an enum value without a name");
  return {};
}

std::string ChoiceCodec::print_default(const void* value, const FieldRules& rules) const {
  return print(value, rules);
}

size_t ChoiceCodec::hash(const void* value) const {
  const std::optional<int64_t> number = load(value);
  return number ? hash_number(static_cast<uint64_t>(*number)) : 0x5bd1e995u;
}

template <class T>
const Codec& codec() {
  static const TextCodec<T> codec;
  return codec;
}

template const Codec& codec<TextPairs>();
template const Codec& codec<bool>();
template const Codec& codec<int>();
template const Codec& codec<int64_t>();
template const Codec& codec<float>();
template const Codec& codec<double>();
template const Codec& codec<std::string>();
template const Codec& codec<DType>();
template const Codec& codec<Shape>();
template const Codec& codec<std::optional<bool>>();
template const Codec& codec<std::optional<int>>();
template const Codec& codec<std::optional<int64_t>>();
template const Codec& codec<std::optional<float>>();
template const Codec& codec<std::optional<double>>();
template const Codec& codec<std::optional<std::string>>();
template const Codec& codec<std::optional<DType>>();
template const Codec& codec<std::optional<Shape>>();
template const Codec& codec<Ref<const Opaque>>();
template const Codec& codec<std::vector<int64_t>>();
template const Codec& codec<std::vector<std::optional<int64_t>>>();
template const Codec& codec<std::vector<float>>();
template const Codec& codec<std::vector<double>>();
template const Codec& codec<std::vector<std::string>>();
template const Codec& codec<std::optional<std::vector<int64_t>>>();
template const Codec& codec<std::optional<std::vector<float>>>();
template const Codec& codec<std::optional<std::vector<double>>>();

}  // namespace loomix::detail

std::string loomix::tuple_text(const Shape& numbers) {
  return numbers.ndim_known() ? detail::python_tuple(numbers) : "None";
}
