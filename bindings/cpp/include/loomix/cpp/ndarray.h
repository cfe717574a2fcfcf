// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "loomix/cpp/shape.h"

namespace loomix::cpp {
inline namespace names {

// An array. Copies share it. Operations run in the background; reading waits.
class NDArray {
 public:
  NDArray() = default;
  explicit NDArray(LoomixArray handle) : handle_(handle) {}  // takes the handle over
  NDArray(const Shape& shape, const Context& context, bool delay_alloc = true, int dtype = LOOMIX_FLOAT32) {
    (void)delay_alloc;  // memory is taken when it is needed
    const LoomixShape sizes = detail::to_c(shape);
    LoomixArray made = nullptr;
    detail::check(LoomixArrayCreate(&sizes, dtype, detail::to_c(context), &made));
    handle_ = detail::Handle<LoomixArray>(made);
  }
  NDArray(const std::vector<mx_uint>& shape, const Context& context, bool delay_alloc = true,
          int dtype = LOOMIX_FLOAT32)
      : NDArray(Shape(shape), context, delay_alloc, dtype) {}
  NDArray(const mx_float* data, size_t size)
      : NDArray(data, Shape(static_cast<index_t>(size)), Context::cpu()) {}
  NDArray(const mx_float* data, const Shape& shape, const Context& context) : NDArray(shape, context) {
    SyncCopyFromCPU(data, shape.Size());
  }
  NDArray(const std::vector<mx_float>& data, const Shape& shape, const Context& context)
      : NDArray(shape, context) {
    SyncCopyFromCPU(data);
  }
  explicit NDArray(const std::vector<mx_float>& data) : NDArray(data.data(), data.size()) {}

  // New arrays; with another array, or a number.
  NDArray operator+(const NDArray& other) const { return binary("_plus", other); }
  NDArray operator-(const NDArray& other) const { return binary("_minus", other); }
  NDArray operator*(const NDArray& other) const { return binary("_mul", other); }
  NDArray operator/(const NDArray& other) const { return binary("_div", other); }
  NDArray operator%(const NDArray& other) const { return binary("_mod", other); }
  NDArray operator+(mx_float scalar) const { return with_scalar("_plus_scalar", scalar); }
  NDArray operator-(mx_float scalar) const { return with_scalar("_minus_scalar", scalar); }
  NDArray operator*(mx_float scalar) const { return with_scalar("_mul_scalar", scalar); }
  NDArray operator/(mx_float scalar) const { return with_scalar("_div_scalar", scalar); }
  NDArray operator%(mx_float scalar) const { return with_scalar("_mod_scalar", scalar); }

  // In place.
  NDArray& operator=(mx_float scalar) {
    invoke_into("_set_value", {}, {{"src", detail::to_text(scalar)}});
    return *this;
  }
  NDArray& operator+=(const NDArray& other) { return invoke_into("_plus", {*this, other}); }
  NDArray& operator-=(const NDArray& other) { return invoke_into("_minus", {*this, other}); }
  NDArray& operator*=(const NDArray& other) { return invoke_into("_mul", {*this, other}); }
  NDArray& operator/=(const NDArray& other) { return invoke_into("_div", {*this, other}); }
  NDArray& operator%=(const NDArray& other) { return invoke_into("_mod", {*this, other}); }
  NDArray& operator+=(mx_float scalar) { return change("_plus_scalar", scalar); }
  NDArray& operator-=(mx_float scalar) { return change("_minus_scalar", scalar); }
  NDArray& operator*=(mx_float scalar) { return change("_mul_scalar", scalar); }
  NDArray& operator/=(mx_float scalar) { return change("_div_scalar", scalar); }
  NDArray& operator%=(mx_float scalar) { return change("_mod_scalar", scalar); }

  NDArray ArgmaxChannel() const { return invoke("argmax_channel", {*this}, {})[0]; }

  // float32 elements; these wait.
  void SyncCopyFromCPU(const mx_float* data, size_t size) {
    check_float("SyncCopyFromCPU");
    detail::check(LoomixArrayCopyFromHost(GetHandle(), data, size * sizeof(mx_float)));
  }
  void SyncCopyFromCPU(const std::vector<mx_float>& data) { SyncCopyFromCPU(data.data(), data.size()); }
  void SyncCopyToCPU(mx_float* data, size_t size = 0) const {
    check_float("SyncCopyToCPU");
    detail::check(LoomixArrayCopyToHost(GetHandle(), data, (size > 0 ? size : Size()) * sizeof(mx_float)));
  }
  void SyncCopyToCPU(std::vector<mx_float>* data, size_t size = 0) const {
    data->resize(size > 0 ? size : Size());
    SyncCopyToCPU(data->data(), data->size());
  }

  NDArray CopyTo(NDArray* other) const {
    detail::check(LoomixArrayCopy(GetHandle(), other->GetHandle()));
    return *other;
  }
  NDArray Copy(const Context& context) const {
    NDArray copy(GetShape(), context, false, GetDType());
    return CopyTo(&copy);
  }

  size_t Offset(size_t h = 0, size_t w = 0) const {
    const std::vector<mx_uint> shape = GetShape();
    return shape.size() < 2 ? h + w : h * shape[1] + w;
  }
  size_t Offset(size_t c, size_t h, size_t w) const {
    const std::vector<mx_uint> shape = GetShape();
    if (shape.size() != 3) throw Error("[NDArray] Offset of three numbers is for arrays of three axes.");
    return (c * shape[1] + h) * shape[2] + w;
  }
  mx_float At(size_t h, size_t w) const { return element(Offset(h, w)); }
  mx_float At(size_t c, size_t h, size_t w) const { return element(Offset(c, h, w)); }
  mx_float At(size_t index) const { return element(index); }

  // Views: they share memory with the array.
  NDArray Slice(mx_uint begin, mx_uint end) const {
    LoomixArray made = nullptr;
    detail::check(LoomixArraySlice(GetHandle(), begin, end, &made));
    return NDArray(made);
  }
  NDArray Reshape(const Shape& shape) const {
    const LoomixShape sizes = detail::to_c(shape);
    LoomixArray made = nullptr;
    detail::check(LoomixArrayReshape(GetHandle(), &sizes, &made));
    return NDArray(made);
  }

  void WaitToRead() const { detail::check(LoomixArrayWait(GetHandle())); }
  void WaitToWrite() {
    void* data = nullptr;
    detail::check(LoomixArrayGetData(GetHandle(), &data));
  }
  static void WaitAll() { detail::check(LoomixWaitAll()); }

  static void SampleGaussian(mx_float mu, mx_float sigma, NDArray* out) {
    out->invoke_into("_random_normal", {},
                     out->like({{"loc", detail::to_text(mu)}, {"scale", detail::to_text(sigma)}}));
  }
  static void SampleUniform(mx_float begin, mx_float end, NDArray* out) {
    out->invoke_into("_random_uniform", {},
                     out->like({{"low", detail::to_text(begin)}, {"high", detail::to_text(end)}}));
  }

  static void Load(const std::string& file_name, std::vector<NDArray>* array_list = nullptr,
                   std::map<std::string, NDArray>* array_map = nullptr) {
    Loaded loaded;
    detail::check(LoomixArrayLoad(file_name.c_str(), &loaded.count, &loaded.arrays, &loaded.names));
    loaded.give(array_list, array_map);
  }
  static std::map<std::string, NDArray> LoadToMap(const std::string& file_name) {
    std::map<std::string, NDArray> result;
    Load(file_name, nullptr, &result);
    return result;
  }
  static std::vector<NDArray> LoadToList(const std::string& file_name) {
    std::vector<NDArray> result;
    Load(file_name, &result);
    return result;
  }
  static void LoadFromBuffer(const void* buffer, size_t size, std::vector<NDArray>* array_list = nullptr,
                             std::map<std::string, NDArray>* array_map = nullptr) {
    Loaded loaded;
    detail::check(LoomixArrayLoadFromMemory(buffer, size, &loaded.count, &loaded.arrays, &loaded.names));
    loaded.give(array_list, array_map);
  }
  static std::map<std::string, NDArray> LoadFromBufferToMap(const void* buffer, size_t size) {
    std::map<std::string, NDArray> result;
    LoadFromBuffer(buffer, size, nullptr, &result);
    return result;
  }
  static std::vector<NDArray> LoadFromBufferToList(const void* buffer, size_t size) {
    std::vector<NDArray> result;
    LoadFromBuffer(buffer, size, &result);
    return result;
  }
  static void Save(const std::string& file_name, const std::map<std::string, NDArray>& array_map) {
    std::vector<LoomixArray> arrays;
    std::vector<const char*> names;
    for (const auto& [name, array] : array_map) {
      arrays.push_back(array.GetHandle());
      names.push_back(name.c_str());
    }
    detail::check(LoomixArraySave(file_name.c_str(), arrays.size(), arrays.data(), names.data()));
  }
  static void Save(const std::string& file_name, const std::vector<NDArray>& array_list) {
    const auto arrays = handles(array_list);
    detail::check(LoomixArraySave(file_name.c_str(), arrays.size(), arrays.data(), nullptr));
  }

  size_t Size() const {
    size_t count = 1;
    for (const mx_uint size : GetShape()) count *= size;
    return count;
  }
  std::vector<mx_uint> GetShape() const { return detail::from_c(info().shape); }
  int GetDType() const { return info().type; }
  Context GetContext() const {
    const LoomixDevice device = info().device;
    return {static_cast<DeviceType>(device.type), device.id};
  }
  // Waits; float32 arrays that are not on a GPU.
  const mx_float* GetData() const {
    check_float("GetData");
    void* data = nullptr;
    detail::check(LoomixArrayGetData(GetHandle(), &data));
    return static_cast<const mx_float*>(data);
  }
  // What gradients of this array go to (see AutogradMark).
  NDArray Grad() const {
    LoomixArray made = nullptr;
    detail::check(LoomixArrayGetGradient(GetHandle(), &made));
    return NDArray(made);
  }
  LoomixArray GetHandle() const { return handle_.get(); }

  // An operator on arrays; what operator.h does with more comfort.
  static std::vector<NDArray> invoke(const char* name, const std::vector<NDArray>& inputs,
                                     const detail::Pairs& parameters) {
    const auto arrays = handles(inputs);
    const detail::CPairs pairs(parameters);
    size_t count = 0;
    const LoomixArray* made = nullptr;
    detail::check(LoomixOperatorInvoke(name, arrays.size(), arrays.data(), pairs.get(), &count, &made));
    return take(count, made);
  }
  static void invoke_into(const char* name, const std::vector<NDArray>& inputs,
                          const detail::Pairs& parameters, const std::vector<NDArray>& outputs) {
    const auto arrays = handles(inputs), out = handles(outputs);
    const detail::CPairs pairs(parameters);
    size_t count = out.size();
    const LoomixArray* list = out.data();
    detail::check(LoomixOperatorInvoke(name, arrays.size(), arrays.data(), pairs.get(), &count, &list));
  }
  static std::vector<LoomixArray> handles(const std::vector<NDArray>& arrays) {
    std::vector<LoomixArray> result;
    for (const NDArray& array : arrays) result.push_back(array.GetHandle());
    return result;
  }
  // Takes new handles over; null ones become empty arrays.
  static std::vector<NDArray> take(size_t count, const LoomixArray* list) {
    std::vector<NDArray> result;
    for (size_t i = 0; i < count; ++i) result.push_back(list[i] ? NDArray(list[i]) : NDArray());
    return result;
  }

 private:
  struct Loaded {
    size_t count = 0;
    const LoomixArray* arrays = nullptr;
    const char* const* names = nullptr;
    void give(std::vector<NDArray>* to_list, std::map<std::string, NDArray>* to_map) const {
      const std::vector<std::string> texts = detail::texts(count, names);  // before the next call
      const std::vector<NDArray> all = take(count, arrays);
      if (to_list) to_list->insert(to_list->end(), all.begin(), all.end());
      for (size_t i = 0; to_map && i < texts.size(); ++i) (*to_map)[texts[i]] = all[i];
    }
  };

  NDArray binary(const char* name, const NDArray& other) const { return invoke(name, {*this, other}, {})[0]; }
  NDArray with_scalar(const char* name, mx_float scalar) const {
    return invoke(name, {*this}, {{"scalar", detail::to_text(scalar)}})[0];
  }
  NDArray& invoke_into(const char* name, const std::vector<NDArray>& inputs,
                       const detail::Pairs& parameters = {}) {
    invoke_into(name, inputs, parameters, {*this});
    return *this;
  }
  NDArray& change(const char* name, mx_float scalar) {
    return invoke_into(name, {*this}, {{"scalar", detail::to_text(scalar)}});
  }
  detail::Pairs like(detail::Pairs parameters) const {
    parameters["shape"] = detail::to_text(Shape(GetShape()));
    parameters["ctx"] = detail::text_of(GetContext());
    return parameters;
  }
  LoomixArrayInfo info() const {
    LoomixArrayInfo result{};
    detail::check(LoomixArrayGetInfo(GetHandle(), &result));
    return result;
  }
  void check_float(const char* who) const {
    if (GetDType() != LOOMIX_FLOAT32)
      throw Error(std::string("[NDArray] ") + who + " is for arrays of float32; this one has type " +
                  std::to_string(GetDType()) + ".");
  }
  mx_float element(size_t index) const {
    std::vector<mx_float> all;
    SyncCopyToCPU(&all);
    if (index >= all.size())
      throw Error("[NDArray] element " + std::to_string(index) + " is outside of the array.");
    return all[index];
  }

  detail::Handle<LoomixArray> handle_;
};

inline std::ostream& operator<<(std::ostream& out, const NDArray& array) {
  std::vector<mx_float> values;
  array.SyncCopyToCPU(&values);
  out << '[';
  for (size_t i = 0; i < values.size(); ++i) out << (i ? "," : "") << values[i];
  return out << ']';
}

}  // namespace names
}  // namespace loomix::cpp
