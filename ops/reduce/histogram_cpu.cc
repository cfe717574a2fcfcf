// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/histogram.h"

#include <algorithm>
#include <limits>

namespace loomix::ops {
namespace {

// Bins of equal width. The edges are those that the output holds, rounded to its type, so that counts and edges agree; they
// are exact where range and width are whole numbers.
template <class T>
struct EvenBins {
  double low, high;
  int64_t count;

  explicit EvenBins(const HistogramParams& p) : low((*p.range)[0]), high((*p.range)[1]), count(*p.bin_cnt) {}
  T edge(int64_t i) const {
    const auto bins = static_cast<double>(count), at = static_cast<double>(i);
    const double exact = (high * at + (bins - at) * low) / bins;
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      return static_cast<T>(
          std::clamp(exact, static_cast<double>(Limits::lowest()), static_cast<double>(Limits::max())));
    } else {
      return static_cast<T>(static_cast<Accum<T>>(exact));
    }
  }
  int64_t bin_of(T item) const {
    const double place = (static_cast<double>(item) - low) / (high - low) * static_cast<double>(count);
    int64_t bin = static_cast<int64_t>(std::clamp(place, 0.0, static_cast<double>(count - 1)));
    while (bin > 0 && item < edge(bin)) --bin;
    while (bin + 1 < count && item >= edge(bin + 1)) ++bin;
    return bin;
  }
};

template <class T>
struct GivenBins {
  const T* edges;
  int64_t count;

  T edge(int64_t i) const { return edges[i]; }
  int64_t bin_of(T item) const { return std::upper_bound(edges, edges + count, item) - edges - 1; }
};

template <class T, class Bins>
void count_items(const KernelArgs& args, const Bins& bins) {
  if (args.req[0] != Req::null) {
    const T* const items = args.in[0].as<T>();
    int64_t* const counts = args.out[0].mutable_as<int64_t>();
    std::fill_n(counts, bins.count, int64_t{0});
    const T first = bins.edge(0), last = bins.edge(bins.count);
    for (int64_t i = 0; i < args.in[0].size(); ++i) {
      if (items[i] >= first && items[i] <= last) ++counts[bins.bin_of(items[i])];
    }
  }
  if (args.req[1] == Req::null) return;
  for (int64_t i = 0; i <= bins.count; ++i) args.out[1].mutable_as<T>()[i] = bins.edge(i);
}

}  // namespace

void histogram_cpu(const HistogramParams& p, const KernelArgs& args) {
  dispatch_numeric(args.in[0].dtype, "histogram", [&]<class T>(Type<T>) {
    if (p.bin_cnt) return count_items<T>(args, EvenBins<T>(p));
    const T* const edges = args.in[1].as<T>();
    const int64_t count = args.in[1].size();
    LOOMIX_CHECK(std::is_sorted(edges, edges + count), ValueError,
                 "[histogram] the bins' edges fall somewhere; expected them in rising order.");
    count_items<T>(args, GivenBins<T>{edges, count - 1});
  });
}

}  // namespace loomix::ops
