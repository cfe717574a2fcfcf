// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "linalg/layout.h"
#include "ndarray/ndarray.h"
#include "ops/compression/codes.h"

namespace loomix::linalg {

// How elements travel: in a type of their own, or by a code that works on float32.
struct Wire {
  DType dtype = DType::float32;
  ops::Code code = {};                       // none, or one with a residual
  std::map<int, NDArray> residuals = {};     // of the code, by the rank that elements go to
  int64_t bytes_of(int64_t elements) const;  // of one message
};
// The type that travels when a matrix of one type becomes one of another: the smaller, and so it is rounded once.
DType wire_type(DType from, DType to);
// The same by a code. TypeError where the code does not know that type: narrow ones know float32 and float64, the others float32.
Wire make_wire(DType from, DType to, const std::optional<ops::Code>& code);

// What codes have left out of a matrix's elements so far, by where these went. It is added when they go there again.
class Residuals {
 public:
  // One for so many elements that go to `rank`; zeros at first.
  NDArray find(engine::Engine& engine, const Layout& to, bool transpose, const ops::Code& code, int rank,
               int64_t elements);

 private:
  struct Entry {
    Layout to;
    bool transpose;
    std::string code;
    std::map<int, NDArray> arrays;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace loomix::linalg
