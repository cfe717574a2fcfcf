// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/block.h"

// Layers, with Gluon's parameters and their names.
namespace loomix::nn {

namespace detail {

inline Array activate(const char* kind, const Array& x) {
  if (!kind) return x;
  const std::string name = kind;
  for (const char* one : {"elu", "selu", "gelu", "leaky"}) {
    if (name == one) return Call("LeakyReLU").in(x).set("act_type", kind).run();
  }
  if (name == "silu" || name == "swish") return x * Call("sigmoid").in(x).run();
  if (name == "softmax") return Call("softmax").in(x).run();
  return Call("Activation").in(x).set("act_type", kind).run();
}

// One size for all axes, or one each.
inline Shape for_axes(const Shape& sizes, int axes, int64_t usual, const char* who) {
  if (sizes.empty()) return Shape(std::vector<int64_t>(static_cast<size_t>(axes), usual));
  if (sizes.ndim() == 1) return Shape(std::vector<int64_t>(static_cast<size_t>(axes), sizes[0]));
  if (sizes.ndim() != static_cast<size_t>(axes))
    detail::fail({"[", who, "] got the sizes ", sizes, " for ", axes, " axes."});
  return sizes;
}

}  // namespace detail

struct DenseOptions {
  const char* activation = nullptr;
  bool use_bias = true;
  bool flatten = true;  // all axes but the first are one; else the last axis is changed alone
  int64_t in_units = 0;
  Initializer weight_init = {};
};

// y = activation(x W' + b).
class Dense : public Block {
 public:
  [[gnu::cold]] explicit Dense(int64_t units, const DenseOptions& options = {})
      : Block("Dense(" + std::to_string(units) + ")"), units_(units), options_(options) {}
  Array forward(const Array& x) override {
    detail::Call call("FullyConnected");
    call.in(x).in(weight_()).set("num_hidden", units_).set("flatten", options_.flatten, true);
    if (bias_) call.in((*bias_)());
    return detail::activate(options_.activation, call.set("no_bias", !bias_, false).run());
  }

 private:
  int64_t units_;
  DenseOptions options_;
  Parameter& weight_ = parameter("weight", {units_, options_.in_units}, {.init = options_.weight_init});
  Parameter* bias_ =
      options_.use_bias ? &parameter("bias", units_, {.init = Initializer::constant(0)}) : nullptr;
};

struct ConvOptions {
  Shape strides = {};
  Shape padding = {};
  Shape dilation = {};
  int64_t groups = 1;
  const char* activation = nullptr;
  bool use_bias = true;
  int64_t in_channels = 0;
  const char* layout = nullptr;  // "NCHW", "NHWC", ...
  Shape output_padding = {};     // transposed convolutions
  Initializer weight_init = {};
  const char* algorithm = nullptr;  // "direct", "gemm", "winograd", "fft"; else what is fastest
};

namespace detail {

class Conv : public Block {
 public:
  Array forward(const Array& x) override {
    Call call(transposed_ ? "Deconvolution" : "Convolution");
    call.in(x).in(weight_()).set("kernel", kernel_).set("num_filter", channels_);
    call.set("stride", for_axes(options_.strides, axes_, 1, "Conv"));
    call.set("dilate", for_axes(options_.dilation, axes_, 1, "Conv"));
    call.set("pad", for_axes(options_.padding, axes_, 0, "Conv"));
    call.set("num_group", options_.groups, int64_t{1});
    if (transposed_) call.set("adj", for_axes(options_.output_padding, axes_, 0, "ConvTranspose"));
    if (options_.layout) call.set("layout", options_.layout);
    if (options_.algorithm) call.set("algorithm", options_.algorithm);
    if (bias_) call.in((*bias_)());
    call.set("no_bias", !bias_);
    return activate(options_.activation, call.run());
  }

 protected:
  [[gnu::cold]] Conv(const char* kind, int axes, int64_t channels, const Shape& kernel,
                     const ConvOptions& options, bool transposed)
      : Block(std::string(kind) + "(" + std::to_string(channels) + ")"),
        axes_(axes),
        channels_(channels),
        kernel_(for_axes(kernel, axes, 1, kind)),
        options_(options),
        transposed_(transposed) {
    const int64_t in = options.in_channels, groups = options.groups;
    if (groups < 1) detail::fail({"[", kind, "] groups is ", groups, "; expected 1 or more."});
    const bool last = options.layout && std::string(options.layout).back() == 'C';
    Shape shape = transposed ? Shape{in, channels / groups} : Shape{channels, in / groups};
    shape.sizes.insert(shape.sizes.begin() + (last ? 1 : 2), kernel_.begin(), kernel_.end());
    weight_ = {&parameter("weight", shape, {.init = options.weight_init})};
    if (options.use_bias) bias_ = &parameter("bias", channels, {.init = Initializer::constant(0)});
  }

