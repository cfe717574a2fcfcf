// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/inline_vector.h"
#include "engine/parallel_for.h"
#include "ops/kernel_choice.h"
#include "ops/optimizer/row_update.h"
#include "ops/optimizer/update_params.h"
#include "ops/scratch_slots.h"
#include "ops/sparse/sparse.h"
#include "ops/table.h"

// Updates of only those rows of a weight that a row_sparse gradient has. A block of rows at a time is gathered into scratch
// memory, updated there by the operator's dense kernel, and put back: the cost follows the rows that are touched.
namespace loomix::ops {
namespace {

constexpr int64_t kBlockBytes =
    1 << 16;  // of one array: a block of weight, gradient and states stays in the cache

// Makes a row_sparse array of `rows` rows keep those with these ids, too; new ones are zero.
void add_rows(Storage& storage, std::span<const int64_t> ids, int64_t rows, int64_t row_bytes) {
  const std::span<const int64_t> present = stored_ids(storage);
  if (storage.count() == rows) return;
  if (std::includes(present.begin(), present.end(), ids.begin(), ids.end())) return;
  const std::vector<int64_t> own(present.begin(), present.end());  // resizing drops what is there
  const auto bytes = static_cast<size_t>(row_bytes);
  const auto kept = std::make_unique_for_overwrite<std::byte[]>(own.size() * bytes);
  std::memcpy(kept.get(), storage.data(), own.size() * bytes);
  std::vector<int64_t> all;
  std::set_union(own.begin(), own.end(), ids.begin(), ids.end(), std::back_inserter(all));
  storage.resize_sparse(static_cast<int64_t>(all.size()), row_bytes, 0);
  std::copy(all.begin(), all.end(), storage.indices());
  auto* const to = static_cast<std::byte*>(storage.data());
  for (size_t row = 0, old = 0; row < all.size(); ++row) {
    const bool known = old < own.size() && own[old] == all[row];
    if (known) std::memcpy(to + row * bytes, kept.get() + bytes * old++, bytes);
    else std::memset(to + row * bytes, 0, bytes);
  }
}

// Calls fn(place of the row in the array, number of the row in the block) for each id; the array keeps all of them.
template <class Fn>
void each_place(const TensorView& view, const Storage& storage, std::span<const int64_t> ids,
                int64_t row_bytes, Fn&& fn) {
  const bool dense = storage.stype() == StorageType::dense;
  if (dense || storage.count() == view.shape[0]) {
    auto* const data = static_cast<std::byte*>(dense ? view.data : storage.data());
    for (size_t row = 0; row < ids.size(); ++row) fn(data + ids[row] * row_bytes, row);
    return;
  }
  const int64_t* own = storage.indices();
  const int64_t* const end = own + storage.count();
  for (size_t row = 0; row < ids.size(); ++row) {
    own = std::lower_bound(own, end, ids[row]);
    fn(static_cast<std::byte*>(storage.data()) + (own - storage.indices()) * row_bytes, row);
  }
}

class RowUpdate final : public KernelState {
 public:
  RowUpdate(const OpDef& op, const AttrsBase& attrs, const KernelSpec& spec)
      : width_(spec.in[kGrad].shape.size_between(1, spec.in[kGrad].shape.ndim())),
        slots_(slots_for(spec.cores)) {
    int64_t widest = 1;
    for (const TensorView& view : spec.in) {
      types_.push_back(view.dtype);
      widest = std::max(widest, width_ * size_of(view.dtype));
    }
    rows_ = std::max<int64_t>(1, kBlockBytes / widest);
    for (const DType dtype : types_) slot_bytes_ += block_bytes(dtype);
    scratch_bytes = static_cast<size_t>(slots_) * slot_bytes_;
    const Views views = block(nullptr, rows_);
    const Req req = Req::write;
    dense_ = prepare_kernel(op, attrs, {views, std::span(views).first(1), {&req, 1}}, {DeviceType::cpu, 1});
    LOOMIX_INTERNAL_CHECK(dense_.kernel->run != nullptr && dense_.scratch_bytes == 0);
  }

