// SPDX-License-Identifier: Apache-2.0
// loomix/predict.h for C++: errors are exceptions, handles are freed.
#pragma once

#include <loomix/predict.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "arguments.h"

inline void check(int code) {
  if (code != 0) throw std::runtime_error(MXGetLastError());
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Stopwatch {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A network with one input: a picture.
class Predictor {
 public:
  explicit Predictor(const Arguments& options) : data_(options.data) {
    const std::string json = read_file(options.symbol), params = read_file(options.params);
    const char* name = data_.c_str();
    const mx_uint bounds[] = {0, 4};
    const mx_uint shape[] = {1, mx_uint(options.channels), mx_uint(options.height), mx_uint(options.width)};
    check(MXPredCreate(json.c_str(), params.data(), int(params.size()), 1, 0, 1, &name, bounds, shape,
                       &handle_));
  }
  ~Predictor() { MXPredFree(handle_); }
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  // The size of the output's last axis.
  size_t row() const {
    mx_uint *sizes = nullptr, axes = 0;
    check(MXPredGetOutputShape(handle_, 0, &sizes, &axes));
    return axes > 0 ? sizes[axes - 1] : 1;
  }

  std::vector<float> predict(const std::vector<float>& input) {
    check(MXPredSetInput(handle_, data_.c_str(), input.data(), mx_uint(input.size())));
    check(MXPredForward(handle_));
    mx_uint *sizes = nullptr, axes = 0;
    check(MXPredGetOutputShape(handle_, 0, &sizes, &axes));
    size_t size = 1;
    for (mx_uint i = 0; i < axes; ++i) size *= sizes[i];
    std::vector<float> output(size);
    check(MXPredGetOutput(handle_, 0, output.data(), mx_uint(size)));
    return output;
  }

 private:
  const std::string data_;
  PredictorHandle handle_ = nullptr;
};

// A line of the file for each class.
inline std::vector<std::string> read_names(const char* path) {
  std::vector<std::string> names;
  if (!path) return names;
  std::ifstream file(path);
  if (!file) throw std::runtime_error(std::string("cannot read ") + path);
  for (std::string line; std::getline(file, line);) names.push_back(line);
  return names;
}

inline std::string name_of(const std::vector<std::string>& names, size_t number) {
  return number < names.size() ? names[number] : "class " + std::to_string(number);
}
