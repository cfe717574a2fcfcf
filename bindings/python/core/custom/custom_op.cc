// SPDX-License-Identifier: Apache-2.0
//
// `Custom` is an asynchronous task: a worker hands it to a side thread of the engine and goes on. That thread lends the arrays
// to Python, as handles with Vars of their own over the same memory (the task holds the real ones, which nobody may wait
// for until it ends), calls the user's object within ForTask, waits for all that was pushed on the handles, and completes
// the task. Handles that the user keeps then get memory of their own. The GIL is let go of before the task completes, since
// the interpreter may end right after.
#include "bindings/python/core/custom/custom_op.h"

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>

#include "bindings/python/core/custom/python_operator.h"
#include "bindings/python/core/process/runtime.h"
#include "engine/trace.h"
#include "symbol/autograd/tape.h"
#include "symbol/executor/lent_arrays.h"
#include "symbol/executor/op_call.h"

namespace loomix::python {
namespace {

constexpr const char* kOp = "Custom";
constexpr const char* kGradientOp = "_backward_Custom";

struct CustomParams {
  std::string op_type;
  TextPairs arguments;
  Ref<const PythonOperator> description = PythonOperator::unnamed();
  Ref<OperatorObject> object;

  static void fields(FieldList<CustomParams>& f) {
    f("op_type", &CustomParams::op_type,
      "The name that the operator's class was given by mx.operator.register.");
    f("", &CustomParams::arguments, "Arguments of the class, as text.");
  }
};

// What backward gets: gradients of outputs that it reads, all inputs (of some the shape only), outputs that it reads, states.
struct CustomGradientParams {
  Ref<const PythonOperator> description = PythonOperator::unnamed();
  Ref<OperatorObject> object;
  std::vector<bool> needed;  // of out_grad, in_data and out_data
  std::vector<int> wanted;   // arguments whose gradients are the outputs
  ops::Signature arguments = {{{"data"}}, {"output"}};
  static void fields(FieldList<CustomGradientParams>&) {}
};

CustomParams with_description(CustomParams p) {
  if (!p.op_type.empty()) p.description = PythonOperator::make(p.op_type, p.arguments);
  p.object = make_ref<OperatorObject>();
  return p;
}

CustomParams with_own_object(const CustomParams& p) {
  CustomParams own = p;
  own.object = make_ref<OperatorObject>();
  return own;
}

// Places of the parts of backward's inputs.
struct GradientLayout {
  explicit GradientLayout(const CustomGradientParams& p) : outputs(p.description->num_outputs()) {
    for (int i = 0; i < outputs; ++i) first_data += p.needed[static_cast<size_t>(i)];
  }
  int outputs;
  int first_data = 0;
};

void infer_gradient_shape(const CustomGradientParams& p, ops::ShapeInfer& shapes) {
  const int first = GradientLayout(p).first_data;
  for (size_t i = 0; i < p.wanted.size(); ++i)
    shapes.set_out(static_cast<int>(i), shapes.in(first + p.wanted[i]));
}

void infer_gradient_type(const CustomGradientParams& p, ops::TypeInfer& types) {
  const int first = GradientLayout(p).first_data;
  for (size_t i = 0; i < p.wanted.size(); ++i)
    types.set_out(static_cast<int>(i), types.in(first + p.wanted[i]));
}

void gradient(const CustomParams& p, ops::GradBuilder& g) {
  const PythonOperator& op = *p.description;
  const int arguments = op.num_arguments(), outputs = op.num_outputs();
  CustomGradientParams own;
  own.description = p.description;
  own.object = p.object;
  own.needed = op.dependencies();
  own.arguments = {};
  std::vector<ops::GradValue> inputs;
  const auto add = [&](ops::GradValue value, ops::Argument argument) {
    inputs.push_back(value);
    own.arguments.inputs.push_back(std::move(argument));
  };
  const auto is_needed = [&](int place) { return own.needed[static_cast<size_t>(place)]; };
  const ops::Signature& names = op.signature();
  for (int i = 0; i < outputs; ++i) {
    if (is_needed(i)) add(g.grad_of(i), {names.outputs[static_cast<size_t>(i)] + "_grad"});
  }
  for (int i = 0; i < arguments; ++i)
    add(g.in(i), {names.inputs[static_cast<size_t>(i)].name, false, !is_needed(outputs + i)});
  for (int i = 0; i < outputs; ++i) {
    if (is_needed(outputs + arguments + i)) add(g.out(i), {names.outputs[static_cast<size_t>(i)]});
  }
  for (int i = 0; i < op.num_states(); ++i)
    add(g.in(arguments + i), {names.inputs[static_cast<size_t>(arguments + i)].name, true});
  for (int i = 0; i < arguments; ++i) {
    if (!g.wants(i)) continue;
    own.wanted.push_back(i);
    own.arguments.outputs.push_back(names.inputs[static_cast<size_t>(i)].name + "_grad");
  }
  if (own.wanted.empty()) return;
  const std::vector<int> wanted = own.wanted;
  const std::vector<ops::GradValue> grads = g.call(kGradientOp, inputs, make_attrs(std::move(own)));
  for (size_t i = 0; i < wanted.size(); ++i) g.set(wanted[i], grads[i]);
}

// One run: arrays in the order of Python's arguments.
class Run {
 public:
  Run(const ops::KernelArgs& args, Device device) : args_(args), device_(device) {}

