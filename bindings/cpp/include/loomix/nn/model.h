// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <ctime>

#include "loomix/nn/data.h"
#include "loomix/nn/layers.h"
#include "loomix/nn/loss.h"
#include "loomix/nn/metric.h"
#include "loomix/nn/trainer.h"

// Training of a network from data to accuracy.
namespace loomix::nn {

// What came out of an epoch. What was not measured is NaN.
struct EpochReport {
  int64_t epoch = 0;  // from 1
  double loss = std::nan("");
  double metric = std::nan("");
  double validation_loss = std::nan("");
  double validation_metric = std::nan("");
  double seconds = 0;  // of training, without validation
};
using History = std::vector<EpochReport>;

// Called after each epoch; it may end the training.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual bool go_on(Block& net, const EpochReport& report) = 0;
};
// Ends training when the loss (of validation, if there is one) has not fallen by more than `least` for so many epochs.
class EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(int patience = 1, double least = 0) : patience_(patience), least_(least) {}
  bool go_on(Block&, const EpochReport& report) override {
    const double loss = std::isnan(report.validation_loss) ? report.loss : report.validation_loss;
    if (waited_ < 0 || loss < best_ - least_) {
      best_ = loss;
      waited_ = 0;
      return true;
    }
    return ++waited_ < patience_;
  }

 private:
  int patience_;
  double least_, best_ = 0;
  int waited_ = -1;
};

struct ModelOptions {
  std::shared_ptr<Block> loss = {};     // SoftmaxCrossEntropyLoss
  std::shared_ptr<Metric> metric = {};  // accuracy, with that loss
  const char* optimizer = "sgd";
  Settings settings = {};
  Initializer init = Initializer::xavier();
  Device device = cpu();
  double clip_norm = 0;  // 0: gradients are not scaled
  bool hybridize = true;
  TrainerOptions distributed = {};
  // float16 or bfloat16: the network computes in it, the optimizer and the loss in float32, and the loss is scaled for float16.
  DType precision = DType::float32;
};

// From this epoch on batches have so many samples, and rates are that much larger than with the first size.
struct BatchSize {
  int64_t epoch, batch;
};

struct FitOptions {
  int64_t epochs = 1;
  int64_t batch = 32;  // of arrays; loaders have their own
  Loader* validation = nullptr;
  std::vector<Callback*> callbacks = {};
  bool verbose = true;                  // a line an epoch, and a bar on a terminal
  std::vector<BatchSize> batches = {};  // batches that grow: {{1, 32}, {10, 128}}
  int64_t accumulate = 1;               // batches whose gradients are added up for a step
  std::string checkpoint =
      {};               // PREFIX.params, PREFIX-states.params and PREFIX-epoch.params after each epoch
  bool resume = false;  // go on from them, if they are there
};

class Model {
 public:
  template <class T>
  requires std::is_base_of_v<Block, T>
  [[gnu::cold]] explicit Model(T net, const ModelOptions& options = {})
      : net_(std::make_shared<T>(std::move(net))), options_(options) {
    if (!options_.loss) {
      options_.loss = std::make_shared<SoftmaxCrossEntropyLoss>();
      if (!options_.metric) options_.metric = std::make_shared<Accuracy>();
    }
    if (options_.precision != DType::float32) mix();
    net_->initialize(options_.init, options_.device);
    if (options_.hybridize) {
      net_->hybridize();
      options_.loss->hybridize();
    }
  }

  Block& net() { return *net_; }
  Trainer& trainer() {
    if (!trainer_)
      trainer_ =
          std::make_unique<Trainer>(*net_, options_.optimizer, options_.settings, options_.distributed);
    return *trainer_;
  }

