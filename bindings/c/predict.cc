// SPDX-License-Identifier: Apache-2.0
#include "loomix/predict.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "bindings/c/array_list.h"
#include "bindings/c/guard.h"
#include "bindings/c/handles.h"
#include "bindings/c/predictor.h"
#include "bindings/c/process.h"

// Checks what C passes and finds objects by their handles; the work is done in predictor.cc.
namespace loomix::c {
namespace {

// Neither is deleted: a program may exit while other threads predict.
Handles<Predictor>& predictors() {
  static Handles<Predictor>& all = *std::make_unique<Handles<Predictor>>("predictor").release();
  return all;
}
Handles<NamedArrays>& lists() {
  static Handles<NamedArrays>& all = *std::make_unique<Handles<NamedArrays>>("list of arrays").release();
  return all;
}

template <class T>
T* not_null(T* pointer, const char* name) {
  LOOMIX_CHECK(pointer, ValueError, "[predict] {} is null.", name);
  return pointer;
}

std::span<const std::byte> to_bytes(const void* bytes, int size, const char* name) {
  LOOMIX_CHECK(size >= 0, ValueError, "[predict] the size of {} is {}; expected 0 or more.", name, size);
  return {static_cast<const std::byte*>(not_null(bytes, name)), static_cast<size_t>(size)};
}

std::vector<std::string> to_names(const char** names, mx_uint count, const char* what) {
  std::vector<std::string> all;
  if (count == 0) return all;
  not_null(names, what);
  for (mx_uint i = 0; i < count; ++i) all.emplace_back(not_null(names[i], what));
  return all;
}

// MXNet's rule: sizes of 0 are unknown, so they are no sizes of inputs.
Shape to_shape(std::span<const mx_uint> sizes, const std::string& name) {
  constexpr int64_t kMostElements = std::numeric_limits<mx_uint>::max();
  LOOMIX_CHECK(sizes.size() <= Shape::kMaxDims, ShapeError,
               "[predict] input '{}' has {} axes; at most {} can be.", name, sizes.size(), Shape::kMaxDims);
  std::vector<int64_t> dims;
  int64_t elements = 1;
  for (const mx_uint size : sizes) {
    LOOMIX_CHECK(size > 0, ShapeError, "[predict] input '{}' has an axis of size 0; expected 1 or more.",
                 name);
    LOOMIX_CHECK(size <= kMostElements / elements, ShapeError,
                 "[predict] input '{}' has more than {} elements.", name, kMostElements);
    elements *= size;
    dims.push_back(size);
  }
  return Shape(dims);
}

InputShapes to_shapes(mx_uint count, const char** keys, const mx_uint* indptr, const mx_uint* data) {
  InputShapes shapes;
  const std::vector<std::string> names = to_names(keys, count, "input_keys");
  for (mx_uint i = 0; i < count; ++i) {
    const mx_uint begin = not_null(indptr, "input_shape_indptr")[i], end = indptr[i + 1];
    LOOMIX_CHECK(begin <= end, ValueError, "[predict] input_shape_indptr falls from {} to {}.", begin, end);
    for (mx_uint k = 0; k < i; ++k)
      LOOMIX_CHECK(names[k] != names[i], ValueError, "[predict] input '{}' is given twice.", names[i]);
    LOOMIX_CHECK(end - begin <= Shape::kMaxDims, ShapeError,
                 "[predict] input '{}' has {} axes; at most {} can be.", names[i], end - begin,
                 Shape::kMaxDims);
    const mx_uint* const sizes = begin == end ? nullptr : not_null(data, "input_shape_data") + begin;
    shapes.emplace_back(names[i], to_shape({sizes, end - begin}, names[i]));
  }
  return shapes;
}

InputTypes to_types(mx_uint count, const char** names, const int* types) {
  InputTypes all;
  for (const std::string& name : to_names(names, count, "provided_arg_dtype_names")) {
    const int number = not_null(types, "provided_arg_dtypes")[all.size()];
    const bool fits = number >= 0 && number <= std::numeric_limits<int8_t>::max();
    LOOMIX_CHECK(fits && is_valid(static_cast<DType>(number)), TypeError,
                 "[MXPredCreateEx] the type of '{}' is {}; expected 0 to 7, or 12.", name, number);
    all.emplace_back(name, static_cast<DType>(number));
  }
  return all;
}

void check_device(int type, int id) {
  const auto device = static_cast<DeviceType>(type);
  LOOMIX_CHECK(device == DeviceType::cpu || device == DeviceType::cpu_pinned, DeviceError,
               "[MXPredCreate] dev_type is {}; this library predicts on the CPU, dev_type 1.", type);
  LOOMIX_CHECK(id >= 0, DeviceError, "[MXPredCreate] dev_id is {}; expected 0 or more.", id);
}

// What all functions that make predictors are told.
struct Request {
  const char* json;
  const void* params;
  int params_size, device_type, device_id;
  mx_uint inputs;
  const char** keys;
  const mx_uint *indptr, *sizes;
};

std::vector<std::shared_ptr<Predictor>> make_predictors(const Request& request,
                                                        const std::vector<std::string>& outputs,
                                                        const InputTypes& types, int count) {
  const std::string_view json = not_null(request.json, "symbol_json_str");
  const auto params = to_bytes(request.params, request.params_size, "param_bytes");
  const InputShapes shapes = to_shapes(request.inputs, request.keys, request.indptr, request.sizes);
  check_device(request.device_type, request.device_id);
  const auto model = std::make_shared<Model>(json, params, outputs);
  std::vector<std::shared_ptr<Predictor>> made{std::make_shared<Predictor>(model, shapes, types)};
  model->settle(made[0]->network());
  for (int i = 1; i < count; ++i) made.push_back(std::make_shared<Predictor>(model, shapes, types));
  release_unused();
  return made;
}

}  // namespace
}  // namespace loomix::c

