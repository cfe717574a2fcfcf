// SPDX-License-Identifier: Apache-2.0
#include "linalg/wire.h"

#include <algorithm>

#include "base/error.h"
#include "ndarray/copy.h"

namespace loomix::linalg {

int64_t Wire::bytes_of(int64_t elements) const {
  return code.enabled() ? ops::compressed_bytes(code, elements) : elements * size_of(dtype);
}

DType wire_type(DType from, DType to) { return size_of(to) < size_of(from) ? to : from; }

Wire make_wire(DType from, DType to, const std::optional<ops::Code>& code) {
  const DType dtype = wire_type(from, to);
  if (!code || !code->enabled()) return {.dtype = dtype};
  const bool is_narrow = code->kind == ops::Code::Kind::narrow;
  LOOMIX_CHECK(dtype == DType::float32 || (is_narrow && dtype == DType::float64), TypeError,
               "[remap] wire '{}' for a matrix of {} that becomes {}, of which {} travels; expected {}.",
               code->to_string(), name_of(from), name_of(to), name_of(dtype),
               is_narrow ? "float32 or float64" : "float32");
  if (is_narrow) return {.dtype = code->narrow};
  return {.dtype = dtype, .code = *code};
}

NDArray Residuals::find(engine::Engine& engine, const Layout& to, bool transpose, const ops::Code& code,
                        int rank, int64_t elements) {
  const std::string name = code.to_string();
  const std::lock_guard lock(mutex_);
  auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.transpose == transpose && entry.code == name && entry.to == to;
  });
  if (found == entries_.end()) found = entries_.insert(found, {to, transpose, name, {}});
  NDArray& array = found->arrays[rank];
  if (array.is_none()) array = zeros(engine, Shape{elements}, DType::float32, Device::cpu());
  return array;
}

}  // namespace loomix::linalg
