// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn.h"

// The names of MagmaDNN over loomix::nn, so that its programs compile: include this in place of magmadnn.h.
namespace loomix::magmadnn {

// Where elements lie. MANAGED: on the host and on the GPU, made equal by sync(). CUDA_MANAGED, one memory that both see, is
// refused: arrays have none.
enum memory_t { HOST, DEVICE, MANAGED, CUDA_MANAGED };

enum tensor_fill_t { NONE, ZERO, ONE, CONSTANT, UNIFORM, GLOROT, DIAGONAL, IDENTITY };
template <class T>
struct tensor_filler_t {
  tensor_fill_t fill_type = NONE;
  std::vector<T> values = {};
};

inline void magmadnn_init() {}
inline void magmadnn_finalize() { nn::wait_all(); }

// Elements in a row.
template <class T>
class MemoryManager {
 public:
  MemoryManager(unsigned size, memory_t type, int device = 0)
      : MemoryManager(nn::Shape(static_cast<int64_t>(size)), type, device) {}
  MemoryManager(const nn::Shape& shape, memory_t type, int device = 0) : type_(type) {
    if (type == CUDA_MANAGED)
      throw nn::Error(
          "[MemoryManager] CUDA_MANAGED memory is not available; MANAGED has a host and a device copy.");
    if (type != DEVICE) host_ = nn::zeros(shape, {nn::dtype_of<T>(), nn::cpu()});
    if (type != HOST) device_ = nn::zeros(shape, {nn::dtype_of<T>(), nn::gpu(device)});
  }
  // Of MANAGED memory: the other copy becomes that which was changed.
  void sync(bool gpu_was_modified = false) {
    if (type_ != MANAGED) return;
    if (gpu_was_modified) host_.assign(device_);
    else device_.assign(host_);
    (gpu_was_modified ? host_ : device_).wait();
  }
  T get(unsigned index) const { return host()[check(index)]; }
  void set(unsigned index, T value) {
    if (type_ == DEVICE) {
      nn::Array copy = device_.to(nn::cpu());
      copy.template span<T>()[check(index)] = value;
      device_.assign(copy);
      return;
    }
    host()[check(index)] = value;
  }
  unsigned get_size() const { return static_cast<unsigned>(array().size()); }
  memory_t get_memory_type() const { return type_; }
  T* get_host_ptr() { return host().data(); }
  void copy_from(const MemoryManager& other) {
    if (other.get_size() != get_size())
      nn::detail::fail({"[MemoryManager] a copy of ", int64_t{other.get_size()}, " elements to ",
                        int64_t{get_size()}, "."});
    array().assign(other.array().reshape(array().shape()));
    if (type_ == MANAGED) sync();
  }
  nn::Array array() const { return type_ == DEVICE ? device_ : host_; }

 private:
  std::span<T> host() const {
    nn::wait_all();  // what reads the memory without a task
    return (type_ == DEVICE ? device_.to(nn::cpu()) : host_).template span<T>();
  }
  size_t check(unsigned index) const {
    if (index >= get_size())
      nn::detail::fail({"[MemoryManager] element ", int64_t{index}, " of ", int64_t{get_size()}, "."});
    return index;
  }
  memory_t type_;
  nn::Array host_, device_;
};

template <class T>
class Tensor {
 public:
  explicit Tensor(const std::vector<unsigned>& shape, const tensor_filler_t<T>& filler = {},
                  memory_t type = HOST, int device = 0)
      : shape_(shape), memory_(to_shape(shape), type, device) {
    if (filler.fill_type == NONE || filler.fill_type == ZERO) return;
    memory_.array().assign(filled(filler));
    memory_.array().wait();
    memory_.sync(false);
  }
  T get(const std::vector<int>& index) const { return memory_.get(flat(index)); }
  T get(unsigned index) const { return memory_.get(index); }
  void set(const std::vector<int>& index, T value) { memory_.set(flat(index), value); }
  void set(unsigned index, T value) { memory_.set(index, value); }
  const std::vector<unsigned>& get_shape() const { return shape_; }
  unsigned get_shape(unsigned axis) const { return shape_.at(axis); }
  unsigned get_size() const { return memory_.get_size(); }
  memory_t get_memory_type() const { return memory_.get_memory_type(); }
  T* get_ptr() { return memory_.get_host_ptr(); }
  MemoryManager<T>* get_memory_manager() { return &memory_; }
  void copy_from(const Tensor& other) { memory_.copy_from(other.memory_); }
  nn::Array array() const { return memory_.array(); }

