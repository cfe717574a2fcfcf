// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/operator/attr_cache.h"

#include <bit>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/process/runtime.h"
#include "ops/elemwise/scalar_attrs.h"
#include "ops/table.h"

namespace loomix::python {
namespace {

// A byte string in a buffer on the stack, or on the heap once it is long.
class Key {
 public:
  void put(const void* bytes, size_t count) {
    if (!heap_.empty() || size_ + count > sizeof(inline_)) {
      if (heap_.empty()) heap_.assign(inline_, size_);
      heap_.append(static_cast<const char*>(bytes), count);
    } else {
      std::memcpy(inline_ + size_, bytes, count);
      size_ += count;
    }
  }
  void put(char byte) { put(&byte, 1); }
  template <class T>
  void put_number(char kind, T value) {
    put(kind);
    put(&value, sizeof(value));
  }
  void put_text(char kind, std::string_view text) {
    put_number(kind, static_cast<uint32_t>(text.size()));
    put(text.data(), text.size());
  }
  std::string_view view() const {
    return heap_.empty() ? std::string_view(inline_, size_) : std::string_view(heap_);
  }

 private:
  char inline_[248];
  size_t size_ = 0;
  std::string heap_;
};

void put_value(Key& key, PyObject* value) {
  if (PyFloat_CheckExact(value)) {
    key.put_number('f', PyFloat_AS_DOUBLE(value));
  } else if (PyBool_Check(value)) {
    key.put(value == Py_True ? 'T' : 'F');
  } else if (value == Py_None) {
    key.put('n');
  } else if (PyLong_CheckExact(value)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) {
      key.put_text('o', attr_text(value));
    } else {
      key.put_number('i', number);
    }
  } else if (PyUnicode_CheckExact(value)) {
    Py_ssize_t length = 0;
    const char* text = PyUnicode_AsUTF8AndSize(value, &length);
    if (!text) throw PythonError{};
    key.put_text('s', {text, static_cast<size_t>(length)});
  } else if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
    key.put_number(PyTuple_CheckExact(value) ? '(' : '[', static_cast<uint32_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) put_value(key, PySequence_Fast_GET_ITEM(value, i));
  } else {
    key.put_text('o', attr_text(value));
  }
}

std::string float_text(double value) {
  char* text = PyOS_double_to_string(value, 'r', 0, Py_DTSF_ADD_DOT_0, nullptr);
  if (!text) throw PythonError{};
  std::string result = text;
  PyMem_Free(text);
  return result;
}

std::string join(PyObject* list, char open, char close, bool tuple) {
  std::string text(1, open);
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += attr_text(PySequence_Fast_GET_ITEM(list, i));
  }
  if (tuple && count == 1) text += ',';
  return text + close;
}

}  // namespace

std::string attr_text(PyObject* value) {
  if (PyFloat_CheckExact(value)) return float_text(PyFloat_AS_DOUBLE(value));
  if (PyTuple_Check(value)) return join(value, '(', ')', true);
  if (PyList_Check(value)) return join(value, '[', ']', false);
  if (is_array(value)) {
    detail::throw_error<TypeError>(
        "[attributes] an NDArray of shape {} was given for a parameter; expected a number, "
        "a string, a tuple or None.",
        array_of(value).is_none() ? "None" : array_of(value).shape().to_string());
  }
  if (!PyUnicode_Check(value) && is_dtype_object(value))
    return std::string(name_of(to_dtype(value, "dtype")));
  return to_text(value);
}

std::string attr_text(PyObject* value, FieldKind kind) {
  if (kind != FieldKind::dtype || !PyUnicode_Check(value)) return attr_text(value);
  std::string text = to_text(value);
  if (text == "None") return text;
  try {
    return std::string(name_of(to_dtype(value, "dtype")));
  } catch (const TypeError&) {
    return text;  // whoever parses it knows what is allowed there
  }
}

AttrCache::AttrCache(const ops::OpDef& op)
    : op_(op), scalar_field_(ops::is_scalar_schema(*op.params) ? field_position(op, "scalar") : -1) {}

Ref<const AttrsBase> AttrCache::scalar(PyObject* value) {
  const double number =
      PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : to_double(value, op_.name.c_str());
  const auto bits = std::bit_cast<uint64_t>(number);
  Scalar& entry = scalars_[(bits ^ (bits >> 48) ^ (bits >> 52)) % scalars_.size()];
  if (entry.bits != bits || !entry.attrs) entry = {bits, ops::scalar_attrs(number)};
  return entry.attrs;
}

Ref<const AttrsBase> AttrCache::get(std::span<const GivenAttr> given, int num_args) {
  if (given.size() == 1 && given[0].field == scalar_field_ && is_scalar(given[0].value))
    return scalar(given[0].value);
  Key key;
  if (num_args >= 0) key.put_number('#', num_args);
  for (const GivenAttr& attr : given) {
    key.put_number('@', static_cast<int16_t>(attr.field));
    put_value(key, attr.value);
  }
  if (const auto found = entries_.find(key.view()); found != entries_.end()) return found->second;
  Ref<const AttrsBase> attrs = parse(given, num_args);
  if (entries_.size() >= kMaxEntries) entries_.clear();
  return entries_.emplace(key.view(), std::move(attrs)).first->second;
}

Ref<const AttrsBase> AttrCache::parse(std::span<const GivenAttr> given, int num_args) const {
  const auto fields = op_.params->fields();
  TextPairs texts;
  bool counted = num_args < 0 || !op_.params->find(op_.variadic_count);
  for (const GivenAttr& attr : given) {
    const std::string& name = fields[attr.field].name;
    if (attr.value == Py_None && (name == "dtype" || name == "ctx") &&
        fields[attr.field].default_text != "None") {
      continue;  // MXNet's wrappers take None there for "the default"
    }
    counted = counted || name == op_.variadic_count;
    texts.emplace_back(name, attr_text(attr.value, fields[attr.field].kind));
  }
  if (!counted) texts.emplace_back(op_.variadic_count, std::to_string(num_args));
  return operators().parse(op_, texts);
}

AttrCache& cache_of(const ops::OpDef& op) {
  static auto& caches = *new std::unordered_map<const ops::OpDef*, std::unique_ptr<AttrCache>>();
  auto& cache = caches[&op];
  if (!cache) cache = std::make_unique<AttrCache>(op);
  return *cache;
}

Operator find_operator(std::string_view name) {
  Operator op;
  op.def = &operators().at(name);
  op.cache = &cache_of(*op.def);
  bool required = false;
  for (const FieldInfo& field : op.def->params->fields()) required = required || field.required;
  if (!required) op.no_attrs = op.cache->get({}, -1);
  return op;
}

int field_position(const ops::OpDef& op, std::string_view field) {
  const auto fields = op.params->fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == field) return static_cast<int>(i);
  }
  detail::throw_error<KeyError>("[{}] has no parameter '{}'.", op.name, field);
}

bool is_scalar(PyObject* object) {
  if (PyFloat_Check(object) || PyLong_Check(object)) return true;
  static PyObject* const generic = [] {
    const Owned numpy(checked(PyImport_ImportModule("numpy")));
    return checked(PyObject_GetAttrString(numpy.get(), "generic"));
  }();
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(generic));
}

}  // namespace loomix::python
