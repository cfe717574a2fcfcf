// SPDX-License-Identifier: Apache-2.0
// Predicts once from C, with the single file or the library: run_model SYMBOL PARAMS OUT [NAME SHAPE FILE]... where SHAPE is
// the like of 1x3x224x224 and FILE holds float32 numbers. All outputs, as float32, go to OUT one after the other. For run_models.py.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#if __has_include("loomix_predict.h")
#include "loomix_predict.h"
#else
#include "loomix/predict.h"
#endif

namespace {

void check(int code) {
  if (code == 0) return;
  std::fprintf(stderr, "run_model: %s\n", MXGetLastError());
  std::exit(1);
}

std::string content(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "run_model: %s could not be opened\n", path);
    std::exit(1);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc % 3 != 1) {
    std::fprintf(stderr, "usage: run_model SYMBOL PARAMS OUT [NAME SHAPE FILE]...\n");
    return 2;
  }
  const std::string symbol = content(argv[1]), params = content(argv[2]);
  std::vector<const char*> keys;
  std::vector<mx_uint> bounds{0}, sizes;
  for (int i = 4; i < argc; i += 3) {
    keys.push_back(argv[i]);
    for (char* at = argv[i + 1]; *at != '\0';) {
      sizes.push_back(static_cast<mx_uint>(std::strtoul(at, &at, 10)));
      if (*at == 'x') ++at;
    }
    bounds.push_back(static_cast<mx_uint>(sizes.size()));
  }
  PredictorHandle predictor = nullptr;
  check(MXPredCreate(symbol.c_str(), params.data(), static_cast<int>(params.size()), 1, 0,
                     static_cast<mx_uint>(keys.size()), keys.data(), bounds.data(), sizes.data(),
                     &predictor));
  for (int i = 4; i < argc; i += 3) {
    const std::string bytes = content(argv[i + 2]);
    std::vector<float> values(bytes.size() / sizeof(float));
    bytes.copy(reinterpret_cast<char*>(values.data()), values.size() * sizeof(float));
    check(MXPredSetInput(predictor, argv[i], values.data(), static_cast<mx_uint>(values.size())));
  }
  check(MXPredForward(predictor));
  std::ofstream out(argv[3], std::ios::binary);
  mx_uint* shape = nullptr;
  mx_uint axes = 0;
  for (mx_uint index = 0; MXPredGetOutputShape(predictor, index, &shape, &axes) == 0; ++index) {
    size_t count = 1;
    for (mx_uint i = 0; i < axes; ++i) count *= shape[i];
    std::vector<float> values(count);
    check(MXPredGetOutput(predictor, index, values.data(), static_cast<mx_uint>(count)));
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(count * sizeof(float)));
  }
  check(MXPredFree(predictor));
  return 0;
}
