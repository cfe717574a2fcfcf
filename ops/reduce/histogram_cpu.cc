// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "ops/reduce/histogram_bins.h"

namespace loomix::ops {
namespace {

template <class T>
struct HostType {
  using Number = Accum<T>;
  static Number load(T item) { return static_cast<Number>(item); }
  static T store(Number number) { return static_cast<T>(number); }
};

template <class T, class Bins>
void count_items(const KernelArgs& args, const Bins& bins) {
  if (args.req[0] != Req::null) {
    const T* const items = args.in[0].as<T>();
    int64_t* const counts = args.out[0].mutable_as<int64_t>();
    std::fill_n(counts, bins.count, int64_t{0});
    const auto first = bins.edge(0), last = bins.edge(bins.count);
    for (int64_t i = 0; i < args.in[0].size(); ++i) {
      const auto item = HostType<T>::load(items[i]);
      if (item >= first && item <= last) ++counts[bins.bin_of(item)];
    }
  }
  if (args.req[1] == Req::null) return;
  for (int64_t i = 0; i <= bins.count; ++i) args.out[1].mutable_as<T>()[i] = bins.stored_edge(i);
}

}  // namespace

void check_edges(const TensorView& bins) {
  dispatch_numeric(bins.dtype, "histogram", [&]<class T>(Type<T>) {
    const T* const edges = bins.as<T>();
    LOOMIX_CHECK(std::is_sorted(edges, edges + bins.size()), ValueError,
                 "[histogram] the bins' edges fall somewhere; expected them in rising order.");
  });
}

void histogram_cpu(const HistogramParams& p, const KernelArgs& args) {
  if (!p.bin_cnt) check_edges(args.in[1]);
  dispatch_numeric(args.in[0].dtype, "histogram", [&]<class T>(Type<T>) {
    if (p.bin_cnt) return count_items<T>(args, EvenBins<T, HostType<T>>(p));
    count_items<T>(args, GivenBins<T, HostType<T>>{args.in[1].as<T>(), args.in[1].size() - 1});
  });
}

}  // namespace loomix::ops
