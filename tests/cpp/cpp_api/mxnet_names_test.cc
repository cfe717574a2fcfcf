// SPDX-License-Identifier: Apache-2.0
// Programs for MXNet's cpp-package: its header, its namespace, and the habits of its users.
#include "mxnet-cpp/MxNetCpp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "mxnet-cpp/initializer.h"
#include "mxnet/c_api.h"
#include "mxnet/tuple.h"

using namespace std;         // NOLINT: as many of them do
using namespace mxnet::cpp;  // NOLINT

// Names that programs have of their own.
enum TypeFlag { kFloat32 = 0, kUint8 = 3 };

class Predictor {
 public:
  Predictor(Symbol net, const map<string, NDArray>& parameters, const Shape& input_shape) : net_(net) {
    for (const auto& k : parameters) args_map_[k.first] = k.second.Copy(context_);
    args_map_["data"] = NDArray(input_shape, context_, false, kFloat32);
    vector<NDArray> arg_arrays, grad_arrays, aux_arrays;
    vector<OpReqType> grad_reqs;
    net_.InferExecutorArrays(context_, &arg_arrays, &grad_arrays, &grad_reqs, &aux_arrays, args_map_,
                             map<string, NDArray>(), map<string, OpReqType>(), aux_map_);
    for (auto& i : grad_reqs) i = OpReqType::kNullOp;
    executor_ = new Executor(net_, context_, arg_arrays, grad_arrays, grad_reqs, aux_arrays);
  }
  ~Predictor() { delete executor_; }
  vector<mx_float> Run(const vector<mx_float>& input) {
    executor_->arg_dict()["data"].SyncCopyFromCPU(input.data(), input.size());
    executor_->Forward(false);
    vector<mx_float> result;
    executor_->outputs[0].SyncCopyToCPU(&result, 0L);
    return result;
  }

 private:
  Symbol net_;
  Context context_ = Context::cpu();
  map<string, NDArray> args_map_, aux_map_;
  Executor* executor_ = nullptr;
};

