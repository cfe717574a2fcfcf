// SPDX-License-Identifier: Apache-2.0
#include "ops/fused/expression_cuda.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "ops/activation/activation.h"
#include "ops/activation/leaky_relu.h"
#include "ops/elemwise/binary.h"
#include "ops/elemwise/elemwise.h"
#include "ops/elemwise/loops.h"
#include "ops/elemwise/scalar.h"
#include "ops/elemwise/unary.h"

namespace loomix::ops {
namespace {

constexpr size_t kMostNumbers = 64;

// The functor's name in a source: the operators' lists name each of them once, as a type.
template <class F>
std::string name_of_functor() {
  const std::string_view signature = __PRETTY_FUNCTION__;
  const size_t begin = signature.find("F = ") + 4;
  return std::string(signature.substr(begin, signature.find_first_of(";]", begin) - begin));
}

std::string_view type_of(DType dtype) {
  switch (dtype) {
    case DType::float32: return "float";
    case DType::float64: return "double";
    case DType::float16: return "float16";
    case DType::bfloat16: return "bfloat16";
    case DType::uint8: return "uint8_t";
    case DType::int8: return "int8_t";
    case DType::int32: return "int32_t";
    case DType::int64: return "int64_t";
    case DType::boolean: return "bool";
    case DType::unknown: break;
  }
  return "";
}

// A step while its text is made.
struct Writing {
  const FusedStep& step;
  std::vector<std::string> x;  // operands
  std::vector<double>& numbers;

