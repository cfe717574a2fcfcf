// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/autograd.h"
#include "loomix/nn/trace.h"

namespace loomix::nn {

// How values of parameters are at first.
struct Initializer {
  enum class Kind { automatic, constant, uniform, normal, xavier, msra, orthogonal };
  Kind kind = Kind::automatic;  // what the block wants, or what Block::initialize is given
  double value = 0;  // the constant; the bound of uniform; the deviation of normal; the magnitude of xavier
  bool gaussian = false;       // xavier: normal, else uniform
  const char* factor = "avg";  // xavier: avg, in or out

  static Initializer constant(double value) { return {Kind::constant, value}; }
  static Initializer uniform(double bound = 0.07) { return {Kind::uniform, bound}; }
  static Initializer normal(double deviation = 0.01) { return {Kind::normal, deviation}; }
  static Initializer xavier(double magnitude = 3, bool gaussian = false, const char* factor = "avg") {
    return {Kind::xavier, magnitude, gaussian, factor};
  }
  // For rectifiers with this slope below 0 (He et al. 2015).
  static Initializer msra(double slope = 0.25) { return {Kind::msra, 2 / (1 + slope * slope), true, "avg"}; }
  static Initializer orthogonal(double scale = 1.414) { return {Kind::orthogonal, scale}; }

  Array make(const Shape& shape, const ArrayOptions& options) const;
};

struct ParameterOptions {
  Initializer init = {};
  DType dtype = DType::float32;
  bool differentiable = true;  // false: a state, as running means are
  double lr_mult = 1;
  double wd_mult = 1;
  bool half = true;  // false: float32 where its block is cast to float16 or bfloat16, as operators want it
};

// A weight of a block. Sizes of 0 are found out when the block is first called.
class Parameter {
 public:
  Parameter(std::string name, Shape shape, const ParameterOptions& options)
      : name_(std::move(name)), shape_(std::move(shape)), options_(options) {}
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Parameter&) = delete;

  const std::string& name() const { return name_; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return options_.dtype; }
  bool is_state() const { return !options_.differentiable; }
  bool is_known() const { return !shape_.empty() && shape_.count() > 0; }
  bool is_ready() const { return static_cast<bool>(data_); }
  bool wants_gradient() const { return !is_state() && request_ != LOOMIX_NULL; }
  // Its value, or its variable while a block is traced.
  Array operator()() {
    if (detail::Trace* trace = detail::current_trace()) {
      const std::string name = trace->place.empty() ? name_ : trace->place + "." + name_;
      return trace->parameter(*this, name, shape_, options_.dtype);
    }
    return data();
  }
  const Array& data() const {
    if (!data_)
      throw Error("[Parameter] '" + name_ + "' of shape " + to_string(shape_) + " has no value yet; " +
                  (wanted_ ? "its shape is known after a first call." : "initialize() the block."));
    return data_;
  }
  Array grad() const { return data().grad(); }
  [[gnu::cold]] void set(const Array& value) {
    if (is_known() && value.shape() != shape_)
      detail::fail({"[Parameter] '", name_, "' has shape ", shape_, "; the value has ", value.shape(), "."});
    complete(value.shape());
    if (data_) {
      data_.assign(value.dtype() == data_.dtype() ? value : value.astype(data_.dtype()));
      return;
    }
    adopt(value.astype(options_.dtype).to(device_));
  }

  // For Block::initialize: now, or as soon as the shape is known.
  void initialize(const Initializer& usual, Device device, bool again) {
    if (data_ && !again) return;
    data_ = Array();
    usual_ = usual;
    device_ = device;
    wanted_ = true;
    if (is_known()) make();
  }
  [[gnu::cold]] void complete(const Shape& shape) {
    bool fits = shape_.empty() || shape.ndim() == shape_.ndim();
    for (size_t i = 0; fits && i < shape_.ndim(); ++i) fits = shape_[i] <= 0 || shape_[i] == shape[i];
    if (!fits) detail::fail({"[Parameter] '", name_, "' has shape ", shape_, " and would get ", shape, "."});
    shape_ = shape;
    if (wanted_ && !data_) make();
  }
  void cast(DType dtype) {
    if (!options_.half && bytes_of(dtype) == 2) dtype = DType::float32;
    options_.dtype = dtype;
    if (data_ && data_.dtype() != dtype) adopt(data_.astype(dtype));
  }
  void to(const Device& device) {
    device_ = device;
    if (data_ && !(data_.device() == device)) adopt(data_.to(device));
  }
  void zero_grad() const {
    if (data_ && wants_gradient()) grad().fill(0);
  }

  double lr_mult() const { return options_.lr_mult; }
  double wd_mult() const { return options_.wd_mult; }
  // For the Trainer; 0 keeps it as it is.
  void set_multipliers(double lr_mult, double wd_mult) {
    options_.lr_mult = lr_mult;
    options_.wd_mult = wd_mult;
  }
  // LOOMIX_WRITE; LOOMIX_ADD adds up the gradients of several backward passes; LOOMIX_NULL has none.
  void set_request(int wanted) {
    request_ = wanted;
    if (data_) adopt(data_);
  }

 private:
  void make() {
    const bool own = options_.init.kind != Initializer::Kind::automatic;
    adopt((own ? options_.init : usual_).make(shape_, {options_.dtype, device_}));
  }
  void adopt(const Array& value) {
    data_ = value;
    wanted_ = true;
    if (wants_gradient()) data_.attach_grad(request_);
  }

  std::string name_;
  Shape shape_;
  ParameterOptions options_;
  Initializer usual_;
  Device device_ = cpu();
  bool wanted_ = false;
  int request_ = LOOMIX_WRITE;
  Array data_;
};

[[gnu::cold]] inline Array Initializer::make(const Shape& shape, const ArrayOptions& options) const {
  const Pause pause;
  const detail::Untraced untraced;
  switch (kind) {
    case Kind::constant: return full(shape, value, options);
    case Kind::automatic: return nn::uniform(shape, -0.07, 0.07, options);
    case Kind::uniform: return nn::uniform(shape, -value, value, options);
    case Kind::normal: return nn::normal(shape, 0, value, options);
    default: break;
  }
  if (shape.ndim() < 2)
    detail::fail({"[Initializer] a parameter of shape ", shape,
                  " has no inputs and outputs; xavier, msra "
                  "and orthogonal are for two axes or more."});
  if (kind == Kind::orthogonal) {  // of random signs: the first eigenvectors of a random symmetric matrix
    const int64_t rows = shape[0], columns = shape.count() / rows, size = rows > columns ? rows : columns;
    const Array random = nn::normal({size, size}, 0, 1, {DType::float64, options.device});
    const Array vectors = detail::Call("_linalg_syevd").in(random + random.transpose()).run_all()[0];
    const Array part =
        detail::Call("slice").in(vectors).set("begin", Shape{0, 0}).set("end", Shape{rows, columns}).run();
    return (part * value).astype(options.dtype).reshape(shape);
  }
  double receptive = 1;
  for (size_t i = 2; i < shape.ndim(); ++i) receptive *= static_cast<double>(shape[i]);
  const double in = static_cast<double>(shape[1]) * receptive,
               out = static_cast<double>(shape[0]) * receptive;
  const double fan = factor[0] == 'a' ? (in + out) / 2 : factor[0] == 'i' ? in : out;
  const double scale = std::sqrt(value / fan);
  return gaussian ? nn::normal(shape, 0, scale, options) : nn::uniform(shape, -scale, scale, options);
}

}  // namespace loomix::nn
