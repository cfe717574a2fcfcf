// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

// A reader of JSON with the names that the sources use of nlohmann's. The text is untrusted: nesting has a limit.
namespace nlohmann {

class json {
 public:
  enum class value_t : uint8_t {
    null,
    object,
    array,
    string,
    boolean,
    number_integer,
    number_unsigned,
    number_float
  };
  class exception : public loomix::Error {
   public:
    using Error::Error;
  };
  class Member;

  json() = default;
  explicit json(value_t type) : type_(type) {}
  static json parse(std::string_view text);

  value_t type() const { return type_; }
  const char* type_name() const;
  bool is_object() const { return type_ == value_t::object; }
  bool is_array() const { return type_ == value_t::array; }
  bool is_string() const { return type_ == value_t::string; }
  bool is_number_unsigned() const { return type_ == value_t::number_unsigned; }
  bool is_number_integer() const { return type_ == value_t::number_integer || is_number_unsigned(); }

  // Of an array, its elements; of an object, what find() returns for no member.
  const json* begin() const { return items_.data(); }
  const json* end() const { return is_array() ? items_.data() + items_.size() : nullptr; }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const json& operator[](size_t i) const { return items_[i]; }
  const json* find(std::string_view key) const;
  const std::vector<Member>& items() const { return members_; }

  template <class T>
  T get() const {
    if constexpr (std::is_same_v<T, std::string>) return text_;
    else return static_cast<T>(number_);
  }

 private:
  friend class JsonReader;
  value_t type_ = value_t::null;
  uint64_t number_ = 0;
  std::string text_;
  std::vector<json> items_;
  std::vector<Member> members_;
};

class json::Member {
 public:
  Member(std::string key, json value) : key_(std::move(key)), value_(std::move(value)) {}
  const std::string& key() const { return key_; }
  const json& value() const { return value_; }

 private:
  std::string key_;
  json value_;
};

}  // namespace nlohmann