  void run(const AttrsBase& attrs, const KernelArgs& args) const {
    const Storage& grad = *args.storages[kGrad];
    const std::span<const int64_t> ids = stored_ids(grad);
    if (ids.empty() || args.req[0] == Req::null) return;
    for (size_t i = 0; i < args.in.size(); ++i) {
      Storage& storage = *args.storages[i];
      if (i != kGrad && storage.stype() != StorageType::dense)
        add_rows(storage, ids, args.in[i].shape[0], row_bytes(i));
    }
    ScratchSlots slots(args.scratch, slot_bytes_, slots_);
    const auto count = static_cast<int64_t>(ids.size());
    engine::parallel_for(*args.context, (count + rows_ - 1) / rows_, 1, [&](int64_t begin, int64_t end) {
      const ScratchSlots::Use slot(slots);
      for (int64_t i = begin; i < end; ++i) {
        const auto some = ids.subspan(static_cast<size_t>(i * rows_));
        update(attrs, args, some.first(std::min(some.size(), static_cast<size_t>(rows_))), i * rows_,
               slot.as<std::byte>());
      }
    });
  }

 private:
  using Views = InlineVector<TensorView, 6>;
  size_t block_bytes(DType dtype) const {
    return aligned(static_cast<size_t>(rows_ * width_ * size_of(dtype)));
  }
  int64_t row_bytes(size_t i) const { return width_ * size_of(types_[i]); }

  // Views of one block of every array, one behind the other.
  Views block(std::byte* memory, int64_t rows) const {
    Views views;
    for (const DType dtype : types_) {
      views.push_back({memory, dtype, Shape{rows, width_}});
      if (memory) memory += block_bytes(dtype);
    }
    return views;
  }

  // `first`: the gradient's row that belongs to ids[0].
  void update(const AttrsBase& attrs, const KernelArgs& args, std::span<const int64_t> ids, int64_t first,
              std::byte* memory) const {
    Views views = block(memory, static_cast<int64_t>(ids.size()));
    views[kGrad].data = static_cast<std::byte*>(args.storages[kGrad]->data()) + first * row_bytes(kGrad);
    const auto each = [&](auto&& move) {
      for (size_t i = 0; i < views.size(); ++i) {
        if (i == kGrad) continue;
        const auto bytes = static_cast<size_t>(row_bytes(i));
        auto* const rows = static_cast<std::byte*>(views[i].data);
        each_place(args.in[i], *args.storages[i], ids, row_bytes(i),
                   [&](std::byte* place, size_t row) { move(place, rows + row * bytes, bytes); });
      }
    };
    each([](std::byte* place, std::byte* row, size_t bytes) { std::memcpy(row, place, bytes); });
    engine::RunContext alone = *args.context;
    alone.cores = 1;
    const Req req = Req::write;
    KernelArgs piece;
    piece.in = views;
    piece.out = std::span(views).first(1);
    piece.req = {&req, 1};
    piece.state = dense_.state.get();
    piece.context = &alone;
    dense_.kernel->run(attrs, piece);
    each([](std::byte* place, std::byte* row, size_t bytes) { std::memcpy(place, row, bytes); });
  }

  const int64_t width_;
  const int slots_;
  InlineVector<DType, 6> types_;
  int64_t rows_ = 1;  // of a block
  size_t slot_bytes_ = 0;
  KernelChoice dense_;
};

template <RowRule rule>
void add(OpTable& table, const char* op, const char* name) {
  Kernel kernel{.name = name, .sparse = true, .updates = true};
  kernel.support = updates_rows<rule>;
  kernel.prepare = [](const OpDef& def, const AttrsBase& attrs, const KernelSpec& spec) {
    return Ref<const KernelState>(make_ref<RowUpdate>(def, attrs, spec));
  };
  kernel.run = [](const AttrsBase& attrs, const KernelArgs& args) {
    static_cast<const RowUpdate*>(args.state)->run(attrs, args);
  };
  table.add_kernel(op, kernel);
}

}  // namespace

void kernels_row_update(OpTable& table) {
  add<if_lazy<SgdParams>>(table, "sgd_update", "sgd_rows_cpu");
  add<if_lazy<SgdMomParams>>(table, "sgd_mom_update", "sgd_mom_rows_cpu");
  add<if_lazy<AdamParams>>(table, "adam_update", "adam_rows_cpu");
  add<if_sparse>(table, "ftrl_update", "ftrl_rows_cpu");
  add<always>(table, "_sparse_adagrad_update", "adagrad_rows_cpu");
}

}  // namespace loomix::ops
