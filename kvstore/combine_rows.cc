// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "engine/parallel_for.h"
#include "kvstore/combine.h"
#include "ndarray/copy.h"
#include "ops/elemwise/binary.h"

namespace loomix::kvstore {
namespace {

int64_t row_items(const NDArray& array) { return array.shape().size_between(1, array.shape().ndim()); }

std::span<const int64_t> ids_of(const NDArray& array) {
  return {array.storage().indices(), static_cast<size_t>(array.storage().count())};
}

void keep_unique(std::vector<int64_t>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

class RowCombination final : public StoreTask {
 public:
  RowCombination(const Request& request, std::span<const NDArray> sources, const NDArray& destination)
      : StoreTask(request), sources_(sources), destination_(destination) {}

  void run(engine::RunContext& context) const override {
    std::vector<int64_t> ids;
    for (const NDArray& source : sources_)
      ids.insert(ids.end(), ids_of(source).begin(), ids_of(source).end());
    keep_unique(ids);
    const int64_t items = row_items(destination_);
    const int64_t bytes = items * size_of(destination_.dtype());
    Storage& to = destination_.storage();
    to.resize_sparse(static_cast<int64_t>(ids.size()), bytes, 0);
    std::copy(ids.begin(), ids.end(), to.indices());
    const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 18) / std::max<int64_t>(bytes, 1));
    engine::parallel_for(context, static_cast<int64_t>(ids.size()), grain, [&](int64_t begin, int64_t end) {
      std::vector<bool> filled(static_cast<size_t>(end - begin), false);
      for (const NDArray& source : sources_) {
        const std::span<const int64_t> own = ids_of(source);
        auto next = static_cast<size_t>(
            std::lower_bound(own.begin(), own.end(), ids[static_cast<size_t>(begin)]) - own.begin());
        for (int64_t row = begin; row < end && next < own.size(); ++row) {
          if (own[next] != ids[static_cast<size_t>(row)]) continue;
          auto* const sum = static_cast<std::byte*>(to.data()) + row * bytes;
          const auto* const term =
              static_cast<const std::byte*>(source.storage().data()) + static_cast<int64_t>(next) * bytes;
          if (filled[static_cast<size_t>(row - begin)]) {
            ops::binary_row(ops::binary_code<ops::fn::Add>, destination_.dtype(), ops::Spread::none, sum,
                            term, sum, items);
          } else {
            std::memcpy(sum, term, static_cast<size_t>(bytes));
          }
          filled[static_cast<size_t>(row - begin)] = true;
          ++next;
        }
      }
    });
  }

 private:
  const InlineVector<NDArray, 2> sources_;
  const NDArray destination_;
};

class RowPull final : public StoreTask {
 public:
  RowPull(const Request& request, const NDArray& source, const NDArray& row_ids, const NDArray& out)
      : StoreTask(request), source_(source), row_ids_(row_ids), out_(out) {}

  void run(engine::RunContext&) const override {
    const TensorView ids = row_ids_.view();  // how many there are may depend on data
    std::vector<int64_t> wanted(static_cast<size_t>(ids.size()));
    convert_elements(ids.data, ids.dtype, wanted.data(), DType::int64, ids.size());
    keep_unique(wanted);
    const int64_t rows = source_.shape()[0];
    LOOMIX_CHECK(wanted.empty() || (wanted.front() >= 0 && wanted.back() < rows), IndexError,
                 "[KVStore] row_ids go from {} to {}; the value has rows 0 to {}.", wanted.front(),
                 wanted.back(), rows - 1);
    const int64_t bytes = row_items(source_) * size_of(source_.dtype());
    const std::span<const int64_t> own = ids_of(source_);
    Storage& to = out_.storage();
    to.resize_sparse(static_cast<int64_t>(wanted.size()), bytes, 0);
    std::copy(wanted.begin(), wanted.end(), to.indices());
    const bool whole = static_cast<int64_t>(own.size()) == rows;
    for (size_t row = 0; row < wanted.size(); ++row) {
      const auto found =
          whole ? own.begin() + wanted[row] : std::lower_bound(own.begin(), own.end(), wanted[row]);
      auto* const place = static_cast<std::byte*>(to.data()) + static_cast<int64_t>(row) * bytes;
      if (found == own.end() || *found != wanted[row]) {
        std::memset(place, 0, static_cast<size_t>(bytes));
      } else {
        std::memcpy(place,
                    static_cast<const std::byte*>(source_.storage().data()) + (found - own.begin()) * bytes,
                    static_cast<size_t>(bytes));
      }
    }
  }

 private:
  const NDArray source_;
  const NDArray row_ids_;
  const NDArray out_;
};

}  // namespace

void combine_rows(const Request& request, std::span<const NDArray> sources, const NDArray& destination) {
  ArrayTags tags;
  for (const NDArray& source : sources) tags.read(source);
  tags.write(destination);
  push_task(make_ref<RowCombination>(request, sources, destination), tags, destination, 1 << 20, 255);
}

void pull_rows(const Request& request, const NDArray& source, const NDArray& row_ids, const NDArray& out) {
  ArrayTags tags;
  tags.read(source);
  tags.read(row_ids);
  tags.write(out);
  push_task(make_ref<RowPull>(request, source, row_ids, out), tags, out, 1 << 20, 1);
}

}  // namespace loomix::kvstore
