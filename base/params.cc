// SPDX-License-Identifier: Apache-2.0
#include "base/params.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/error.h"

namespace loomix {
namespace params_detail {
namespace {

std::string_view trim(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

template <class Integer>
bool read_integer(std::string_view text, Integer& value) {
  text = trim(text);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

template <class Real>
bool read_real(std::string_view text, Real& value) {
  text = trim(text);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    // Too large or too small for the type: infinity or zero, as strtod gives.
    value = static_cast<Real>(std::strtod(std::string(text).c_str(), nullptr));
    return end == text.data() + text.size();
  }
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// Calls item(text) for the parts of "(a, b,)" or "[a, b]"; false if the brackets do not match or an item fails.
template <class Item>
bool read_list(std::string_view text, Item&& item) {
  text = trim(text);
  if (text.size() < 2) return false;
  const bool round = text.front() == '(' && text.back() == ')';
  const bool square = text.front() == '[' && text.back() == ']';
  if (!round && !square) return false;
  text = trim(text.substr(1, text.size() - 2));
  while (!text.empty()) {
    const size_t comma = text.find(',');
    if (!item(trim(text.substr(0, comma)))) return false;
    if (comma == std::string_view::npos) break;
    text = trim(text.substr(comma + 1));
  }
  return true;
}

bool read_size(std::string_view text, int64_t& value) {
  if (!text.empty() && text.back() == 'L') text.remove_suffix(1);  // Python 2's long integers in old files
  return read_integer(text, value);
}

template <class List>
std::string print_list(const List& list) {
  std::string text = "[";
  for (const auto& item : list) {
    if (text.size() > 1) text += ", ";
    text += print(item);
  }
  return text + "]";
}

}  // namespace

bool is_none(std::string_view text) { return trim(text) == "None"; }

bool read(std::string_view text, bool& value) {
  text = trim(text);
  if (equals_ignoring_case(text, "true") || text == "1") return value = true, true;
  if (equals_ignoring_case(text, "false") || text == "0") return value = false, true;
  return false;
}
bool read(std::string_view text, int& value) { return read_integer(text, value); }
bool read(std::string_view text, int64_t& value) { return read_size(trim(text), value); }
bool read(std::string_view text, float& value) { return read_real(text, value); }
bool read(std::string_view text, double& value) { return read_real(text, value); }
bool read(std::string_view text, std::string& value) { return value = text, true; }
bool read(std::string_view text, DType& value) {
  for (DType dtype : {DType::float32, DType::float64, DType::float16, DType::uint8, DType::int32, DType::int8,
                      DType::int64, DType::boolean, DType::bfloat16}) {
    if (text == name_of(dtype)) return value = dtype, true;
  }
  return false;
}
bool read(std::string_view text, Shape& value) {
  value = Shape();
  return read_list(text, [&](std::string_view item) {
    int64_t size = 0;
    if (!read_size(item, size) || value.ndim() == Shape::kMaxDims) return false;
    value.push_back(size);
    return true;
  });
}
bool read_int_as_shape(std::string_view text, Shape& value) {
  int64_t size = 0;
  if (!read_size(trim(text), size)) return false;
  value = Shape{size};
  return true;
}

namespace {
template <class T, class Read>
bool read_vector(std::string_view text, std::vector<T>& value, Read&& read_item) {
  value.clear();
  return read_list(text, [&](std::string_view item) {
    T element{};
    if (!read_item(item, element)) return false;
    value.push_back(element);
    return true;
  });
}
}  // namespace

bool read(std::string_view text, std::vector<float>& value) {
  float one = 0;
  if (read_real(text, one)) return value = {one}, true;
  return read_vector(text, value, [](auto item, float& out) { return read_real(item, out); });
}
bool read(std::string_view text, std::vector<double>& value) {
  double one = 0;
  if (read_real(text, one)) return value = {one}, true;
  return read_vector(text, value, [](auto item, double& out) { return read_real(item, out); });
}
bool read(std::string_view text, std::vector<int64_t>& value) {
  return read_vector(text, value, [](auto item, int64_t& out) { return read_size(item, out); });
}
bool read(std::string_view text, std::vector<std::optional<int64_t>>& value) {
  int64_t one = 0;
  if (read_size(trim(text), one)) return value = {one}, true;
  return read_vector(text, value, [](auto item, std::optional<int64_t>& out) {
    if (item == "None") return out = std::nullopt, true;
    int64_t number = 0;
    if (!read_size(item, number)) return false;
    out = number;
    return true;
  });
}

std::string print(bool value) { return value ? "1" : "0"; }
std::string print(int value) { return std::to_string(value); }
std::string print(int64_t value) { return std::to_string(value); }
std::string print(float value) { return fmt::format("{:.9g}", value); }
std::string print(double value) { return fmt::format("{:.17g}", value); }
std::string print(const std::string& value) { return value; }
std::string print(const std::optional<int64_t>& value) { return value ? print(*value) : "None"; }
std::string print(DType value) { return std::string(name_of(value)); }
std::string print(const Shape& value) { return print_list(value); }
std::string print(const std::vector<float>& value) { return print_list(value); }
std::string print(const std::vector<double>& value) { return print_list(value); }
std::string print(const std::vector<int64_t>& value) { return print_list(value); }
std::string print(const std::vector<std::optional<int64_t>>& value) { return print_list(value); }

std::string options_text(const std::vector<std::string>& options) {
  std::string text = "{";
  for (const auto& option : options) {
    if (text.size() > 1) text += ", ";
    text += "'" + option + "'";
  }
  return text + "}";
}

void fail_format(std::string_view who, const FieldInfo& info, std::string_view text) {
  detail::throw_error<ValueError>("[{}] Invalid Parameter format for {} expect {} but value='{}'", who, info.name,
                                  info.type, text);
}

void fail_option(std::string_view who, const FieldInfo& info, std::string_view text) {
  detail::throw_error<ValueError>("[{}] Invalid Input: '{}', valid values are: {} (parameter {})", who, text,
                                  options_text(info.options), info.name);
}

void fail_range(std::string_view who, const FieldInfo& info, std::string_view text, const Limits& limits) {
  std::string allowed;
  if (std::isfinite(limits.least)) allowed = fmt::format("{} {}", limits.open_below ? "above" : "at least", limits.least);
  if (std::isfinite(limits.most)) {
    if (!allowed.empty()) allowed += " and ";
    allowed += fmt::format("{} {}", limits.open_above ? "below" : "at most", limits.most);
  }
  detail::throw_error<ValueError>("[{}] parameter {} is out of range: value '{}'; expected {}.", who, info.name, text,
                                  allowed);
}

}  // namespace params_detail

const ParamSchema::Field* ParamSchema::find(std::string_view name) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const Field& f) { return f.info.name == name; });
  return found == fields_.end() ? nullptr : &*found;
}