using namespace loomix;     // NOLINT: the functions below are outside of all namespaces
using namespace loomix::c;  // NOLINT

const char* MXGetLastError() { return last_error(); }

int MXPredCreate(const char* symbol_json_str, const void* param_bytes, int param_size, int dev_type,
                 int dev_id, mx_uint num_input_nodes, const char** input_keys,
                 const mx_uint* input_shape_indptr, const mx_uint* input_shape_data, PredictorHandle* out) {
  return MXPredCreatePartialOut(symbol_json_str, param_bytes, param_size, dev_type, dev_id, num_input_nodes,
                                input_keys, input_shape_indptr, input_shape_data, 0, nullptr, out);
}

int MXPredCreatePartialOut(const char* symbol_json_str, const void* param_bytes, int param_size, int dev_type,
                           int dev_id, mx_uint num_input_nodes, const char** input_keys,
                           const mx_uint* input_shape_indptr, const mx_uint* input_shape_data,
                           mx_uint num_output_nodes, const char** output_keys, PredictorHandle* out) {
  return guarded([&] {
    not_null(out, "out");
    const auto outputs = to_names(output_keys, num_output_nodes, "output_keys");
    const Request request{symbol_json_str, param_bytes, param_size,         dev_type,        dev_id,
                          num_input_nodes, input_keys,  input_shape_indptr, input_shape_data};
    *out = predictors().add(make_predictors(request, outputs, {}, 1)[0]);
  });
}

int MXPredCreateEx(const char* symbol_json_str, const void* param_bytes, int param_size, int dev_type,
                   int dev_id, mx_uint num_input_nodes, const char** input_keys,
                   const mx_uint* input_shape_indptr, const mx_uint* input_shape_data,
                   mx_uint num_provided_arg_dtypes, const char** provided_arg_dtype_names,
                   const int* provided_arg_dtypes, PredictorHandle* out) {
  return guarded([&] {
    not_null(out, "out");
    const InputTypes types = to_types(num_provided_arg_dtypes, provided_arg_dtype_names, provided_arg_dtypes);
    const Request request{symbol_json_str, param_bytes, param_size,         dev_type,        dev_id,
                          num_input_nodes, input_keys,  input_shape_indptr, input_shape_data};
    *out = predictors().add(make_predictors(request, {}, types, 1)[0]);
  });
}

