// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include <exception>
#include <span>
#include <string>
#include <vector>

#include "base/params.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/kept.h"
#include "engine/side_threads.h"
#include "ndarray/ndarray.h"
#include "ops/op.h"

namespace loomix::python {

// What an mx.operator.CustomOpProp says of its operator. Functions take the GIL and throw errors that name the operator, its
// class and the user's line.
class PythonOperator final : public RefCounted {
 public:
  // Makes the object of the class that is registered as `type`, with these arguments, and asks it for its names.
  static Ref<const PythonOperator> make(const std::string& type, const TextPairs& arguments);
  // Stands for a type that was not named: it can be described, but not called.
  static const Ref<const PythonOperator>& unnamed();

  const std::string& type() const { return type_; }
  const ops::Signature& signature() const { return signature_; }  // arguments, then states
  int num_arguments() const { return static_cast<int>(signature_.inputs.size()) - num_states_; }
  int num_states() const { return num_states_; }
  int num_outputs() const { return static_cast<int>(signature_.outputs.size()); }
  void infer_shape(ops::ShapeInfer& shapes) const;
  void infer_type(ops::TypeInfer& types) const;
  // What backward reads: of out_grad, in_data and out_data, in this order.
  std::vector<bool> dependencies() const;

 private:
  friend class OperatorObject;
  void check_named() const;

  std::string type_;
  Kept prop_;  // none: unnamed
  ops::Signature signature_;
  int num_states_ = 0;
};

// The mx.operator.CustomOp that runs: one for each call on arrays, or for each executor. Calls of one object run one at a time.
class OperatorObject final : public engine::SideThreads::Strand {
 public:
  struct Call {
    bool training;
    std::span<const ops::Req> requests;
    std::span<const NDArray> in_data, out_data, states;
    std::span<const NDArray> out_grad, in_grad;  // of a backward call
  };
  // Both make the object if there is none yet. They run in the calling thread.
  void forward(const PythonOperator& description, Device device, const Call& call);
  void backward(const PythonOperator& description, Device device, const Call& call);

 private:
  PyObject* object(const PythonOperator& description, Device device, const Call& call);
  Kept object_;
};

// The Python exception in flight as an Error of the same kind; interrupts stay what they are.
[[noreturn]] void throw_python_error();

}  // namespace loomix::python
