// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/files.h"

namespace loomix::nn {

// A setting of an optimizer by its name in MXNet: {"learning_rate", 0.1}.
struct Setting {
  template <class T>
  Setting(const char* of, const T& to) : name(of), value(detail::text(to)) {}
  Setting(std::string of, std::string to) : name(std::move(of)), value(std::move(to)) {}
  std::string name, value;
};
using Settings = std::vector<Setting>;

// Scales the gradients of all parameters so that their common norm is at most this. Returns the norm that there was, an array of
// one element; nothing waits.
[[gnu::cold]] inline Array clip_global_norm(const Block& net, double most) {
  const Pause pause;
  Array sum;
  for (const auto& [name, parameter] : net.parameters()) {
    if (!parameter->wants_gradient()) continue;
    const Array gradient = parameter->grad();  // squares of float16 overflow soon
    const Array wide = bytes_of(gradient.dtype()) == 2 ? gradient.astype(DType::float32) : gradient;
    const Array square = detail::Call("sum").in(wide * wide).run().astype(DType::float32);
    sum = sum ? sum + square : square;
  }
  if (!sum) throw Error("[clip_global_norm] the block has no gradients.");
  const Array norm = detail::Call("sqrt").in(sum).run();
  const Array factor = minimum(most / (norm + 1e-8), 1.0);
  for (const auto& [name, parameter] : net.parameters()) {
    if (!parameter->wants_gradient()) continue;
    Array gradient = parameter->grad();
    gradient *= factor.astype(gradient.dtype());
  }
  return norm;
}

struct TrainerOptions {
  const char* store =
      nullptr;  // "dist_sync", "dist_async", "dist_mpi", ...: several processes train together
  const char* compression = nullptr;  // of gradients on the way: "2bit", "fp16"
  bool scale_loss = false;            // for float16: see Trainer::scaled
};

// Updates the parameters of a block by their gradients: sgd, nag, adam, rmsprop, ftrl, lars, lamb and others, with the settings of
// MXNet and of schedules ("lr_scheduler": factor, multifactor, poly, cosine).
class Trainer {
 public:
  [[gnu::cold]] Trainer(const Block& net, const char* optimizer, Settings settings = {},
                        const TrainerOptions& options = {})
      : name_(optimizer), settings_(std::move(settings)) {
    for (const auto& [name, parameter] : net.parameters()) {
      if (parameter->is_state()) states_.push_back({name, parameter});
      else if (parameter->wants_gradient()) parameters_.push_back({name, parameter});
    }
    for (const auto& [name, parameter] : parameters_) {
      if (parameter->lr_mult() != 1)
        settings_.push_back({"lr_mult." + name, detail::text(parameter->lr_mult())});
      if (parameter->wd_mult() != 1)
        settings_.push_back({"wd_mult." + name, detail::text(parameter->wd_mult())});
    }
    for (const Setting& setting : settings_) {
      if (setting.name == "rescale_grad") rescale_ = std::stod(setting.value);
    }
    scales_loss_ = options.scale_loss;
    if (scales_loss_) loss_scale_ = kFirstScale;
    configure(1);
    if (options.store) open_store(options);
    if (options.scale_loss && on_store_)
      throw Error("[Trainer] scale_loss: with dist_async the servers update, and do not see what overflows.");
  }
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Updates by gradients of the sum of losses of so many samples, in each process.
  [[gnu::cold]] void step(int64_t batch_size) {
    if (batch_size < 1) detail::fail({"[Trainer] a step of ", batch_size, " samples; expected 1 or more."});
    if (store_ && !initialized_) initialize_store();
    if (on_store_) {
      scale_on_store(batch_size);
      for (const auto& [name, parameter] : parameters_) exchange(name, parameter->grad(), parameter->data());
      ++steps_;
      return;
    }
    if (store_) {
      for (const auto& [name, parameter] : parameters_) exchange(name, parameter->grad(), parameter->grad());
    }
    if (scales_loss_ && !is_finite()) return set_loss_scale(loss_scale_ / 2);
    configure(batch_size * workers_);
    std::vector<LoomixKey> keys;
    std::vector<LoomixArray> weights, gradients;
    Arrays kept;
    for (const auto& [name, parameter] : parameters_) {
      keys.push_back({name.c_str(), 0});
      weights.push_back(parameter->data().handle());
      kept.push_back(parameter->grad());
      gradients.push_back(kept.back().handle());
    }
    detail::check(
        LoomixOptimizerUpdate(optimizer_.get(), keys.size(), keys.data(), weights.data(), gradients.data()));
    ++steps_;
    if (scales_loss_ && ++good_steps_ == kGoodSteps) set_loss_scale(loss_scale_ * 2);
  }