  std::string type() const { return std::string(type_of(step.dtype)); }
  std::string number(double value) {
    // As an element is rounded; integers are converted on the device.
    if (is_floating(step.dtype)) {
      const Number rounded(value, step.dtype);
      convert_row(step.dtype, rounded.bytes, DType::float64, &value, 1);
    }
    return exact(value);
  }
  std::string exact(double value) {
    numbers.push_back(value);
    return fmt::format("number<{}>(a, {})", type(), numbers.size() - 1);
  }
  std::string applied(const std::string& functor, const std::string& operands) const {
    return fmt::format("apply<{}, {}>({})", functor, type(), operands);
  }
};

using Writer = std::string (*)(Writing&);  // "": this step has no such form

template <class F>
std::string write_applied(Writing& w) {
  return w.applied(name_of_functor<F>(), fmt::to_string(fmt::join(w.x, ", ")));
}

template <class F, Spread side, class P>
std::string write_scalar(Writing& w) {
  const std::string number = w.number(static_cast<double>(w.step.attrs->as<P>().scalar));
  return w.applied(name_of_functor<F>(),
                   side == Spread::left ? number + ", " + w.x[0] : w.x[0] + ", " + number);
}

std::string write_activation(Writing& w) {
  size_t i = 0;
  std::string functor;
  const auto act_type = static_cast<size_t>(w.step.attrs->as<ActivationParams>().act_type);
  const auto take = [&]<class F>(const ActivationKind<F>&) {
    if (i++ == act_type) functor = name_of_functor<F>();
  };
  std::apply([&](const auto&... kind) { (take(kind), ...); }, kActivations);
  return w.applied(functor, w.x[0]);
}

// Slopes that are an attribute only.
std::string leaky_functor(const LeakyReluParams& p) {
  size_t i = 0;
  std::string functor;
  const auto take = [&]<class F>(const LeakyKind<F>& kind) {
    if (i++ == static_cast<size_t>(p.act_type) && kind.slopes == Slopes::attribute)
      functor = name_of_functor<F>();
  };
  std::apply([&](const auto&... kind) { (take(kind), ...); }, kLeakyRelus);
  return functor;
}
std::string write_leaky_relu(Writing& w) {
  const auto& p = w.step.attrs->as<LeakyReluParams>();
  const std::string functor = leaky_functor(p);
  return functor.empty() ? "" : w.applied(functor, w.x[0] + ", " + w.exact(p.slope));
}
std::string write_backward_leaky_relu(Writing& w) {
  const auto& p = w.step.attrs->as<LeakyReluParams>();
  const std::string functor = leaky_functor(p);
  if (functor.empty()) return "";
  return fmt::format("slope_times<{}, {}>({}, {}, {})", functor, w.type(), w.x[0], w.x[1], w.exact(p.slope));
}

std::string write_where(Writing& w) { return fmt::format("{} != 0 ? {} : {}", w.x[0], w.x[1], w.x[2]); }
std::string write_add_n(Writing& w) {
  std::string sum = w.x[0];
  for (size_t i = 1; i < w.x.size(); ++i) sum = w.applied(name_of_functor<fn::Add>(), sum + ", " + w.x[i]);
  return sum;
}
std::string write_clip(Writing& w) {
  const auto& p = w.step.attrs->as<ClipParams>();
  const auto bound = [&](float value) { return w.number(clip_bound(value, w.step.dtype)); };
  const std::string low = bound(p.a_min), high = bound(p.a_max);
  return fmt::format("clipped<{}>({}, {}, {})", w.type(), w.x[0], low, high);
}
std::string write_hard_sigmoid(Writing& w) {
  const auto& p = w.step.attrs->as<HardSigmoidParams>();
  const std::string slope = w.number(p.alpha), shift = w.number(p.beta);
  if (!is_floating(w.step.dtype)) return "";
  return fmt::format("hard_sigmoid<{}>({}, {}, {})", w.type(), w.x[0], slope, shift);
}
std::string write_cast(Writing& w) { return fmt::format("cast<{}>({})", w.type(), w.x[0]); }
std::string write_same(Writing& w) { return w.x[0]; }

std::map<std::string_view, Writer> all_writers() {
  std::map<std::string_view, Writer> made{{"Activation", write_activation},
                                          {"LeakyReLU", write_leaky_relu},
                                          {"_backward_LeakyReLU", write_backward_leaky_relu},
                                          {"where", write_where},
                                          {"add_n", write_add_n},
                                          {"clip", write_clip},
                                          {"hard_sigmoid", write_hard_sigmoid},
                                          {"Cast", write_cast},
                                          {"amp_cast", write_cast},
                                          {"_broadcast_to_like", write_same}};
  const auto unary = [&]<class F, class Gradient>(const UnaryOp<F, Gradient>& op) {
    made.emplace(op.name, write_applied<F>);
  };
  const auto scalar =
      [&]<class F, Spread side, class P, class Gradient>(const ScalarOp<F, side, P, Gradient>& op) {
        made.emplace(op.name, write_scalar<F, side, P>);
      };
  const auto binary = [&]<class F, class Left, class Right>(const BinaryOp<F, Left, Right>& op) {
    made.emplace(op.same, write_applied<F>);
    if (*op.broadcast != 0) made.emplace(op.broadcast, write_applied<F>);
  };
  std::apply([&](const auto&... op) { (unary(op), ...); }, kUnaryOps);
  std::apply([&](const auto&... op) { (scalar(op), ...); }, kScalarOps);
  std::apply([&](const auto&... op) { (binary(op), ...); }, kBinaryOps);
  return made;
}

bool is_whole(const FusedInput& input) { return input.extent == Extent::full && !input.is_gathered(); }

// An input's element i, which has its place `at` by rows and columns.
std::string element(const FusedInput& input, size_t number, DType dtype) {
  if (is_whole(input)) return fmt::format("load(in{}.item[k])", number);
  std::string at;
  if (input.is_gathered()) {
    at = fmt::format("gathered(a, {}, at.row)", number);
    if (input.extent == Extent::full) at += " + at.column";
  } else {
    at = input.extent == Extent::row ? "at.column" : input.extent == Extent::column ? "at.row" : "0";
  }
  return fmt::format("item<{}>(a, {}, {})", type_of(dtype), number, at);
}

constexpr std::string_view kHead = R"(#include "ops/fused/program.h"
using namespace loomix;
using namespace loomix::cuda;
using Arguments = FusedArguments;
extern "C" __global__ void made_kernel(const FusedArguments a) {{
  constexpr int kItems = {};
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x * kItems;
  for (int64_t first = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kItems; first < a.count; first += step) {{
    const bool whole = a.aligned && first + kItems <= a.count;
)";
constexpr std::string_view kLoop = R"(#pragma unroll
    for (int k = 0; k < kItems; ++k) {
)";

int64_t widest(const Fusion& fusion, std::span<const DType> inputs, std::span<const int> written) {
  int64_t bytes = 2;  // no more than 8 elements at once: their results are all kept
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_whole(fusion.inputs()[i])) bytes = std::max(bytes, size_of(inputs[i]));
  }
  for (const int step : written)
    bytes = std::max(bytes, size_of(fusion.steps()[static_cast<size_t>(step)].dtype));
  return bytes;
}

}  // namespace

std::optional<FusedProgram> fused_program(const Fusion& fusion, std::span<const DType> inputs,
                                          std::span<const int> written) {
  static const auto& writers = *new std::map<std::string_view, Writer>(all_writers());
  FusedProgram made;
  made.items = static_cast<int>(16 / widest(fusion, inputs, written));
  std::string text = fmt::format(kHead, made.items);
  bool has_rows = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const FusedInput& input = fusion.inputs()[i];
    if (is_whole(input))
      text += fmt::format("    const auto in{0} = read_items<{1}, kItems>(a, {0}, first, whole);\n", i,
                          type_of(inputs[i]));
    else has_rows = has_rows || input.extent != Extent::one;
  }
  for (size_t i = 0; i < written.size(); ++i)
    text += fmt::format("    Pack<{}, kItems> out{};\n",
                        type_of(fusion.steps()[static_cast<size_t>(written[i])].dtype), i);
  text += kLoop;
  if (has_rows)
    text += "      const RowPlace at = row_place(a, first + k < a.count ? first + k : a.count - 1);\n";
  for (size_t i = 0; i < inputs.size(); ++i)
    text += fmt::format("      const auto x{} = {};\n", i, element(fusion.inputs()[i], i, inputs[i]));
  for (size_t i = 0; i < fusion.steps().size(); ++i) {
    const FusedStep& step = fusion.steps()[i];
    const auto writer = writers.find(step.op->name);
    if (writer == writers.end()) return {};
    Writing writing{step, {}, made.numbers};
    for (const int operand : step.operands) writing.x.push_back(fmt::format("x{}", operand));
    const std::string value = writer->second(writing);
    if (value.empty()) return {};
    text += fmt::format("      const Computed<{}> x{} = {};  // {}\n", type_of(step.dtype), inputs.size() + i,
                        value, step.op->name);
  }
  for (size_t i = 0; i < written.size(); ++i) {
    const auto step = static_cast<size_t>(written[i]);
    text += fmt::format("      out{}.item[k] = store<{}>(x{});\n", i, type_of(fusion.steps()[step].dtype),
                        inputs.size() + step);
  }
  text += "    }\n";
  for (size_t i = 0; i < written.size(); ++i)
    text += fmt::format("    write_items(a, {0}, first, whole, out{0});\n", i);
  made.source = text + "  }\n}\n";
  if (made.numbers.size() > kMostNumbers) return {};
  return made;
}

}  // namespace loomix::ops