namespace {

Symbol Mlp(const vector<int>& layers) {
  auto x = Symbol::Variable("X");
  auto label = Symbol::Variable("label");
  vector<Symbol> weights(layers.size()), biases(layers.size()), outputs(layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    weights[i] = Symbol::Variable("w" + to_string(i));
    biases[i] = Symbol::Variable("b" + to_string(i));
    Symbol fc =
        FullyConnected("fc" + to_string(i), i == 0 ? x : outputs[i - 1], weights[i], biases[i], layers[i]);
    outputs[i] = i == layers.size() - 1 ? fc : Activation("act" + to_string(i), fc, ActivationActType::kRelu);
  }
  return SoftmaxOutput(outputs.back(), label);
}

// Ten classes that the data show directly.
struct Patterns {
  static constexpr int kCount = 60, kWidth = 12;
  vector<mx_float> x, y;
  Patterns() : x(kCount * kWidth), y(kCount) {
    for (int i = 0; i < kCount; ++i) {
      x[static_cast<size_t>(i * kWidth + i % 10)] = 1;
      y[static_cast<size_t>(i)] = static_cast<mx_float>(i % 10);
    }
  }
};

TEST(MxnetNames, MlpTrains) {
  const Patterns patterns;
  auto net = Mlp({32, 10});
  auto ctx = Context(DeviceType::kCPU, 0);
  map<string, NDArray> args;
  args["X"] = NDArray(Shape(Patterns::kCount, Patterns::kWidth), ctx);
  args["label"] = NDArray(Shape(Patterns::kCount), ctx);
  net.InferArgsMap(ctx, &args, args);
  args["b0"] = 0;
  auto initializer = Uniform(0.5);
  for (auto& arg : args) initializer(arg.first, &arg.second);
  args["X"].SyncCopyFromCPU(patterns.x.data(), patterns.x.size());
  args["label"].SyncCopyFromCPU(patterns.y);

  Optimizer* opt = OptimizerRegistry::Find("sgd");
  opt->SetParam("rescale_grad", 1.0 / Patterns::kCount)->SetParam("lr", 1.0)->SetParam("wd", 1e-5);
  unique_ptr<LRScheduler> lr_sch(new FactorScheduler(5000, 0.1));
  opt->SetLRScheduler(std::move(lr_sch));
  auto* exec = net.SimpleBind(ctx, args);
  auto arg_names = net.ListArguments();
  Accuracy acc;
  for (int iter = 0; iter < 150; ++iter) {
    exec->Forward(true);
    exec->Backward();
    for (size_t i = 0; i < arg_names.size(); ++i) {
      if (arg_names[i] == "X" || arg_names[i] == "label") continue;
      opt->Update(i, exec->arg_arrays[i], exec->grad_arrays[i]);
    }
  }
  acc.Update(args["label"], exec->outputs[0]);
  LG << "accuracy " << acc.Get();
  EXPECT_GE(acc.Get(), 0.99);
  delete exec;
  delete opt;
  EXPECT_EQ(MXNotifyShutdown(), 0);
}

TEST(MxnetNames, OperatorsByName) {
  auto conv = Operator("Convolution")
                  .SetParam("kernel", Shape(3, 3))
                  .SetParam("num_filter", 4)
                  .SetParam("workspace", 512)
                  .SetParam("no_bias", false)
                  .SetInput("data", Symbol::Variable("data"))
                  .CreateSymbol("conv1");
  auto relu =
      Operator("Activation").SetParam("act_type", "relu").SetInput("data", conv).CreateSymbol("relu1");
  auto pool = Pooling("pool1", relu, Shape(2, 2), PoolingPoolType::kMax, false, false,
                      PoolingPoolingConvention::kValid, Shape(2, 2));
  auto fc = FullyConnected("fc1", Flatten("flatten", pool), Symbol("fc1_w"), Symbol("fc1_b"), 10);
  auto softmax = Operator("SoftmaxOutput")
                     .SetParam("grad_scale", 1)
                     .SetParam("normalization", "null")
                     .SetInput("data", Dropout("dropout", fc, 0.5))
                     .SetInput("label", Symbol::Variable("label"))
                     .CreateSymbol("softmax");
  map<string, NDArray> args_map;
  args_map["data"] = NDArray(Shape(2, 3, 8, 8), Context::cpu());
  args_map["label"] = NDArray(Shape(2), Context::cpu());
  auto* exec = softmax.SimpleBind(Context::cpu(), args_map);
  Optimizer* opt = OptimizerRegistry::Find("ccsgd");
  opt->SetParam("momentum", 0.9)->SetParam("rescale_grad", 1.0)->SetParam("clip_gradient", 10);
  exec->Forward(true);
  exec->Backward();
  exec->UpdateAll(opt, 1e-4, 1e-4);
  const mx_float* data = exec->outputs[0].GetData();
  EXPECT_NEAR(accumulate(data, data + 10, 0.0f), 1, 1e-5);
  EXPECT_EQ(exec->outputs[0].GetShape()[1], 10u);
  delete exec;
  delete opt;
}

struct LSTMState {
  Symbol C, h;
};

LSTMState LSTM(int num_hidden, const Symbol& indata, const LSTMState& prev, const string& prefix,
               mx_float dropout) {
  auto input = dropout > 0 ? Dropout(indata, dropout) : indata;
  auto i2h = FullyConnected(prefix + "_i2h", input, Symbol("i2h_weight"), Symbol("i2h_bias"), num_hidden * 4);
  auto h2h =
      FullyConnected(prefix + "_h2h", prev.h, Symbol("h2h_weight"), Symbol("h2h_bias"), num_hidden * 4);
  auto gates = i2h + h2h;
  auto slices = SliceChannel(prefix + "_slice", gates, 4);
  auto in_gate = Activation(slices[0], ActivationActType::kSigmoid);
  auto in_transform = Activation(slices[1], ActivationActType::kTanh);
  LSTMState state;
  state.C = (Activation(slices[2], ActivationActType::kSigmoid) * prev.C) + (in_gate * in_transform);
  state.h =
      Activation(slices[3], ActivationActType::kSigmoid) * Activation(state.C, ActivationActType::kTanh);
  return state;
}

class RNNXavier : public Xavier {
 public:
  RNNXavier(RandType rand_type = gaussian, FactorType factor_type = avg, float magnitude = 3)
      : Xavier(rand_type, factor_type, magnitude) {}