  // The loss times a factor, so that gradients of float16 do not vanish; step() takes it off again. A step whose gradients
  // overflow is left out, and halves the factor; 2,000 good ones in a row double it. With scale_loss; else the loss as it is.
  Array scaled(const Array& loss) const { return loss_scale_ == 1 ? loss : loss * loss_scale_; }
  double loss_scale() const { return loss_scale_; }

  // Replaces a setting from now on.
  void set(const Setting& setting) {
    for (Setting& known : settings_) {
      if (known.name == setting.name) {
        known = setting;
        scale_ = 0;
        return;
      }
    }
    settings_.push_back(setting);
    scale_ = 0;
  }
  // Multiplies the rate of all parameters, beside schedules and lr_mult, from now on.
  [[gnu::cold]] void set_rate_factor(double factor) {
    for (const auto& [name, parameter] : parameters_)
      set({"lr_mult." + name, detail::text(factor * parameter->lr_mult())});
  }
  void set_learning_rate(double rate) { set({"learning_rate", rate}); }
  int64_t steps() const { return steps_; }
  int rank() const { return rank_; }
  int workers() const { return workers_; }

  // States of the optimizer, with which another run goes on.
  [[gnu::cold]] void save_states(const std::string& path) const {
    NamedArrays arrays;
    for (const auto& [name, parameter] : parameters_) {
      const LoomixKey key{name.c_str(), 0};
      int64_t updates = 0;
      size_t count = 0;
      const LoomixArray* states = nullptr;
      detail::check(LoomixOptimizerGetState(optimizer_.get(), &key, &updates, &count, &states));
      Arrays mine;
      for (size_t i = 0; i < count; ++i) mine.push_back(Array(states[i]));
      arrays.push_back({name + ":updates", Array::from(std::vector<int64_t>{updates})});
      for (size_t i = 0; i < mine.size(); ++i) arrays.push_back({name + ":" + std::to_string(i), mine[i]});
    }
    arrays.push_back({":steps", Array::from(std::vector<int64_t>{steps_})});
    save_arrays(path, arrays);
  }
  [[gnu::cold]] void load_states(const std::string& path) {
    const NamedArrays arrays = load_arrays(path);
    const auto find = [&](const std::string& name) {
      for (const auto& [known, array] : arrays) {
        if (known == name) return array;
      }
      return Array();
    };
    for (const auto& [name, parameter] : parameters_) {
      const Array updates = find(name + ":updates");
      if (!updates) detail::fail({"[Trainer] '", path, "' has no states of '", name, "'."});
      Arrays states;
      std::vector<LoomixArray> handles;
      for (int i = 0; const Array state = find(name + ":" + std::to_string(i)); ++i)
        states.push_back(state.to(parameter->data().device()));
      for (const Array& state : states) handles.push_back(state.handle());
      const LoomixKey key{name.c_str(), 0};
      detail::check(LoomixOptimizerSetState(optimizer_.get(), &key, updates.to_vector<int64_t>()[0],
                                            handles.size(), handles.data()));
    }
    const Array steps = find(":steps");
    if (steps) steps_ = steps.to_vector<int64_t>()[0];
  }

 private:
  static constexpr double kFirstScale = 65536, kLeastScale = 2, kMostScale = 16777216;
  static constexpr int kGoodSteps = 2000;

