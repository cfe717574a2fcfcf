// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/params.h"
#include "io/iter/memory_iter.h"

namespace loomix::io {

struct CsvParams {
  std::string data_csv;
  Shape data_shape;
  std::string label_csv = "NULL";
  Shape label_shape = {1};
  int64_t batch_size = 0;
  bool round_batch = true;
  int64_t prefetch_buffer = 4;
  std::string ctx = "gpu";
  std::optional<DType> dtype;

  static void fields(FieldList<CsvParams>& f);
};

// Rows of CSV files: one sample a row. A label of shape (1,) is a number; without a file, labels are 0.
std::unique_ptr<MemoryIter> make_csv_iter(engine::Engine& engine, const CsvParams& params);

}  // namespace loomix::io
