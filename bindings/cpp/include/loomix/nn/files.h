// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/block.h"

// Arrays by name in MXNet's `.params` files and in safetensors files, as Python reads and writes them.
namespace loomix::nn {

using NamedArrays = std::vector<std::pair<std::string, Array>>;

namespace detail {

struct TensorType {
  const char* name;
  DType type;
};
inline constexpr TensorType kTensorTypes[] = {
    {"F32", DType::float32},   {"F64", DType::float64}, {"F16", DType::float16},
    {"BF16", DType::bfloat16}, {"U8", DType::uint8},    {"I8", DType::int8},
    {"I32", DType::int32},     {"I64", DType::int64},   {"BOOL", DType::boolean}};

class File {
 public:
  File(const std::string& path, const char* mode) : path_(path), file_(std::fopen(path.c_str(), mode)) {
    if (!file_) fail("cannot be opened");
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (file_) std::fclose(file_);
  }
  [[noreturn]] void fail(const std::string& why) const { detail::fail({"[files] '", path_, "' ", why, "."}); }
  void write(const void* data, size_t bytes) {
    if (std::fwrite(data, 1, bytes, file_) != bytes) fail("could not be written whole");
  }
  void close() {
    const int code = std::fclose(file_);
    file_ = nullptr;
    if (code != 0) fail("could not be written whole");
  }
  std::string read_all() {
    std::string content;
    char buffer[1 << 16];
    for (size_t count = 0; (count = std::fread(buffer, 1, sizeof buffer, file_)) > 0;)
      content.append(buffer, count);
    if (std::ferror(file_)) fail("could not be read");
    return content;
  }

 private:
  std::string path_;
  FILE* file_;
};

// Of a safetensors file's header: objects, lists, texts and whole numbers.
class HeaderReader {
 public:
  HeaderReader(const File& file, const char* begin, const char* end) : file_(file), at_(begin), end_(end) {}
  bool take(char wanted) {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
    if (at_ >= end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) file_.fail(std::string("has a damaged header: '") + wanted + "' is missing");
  }
  std::string read_text() {
    expect('"');
    std::string result;
    for (; at_ < end_ && *at_ != '"'; ++at_) {
      if (*at_ == '\\' && ++at_ < end_ && *at_ == 'u')
        file_.fail("has a name with characters that are not ASCII");
      if (at_ < end_) result += *at_;
    }
    expect('"');
    return result;
  }
  std::vector<int64_t> read_numbers() {
    expect('[');
    std::vector<int64_t> result;
    if (take(']')) return result;
    do {
      take('\0');  // passes over spaces
      int64_t number = 0;
      const char* const begin = at_;
      for (; at_ < end_ && *at_ >= '0' && *at_ <= '9' && at_ - begin < 18; ++at_)
        number = number * 10 + (*at_ - '0');
      if (at_ == begin) file_.fail("has a damaged header: a number is missing");
      result.push_back(number);
    } while (take(','));
    expect(']');
    return result;
  }
  // One entry: {"dtype": ..., "shape": [...], "data_offsets": [...]}.
  void read_entry(std::string& type, Shape& shape, std::vector<int64_t>& offsets) {
    expect('{');
    do {
      const std::string key = read_text();
      expect(':');
      if (key == "dtype") type = read_text();
      else if (key == "shape") shape.sizes = read_numbers();
      else if (key == "data_offsets") offsets = read_numbers();
      else file_.fail("has a damaged header: '" + key + "' is unknown");
    } while (take(','));
    expect('}');
  }
  void skip_texts() {  // of {"name": "text", ...}
    expect('{');
    if (take('}')) return;
    do {
      read_text();
      expect(':');
      read_text();
    } while (take(','));
    expect('}');
  }