Ref<const AttrsBase> ParamSchema::parse(std::string_view who,
                                        std::span<const std::pair<std::string, std::string>> texts) const {
  Ref<AttrsBase> attrs = make_(*this);
  uint64_t seen[4] = {};
  LOOMIX_INTERNAL_CHECK(fields_.size() <= 256);
  for (const auto& [name, text] : texts) {
    const Field* field = find(name);
    if (!field) {
      std::string possible;
      for (const auto& candidate : fields_) {
        possible += fmt::format("\n  {} : {}", candidate.info.name, candidate.info.type);
      }
      detail::throw_error<ValueError>("[{}] Cannot find argument '{}', Possible Arguments:{}", who, name,
                                      possible.empty() ? " none" : possible);
    }
    field->set(*attrs, text, who);
    const size_t position = static_cast<size_t>(field - fields_.data());
    seen[position / 64] |= uint64_t{1} << (position % 64);
    attrs->given_.emplace_back(name, text);
  }
  for (size_t i = 0; i < fields_.size(); ++i) {
    const FieldInfo& info = fields_[i].info;
    LOOMIX_CHECK(!info.required || (seen[i / 64] >> (i % 64) & 1), ValueError,
                 "[{}] Required parameter {} of {} is not presented", who, info.name, info.type);
  }
  std::sort(attrs->given_.begin(), attrs->given_.end());
  for (const auto& field : fields_) {
    attrs->canonical_ += field.print(*attrs);
    attrs->canonical_ += ';';
  }
  attrs->hash_ = std::hash<std::string>{}(attrs->canonical_);
  return attrs;
}

}  // namespace loomix
