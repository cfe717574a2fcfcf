// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <functional>
#include <iostream>

#include "loomix/cpp/executor.h"
#include "loomix/cpp/initializer.h"
#include "loomix/cpp/io.h"
#include "loomix/cpp/metric.h"
#include "loomix/cpp/predictor.h"

namespace loomix::cpp {
inline namespace names {

struct FeedForwardConfig {
  FeedForwardConfig() = default;
  FeedForwardConfig(Symbol network) : symbol(std::move(network)) {}  // NOLINT: meant to convert

  Symbol symbol;
  Context ctx = Context::cpu();
  int num_epoch = 1;
  std::string optimizer = "sgd";
  // Rates and so on; rescale_grad is 1 / batch if it is not given.
  std::map<std::string, std::string> optimizer_params = {{"lr", "0.02"}, {"momentum", "0.9"}};
  std::shared_ptr<Initializer> initializer = std::make_shared<Xavier>();
  std::shared_ptr<EvalMetric> metric = std::make_shared<Accuracy>();
  std::string data_name = "data";
  std::string label_name = "softmax_label";
  // After each epoch, with the metric in training, and in validation where that was asked for.
  std::function<void(int epoch, float train, std::optional<float> validation)> epoch_end;
};

// A network that is trained and used as a whole.
class FeedForward {
 public:
  explicit FeedForward(FeedForwardConfig conf) : conf_(std::move(conf)) {}

  // Parameters that are there already are the first values: training goes on.
  void Fit(DataIter* train, DataIter* validation = nullptr) {
    const std::unique_ptr<Optimizer> optimizer(OptimizerRegistry::Find(conf_.optimizer));
    for (const auto& [name, value] : conf_.optimizer_params) optimizer->SetParam(name, value);
    std::unique_ptr<Executor> executor;
    for (int epoch = 0; epoch < conf_.num_epoch; ++epoch) {
      train->Reset();
      conf_.metric->Reset();
      while (train->Next()) {
        const DataBatch batch = train->GetDataBatch();
        if (!executor) executor = prepare(batch, *optimizer);
        step(batch, *executor, *optimizer);
      }
      if (!executor) throw Error("[FeedForward] the iterator has no batch.");
      keep(*executor);
      const float result = conf_.metric->Get();
      std::optional<float> validated;
      if (validation) validated = Score(validation);
      if (conf_.epoch_end) conf_.epoch_end(epoch, result, validated);
    }
  }
  // The metric over all batches; what only fills up the last one is left out.
  float Score(DataIter* data) {
    conf_.metric->Reset();
    run(data, [&](const DataBatch& batch, const std::vector<NDArray>& outputs) {
      const mx_uint used = batch.label.GetShape().at(0) - static_cast<mx_uint>(batch.pad_num);
      conf_.metric->Update(batch.label.Slice(0, used), outputs[0].Slice(0, used));
    });
    return conf_.metric->Get();
  }
  // The first output for all samples, one after the other.
  std::vector<mx_float> Predict(DataIter* data) {
    std::vector<mx_float> result;
    run(data, [&](const DataBatch& batch, const std::vector<NDArray>& outputs) {
      const mx_uint used = outputs[0].GetShape().at(0) - static_cast<mx_uint>(batch.pad_num);
      std::vector<mx_float> values;
      outputs[0].Slice(0, used).SyncCopyToCPU(&values);
      result.insert(result.end(), values.begin(), values.end());
    });
    return result;
  }
  // PREFIX-symbol.json and PREFIX-0001.params, as Python reads and writes them.
  void Save(const std::string& prefix, int epoch) const {
    conf_.symbol.Save(prefix + "-symbol.json");
    std::map<std::string, NDArray> all;
    for (const auto& [name, array] : parameters_.arguments) all["arg:" + name] = array;
    for (const auto& [name, array] : parameters_.auxiliary_states) all["aux:" + name] = array;
    NDArray::Save(params_file(prefix, epoch), all);
  }
  static FeedForward Load(const std::string& prefix, int epoch, FeedForwardConfig conf = {}) {
    conf.symbol = Symbol::Load(prefix + "-symbol.json");
    FeedForward result(std::move(conf));
    result.parameters_ = detail::load_parameters(params_file(prefix, epoch));
    return result;
  }
  const std::map<std::string, NDArray>& arg_params() const { return parameters_.arguments; }
  const std::map<std::string, NDArray>& aux_params() const { return parameters_.auxiliary_states; }
  FeedForwardConfig& config() { return conf_; }

 private:
  static std::string params_file(const std::string& prefix, int epoch) {
    char number[16];
    std::snprintf(number, sizeof number, "-%04d", epoch);
    return prefix + number + ".params";
  }
  bool is_input(const std::string& name) const { return name == conf_.data_name || name == conf_.label_name; }

  std::unique_ptr<Executor> prepare(const DataBatch& batch, Optimizer& optimizer) {
    const std::map<std::string, NDArray> inputs{
        {conf_.data_name, NDArray(batch.data.GetShape(), conf_.ctx, false, batch.data.GetDType())},
        {conf_.label_name, NDArray(batch.label.GetShape(), conf_.ctx)}};
    std::unique_ptr<Executor> made(conf_.symbol.SimpleBind(
        conf_.ctx, inputs, {}, {{conf_.data_name, kNullOp}, {conf_.label_name, kNullOp}}));
    for (auto& [name, array] : made->arg_dict()) {
      if (!is_input(name)) begin_with(parameters_.arguments, name, array);
    }
    for (auto& [name, array] : made->aux_dict()) begin_with(parameters_.auxiliary_states, name, array);
    if (conf_.optimizer_params.count("rescale_grad") == 0)
      optimizer.SetParam("rescale_grad", 1.0f / static_cast<float>(batch.label.GetShape().at(0)));
    return made;
  }
  void begin_with(const std::map<std::string, NDArray>& known, const std::string& name, NDArray array) {
    const auto found = known.find(name);
    if (found != known.end()) found->second.CopyTo(&array);
    else (*conf_.initializer)(name, &array);
  }
  void feed(const DataBatch& batch, const Executor& executor) const {
    std::map<std::string, NDArray> arguments = executor.arg_dict();
    batch.data.CopyTo(&arguments.at(conf_.data_name));
    const auto label = arguments.find(conf_.label_name);
    if (label != arguments.end()) batch.label.CopyTo(&label->second);
  }
  void step(const DataBatch& batch, Executor& executor, Optimizer& optimizer) {
    feed(batch, executor);
    executor.Forward(true);
    executor.Backward();
    for (size_t i = 0; i < executor.arg_arrays.size(); ++i) {
      if (executor.grad_arrays[i].GetHandle())
        optimizer.Update(static_cast<int>(i), executor.arg_arrays[i], executor.grad_arrays[i]);
    }
    conf_.metric->Update(batch.label, executor.outputs[0]);
  }
  void keep(const Executor& executor) {
    for (const auto& [name, array] : executor.arg_dict()) {
      if (!is_input(name)) parameters_.arguments[name] = array.Copy(Context::cpu());
    }
    for (const auto& [name, array] : executor.aux_dict())
      parameters_.auxiliary_states[name] = array.Copy(Context::cpu());
  }
  template <class Each>
  void run(DataIter* data, Each each) {
    std::unique_ptr<Executor> executor;
    data->Reset();
    while (data->Next()) {
      const DataBatch batch = data->GetDataBatch();
      if (!executor) {
        executor = detail::bind_for_prediction(conf_.symbol, parameters_,
                                               {{conf_.data_name, Shape(batch.data.GetShape())}}, conf_.ctx);
      }
      feed(batch, *executor);
      executor->Forward(false);
      each(batch, executor->outputs);
    }
  }

  FeedForwardConfig conf_;
  detail::Parameters parameters_;
};

}  // namespace names

using ModelConfig = FeedForwardConfig;
using Model = FeedForward;

}  // namespace loomix::cpp