 private:
  static nn::Shape to_shape(const std::vector<unsigned>& shape) {
    return nn::Shape(std::vector<int64_t>(shape.begin(), shape.end()));
  }
  nn::Array filled(const tensor_filler_t<T>& filler) const {
    const nn::Shape shape = to_shape(shape_);
    const nn::ArrayOptions options{nn::dtype_of<T>(), memory_.array().device()};
    const auto value = [&](size_t place, double usual) {
      return place < filler.values.size() ? static_cast<double>(filler.values[place]) : usual;
    };
    switch (filler.fill_type) {
      case ONE: return nn::ones(shape, options);
      case CONSTANT: return nn::full(shape, value(0, 0), options);
      case UNIFORM: return nn::uniform(shape, value(0, 0), value(1, 1), options);
      case GLOROT: return nn::Initializer::xavier().make(shape, options);
      default: break;
    }
    if (shape_.size() != 2)
      nn::detail::fail({"[Tensor] a diagonal for the shape ", shape, "; expected a matrix."});
    const nn::Array ones = nn::eye(shape[0], shape[1], options);
    if (filler.fill_type == IDENTITY || filler.values.empty()) return ones;
    if (filler.values.size() == 1) return ones * value(0, 1);
    const nn::Array diagonal = nn::Array::from(std::span<const T>(filler.values)).to(options.device);
    return ones * diagonal.reshape({1, -1});
  }
  unsigned flat(const std::vector<int>& index) const {
    if (index.size() != shape_.size())
      nn::detail::fail({"[Tensor] ", index.size(), " indices for ", shape_.size(), " axes."});
    unsigned result = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      if (index[i] < 0 || index[i] >= static_cast<int>(shape_[i]))
        nn::detail::fail({"[Tensor] index ", index[i], " of axis ", i, " is out of range."});
      result = result * shape_[i] + static_cast<unsigned>(index[i]);
    }
    return result;
  }
  std::vector<unsigned> shape_;
  MemoryManager<T> memory_;
};

namespace op {
// What stands for a batch.
template <class T>
struct Variable {
  std::string name;
  std::vector<unsigned> shape;
  memory_t memory;
};
template <class T>
Variable<T>* var(const std::string& name, const std::vector<unsigned>& shape, const tensor_filler_t<T>&,
                 memory_t memory) {
  return std::make_unique<Variable<T>>(Variable<T>{name, shape, memory}).release();
}
}  // namespace op

namespace layer {

enum activation_t { SIGMOID, TANH, RELU };

// One layer, and those before it: deleting the last one deletes all, as in MagmaDNN.
template <class T>
class Layer {
 public:
  Layer(Layer* before, std::shared_ptr<nn::Block> made) : before_(before), block(std::move(made)) {}
  Layer* out() { return this; }
  memory_t memory() const { return before_ ? before_->memory() : variable->memory; }

 private:
  std::unique_ptr<Layer> before_;

 public:
  const std::shared_ptr<nn::Block> block;
  std::unique_ptr<op::Variable<T>> variable;  // of the first
};

template <class T, class B>
Layer<T>* make(Layer<T>* before, B block) {
  return std::make_unique<Layer<T>>(before, std::make_shared<B>(std::move(block))).release();
}
template <class T>
Layer<T>* input(op::Variable<T>* variable) {
  const std::vector<int64_t> sample(variable->shape.begin() + 1, variable->shape.end());
  Layer<T>* const made = make<T>(nullptr, nn::Input(nn::Shape(sample)));
  made->variable.reset(variable);
  return made;
}
template <class T>
Layer<T>* fullyconnected(Layer<T>* before, unsigned units, bool use_bias = true) {
  return make(before, nn::Dense(units, {.use_bias = use_bias}));
}
template <class T>
Layer<T>* activation(Layer<T>* before, activation_t kind) {
  return make(before, nn::Activation(kind == SIGMOID ? "sigmoid" : kind == TANH ? "tanh" : "relu"));
}
template <class T>
Layer<T>* dropout(Layer<T>* before, float rate) {
  return make(before, nn::Dropout(static_cast<double>(rate)));
}
template <class T>
Layer<T>* flatten(Layer<T>* before) {
  return make(before, nn::Flatten());
}
using Sizes = std::vector<unsigned>;
inline nn::Shape shape_of(const Sizes& sizes) {
  return nn::Shape(std::vector<int64_t>(sizes.begin(), sizes.end()));
}
template <class T>
Layer<T>* conv2d(Layer<T>* before, const Sizes& filter = {3, 3}, int filters = 1,
                 const Sizes& padding = {0, 0}, const Sizes& strides = {1, 1}, const Sizes& dilation = {1, 1},
                 bool use_bias = false) {
  return make(before, nn::Conv2D(filters, shape_of(filter),
                                 {.strides = shape_of(strides),
                                  .padding = shape_of(padding),
                                  .dilation = shape_of(dilation),
                                  .use_bias = use_bias}));
}
template <class T>
Layer<T>* pooling(Layer<T>* before, const Sizes& filter = {2, 2}, const Sizes& padding = {0, 0},
                  const Sizes& strides = {2, 2}, bool average = false) {
  return make(before, nn::Pooling(average ? "avg" : "max", shape_of(filter),
                                  {.strides = shape_of(strides), .padding = shape_of(padding)}));
}
template <class T>
Layer<T>* output(Layer<T>* before) {
  return make(before, nn::Lambda([](const nn::Array& x) { return x; }));
}

}  // namespace layer

