// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/params.h"
#include "io/iter/memory_iter.h"

namespace loomix::io {

struct MnistParams {
  std::string image = "./train-images-idx3-ubyte";
  std::string label = "./train-labels-idx1-ubyte";
  int64_t batch_size = 128;
  bool shuffle = true;
  bool flat = false;
  int seed = 0;
  bool silent = false;
  int num_parts = 1;
  int part_index = 0;
  int64_t prefetch_buffer = 4;
  std::string ctx = "gpu";
  std::optional<DType> dtype;

  static void fields(FieldList<MnistParams>& f);
};

// Images and labels in MNIST's idx files, compressed with gzip or not. Values are the bytes divided by 256. The last samples, if
// they do not fill a batch, are left out.
std::unique_ptr<MemoryIter> make_mnist_iter(engine::Engine& engine, const MnistParams& params);

}  // namespace loomix::io
