// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/layers.h"

// Recurrent layers over whole sequences, with Gluon's parameters, and attention.
namespace loomix::nn {

struct RecurrentOptions {
  int64_t layers = 1;
  const char* layout = "TNC";  // or "NTC": the batch first
  double dropout = 0;          // between layers
  bool bidirectional = false;
  int64_t input_size = 0;
};

namespace detail {

// One input: a sequence, and the states are zeros. With the states as further inputs (of shape (layers * directions, batch,
// hidden)), the last states come out, too.
class Recurrent : public Block {
 public:
  Arrays forward_all(const Arrays& inputs) override {
    const size_t states = is_lstm() ? 2 : 1;
    if (inputs.size() != 1 && inputs.size() != 1 + states)
      throw Error("[" + kind() + "] got " + std::to_string(inputs.size()) +
                  " inputs; expected a sequence, or it and " + std::to_string(states) +
                  (states > 1 ? " states." : " state."));
    Array x = inputs[0];
    const bool batch_first = std::string(options_.layout) == "NTC";
    if (batch_first) x = Call("SwapAxis").in(x).set("dim1", 0).set("dim2", 1).run();
    if (!weights_[0]->is_known()) {
      const int64_t size = x.shape(-1);
      for (int64_t way = 0; way < ways_; ++way)
        weights_[static_cast<size_t>(2 * way)]->complete({gates_ * hidden_, size});
    }
    Call pack("_rnn_param_concat");
    for (const std::vector<Parameter*>* list : {&weights_, &biases_}) {
      for (Parameter* one : *list) pack.in((*one)().reshape(Shape(-1)));
    }
    pack.set("dim", 0).set("num_args", static_cast<int64_t>(weights_.size() + biases_.size()));
    Call run("RNN");
    run.in(x).in(pack.run());
    for (size_t i = 0; i < states; ++i) run.in(inputs.size() > 1 ? inputs[1 + i] : zero_state(x));
    run.set("state_size", hidden_).set("num_layers", options_.layers).set("mode", mode_);
    run.set("bidirectional", options_.bidirectional, false).set("p", options_.dropout, 0.0);
    Arrays result = run.set("state_outputs", inputs.size() > 1).run_all();
    if (batch_first) result[0] = Call("SwapAxis").in(result[0]).set("dim1", 0).set("dim2", 1).run();
    return result;
  }
  // States of zeros, for a batch of so many.
  Arrays begin_state(int64_t batch, const ArrayOptions& options = {}) const {
    Arrays states;
    for (int i = 0; i < (is_lstm() ? 2 : 1); ++i)
      states.push_back(zeros({options_.layers * ways_, batch, hidden_}, options));
    return states;
  }

 protected:
  Recurrent(const char* name, const char* mode, int64_t gates, int64_t hidden,
            const RecurrentOptions& options)
      : Block(std::string(name) + "(" + std::to_string(hidden) + ")"),
        mode_(mode),
        gates_(gates),
        hidden_(hidden),
        options_(options) {
    const std::string layout = options.layout;
    if (layout != "TNC" && layout != "NTC")
      detail::fail({"[", kind(), "] the layout is ", layout, "; expected TNC or NTC."});
    if (options.layers < 1)
      detail::fail({"[", kind(), "] layers is ", options.layers, "; expected 1 or more."});
    ways_ = options.bidirectional ? 2 : 1;
    for (int64_t layer = 0; layer < options.layers; ++layer) {
      for (int64_t way = 0; way < ways_; ++way) {
        const std::string prefix = "_unfused." + std::to_string(layer) +
                                   (ways_ == 1 ? "."
                                    : way      ? ".r_cell."
                                               : ".l_cell.");
        const int64_t in = layer ? hidden * ways_ : options.input_size;
        weights_.push_back(&parameter(prefix + "i2h_weight", {gates * hidden, in}));
        weights_.push_back(&parameter(prefix + "h2h_weight", {gates * hidden, hidden}));
        for (const char* side : {"i2h_bias", "h2h_bias"})
          biases_.push_back(&parameter(prefix + side, gates * hidden, {.init = Initializer::constant(0)}));
      }
    }
  }

