// SPDX-License-Identifier: Apache-2.0
// An LSTM learns to write a text, character by character.
//   char_rnn [epochs [text file]]
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <string>

#include "loomix/cpp.h"

using namespace loomix::cpp;

namespace {

constexpr int kHidden = 128, kLayers = 1, kSteps = 32, kRows = 32;

// The text as numbers of its characters.
struct Text {
  std::string characters;  // each once, sorted
  std::vector<float> numbers;
};

Text read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot open " + path);
  std::ostringstream stream;
  stream << file.rdbuf();
  const std::string content = stream.str();
  if (content.size() <= size_t{kSteps} * kRows) throw Error(path + " is too short.");
  Text text;
  text.characters = content;
  std::sort(text.characters.begin(), text.characters.end());
  text.characters.erase(std::unique(text.characters.begin(), text.characters.end()), text.characters.end());
  for (const char character : content)
    text.numbers.push_back(static_cast<float>(text.characters.find(character)));
  return text;
}

// The text in parallel rows, `kSteps` characters at a time, time first; labels are the characters that follow. States go from
// each batch to the next.
class Rows : public DataIter {
 public:
  explicit Rows(const std::vector<float>& numbers)
      : numbers_(numbers), row_((numbers.size() - 1) / kRows), batches_(row_ / kSteps) {}
  void BeforeFirst() override { at_ = 0; }
  bool Next() override { return at_++ < batches_; }
  NDArray GetData() override { return window(0); }
  NDArray GetLabel() override { return window(1); }
  int GetPadNum() override { return 0; }
  std::vector<int> GetIndex() override { return {}; }
  size_t batches() const { return batches_; }

 private:
  NDArray window(size_t shift) const {
    std::vector<float> values;
    for (size_t step = 0; step < kSteps; ++step) {
      for (size_t row = 0; row < kRows; ++row)
        values.push_back(numbers_[row * row_ + (at_ - 1) * kSteps + step + shift]);
    }
    return {values, Shape(kSteps, kRows), Context::cpu()};
  }
  const std::vector<float>& numbers_;
  size_t row_, batches_, at_ = 0;
};

// Outputs: scores of the next characters, and the states after the last step.
Symbol network(int characters) {
  const Symbol embedded = Embedding("embed", Symbol("data"), characters, kHidden);
  const Symbol rnn = RNN("lstm", embedded, Symbol("lstm_parameters"), Symbol("lstm_init_h"),
                         Symbol("lstm_init_c"), kHidden, kLayers, RNNMode::kLstm, false, 0, true);
  const Symbol scores = FullyConnected("scores", Reshape(rnn[0], Shape(-1, kHidden)), characters);
  return Symbol::Group({SoftmaxOutput("softmax", scores, Reshape(Symbol("label"), Shape(-1))),
                        BlockGrad(rnn[1]), BlockGrad(rnn[2])});
}

bool is_input(const std::string& name) {
  return name == "data" || name == "label" || name == "lstm_init_h" || name == "lstm_init_c";
}

std::map<std::string, NDArray> inputs(int steps, int rows) {
  const Context cpu = Context::cpu();
  return {{"data", NDArray(Shape(steps, rows), cpu)},
          {"label", NDArray(Shape(steps, rows), cpu)},
          {"lstm_init_h", NDArray(Shape(kLayers, rows, kHidden), cpu)},
          {"lstm_init_c", NDArray(Shape(kLayers, rows, kHidden), cpu)}};
}

void hand_on_states(const Executor& executor, std::map<std::string, NDArray>& arguments) {
  executor.outputs[1].CopyTo(&arguments["lstm_init_h"]);
  executor.outputs[2].CopyTo(&arguments["lstm_init_c"]);
}

// Bits a character of one pass.
float train(Rows& rows, Executor& executor, Optimizer& optimizer) {
  std::map<std::string, NDArray> arguments = executor.arg_dict();
  arguments["lstm_init_h"] = 0.0f;
  arguments["lstm_init_c"] = 0.0f;
  LogLoss loss;
  rows.Reset();
  while (rows.Next()) {
    const DataBatch batch = rows.GetDataBatch();
    batch.data.CopyTo(&arguments["data"]);
    batch.label.CopyTo(&arguments["label"]);
    executor.Forward(true);
    executor.Backward({executor.outputs[0], executor.outputs[1], executor.outputs[2]});
    for (size_t i = 0; i < executor.arg_arrays.size(); ++i) {
      if (executor.grad_arrays[i].GetHandle() != nullptr)
        optimizer.Update(static_cast<int>(i), executor.arg_arrays[i], executor.grad_arrays[i]);
    }
    hand_on_states(executor, arguments);
    loss.Update(batch.label.Reshape(Shape(kSteps * kRows)), executor.outputs[0]);
  }
  return loss.Get() / std::log(2.0f);
}

// Text that the network makes up, with the weights of the executor that trains.
std::string write(const Symbol& net, const Executor& trained, const std::string& characters, int length) {
  std::map<std::string, NDArray> arguments = trained.arg_dict();
  for (const auto& [name, array] : inputs(1, 1)) arguments[name] = array;
  std::map<std::string, OpReqType> requests;
  for (const auto& [name, array] : arguments) requests[name] = kNullOp;
  const std::unique_ptr<Executor> executor(net.SimpleBind(Context::cpu(), arguments, {}, requests));
  std::mt19937 random(1);
  std::string text;
  float next = 0;
  for (int i = 0; i < length; ++i) {
    arguments["data"].SyncCopyFromCPU(&next, 1);
    executor->Forward(false);
    std::vector<float> chances;
    executor->outputs[0].SyncCopyToCPU(&chances);
    hand_on_states(*executor, arguments);
    const int chosen = std::discrete_distribution<int>(chances.begin(), chances.end())(random);
    text += characters[static_cast<size_t>(chosen)];
    next = static_cast<float>(chosen);
  }
  return text;
}

void run(int epochs, const std::string& path) {
  const Text text = read(path);
  Rows rows(text.numbers);
  const Symbol net = network(static_cast<int>(text.characters.size()));
  std::map<std::string, OpReqType> requests;
  for (const auto& [name, array] : inputs(1, 1)) requests[name] = kNullOp;
  const std::unique_ptr<Executor> executor(
      net.SimpleBind(Context::cpu(), inputs(kSteps, kRows), {}, requests));
  Xavier xavier;
  Uniform uniform(0.08f);
  for (auto& [name, array] : executor->arg_dict()) {
    if (name == "lstm_parameters") uniform(name, &array);
    else if (!is_input(name)) xavier(name, &array);
  }
  AdamOptimizer optimizer;
  optimizer.SetParam("lr", 0.005)
      ->SetParam("rescale_grad", 1.0 / (kSteps * kRows))
      ->SetParam("clip_gradient", 1);
  std::cout << text.numbers.size() << " characters, " << text.characters.size() << " different ones\n";
  for (int epoch = 1; epoch <= epochs; ++epoch)
    std::cout << "epoch " << epoch << ": " << train(rows, *executor, optimizer) << " bits a character"
              << std::endl;
  std::cout << write(net, *executor, text.characters, 300) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? std::atoi(argv[1]) : 20, argc > 2 ? argv[2] : "/usr/share/common-licenses/GPL-3");
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