 private:
  struct Pointer {
    Parameter* parameter = nullptr;
    Array operator()() const { return (*parameter)(); }
  };
  int axes_;
  int64_t channels_;
  Shape kernel_;
  ConvOptions options_;
  bool transposed_;
  Pointer weight_;
  Parameter* bias_ = nullptr;
};

}  // namespace detail

class Conv1D : public detail::Conv {
 public:
  Conv1D(int64_t channels, const Shape& kernel, const ConvOptions& options = {})
      : Conv("Conv1D", 1, channels, kernel, options, false) {}
};
class Conv2D : public detail::Conv {
 public:
  Conv2D(int64_t channels, const Shape& kernel, const ConvOptions& options = {})
      : Conv("Conv2D", 2, channels, kernel, options, false) {}
};
class Conv3D : public detail::Conv {
 public:
  Conv3D(int64_t channels, const Shape& kernel, const ConvOptions& options = {})
      : Conv("Conv3D", 3, channels, kernel, options, false) {}
};
class Conv1DTranspose : public detail::Conv {
 public:
  Conv1DTranspose(int64_t channels, const Shape& kernel, const ConvOptions& options = {})
      : Conv("Conv1DTranspose", 1, channels, kernel, options, true) {}
};
class Conv2DTranspose : public detail::Conv {
 public:
  Conv2DTranspose(int64_t channels, const Shape& kernel, const ConvOptions& options = {})
      : Conv("Conv2DTranspose", 2, channels, kernel, options, true) {}
};
class Conv3DTranspose : public detail::Conv {
 public:
  Conv3DTranspose(int64_t channels, const Shape& kernel, const ConvOptions& options = {})
      : Conv("Conv3DTranspose", 3, channels, kernel, options, true) {}
};

struct PoolOptions {
  Shape strides = {};  // those of the pool
  Shape padding = {};
  bool ceil_mode = false;
  bool count_include_pad = true;
};

// Pools over as many axes as an image has: one size for all of them, or one each.
class Pooling : public Block {
 public:
  [[gnu::cold]] Pooling(const char* type, const Shape& pool, const PoolOptions& options = {})
      : Block(std::string("Pooling(") + type + ")"), type_(type), pool_(pool), options_(options) {}
  Array forward(const Array& x) override {
    const int axes = static_cast<int>(pool_.ndim() > 1 ? pool_.ndim() : x.ndim() - 2);
    const Shape pool = detail::for_axes(pool_, axes, 1, "Pooling");
    const Shape strides =
        options_.strides.empty() ? pool : detail::for_axes(options_.strides, axes, 1, "Pooling");
    return detail::Call("Pooling")
        .in(x)
        .set("kernel", pool)
        .set("stride", strides)
        .set("pool_type", type_)
        .set("pad", detail::for_axes(options_.padding, axes, 0, "Pooling"))
        .set("pooling_convention", options_.ceil_mode ? "full" : "valid")
        .set("count_include_pad", options_.count_include_pad)
        .run();
  }

 private:
  const char* type_;
  Shape pool_;
  PoolOptions options_;
};
class MaxPool2D : public Pooling {
 public:
  explicit MaxPool2D(const Shape& pool = {2, 2}, const PoolOptions& options = {})
      : Pooling("max", detail::for_axes(pool, 2, 2, "MaxPool2D"), options) {}
};
class AvgPool2D : public Pooling {
 public:
  explicit AvgPool2D(const Shape& pool = {2, 2}, const PoolOptions& options = {})
      : Pooling("avg", detail::for_axes(pool, 2, 2, "AvgPool2D"), options) {}
};
// Over all places; the axes stay, with size 1.
class GlobalPooling : public Block {
 public:
  explicit GlobalPooling(const char* type = "avg")
      : Block(std::string("GlobalPooling(") + type + ")"), type_(type) {}
  Array forward(const Array& x) override {
    return detail::Call("Pooling").in(x).set("global_pool", true).set("pool_type", type_).run();
  }

 private:
  const char* type_;
};

struct BatchNormOptions {
  int axis = 1;
  double momentum = 0.9;
  double epsilon = 1e-5;
  bool center = true;
  bool scale = true;
  bool use_global_stats = false;
};

class BatchNorm : public Block {
 public:
  explicit BatchNorm(const BatchNormOptions& options = {}) : Block("BatchNorm"), options_(options) {}
  Array forward(const Array& x) override {
    return detail::Call("BatchNorm")
        .in(x)
        .in(gamma_())
        .in(beta_())
        .in(mean_())
        .in(variance_())
        .set("axis", options_.axis)
        .set("momentum", options_.momentum)
        .set("eps", options_.epsilon)
        .set("fix_gamma", !options_.scale)
        .set("use_global_stats", options_.use_global_stats)
        .run();
  }