int MXPredCreateMultiThread(const char* symbol_json_str, const void* param_bytes, int param_size,
                            int dev_type, int dev_id, mx_uint num_input_nodes, const char** input_keys,
                            const mx_uint* input_shape_indptr, const mx_uint* input_shape_data,
                            int num_threads, PredictorHandle* out) {
  return guarded([&] {
    not_null(out, "out");
    constexpr int kMostThreads = 4096;
    LOOMIX_CHECK(num_threads >= 1 && num_threads <= kMostThreads, ValueError,
                 "[MXPredCreateMultiThread] num_threads is {}; expected 1 to {}.", num_threads, kMostThreads);
    const Request request{symbol_json_str, param_bytes, param_size,         dev_type,        dev_id,
                          num_input_nodes, input_keys,  input_shape_indptr, input_shape_data};
    const auto made = make_predictors(request, {}, {}, num_threads);
    for (size_t i = 0; i < made.size(); ++i) out[i] = predictors().add(made[i]);
  });
}

int MXPredReshape(mx_uint num_input_nodes, const char** input_keys, const mx_uint* input_shape_indptr,
                  const mx_uint* input_shape_data, PredictorHandle handle, PredictorHandle* out) {
  return guarded([&] {
    not_null(out, "out");
    const auto shapes = to_shapes(num_input_nodes, input_keys, input_shape_indptr, input_shape_data);
    *out = predictors().add(predictors().at(handle)->reshape(shapes));
  });
}

int MXPredGetOutputShape(PredictorHandle handle, mx_uint index, mx_uint** shape_data, mx_uint* shape_ndim) {
  return guarded([&] {
    not_null(shape_data, "shape_data");
    not_null(shape_ndim, "shape_ndim");
    const auto shape = predictors().at(handle)->output_shape(index);
    *shape_data = const_cast<mx_uint*>(shape.data());
    *shape_ndim = static_cast<mx_uint>(shape.size());
  });
}

int MXPredGetOutputType(PredictorHandle handle, mx_uint out_index, int* out_dtype) {
  return guarded([&] {
    not_null(out_dtype, "out_dtype");
    *out_dtype = static_cast<int>(predictors().at(handle)->output_type(out_index));
  });
}

int MXPredSetInput(PredictorHandle handle, const char* key, const mx_float* data, mx_uint size) {
  return guarded([&] { predictors().at(handle)->set_input(not_null(key, "key"), data, size); });
}

int MXPredForward(PredictorHandle handle) {
  return guarded([&] { predictors().at(handle)->forward(); });
}

int MXPredPartialForward(PredictorHandle handle, int step, int* step_left) {
  return guarded([&] {
    not_null(step_left, "step_left");
    LOOMIX_CHECK(step >= 0, ValueError, "[MXPredPartialForward] step is {}; expected 0 or more.", step);
    *step_left = predictors().at(handle)->forward_step(step);
  });
}

int MXPredGetOutput(PredictorHandle handle, mx_uint index, mx_float* data, mx_uint size) {
  return guarded([&] { predictors().at(handle)->copy_output(index, data, size); });
}

int MXPredFree(PredictorHandle handle) {
  return guarded([&] { predictors().remove(handle); });
}

int MXNDListCreate(const char* nd_file_bytes, int nd_file_size, NDListHandle* out, mx_uint* out_length) {
  return guarded([&] {
    not_null(out, "out");
    not_null(out_length, "out_length");
    auto arrays = std::make_shared<NamedArrays>(to_bytes(nd_file_bytes, nd_file_size, "nd_file_bytes"));
    const auto length = static_cast<mx_uint>(arrays->size());
    *out = lists().add(std::move(arrays));
    *out_length = length;
  });
}

int MXNDListGet(NDListHandle handle, mx_uint index, const char** out_key, const mx_float** out_data,
                const mx_uint** out_shape, mx_uint* out_ndim) {
  return guarded([&] {
    not_null(out_key, "out_key");
    not_null(out_data, "out_data");
    not_null(out_shape, "out_shape");
    not_null(out_ndim, "out_ndim");
    const NamedArrays::Item& item = lists().at(handle)->at(index);
    *out_key = item.name.c_str();
    *out_data = item.elements.data();
    *out_shape = item.shape.data();
    *out_ndim = static_cast<mx_uint>(item.shape.size());
  });
}

int MXNDListFree(NDListHandle handle) {
  return guarded([&] { lists().remove(handle); });
}