 private:
  const File& file_;
  const char* at_;
  const char* end_;
};

inline bool is_safetensors(const std::string& path) { return path.ends_with(".safetensors"); }

[[gnu::cold]] inline void save_safetensors(const std::string& path, const NamedArrays& arrays) {
  std::string header = "{";
  int64_t offset = 0;
  for (const auto& [name, array] : arrays) {
    const char* type = "";
    for (const TensorType& one : kTensorTypes) {
      if (one.type == array.dtype()) type = one.name;
    }
    std::string sizes;
    for (const int64_t size : array.shape()) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    const int64_t end = offset + array.size() * bytes_of(array.dtype());
    header += (offset || header.size() > 1 ? ",\"" : "\"") + name + "\":{\"dtype\":\"" + type +
              "\",\"shape\":[" + sizes + "],\"data_offsets\":[" + std::to_string(offset) + "," +
              std::to_string(end) + "]}";
    offset = end;
  }
  header += "}";
  while (header.size() % 8 != 0) header += ' ';
  File file(path, "wb");
  unsigned char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(header.size() >> (8 * i));
  file.write(length, 8);
  file.write(header.data(), header.size());
  for (const auto& [name, array] : arrays) {
    std::vector<char> bytes(static_cast<size_t>(array.size() * bytes_of(array.dtype())));
    check(LoomixArrayCopyToHost(array.handle(), bytes.data(), bytes.size()));
    file.write(bytes.data(), bytes.size());
  }
  file.close();
}

[[gnu::cold]] inline NamedArrays load_safetensors(const std::string& path) {
  File file(path, "rb");
  const std::string content = file.read_all();
  if (content.size() < 8) file.fail("is no safetensors file: it is too short");
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i)
    length |= static_cast<uint64_t>(static_cast<unsigned char>(content[i])) << (8 * i);
  if (length > content.size() - 8)
    file.fail("is no whole safetensors file: its header is longer than the file");
  const char* const data = content.data() + 8 + length;
  const auto bytes = static_cast<int64_t>(content.size() - 8 - length);
  HeaderReader header(file, content.data() + 8, data);
  NamedArrays result;
  header.expect('{');
  if (header.take('}')) return result;
  do {
    const std::string name = header.read_text();
    header.expect(':');
    if (name == "__metadata__") {
      header.skip_texts();
      continue;
    }
    std::string type;
    Shape shape;
    std::vector<int64_t> offsets;
    header.read_entry(type, shape, offsets);
    const TensorType* known = nullptr;
    for (const TensorType& one : kTensorTypes) {
      if (type == one.name) known = &one;
    }
    if (!known) file.fail("has '" + name + "' of the type " + type + ", which arrays do not have");
    if (shape.empty()) shape = {1};
    if (shape.ndim() > LOOMIX_MAX_AXES) file.fail("has '" + name + "' with too many axes");
    int64_t count = bytes_of(known->type);
    for (const int64_t size : shape) {
      if (size > 0 && count > bytes / size) file.fail("has '" + name + "', which is larger than the file");
      count *= size;
    }
    if (offsets.size() != 2 || offsets[0] > bytes - count || offsets[1] != offsets[0] + count)
      file.fail("has '" + name + "' at a place that does not fit its shape");
    const Array array = Array::make(shape, {known->type, cpu()});
    check(LoomixArrayCopyFromHost(array.handle(), data + offsets[0], static_cast<size_t>(count)));
    result.push_back({name, array});
  } while (header.take(','));
  header.expect('}');
  return result;
}

}  // namespace detail

// By the end of the name: `.safetensors`, else MXNet's form.
[[gnu::cold]] inline void save_arrays(const std::string& path, const NamedArrays& arrays) {
  if (detail::is_safetensors(path)) return detail::save_safetensors(path, arrays);
  std::vector<LoomixArray> handles;
  std::vector<const char*> names;
  for (const auto& [name, array] : arrays) {
    handles.push_back(array.handle());
    names.push_back(name.c_str());
  }
  detail::check(LoomixArraySave(path.c_str(), handles.size(), handles.data(), names.data()));
}

[[gnu::cold]] inline NamedArrays load_arrays(const std::string& path) {
  if (detail::is_safetensors(path)) return detail::load_safetensors(path);
  size_t count = 0;
  const LoomixArray* arrays = nullptr;
  const char* const* names = nullptr;
  detail::check(LoomixArrayLoad(path.c_str(), &count, &arrays, &names));
  NamedArrays result;
  for (size_t i = 0; i < count; ++i) {
    std::string name = names ? names[i] : std::to_string(i);
    if (name.compare(0, 4, "arg:") == 0 || name.compare(0, 4, "aux:") == 0) name.erase(0, 4);
    result.push_back({std::move(name), arrays[i] ? Array(arrays[i]) : Array()});
  }
  return result;
}

[[gnu::cold]] inline void Block::save(const std::string& path) const {
  NamedArrays arrays;
  for (const auto& [name, parameter] : parameters()) arrays.push_back({name, parameter->data()});
  save_arrays(path, arrays);
}

[[gnu::cold]] inline void Block::load(const std::string& path, bool allow_missing, bool ignore_extra) {
  const NamedArrays arrays = load_arrays(path);
  const NamedParameters wanted = parameters();
  for (const auto& [name, parameter] : wanted) {
    const Array* found = nullptr;
    for (const auto& [other, array] : arrays) {
      if (other == name) found = &array;
    }
    if (found) parameter->set(*found);
    else if (!allow_missing)
      detail::fail(
          {"[", kind_, "] '", path, "' has no parameter '", name, "'; allow_missing leaves it alone."});
  }
  for (const auto& [name, array] : arrays) {
    bool known = false;
    for (const auto& [other, parameter] : wanted) known |= other == name;
    if (!known && !ignore_extra)
      detail::fail({"[", kind_, "] '", path, "' has a parameter '", name,
                    "' that the block does not have; ignore_extra passes over it."});
  }
}

[[gnu::cold]] inline std::string Block::summary(const Shape& input) {
  std::string text = "block                                     output              parameters\n";
  int64_t all = 0;
  detail::summary() = &text;
  struct Ends {
    ~Ends() { detail::summary() = nullptr; }
  } ends;
  const Pause pause;
  const bool active = active_;
  hybridize(false);
  call({zeros(input)});
  if (active) hybridize();
  for (const auto& [name, parameter] : parameters()) all += parameter->shape().count();
  return text + "parameters: " + std::to_string(all) + "\n";
}

}  // namespace loomix::nn
