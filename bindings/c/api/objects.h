// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/params.h"
#include "loomix/c_api.h"
#include "ndarray/ndarray.h"
#include "symbol/executor/bound_executor.h"
#include "symbol/symbol.h"

// What the handles of c_api.h stand for, and the change of C's values into ours.
namespace loomix::c {

struct Object {
  virtual ~Object() = default;
  virtual const char* kind() const = 0;
};

struct ArrayObject final : Object {
  static constexpr const char* kKind = "an array";
  explicit ArrayObject(NDArray value) : array(std::move(value)) {}
  const char* kind() const override { return kKind; }
  NDArray array;
};

struct SymbolObject final : Object {
  static constexpr const char* kKind = "a symbol";
  explicit SymbolObject(Symbol value) : symbol(std::move(value)) {}
  const char* kind() const override { return kKind; }
  Symbol symbol;
};

struct ExecutorObject final : Object {
  static constexpr const char* kKind = "an executor";
  explicit ExecutorObject(Ref<BoundExecutor> value) : executor(std::move(value)) {}
  const char* kind() const override { return kKind; }
  const Ref<BoundExecutor> executor;
  std::recursive_mutex mutex;  // a monitor may ask for arrays in the middle of a pass
  bool in_pass = false;
};

// The process's runtime. What is in flight when the program exits is finished first.
Runtime& running();

void* add_object(std::shared_ptr<Object> object);
std::shared_ptr<Object> find_object(void* handle, const char* kind);
void remove_object(void* handle);
[[noreturn]] void throw_wrong_kind(const Object& object, const char* kind);

template <class T>
std::shared_ptr<T> find(void* handle) {
  std::shared_ptr<Object> object = find_object(handle, T::kKind);
  const Object& known = *object;
  if (typeid(known) != typeid(T)) throw_wrong_kind(known, T::kKind);
  return std::static_pointer_cast<T>(std::move(object));
}

inline LoomixArray add_array(NDArray array) {
  return static_cast<LoomixArray>(add_object(std::make_shared<ArrayObject>(std::move(array))));
}
inline LoomixSymbol add_symbol(Symbol symbol) {
  return static_cast<LoomixSymbol>(add_object(std::make_shared<SymbolObject>(std::move(symbol))));
}
inline const NDArray& array_of(const std::shared_ptr<ArrayObject>& object) { return object->array; }

template <class T>
T* not_null(T* pointer, const char* who, const char* name) {
  LOOMIX_CHECK(pointer, ValueError, "[{}] {} is null.", who, name);
  return pointer;
}

Shape to_shape(const LoomixShape* shape, const char* who);          // sizes are known
Shape to_partial_shape(const LoomixShape* shape, const char* who);  // -1: unknown
LoomixShape from_shape(const Shape& shape);
DType to_dtype(int type, const char* who);
Device to_device(LoomixDevice device, const char* who);
ops::Req to_request(int request, const char* who);
TextPairs to_pairs(const LoomixPairs* pairs, const char* who);  // null: none
std::vector<std::string> to_names(size_t count, const char* const* names, const char* who);
std::vector<NDArray> to_arrays(size_t count, const LoomixArray* handles, const char* who);
std::vector<NDArray> to_arrays_or_none(size_t count, const LoomixArray* handles, const char* who);

// Lists and texts of this thread's last call.
struct TextList {
  const char* const* set(std::vector<std::string> items);
  std::vector<std::string> texts;
  std::vector<const char*> pointers;
};
struct Answer {
  TextList lists[4];
  std::string text;
  std::vector<LoomixArray> arrays;
  std::vector<LoomixShape> shapes[3];
  std::vector<int32_t> types[3];
  std::vector<uint64_t> index;
  std::string more_texts[3];
};
Answer& answer();

// New handles, none arrays as null.
const LoomixArray* answer_arrays(std::span<const NDArray> arrays);

}  // namespace loomix::c