  void forward(const CustomParams& p) {
    const auto arguments = static_cast<size_t>(p.description->num_arguments());
    std::vector<NDArray> in = inputs(0, arguments), states = inputs(arguments, args_.in.size());
    std::vector<NDArray> out;
    for (size_t i = 0; i < args_.out.size(); ++i) out.push_back(output(i));
    call([&] {
      p.object->forward(*p.description, device_, {args_.training, args_.req, in, out, states, {}, {}});
      for (auto* const arrays : {&in, &out, &states}) arrays->clear();
    });
  }

  void backward(const CustomGradientParams& p) {
    const auto arguments = static_cast<size_t>(p.description->num_arguments());
    const auto outputs = static_cast<size_t>(p.description->num_outputs());
    size_t next = 0;
    const auto take = [&](size_t first, size_t count) {
      std::vector<NDArray> arrays(count);
      for (size_t i = 0; i < count; ++i) {
        const bool is_data = first == outputs;  // all are there, some as a shape only
        if (p.needed[first + i]) arrays[i] = input(next);
        next += p.needed[first + i] || is_data;
      }
      return arrays;
    };
    std::vector<NDArray> out_grad = take(0, outputs), in = take(outputs, arguments),
                         out = take(outputs + arguments, outputs);
    std::vector<NDArray> states = inputs(next, args_.in.size());
    std::vector<NDArray> in_grad(arguments);
    std::vector<ops::Req> requests(arguments, ops::Req::null);
    for (size_t i = 0; i < p.wanted.size(); ++i) {
      in_grad[static_cast<size_t>(p.wanted[i])] = output(i);
      requests[static_cast<size_t>(p.wanted[i])] = args_.req[i];
    }
    const auto first = static_cast<size_t>(GradientLayout(p).first_data);
    for (size_t i = 0; i < arguments; ++i) {
      const TensorView& like = args_.in[first + i];
      if (in_grad[i].is_none()) in_grad[i] = NDArray(engine(), like.shape, like.dtype, device_);
    }
    call([&] {
      p.object->backward(*p.description, device_,
                         {args_.training, requests, in, out, states, out_grad, in_grad});
      for (auto* const arrays : {&out_grad, &in, &out, &states, &in_grad}) arrays->clear();
    });
  }

 private:
  NDArray input(size_t i) { return lent_.lend(args_.in[i], args_.storages[i]); }
  std::vector<NDArray> inputs(size_t begin, size_t end) {
    std::vector<NDArray> arrays;
    for (size_t i = begin; i < end; ++i) arrays.push_back(input(i));
    return arrays;
  }
  // One that nobody wants may be written all the same.
  NDArray output(size_t i) {
    const TensorView& view = args_.out[i];
    if (args_.req[i] == ops::Req::null) return NDArray(engine(), view.shape, view.dtype, device_);
    return lent_.lend(view, args_.storages[args_.in.size() + i]);
  }

