// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "bindings/c/api/objects.h"
#include "bindings/c/guard.h"
#include "ndarray/array_file.h"
#include "ndarray/copy.h"
#include "ndarray/dlpack.h"
#include "symbol/autograd/tape.h"

using namespace loomix;     // NOLINT: the functions below are outside of all namespaces
using namespace loomix::c;  // NOLINT

namespace {

// One size may be -1: what is left.
Shape whole_shape(const NDArray& array, const LoomixShape* wanted) {
  Shape shape = to_partial_shape(wanted, "LoomixArrayReshape");
  LOOMIX_CHECK(shape.ndim_known(), ShapeError, "[LoomixArrayReshape] the number of axes is unknown.");
  int unknown = -1;
  int64_t known = 1;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (shape[i] >= 0) {
      known *= shape[i];
      continue;
    }
    LOOMIX_CHECK(unknown < 0, ShapeError, "[LoomixArrayReshape] two sizes of {} are unknown; one may be.",
                 shape.to_string());
    unknown = i;
  }
  if (unknown < 0) return shape;
  LOOMIX_CHECK(known > 0 && array.size() % known == 0, ShapeError,
               "[LoomixArrayReshape] {} elements of shape {} do not fit into {}.", array.size(),
               array.shape().to_string(), shape.to_string());
  shape[unknown] = array.size() / known;
  return shape;
}

void check_dense(const NDArray& array, const char* who) {
  LOOMIX_CHECK(array.is_dense(), TypeError,
               "[{}] the array is {}; expected a dense one (cast_storage makes it).", who,
               name_of(array.stype()));
}

void check_bytes(const NDArray& array, size_t bytes, const char* who) {
  check_dense(array, who);
  LOOMIX_CHECK(bytes <= static_cast<size_t>(std::numeric_limits<int64_t>::max()) &&
                   static_cast<int64_t>(bytes) == array.bytes(),
               ShapeError, "[{}] got {} bytes; an array of shape {} and type {} has {}.", who, bytes,
               array.shape().to_string(), name_of(array.dtype()), array.bytes());
}

void give_list(const ArrayList& list, size_t* count, const LoomixArray** arrays, const char* const** names) {
  const char* const* texts = nullptr;
  if (!list.names.empty()) texts = answer().lists[0].set(list.names);
  *arrays = answer_arrays(list.arrays);
  *names = texts;
  *count = list.arrays.size();
}

void check_list(const size_t* count, const LoomixArray* const* arrays, const char* const* const* names,
                const char* who) {
  not_null(count, who, "count");
  not_null(arrays, who, "arrays");
  not_null(names, who, "names");
}

}  // namespace

int LoomixArrayCreate(const LoomixShape* shape, int type, LoomixDevice device, LoomixArray* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixArrayCreate";
    not_null(out, kWho, "out");
    *out = add_array(
        zeros(running().engine(), to_shape(shape, kWho), to_dtype(type, kWho), to_device(device, kWho)));
  });
}

int LoomixArrayFromMemory(void* data, size_t bytes, const LoomixShape* shape, int type,
                          void (*release)(void* context), void* context, LoomixArray* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixArrayFromMemory";
    not_null(out, kWho, "out");
    const Shape known = to_shape(shape, kWho);
    const DType dtype = to_dtype(type, kWho);
    const auto needed = static_cast<uint64_t>(known.size() * size_of(dtype));
    LOOMIX_CHECK(bytes == needed, ShapeError, "[{}] got {} bytes; an array of shape {} and type {} has {}.",
                 kWho, bytes, known.to_string(), name_of(dtype), needed);
    if (needed > 0) not_null(data, kWho, "data");
    LOOMIX_CHECK(reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(size_of(dtype)) == 0, ValueError,
                 "[{}] data does not begin at a multiple of the {} bytes of an element.", kWho,
                 size_of(dtype));
    auto let_go = [release, context] {
      if (release) release(context);
    };
    *out = add_array(NDArray::from_external(running().engine(), data, known, dtype, let_go));
  });
}

int LoomixArrayGetInfo(LoomixArray array, LoomixArrayInfo* info) {
  return guarded([&] {
    not_null(info, "LoomixArrayGetInfo", "info");
    const auto object = find<ArrayObject>(array);
    const NDArray& known = object->array;
    LoomixArrayInfo result{};
    result.shape = from_shape(known.shape());
    result.type = static_cast<int32_t>(known.dtype());
    result.storage = static_cast<int32_t>(known.stype());
    result.device = {static_cast<int32_t>(known.device().type), known.device().id};
    *info = result;
  });
}