 protected:
  void InitDefault(NDArray* arr) override { Xavier::InitWeight(arr); }
};

TEST(MxnetNames, RecurrentNetworksUnrolledAndBuiltIn) {
  const int length = 3, batch = 2, hidden = 4, vocabulary = 7;
  auto data = transpose(Symbol::Variable("data"));
  auto embed = Embedding("embed", data, Symbol::Variable("embed_weight"), vocabulary, 5);
  auto words = SliceChannel(embed, length, 0, true);
  LSTMState state{Symbol::Variable("init_c"), Symbol::Variable("init_h")};
  vector<Symbol> hidden_all;
  for (int i = 0; i < length; i++) {
    state = LSTM(hidden, words[i], state, "t" + to_string(i), 0.1f);
    hidden_all.push_back(state.h);
  }
  auto label = Reshape(transpose(Symbol::Variable("softmax_label")), Shape(), false, Shape(0), false);
  auto pred = FullyConnected("pred", Concat(hidden_all, hidden_all.size(), 0), Symbol("cls_weight"),
                             Symbol("cls_bias"), vocabulary);
  auto unrolled = Symbol::Group({SoftmaxOutput("softmax", pred, label), state.C});

  auto rnn = RNN(embed, Symbol("LSTM_parameters"), Symbol("LSTM_init_h"), Symbol("LSTM_init_c"), hidden, 1,
                 RNNMode::kLstm, false, 0.0f, false);
  auto built_in_hidden = Reshape(rnn[0], Shape(), false, Shape(0, hidden), false);
  auto built_in = SoftmaxOutput(
      "softmax",
      FullyConnected("pred", built_in_hidden, Symbol("cls_weight"), Symbol("cls_bias"), vocabulary), label);

  for (const Symbol& net : {unrolled, built_in}) {
    map<string, NDArray> args_map;
    for (const char* name : {"data", "softmax_label"})
      args_map[name] = NDArray(Shape(batch, length), Context::cpu());
    for (const string& name : net.ListArguments()) {
      if (name.find("LSTM_init_") == 0) args_map[name] = NDArray(Shape(1, batch, hidden), Context::cpu());
      else if (name.find("init_") == 0) args_map[name] = NDArray(Shape(batch, hidden), Context::cpu());
    }
    auto* exe = net.SimpleBind(Context::cpu(), args_map);
    RNNXavier xavier = RNNXavier(Xavier::gaussian, Xavier::in, 2.34f);
    for (auto& arg : exe->arg_dict()) {
      if (args_map.count(arg.first) == 0) xavier(arg.first, &arg.second);
    }
    exe->Forward(true);
    exe->Backward(net.GetNumOutputs() == 1 ? vector<NDArray>() : exe->outputs);
    NDArray::WaitAll();
    EXPECT_EQ(exe->outputs[0].GetShape(), (vector<mx_uint>{length * batch, vocabulary}));
    const float loss = -log(max(1e-10f, exe->outputs[0].At(0, 0)));
    EXPECT_GT(loss, 0);
    delete exe;
  }
}

TEST(MxnetNames, PredictorOfTheProgramsOwn) {
  auto net = FullyConnected("fc", Symbol("data"), Symbol("w"), Symbol("b"), 1);
  Predictor predictor(net,
                      {{"w", NDArray({1, 2}, Shape(1, 2), Context::cpu())}, {"b", NDArray(vector<float>{3})}},
                      Shape(1, 2));
  EXPECT_EQ(predictor.Run({1, 1}), vector<mx_float>{6});
}

template <class Call>
string MessageOf(Call&& call) {
  try {
    call();
  } catch (const dmlc::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(MxnetNames, GroupsAndBackends) {
  Symbol sum = Symbol("x") + 1.0f;
  sum.SetAttribute("ctx_group", "left");
  const map<string, NDArray> args{{"x", NDArray(vector<float>{1, 2})}};
  const auto bind = [&](const map<string, Context>& groups) {
    const unique_ptr<Executor> exec(sum.SimpleBind(Context::cpu(), args, {}, {}, {}, groups));
    exec->Forward(false);
    return exec->outputs[0].At(1);
  };
  EXPECT_EQ(bind({{"left", Context::cpu()}, {"right", Context::gpu()}}), 3);
  EXPECT_NE(MessageOf([&] {
              bind({{"left", Context::cpu(1)}});
            }).find("on cpu(1) and the others are on cpu(0)"),
            string::npos);
  const unique_ptr<Executor> bound(
      sum.Bind(Context::cpu(), {args.at("x")}, {}, {}, {}, map<string, Context>(), nullptr));
  EXPECT_EQ(bound->arg_arrays.size(), 1u);
  EXPECT_EQ(sum.GetBackendSymbol("MKLDNN").ListArguments(), vector<string>{"x"});
  EXPECT_NE(MessageOf([&] { sum.GetBackendSymbol("TensorRT"); }).find("no backend 'TensorRT'"), string::npos);
}

TEST(MxnetNames, WhatOnlyPythonHas) {
  const Symbol x("x");
  const NDArray array(vector<float>{1, 2});
  for (const auto& call : vector<function<void()>>{
           [&] { Operator("Custom").SetParam("op_type", "mine").SetInput("data", x).CreateSymbol("c"); },
           [&] { Operator("Custom").SetParam("op_type", "mine")(array).Invoke(); }})
    EXPECT_NE(MessageOf(call).find("[Custom] its operators are programs in Python"), string::npos);
  const auto loop = [] {
    return Operator("_foreach")
        .SetParam("num_args", 2)
        .SetParam("num_outputs", 1)
        .SetParam("num_out_data", 1)
        .SetParam("in_data_locs", "(0,)")
        .SetParam("in_state_locs", "()")
        .SetParam("remain_locs", "()");
  };
  EXPECT_NE(MessageOf([&] { loop()(array).Invoke(); }).find("has no subgraph"), string::npos);
  EXPECT_NE(MessageOf([&] {
              unique_ptr<Executor>(loop()(x).CreateSymbol("loop").SimpleBind(Context::cpu(), {{"x", array}}));
            }).find("0 subgraphs were given; expected 1"),
            string::npos);
}

TEST(MxnetNames, ErrorsAndLogging) {
  try {
    CHECK_EQ(1, 2) << "numbers";
    FAIL();
  } catch (const dmlc::Error& error) {
    EXPECT_NE(string(error.what()).find("numbers"), string::npos);
  }
  CHECK(true);
  NDArray data({0.f, 233.f}, Shape(2), Context::cpu());
  EXPECT_THROW(data.SyncCopyFromCPU(nullptr, 2), dmlc::Error);
  EXPECT_NE(string(MXGetLastError()), "");
  int gpus = -1;
  EXPECT_EQ(MXGetGPUCount(&gpus), 0);
  EXPECT_EQ(MXRandomSeed(1), 0);
  EXPECT_TRUE(Initializer::StringEndWith("conv_weight", "weight"));
  const vector<index_t> sizes{2, 3};
  EXPECT_EQ(mxnet::TShape(sizes.begin(), sizes.end()).Size(), 6u);
  dmlc::optional<int> nothing;
  EXPECT_FALSE(nothing.has_value());
}

}  // namespace