  [[gnu::cold]] bool is_finite() const {
    Arrays gradients;
    for (const auto& [name, parameter] : parameters_) gradients.push_back(parameter->grad());
    return detail::Call("multi_all_finite")
               .in(gradients)
               .set("num_arrays", static_cast<int64_t>(gradients.size()))
               .run()
               .item() != 0;
  }
  [[gnu::cold]] void set_loss_scale(double to) {
    loss_scale_ = to < kLeastScale ? kLeastScale : to > kMostScale ? kMostScale : to;
    good_steps_ = 0;
    scale_ = 0;
  }
  // The settings as C takes them, with the scale of gradients.
  struct Pairs {
    std::string factor;
    std::vector<const char*> names, values;
    LoomixPairs view() {
      values.back() = factor.c_str();
      return {names.size(), names.data(), values.data()};
    }
  };
  [[gnu::cold]] Pairs pairs(double scale) const {
    Pairs result{detail::text(scale), {}, {}};
    for (const Setting& setting : settings_) {
      if (setting.name == "rescale_grad") continue;
      result.names.push_back(setting.name.c_str());
      result.values.push_back(setting.value.c_str());
    }
    result.names.push_back("rescale_grad");
    result.values.push_back(nullptr);  // view() says where it is
    return result;
  }
  void configure(int64_t samples) {
    if (scale_ != samples) configure_anew(samples);
  }
  [[gnu::cold]] void configure_anew(int64_t samples) {
    Pairs settings = pairs(rescale_ / (static_cast<double>(samples) * loss_scale_));
    const LoomixPairs view = settings.view();
    if (optimizer_) {
      detail::check(LoomixOptimizerConfigure(optimizer_.get(), &view));
    } else {
      LoomixOptimizer made = nullptr;
      detail::check(LoomixOptimizerCreate(name_.c_str(), &view, &made));
      optimizer_ = detail::Handle<LoomixOptimizer>(made);
    }
    scale_ = samples;
  }
  [[gnu::cold]] void open_store(const TrainerOptions& options) {
    LoomixStore made = nullptr;
    detail::check(LoomixStoreCreate(options.store, &made));
    store_ = detail::Handle<LoomixStore>(made);
    detail::check(LoomixStoreGetInfo(made, nullptr, &rank_, &workers_));
    on_store_ = std::string(options.store) == "dist_async";
    if (options.compression) {
      const char *const name = "type", *const value = options.compression;
      const LoomixPairs pairs{1, &name, &value};
      detail::check(LoomixStoreSetCompression(made, &pairs));
    }
  }
  // All processes begin with the values of the first.
  [[gnu::cold]] void initialize_store() {
    for (const NamedParameters* list : {&parameters_, &states_}) {
      for (const auto& [name, parameter] : *list) {
        const LoomixKey key{name.c_str(), 0};
        const LoomixArray value = parameter->data().handle();
        detail::check(LoomixStoreInit(store_.get(), &key, value));
        detail::check(LoomixStorePull(store_.get(), &key, 1, &value, 0));
      }
    }
    initialized_ = true;
  }
  [[gnu::cold]] void scale_on_store(int64_t batch_size) {
    if (scale_on_store_ == batch_size) return;
    if (scale_on_store_ != 0)
      detail::fail(
          {"[Trainer] with dist_async the servers update, so all steps have the same number of samples: ",
           scale_on_store_, ", and not ", batch_size, "."});
    if (rank_ == 0) {
      Pairs settings = pairs(rescale_ / static_cast<double>(batch_size));
      const LoomixPairs view = settings.view();
      detail::check(LoomixStoreSetOptimizer(store_.get(), name_.c_str(), &view));
    }
    detail::check(LoomixStoreBarrier(store_.get()));
    scale_on_store_ = batch_size;
  }
  void exchange(const std::string& name, const Array& push, const Array& pull) const {
    const LoomixKey key{name.c_str(), 0};
    const LoomixArray from = push.handle(), to = pull.handle();
    detail::check(LoomixStorePush(store_.get(), &key, 1, &from, 0));
    detail::check(LoomixStorePull(store_.get(), &key, 1, &to, 0));
  }

  std::string name_;
  Settings settings_;
  NamedParameters parameters_, states_;
  detail::Handle<LoomixOptimizer> optimizer_;
  detail::Handle<LoomixStore> store_;
  double rescale_ = 1, loss_scale_ = 1;
  int64_t scale_ = 0, scale_on_store_ = 0, steps_ = 0;
  int rank_ = 0, workers_ = 1;
  int good_steps_ = 0;
  bool on_store_ = false, initialized_ = false, scales_loss_ = false;
};

}  // namespace loomix::nn