  History fit(const Array& data, const Array& label, const FitOptions& options = {}) {
    ArrayLoader loader(data, label, {.batch = options.batch, .shuffle = true});
    return fit(loader, options);
  }
  [[gnu::cold]] History fit(Loader& loader, const FitOptions& options = {}) {
    if (options.accumulate < 1)
      detail::fail({"[Model] accumulate is ", options.accumulate, "; expected 1 or more."});
    for (const auto& [name, parameter] : net_->parameters()) {
      if (parameter->wants_gradient())
        parameter->set_request(options.accumulate > 1 ? LOOMIX_ADD : LOOMIX_WRITE);
    }
    if (batch_ > 0) trainer().set_rate_factor(1);
    batch_ = 0;
    History history;
    for (int64_t epoch = first_epoch(options); epoch <= options.epochs; ++epoch) {
      if (!options.batches.empty()) resize(loader, options.batches, epoch);
      const double begin = now();
      EpochReport report{.epoch = epoch};
      Mean loss;
      train(loader, options, epoch, loss);
      report.loss = loss.get();
      report.metric = options_.metric ? options_.metric->get() : std::nan("");
      report.seconds = now() - begin;
      if (options.validation) {
        const EpochReport found = evaluate(*options.validation);
        report.validation_loss = found.loss;
        report.validation_metric = found.metric;
      }
      history.push_back(report);
      if (options.verbose) print(report);
      if (!options.checkpoint.empty()) save_checkpoint(options.checkpoint, epoch);
      bool go_on = true;
      for (Callback* callback : options.callbacks) go_on = callback->go_on(*net_, report) && go_on;
      if (!go_on) break;
    }
    return history;
  }
  // The loss and the metric of a pass.
  [[gnu::cold]] EpochReport evaluate(Loader& loader) {
    EpochReport report;
    Mean loss;
    if (options_.metric) options_.metric->reset();
    const Pause pause;
    for (Batch batch; loader.next(batch);) {
      const Array x = rows(batch.data, batch.size()), y = rows(batch.label, batch.size());
      const Array out = run(x);
      loss.update({}, (*options_.loss)(out, y));
      if (options_.metric) options_.metric->update(y, out);
    }
    loader.reset();
    report.loss = loss.get();
    if (options_.metric) report.metric = options_.metric->get();
    return report;
  }
  EpochReport evaluate(const Array& data, const Array& label, int64_t batch = 32) {
    ArrayLoader loader(data, label, {.batch = batch});
    return evaluate(loader);
  }
  Array predict(const Array& data) {
    const Pause pause;
    return run(data.to(options_.device));
  }
  // The outputs for all samples of a pass.
  Array predict(Loader& loader) {
    Arrays outputs;
    for (Batch batch; loader.next(batch);) outputs.push_back(predict(rows(batch.data, batch.size())));
    loader.reset();
    if (outputs.empty()) throw Error("[Model] the loader has no samples to predict.");
    return detail::Call("Concat")
        .in(outputs)
        .set("dim", 0)
        .set("num_args", static_cast<int64_t>(outputs.size()))
        .run();
  }
  void save(const std::string& path) const { net_->save(path); }
  void load(const std::string& path) { net_->load(path); }

