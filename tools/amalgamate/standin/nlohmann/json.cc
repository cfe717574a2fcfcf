// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

namespace nlohmann {

const char* json::type_name() const {
  switch (type_) {
    case value_t::null: return "null";
    case value_t::object: return "object";
    case value_t::array: return "array";
    case value_t::string: return "string";
    case value_t::boolean: return "boolean";
    default: return "number";
  }
}

const json* json::find(std::string_view key) const {
  for (size_t i = members_.size(); i-- > 0;) {  // the last of several with one name
    if (members_[i].key() == key) return &members_[i].value();
  }
  return nullptr;
}

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  json read() {
    json value = read_value(0);
    skip_space();
    if (at_ != text_.size()) fail("something follows the value");
    return value;
  }

 private:
  static constexpr int kMostLevels = 200;

  [[noreturn]] void fail(const char* what) const {
    throw json::exception(fmt::format("at byte {}: {}", at_, what));
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || (text_[at_] >= '\t' && text_[at_] <= '\r'))) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, const char* what) {
    if (!take(c)) fail(what);
  }
  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  json read_value(int level) {
    if (level > kMostLevels) fail("the values are nested too deep");
    if (take('{')) return read_object(level);
    if (take('[')) return read_array(level);
    if (take('"')) {
      json value(json::value_t::string);
      value.text_ = read_string();
      return value;
    }
    if (take_word("null")) return json();
    if (take_word("true") || take_word("false")) return json(json::value_t::boolean);
    return read_number();
  }

  json read_object(int level) {
    json value(json::value_t::object);
    if (take('}')) return value;
    do {
      expect('"', "expected a name in quotes");
      std::string key = read_string();
      expect(':', "expected ':'");
      value.members_.emplace_back(std::move(key), read_value(level + 1));
    } while (take(','));
    expect('}', "expected ',' or '}'");
    return value;
  }

  json read_array(int level) {
    json value(json::value_t::array);
    if (take(']')) return value;
    do {
      value.items_.push_back(read_value(level + 1));
    } while (take(','));
    expect(']', "expected ',' or ']'");
    return value;
  }

  json read_number() {
    const char* const begin = text_.data() + at_;
    const char* end = begin;
    const char* const last = text_.data() + text_.size();
    bool whole = true;
    while (end != last && ((*end >= '0' && *end <= '9') || *end == '-' || *end == '+' || *end == '.' ||
                           *end == 'e' || *end == 'E')) {
      whole = whole && (*end == '-' || (*end >= '0' && *end <= '9'));
      ++end;
    }
    if (end == begin) fail("expected a value");
    json value(json::value_t::number_float);
    int64_t number = 0;
    const auto integer = std::from_chars(begin, end, number);
    if (whole && integer.ec == std::errc() && integer.ptr == end) {
      value.type_ = number < 0 ? json::value_t::number_integer : json::value_t::number_unsigned;
      value.number_ = static_cast<uint64_t>(number);
    } else if (whole && integer.ec != std::errc::result_out_of_range) {
      fail("expected a number");
    }
    at_ += static_cast<size_t>(end - begin);
    return value;
  }

  unsigned read_hex() {
    unsigned code = 0;
    if (at_ + 4 > text_.size()) fail("a text does not end");
    const char* const begin = text_.data() + at_;
    const auto read = std::from_chars(begin, begin + 4, code, 16);
    if (read.ptr != begin + 4) fail("expected four hexadecimal digits");
    at_ += 4;
    return code;
  }

  static void put_utf8(unsigned code, std::string& to) {
    const auto put = [&to](unsigned byte) { to += static_cast<char>(byte); };
    if (code < 0x80) return put(code);
    if (code < 0x800) {
      put(0xc0 | code >> 6);
    } else {
      if (code < 0x10000) {
        put(0xe0 | code >> 12);
      } else {
        put(0xf0 | code >> 18);
        put(0x80 | (code >> 12 & 0x3f));
      }
      put(0x80 | (code >> 6 & 0x3f));
    }
    put(0x80 | (code & 0x3f));
  }

  void read_escape(std::string& to) {
    if (at_ >= text_.size()) fail("a text does not end");
    const char c = text_[at_++];
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (const size_t i = kNames.find(c); i != std::string_view::npos) {
      to += kMeanings[i];
      return;
    }
    if (c != 'u') fail("an unknown escape");
    unsigned code = read_hex();
    if (code >= 0xd800 && code < 0xdc00 && take_word("\\u")) {
      const unsigned low = read_hex();
      if (low < 0xdc00 || low > 0xdfff) fail("half of a character");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code >= 0xd800 && code < 0xe000) fail("half of a character");
    put_utf8(code, to);
  }

  std::string read_string() {  // after its first quote
    std::string to;
    for (;;) {
      if (at_ >= text_.size()) fail("a text does not end");
      const char c = text_[at_++];
      if (c == '"') return to;
      if (c == '\\') read_escape(to);
      else if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a text");
      else to += c;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

json json::parse(std::string_view text) { return JsonReader(text).read(); }

}  // namespace nlohmann
