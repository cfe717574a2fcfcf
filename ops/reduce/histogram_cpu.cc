// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/histogram.h"

#include <algorithm>
#include <cstring>

namespace loomix::ops {
namespace {

std::vector<double> edges_of(const HistogramParams& p, const KernelArgs& args) {
  std::vector<double> edges;
  if (p.bin_cnt) {
    const double low = (*p.range)[0], high = (*p.range)[1];
    const double width = (high - low) / *p.bin_cnt;
    for (int i = 0; i < *p.bin_cnt; ++i) edges.push_back(low + i * width);
    edges.push_back(high);
    return edges;
  }
  const TensorView& bins = args.in[1];
  dispatch_numeric(bins.dtype, "histogram", [&]<class T>(Type<T>) {
    const T* const given = bins.as<T>();
    for (int64_t i = 0; i < bins.size(); ++i) edges.push_back(static_cast<double>(given[i]));
  });
  LOOMIX_CHECK(std::is_sorted(edges.begin(), edges.end()), ValueError,
               "[histogram] the bins' edges fall somewhere; expected them in rising order.");
  return edges;
}

}  // namespace

void histogram_cpu(const HistogramParams& p, const KernelArgs& args) {
  const TensorView& data = args.in[0];
  const std::vector<double> edges = edges_of(p, args);
  std::vector<int64_t> counts(edges.size() - 1, 0);
  dispatch_numeric(data.dtype, "histogram", [&]<class T>(Type<T>) {
    const T* const items = data.as<T>();
    for (int64_t i = 0; i < data.size(); ++i) {
      const double item = static_cast<double>(items[i]);
      if (!(item >= edges.front() && item <= edges.back())) continue;
      const auto above = std::upper_bound(edges.begin(), edges.end() - 1, item);
      ++counts[static_cast<size_t>(above - edges.begin()) - 1];
    }
    if (args.req[1] == Req::null) return;
    T* const out = args.out[1].mutable_as<T>();
    for (size_t i = 0; i < edges.size(); ++i) out[i] = static_cast<T>(edges[i]);
  });
  if (args.req[0] != Req::null) std::memcpy(args.out[0].data, counts.data(), counts.size() * sizeof(int64_t));
}

}  // namespace loomix::ops
