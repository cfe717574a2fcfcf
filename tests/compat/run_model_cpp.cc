// SPDX-License-Identifier: Apache-2.0
// As run_model.cc does, by the Predictor of C++.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "loomix/cpp.h"

namespace {

std::vector<float> numbers(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> values(bytes.size() / sizeof(float));
  bytes.copy(reinterpret_cast<char*>(values.data()), values.size() * sizeof(float));
  return values;
}

loomix::cpp::Shape shape(const char* text) {
  std::vector<loomix::cpp::mx_uint> sizes;
  for (char* at = const_cast<char*>(text); *at != '\0';) {
    sizes.push_back(static_cast<loomix::cpp::mx_uint>(std::strtoul(at, &at, 10)));
    if (*at == 'x') ++at;
  }
  return loomix::cpp::Shape(sizes);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc % 3 != 1) {
    std::fprintf(stderr, "usage: run_model_cpp SYMBOL PARAMS OUT [NAME SHAPE FILE]...\n");
    return 2;
  }
  try {
    std::map<std::string, loomix::cpp::Shape> inputs;
    for (int i = 4; i < argc; i += 3) inputs[argv[i]] = shape(argv[i + 1]);
    const auto symbol = loomix::cpp::Symbol::Load(argv[1]);
    loomix::cpp::Predictor predictor(argv[1], argv[2], inputs);
    for (int i = 4; i < argc; i += 3) predictor.SetInput(argv[i], numbers(argv[i + 2]));
    predictor.Forward();
    std::ofstream out(argv[3], std::ios::binary);
    for (size_t i = 0; i < symbol.ListOutputs().size(); ++i) {
      const std::vector<float> values = predictor.GetOutput(i);
      out.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(float)));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_model_cpp: %s\n", error.what());
    return 1;
  }
  return 0;
}