int LoomixArrayGetData(LoomixArray array, void** data) {
  return guarded([&] {
    not_null(data, "LoomixArrayGetData", "data");
    const auto object = find<ArrayObject>(array);
    const NDArray& known = object->array;
    check_dense(known, "LoomixArrayGetData");
    LOOMIX_CHECK(known.device().is_host(), DeviceError,
                 "[LoomixArrayGetData] the array is on {}; copy it to the CPU.", known.device().to_string());
    known.wait_to_write();
    *data = known.view().data;
  });
}

int LoomixArrayCopyFromHost(LoomixArray array, const void* data, size_t bytes) {
  return guarded([&] {
    const auto object = find<ArrayObject>(array);
    check_bytes(object->array, bytes, "LoomixArrayCopyFromHost");
    if (bytes > 0) not_null(data, "LoomixArrayCopyFromHost", "data");
    object->array.copy_from_host(data, static_cast<int64_t>(bytes));
  });
}

int LoomixArrayCopyToHost(LoomixArray array, void* data, size_t bytes) {
  return guarded([&] {
    const auto object = find<ArrayObject>(array);
    check_bytes(object->array, bytes, "LoomixArrayCopyToHost");
    if (bytes > 0) not_null(data, "LoomixArrayCopyToHost", "data");
    object->array.copy_to_host(data, static_cast<int64_t>(bytes));
  });
}

int LoomixArrayCopy(LoomixArray from, LoomixArray to) {
  return guarded([&] {
    const auto source = find<ArrayObject>(from), destination = find<ArrayObject>(to);
    LOOMIX_CHECK(source->array.shape() == destination->array.shape(), ShapeError,
                 "[LoomixArrayCopy] an array of shape {} is to be copied to one of shape {}.",
                 source->array.shape().to_string(), destination->array.shape().to_string());
    copy(source->array, destination->array);
  });
}

int LoomixArrayWait(LoomixArray array) {
  return guarded([&] { find<ArrayObject>(array)->array.wait_to_read(); });
}

int LoomixArraySlice(LoomixArray array, int64_t begin, int64_t end, LoomixArray* out) {
  return guarded([&] {
    not_null(out, "LoomixArraySlice", "out");
    const auto object = find<ArrayObject>(array);
    check_dense(object->array, "LoomixArraySlice");
    LOOMIX_CHECK(object->array.shape().ndim() > 0, ShapeError, "[LoomixArraySlice] a scalar has no axis.");
    *out = add_array(object->array.slice(begin, end));
  });
}

int LoomixArrayReshape(LoomixArray array, const LoomixShape* shape, LoomixArray* out) {
  return guarded([&] {
    not_null(out, "LoomixArrayReshape", "out");
    const auto object = find<ArrayObject>(array);
    check_dense(object->array, "LoomixArrayReshape");
    *out = add_array(object->array.reshape(whole_shape(object->array, shape)));
  });
}

int LoomixArrayToDLPack(LoomixArray array, void** tensor) {
  return guarded([&] {
    not_null(tensor, "LoomixArrayToDLPack", "tensor");
    *tensor = to_dlpack(find<ArrayObject>(array)->array);
  });
}

int LoomixArrayFromDLPack(void* tensor, LoomixArray* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixArrayFromDLPack";
    not_null(out, kWho, "out");
    auto* const given = static_cast<DLManagedTensor*>(not_null(tensor, kWho, "tensor"));
    *out = add_array(from_dlpack(running().engine(), given));
  });
}

int LoomixArrayGetGradient(LoomixArray array, LoomixArray* out) {
  return guarded([&] {
    not_null(out, "LoomixArrayGetGradient", "out");
    const NDArray gradient = autograd::gradient_of(find<ArrayObject>(array)->array);
    LOOMIX_CHECK(!gradient.is_none(), StateError,
                 "[LoomixArrayGetGradient] the array has no gradient; LoomixAutogradMark gives it one.");
    *out = add_array(gradient);
  });
}

int LoomixArraySave(const char* path, size_t count, const LoomixArray* arrays, const char* const* names) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixArraySave";
    not_null(path, kWho, "path");
    const auto list = to_arrays(count, arrays, kWho);
    const auto texts = names ? to_names(count, names, kWho) : std::vector<std::string>();
    save_arrays(path, list, texts);
  });
}

int LoomixArrayLoad(const char* path, size_t* count, const LoomixArray** arrays, const char* const** names) {
  return guarded([&] {
    check_list(count, arrays, names, "LoomixArrayLoad");
    give_list(load_arrays(running().engine(), not_null(path, "LoomixArrayLoad", "path")), count, arrays,
              names);
  });
}

int LoomixArrayLoadFromMemory(const void* data, size_t bytes, size_t* count, const LoomixArray** arrays,
                              const char* const** names) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixArrayLoadFromMemory";
    check_list(count, arrays, names, kWho);
    const auto* const begin = static_cast<const std::byte*>(not_null(data, kWho, "data"));
    give_list(load_arrays_from_buffer(running().engine(), {begin, bytes}, {}, kWho), count, arrays, names);
  });
}