namespace optimizer {
enum loss_t { CROSS_ENTROPY, MSE };
enum optimizer_t { SGD, ADAGRAD, RMSPROP, ADAM };
}  // namespace optimizer

namespace model {

struct nn_params_t {
  unsigned batch_size = 32;
  unsigned n_epochs = 1;
  double learning_rate = 0.01;
  double momentum = 0;
  double weight_decay = 0;
};
struct metric_t {
  double accuracy = 0, loss = 0, training_time = 0;
};

// The layers of a network, from input to output; whoever made them deletes the last one.
template <class T>
class NeuralNetwork {
 public:
  NeuralNetwork(const std::vector<layer::Layer<T>*>& layers, optimizer::loss_t loss,
                optimizer::optimizer_t kind, const nn_params_t& params)
      : params_(params), classes_(loss == optimizer::CROSS_ENTROPY) {
    if (layers.empty()) throw nn::Error("[NeuralNetwork] there are no layers.");
    nn::Sequential net;
    for (layer::Layer<T>* one : layers) net.add(one->block);
    static constexpr const char* kNames[] = {"sgd", "adagrad", "rmsprop", "adam"};
    nn::ModelOptions options;
    if (!classes_) options.loss = std::make_shared<nn::L2Loss>(2);
    options.optimizer = kNames[kind];
    options.settings = {{"learning_rate", params.learning_rate}, {"wd", params.weight_decay}};
    if (kind == optimizer::SGD && params.momentum != 0)
      options.settings.push_back({"momentum", params.momentum});
    if (layers[0]->memory() != HOST) options.device = nn::gpu();
    model_ = std::make_unique<nn::Model>(std::move(net), options);
  }
  // Labels are one row a sample: 1 for its class, else 0; or, of classes, one number.
  void fit(Tensor<T>* x, Tensor<T>* y, metric_t& metrics, bool verbose = false) {
    const nn::History history =
        model_->fit(x->array(), labels(*y),
                    {.epochs = params_.n_epochs, .batch = params_.batch_size, .verbose = verbose});
    for (const nn::EpochReport& report : history) metrics.training_time += report.seconds;
    metrics.loss = history.back().loss;
    metrics.accuracy = history.back().metric;
  }
  Tensor<T> predict(Tensor<T>* x) {
    const nn::Array out = model_->predict(x->array());
    const nn::Shape shape = out.shape();
    Tensor<T> result(std::vector<unsigned>(shape.begin(), shape.end()));
    result.get_memory_manager()->array().assign(out);
    return result;
  }
  unsigned predict_class(Tensor<T>* x) {
    return static_cast<unsigned>(model_->predict(x->array()).argmax(1)(0).item());
  }
  nn::Model& model() { return *model_; }

 private:
  nn::Array labels(const Tensor<T>& y) const {
    const nn::Array all = y.array();
    return classes_ && all.ndim() > 1 && all.shape(1) > 1 ? all.argmax(1) : all;
  }
  nn_params_t params_;
  bool classes_;
  std::unique_ptr<nn::Model> model_;
};

}  // namespace model
}  // namespace loomix::magmadnn

namespace magmadnn = loomix::magmadnn;  // NOLINT: the programs' own name