 private:
  [[gnu::cold]] void mix() {
    if (bytes_of(options_.precision) != 2)
      detail::fail(
          {"[Model] precision is ", name_of(options_.precision), "; expected float32, float16 or bfloat16."});
    net_->cast(options_.precision);
    options_.settings.push_back({"multi_precision", true});
    options_.distributed.scale_loss = options_.precision == DType::float16;
  }
  Array run(const Array& x) {
    if (options_.precision == DType::float32) return (*net_)(x);
    return (*net_)(x.astype(options_.precision)).astype(DType::float32);
  }
  static double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  [[gnu::cold]] void resize(Loader& loader, const std::vector<BatchSize>& sizes, int64_t epoch) {
    const BatchSize* now = nullptr;
    int64_t before = 0;
    for (const BatchSize& one : sizes) {
      if (one.epoch <= before || one.batch < 1 || sizes[0].epoch != 1)
        throw Error("[Model] batches are sizes from epochs on: 1 first, then later ones.");
      before = one.epoch;
      if (one.epoch <= epoch) now = &one;
    }
    if (now->batch == batch_) return;
    batch_ = now->batch;
    loader.set_batch(batch_);
    trainer().set_rate_factor(static_cast<double>(batch_) / static_cast<double>(sizes[0].batch));
  }
  // The first samples, where the rest only fills the batch up, on the model's device.
  Array rows(const Array& array, int64_t count) const {
    if (array.shape(0) == count) return array.to(options_.device);
    LoomixArray made = nullptr;
    detail::check(LoomixArraySlice(array.handle(), 0, count, &made));
    return Array(made).to(options_.device);
  }
  [[gnu::cold]] void train(Loader& loader, const FitOptions& options, int64_t epoch, Mean& loss) {
    if (options_.metric) options_.metric->reset();
    int64_t samples = 0, added = 0, batches = 0;
    double shown = now();
    const auto step = [&] {
      if (samples == 0) return;
      if (options_.clip_norm > 0)
        clip_global_norm(*net_, options_.clip_norm * static_cast<double>(samples) * trainer().loss_scale());
      trainer().step(samples);
      for (const auto& [name, parameter] : net_->parameters()) {
        if (options.accumulate > 1) parameter->zero_grad();
      }
      samples = added = 0;
    };
    for (Batch batch; loader.next(batch);) {
      const Array x = rows(batch.data, batch.size()), y = rows(batch.label, batch.size());
      Array out, error, scaled;
      {
        const Record record;
        out = run(x);
        error = (*options_.loss)(out, y);
        scaled = trainer().scaled(error);
      }
      scaled.backward();
      samples += batch.size();
      if (++added == options.accumulate) step();
      loss.update({}, error.detach());
      if (options_.metric) options_.metric->update(y, out.detach());
      ++batches;
      if (options.verbose && isatty(STDERR_FILENO) && now() - shown > 0.2) {
        shown = now();
        show_bar(epoch, batches, loss);
      }
    }
    step();
    last_batches_ = batches;
    loader.reset();
  }
  [[gnu::cold]] void show_bar(int64_t epoch, int64_t batches, const Mean& loss) const {
    std::string bar;
    if (last_batches_ > 0) {
      for (int64_t i = 0; i < 30; ++i) bar += i * last_batches_ < batches * 30 ? '=' : ' ';
    }
    std::fprintf(stderr, "\repoch %lld [%s] batch %lld, loss %.4f", static_cast<long long>(epoch),
                 bar.c_str(), static_cast<long long>(batches), loss.get());
  }
  [[gnu::cold]] void print(const EpochReport& report) const {
    const char* const name = options_.metric ? options_.metric->name().c_str() : "";
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r%70s\r", "");
    std::printf("epoch %lld: loss %.4f", static_cast<long long>(report.epoch), report.loss);
    if (options_.metric) std::printf(", %s %.4f", name, report.metric);
    if (!std::isnan(report.validation_loss)) std::printf("; validation: loss %.4f", report.validation_loss);
    if (!std::isnan(report.validation_metric)) std::printf(", %s %.4f", name, report.validation_metric);
    std::printf("; %.2f s\n", report.seconds);
    std::fflush(stdout);
  }
  [[gnu::cold]] void save_checkpoint(const std::string& prefix, int64_t epoch) {
    // Each file is whole or not there, and the epoch is written last.
    const auto write = [](const std::string& path, const auto& save) {
      save(path + ".part");
      if (std::rename((path + ".part").c_str(), path.c_str()) != 0)
        detail::fail({"[Model] '", path, "' cannot be written."});
    };
    write(prefix + ".params", [&](const std::string& path) { net_->save(path); });
    write(prefix + "-states.params", [&](const std::string& path) { trainer().save_states(path); });
    write(prefix + "-epoch.params", [&](const std::string& path) {
      save_arrays(path, {{"epoch", Array::from(std::vector<int64_t>{epoch})}});
    });
  }
  [[gnu::cold]] int64_t first_epoch(const FitOptions& options) {
    if (!options.resume) return 1;
    if (options.checkpoint.empty()) throw Error("[Model] resume needs a checkpoint to go on from.");
    FILE* const file = std::fopen((options.checkpoint + "-epoch.params").c_str(), "rb");
    if (!file) return 1;
    std::fclose(file);
    net_->load(options.checkpoint + ".params");
    trainer().load_states(options.checkpoint + "-states.params");
    return load_arrays(options.checkpoint + "-epoch.params")[0].second.to_vector<int64_t>()[0] + 1;
  }

  std::shared_ptr<Block> net_;
  ModelOptions options_;
  std::unique_ptr<Trainer> trainer_;
  int64_t last_batches_ = 0, batch_ = 0;
};

}  // namespace loomix::nn