 private:
  bool is_lstm() const { return gates_ == 4; }
  // Zeros for as many samples as the sequence has, whatever the graph is called with.
  Array zero_state(const Array& x) const {
    const Array one = Call("slice_axis").in(x).set("axis", 0).set("begin", 0).set("end", 1).run();
    const Array column = Call("slice_axis").in(one).set("axis", 2).set("begin", 0).set("end", 1).run();
    return Call("broadcast_axis")
        .in(Call("zeros_like").in(column).run())
        .set("axis", Shape{0, 2})
        .set("size", Shape{options_.layers * ways_, hidden_})
        .run();
  }

  const char* mode_;
  int64_t gates_, hidden_;
  RecurrentOptions options_;
  int64_t ways_ = 1;
  std::vector<Parameter*> weights_, biases_;
};

}  // namespace detail

class LSTM : public detail::Recurrent {
 public:
  explicit LSTM(int64_t hidden, const RecurrentOptions& options = {})
      : Recurrent("LSTM", "lstm", 4, hidden, options) {}
};
class GRU : public detail::Recurrent {
 public:
  explicit GRU(int64_t hidden, const RecurrentOptions& options = {})
      : Recurrent("GRU", "gru", 3, hidden, options) {}
};
class RNN : public detail::Recurrent {
 public:
  explicit RNN(int64_t hidden, const RecurrentOptions& options = {})
      : Recurrent("RNN", "rnn_tanh", 1, hidden, options) {}
};

// Softmax(Q K' / sqrt(units / heads)) V in each of the heads, on arrays of shape (batch, length, channels). One input attends to
// itself; or query, key, value; and perhaps a mask of shape (batch, queries, keys): 0 where a key is not to be seen.
class MultiHeadAttention : public Block {
 public:
  MultiHeadAttention(int64_t units, int64_t heads, double dropout = 0)
      : Block("MultiHeadAttention(" + std::to_string(units) + ", " + std::to_string(heads) + ")"),
        units_(units),
        heads_(heads),
        rate_(dropout) {
    if (heads < 1 || units % heads != 0)
      detail::fail({"[MultiHeadAttention] ", units, " units are to be divided among ", heads, " heads."});
  }
  Arrays forward_all(const Arrays& inputs) override {
    const size_t count = inputs.size();
    if (count < 1 || count > 4)
      detail::fail({"[MultiHeadAttention] got ", count,
                    " inputs; expected x, or x and mask, or query, key, value and perhaps a mask."});
    const bool self = count < 3;
    const Array mask = count % 2 == 0 ? inputs.back() : Array();
    const Array q = heads_of(query_(inputs[0])), k = heads_of(key_(inputs[self ? 0 : 1])),
                v = heads_of(value_(inputs[self ? 0 : 2]));
    const double scale = 1 / std::sqrt(static_cast<double>(units_ / heads_));
    Array scores = detail::Call("batch_dot").in(q).in(k).set("transpose_b", true).run() * scale;
    if (mask) {
      const Array repeated = detail::Call("repeat").in(mask).set("repeats", heads_).set("axis", 0).run();
      scores = scores + (repeated - 1.0) * 1e9;
    }
    Array weights = detail::Call("softmax").in(scores).set("axis", -1).run();
    if (rate_ > 0) weights = dropout_(weights);
    Array mixed = detail::Call("batch_dot").in(weights).in(v).run();
    mixed = detail::Call("Reshape")
                .in(mixed)
                .set("shape", Shape{-4, -1, heads_, 0, 0})
                .run()
                .transpose({0, 2, 1, 3});
    return {out_(detail::Call("Reshape").in(mixed).set("shape", Shape{0, 0, -3}).run())};
  }

 private:
  // (batch, length, units) -> (batch * heads, length, units / heads)
  Array heads_of(const Array& x) const {
    const Array split = detail::Call("Reshape").in(x).set("shape", Shape{0, 0, -4, heads_, -1}).run();
    return detail::Call("Reshape").in(split.transpose({0, 2, 1, 3})).set("shape", Shape{-3, 0, 0}).run();
  }

  int64_t units_, heads_;
  double rate_;
  Dense& query_ = child("query", Dense(units_, {.flatten = false}));
  Dense& key_ = child("key", Dense(units_, {.flatten = false}));
  Dense& value_ = child("value", Dense(units_, {.flatten = false}));
  Dense& out_ = child("out", Dense(units_, {.flatten = false}));
  Dropout& dropout_ = child("dropout", Dropout(rate_));
};

}  // namespace loomix::nn