 private:
  BatchNormOptions options_;
  Parameter& gamma_ = parameter(
      "gamma", 0, {.init = Initializer::constant(1), .differentiable = options_.scale, .half = false});
  Parameter& beta_ = parameter(
      "beta", 0, {.init = Initializer::constant(0), .differentiable = options_.center, .half = false});
  Parameter& mean_ = parameter("running_mean", 0,
                               {.init = Initializer::constant(0), .differentiable = false, .half = false});
  Parameter& variance_ =
      parameter("running_var", 0, {.init = Initializer::constant(1), .differentiable = false, .half = false});
};

class LayerNorm : public Block {
 public:
  explicit LayerNorm(int axis = -1, double epsilon = 1e-5)
      : Block("LayerNorm"), axis_(axis), epsilon_(epsilon) {}
  Array forward(const Array& x) override {
    return detail::Call("LayerNorm")
        .in(x)
        .in(gamma_())
        .in(beta_())
        .set("axis", axis_)
        .set("eps", epsilon_)
        .run();
  }

 private:
  int axis_;
  double epsilon_;
  Parameter& gamma_ = parameter("gamma", 0, {.init = Initializer::constant(1)});
  Parameter& beta_ = parameter("beta", 0, {.init = Initializer::constant(0)});
};

class Dropout : public Block {
 public:
  explicit Dropout(double rate) : Block("Dropout"), rate_(rate) {}
  Array forward(const Array& x) override { return detail::Call("Dropout").in(x).set("p", rate_).run(); }

 private:
  double rate_;
};

// relu, sigmoid, tanh, softrelu, softsign; elu, selu, gelu, leaky; silu; softmax.
class Activation : public Block {
 public:
  explicit Activation(const char* type) : Block(std::string("Activation(") + type + ")"), type_(type) {}
  Array forward(const Array& x) override { return detail::activate(type_, x); }

 private:
  const char* type_;
};

class Embedding : public Block {
 public:
  Embedding(int64_t words, int64_t size, const Initializer& init = {})
      : Block("Embedding(" + std::to_string(words) + ", " + std::to_string(size) + ")"),
        words_(words),
        size_(size),
        init_(init) {}
  Array forward(const Array& x) override {
    return detail::Call("Embedding")
        .in(x)
        .in(weight_())
        .set("input_dim", words_)
        .set("output_dim", size_)
        .run();
  }

 private:
  int64_t words_, size_;
  Initializer init_;
  Parameter& weight_ = parameter("weight", {words_, size_}, {.init = init_});
};

class Flatten : public Block {
 public:
  Flatten() : Block("Flatten") {}
  Array forward(const Array& x) override { return x.flatten(); }
};

// A function as a block.
template <class Function>
class Lambda : public Block {
 public:
  explicit Lambda(Function function) : Block("Lambda"), function_(std::move(function)) {}
  Array forward(const Array& x) override { return function_(x); }

 private:
  Function function_;
};

// Checks the shape of what comes in; the first axis is the batch.
class Input : public Block {
 public:
  explicit Input(const Shape& shape) : Block("Input"), shape_(shape) {}
  explicit Input(std::initializer_list<int64_t> shape) : Input(Shape(shape)) {}
  Array forward(const Array& x) override {
    if (detail::current_trace()) return x;  // was checked when the shapes were found
    Shape rest = x.shape();
    if (!rest.empty()) rest.sizes.erase(rest.sizes.begin());
    if (rest != shape_) detail::fail({"[Input] samples have shape ", rest, "; expected ", shape_, "."});
    return x;
  }

 private:
  Shape shape_;
};

// One block after the other.
class Sequential : public Block {
 public:
  Sequential() : Block("Sequential") {}
  template <class First, class... More>
  requires(std::is_base_of_v<Block, First> && (!std::is_same_v<First, Sequential> || sizeof...(More) > 0))
      [[gnu::cold]] explicit Sequential(First first, More... more)
      : Block("Sequential") {
    add(std::move(first));
    (add(std::move(more)), ...);
  }
  template <class T>
  [[gnu::cold]] T& add(T block) {
    return child(std::to_string(children().size()), std::move(block));
  }
  void add(std::shared_ptr<Block> block) { share_child(std::to_string(children().size()), std::move(block)); }
  Block& operator[](size_t place) const { return *children().at(place).second; }
  size_t size() const { return children().size(); }
  Arrays forward_all(const Arrays& inputs) override {
    Arrays x = inputs;
    for (const auto& [name, block] : children()) x = block->call(x);
    return x;
  }
};

}  // namespace loomix::nn