  // Whatever happens, nothing may use the arrays any more once the task completes.
  template <class Body>
  void call(Body&& body) {
    const autograd::Scope scope(false, args_.training);
    std::exception_ptr error;
    try {
      body();
    } catch (...) {
      error = std::current_exception();
    }
    try {
      lent_.settle();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
    copy_kept();
    if (error) std::rethrow_exception(error);
  }

  void copy_kept() const {
    const std::vector<NDArray> kept = lent_.kept();
    if (kept.empty()) return;
    const pybind11::gil_scoped_acquire gil;  // as other threads of Python may look at them
    for (const NDArray& array : kept) array.storage().own_copy();
  }

  const ops::KernelArgs& args_;
  const Device device_;
  LentArrays lent_{engine()};
};

// Names of the user's operators, which traces keep.
const std::string& kept_name(std::string name) {
  static std::mutex mutex;
  static std::set<std::string>& names = *std::make_unique<std::set<std::string>>().release();
  const std::lock_guard lock(mutex);
  return *names.insert(std::move(name)).first;
}

const std::string& trace_name(const CustomParams& p) { return kept_name(p.description->type()); }
const std::string& trace_name(const CustomGradientParams& p) {
  return kept_name("_backward_" + p.description->type());
}

// Runs `body` on a side thread, as the work of the task that `completion` ends.
template <class P, void (Run::*Body)(const P&)>
void run_aside(const P& p, const ops::KernelArgs& args, engine::Completion completion) {
  const Device device = args.context->device;
  engine().side_threads().run(
      [&p, &args, device, completion = std::move(completion)]() mutable {
        std::exception_ptr error;
        {
          const engine::ForTask scope(engine());
          const std::string& name = trace_name(p);
          const OpCall::Within within(name);
          const int64_t begin = engine::Trace::now();
          try {
            (Run(args, device).*Body)(p);
          } catch (const PythonError&) {  // its text went with the thread's state
            error = std::make_exception_ptr(StateError("[Custom] the operator was interrupted."));
          } catch (...) {
            error = std::current_exception();
          }
          if (engine::Trace& trace = engine().trace(); trace.enabled())
            trace.add(device.to_string() + " python", name + "::pure_python", "task", begin,
                      engine::Trace::now());
        }
        if (error) completion.fail(std::move(error));
        else completion.done();
      },
      p.object);
}

}  // namespace

void register_custom_ops(ops::OpTable& table) {
  table.add<CustomParams>(kOp)
      .doc(
          "Runs an operator that is written in Python: a class registered by mx.operator.register. Further "
          "keywords are the class's own arguments, as text.")
      .input("data")
      .output("output")
      .signature([](const CustomParams& p) -> const ops::Signature& { return p.description->signature(); })
      .infer_shape([](const CustomParams& p, ops::ShapeInfer& s) { p.description->infer_shape(s); })
      .infer_type([](const CustomParams& p, ops::TypeInfer& t) { p.description->infer_type(t); })
      .gradient(gradient)
      .accumulates()
      .training_matters()
      .impure()
      .complete(with_description)
      .instantiate(with_own_object);
  table.add<CustomGradientParams>(kGradientOp)
      .doc("The gradient of an operator that is written in Python.")
      .input("data")
      .output("output")
      .signature([](const CustomGradientParams& p) -> const ops::Signature& { return p.arguments; })
      .infer_shape(infer_gradient_shape)
      .infer_type(infer_gradient_type)
      .accumulates()
      .training_matters()
      .impure()
      .hidden();
  table.async_kernel<CustomParams, run_aside<CustomParams, &Run::forward>>(kOp, "custom_python");
  table.async_kernel<CustomGradientParams, run_aside<CustomGradientParams, &Run::backward>>(
      kGradientOp, "backward_custom_python");
}

}  // namespace loomix::python
