// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/row_update.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/parallel_for.h"
#include "ops/optimizer/update_params.h"

namespace loomix {
namespace {

constexpr int64_t kGrainBytes = 1 << 18;

// The operators that may, and whether one does for a weight and states that are sparse themselves or not. It is as in MXNet.
struct ByRows {
  std::string_view op;
  bool (*rule)(const AttrsBase& attrs, bool sparse);
};
template <class P>
bool if_lazy(const AttrsBase& attrs, bool) {
  return attrs.as<P>().lazy_update;
}
constexpr ByRows kByRows[] = {
    {"sgd_update", if_lazy<ops::SgdParams>},
    {"sgd_mom_update", if_lazy<ops::SgdMomParams>},
    {"adam_update", if_lazy<ops::AdamParams>},
    {"ftrl_update", [](const AttrsBase&, bool sparse) { return sparse; }},
    {"_sparse_adagrad_update", [](const AttrsBase&, bool) { return true; }},
};

// Where an array keeps the rows with these ids; it keeps all of them.
std::vector<std::byte*> places_of(const NDArray& array, std::span<const int64_t> ids, int64_t row_bytes) {
  std::vector<std::byte*> places(ids.size());
  auto* const data = static_cast<std::byte*>(array.storage().data()) + array.offset();
  if (array.is_dense()) {
    for (size_t row = 0; row < ids.size(); ++row) places[row] = data + ids[row] * row_bytes;
    return places;
  }
  const int64_t* own = array.storage().indices();
  const int64_t* const end = own + array.storage().count();
  for (size_t row = 0; row < ids.size(); ++row) {
    own = std::lower_bound(own, end, ids[row]);
    places[row] = data + (own - array.storage().indices()) * row_bytes;
  }
  return places;
}

// Makes a row_sparse array keep the rows with these ids, too; new ones are zero.
void add_rows(const NDArray& array, std::span<const int64_t> ids, int64_t row_bytes) {
  Storage& storage = array.storage();
  const std::vector<int64_t> own(storage.indices(), storage.indices() + storage.count());
  if (std::includes(own.begin(), own.end(), ids.begin(), ids.end())) return;
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

class RowUpdate final : public RefCounted {
 public:
  RowUpdate(Runtime& runtime, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
            std::span<const NDArray* const> in)
      : op_(op), attrs_(attrs), origin_hook_(&runtime.origin) {
    for (const NDArray* array : in) arrays_.push_back(*array);
    const Shape row{1, in[1]->shape().size_between(1, in[1]->shape().ndim())};
    InlineVector<TensorView, 6> views;
    for (size_t i = 0; i < in.size(); ++i) views.push_back({nullptr, in[i]->dtype(), row});
    const ops::Req req = ops::Req::write;
    kernel_ = &op.choose(*attrs, {views, std::span(views).first(1), {&req, 1}}, DeviceType::cpu,
                         runtime.dispatch_listener);
    if (runtime.origin.capture) origin_ = runtime.origin.capture();
  }

  const char* name() const { return op_.name.c_str(); }
  std::string describe() const {
    std::string text = fmt::format("in operator {}, by the rows of the gradient, weight {} {}", op_.name,
                                   name_of(arrays_[0].dtype()), arrays_[0].shape().to_string());
    if (origin_.code && origin_hook_->text)
      text += fmt::format(", pushed at {}", origin_hook_->text(origin_));
    return text;
  }

  void run(engine::RunContext& context) const {
    const NDArray& grad = arrays_[1];
    const std::span<const int64_t> ids{grad.storage().indices(), static_cast<size_t>(grad.storage().count())};
    if (ids.empty()) return;
    const Shape shape{static_cast<int64_t>(ids.size()), grad.shape().size_between(1, grad.shape().ndim())};
    InlineVector<TensorView, 6> views;
    std::vector<std::unique_ptr<std::byte[]>> memory(arrays_.size());
    std::vector<std::vector<std::byte*>> places(arrays_.size());
    for (size_t i = 0; i < arrays_.size(); ++i) {
      const NDArray& array = arrays_[i];
      TensorView& view = views.emplace_back();
      view = {grad.storage().data(), array.dtype(), shape};
      if (i == 1) continue;
      const int64_t row_bytes = shape[1] * size_of(array.dtype());
      if (!array.is_dense()) add_rows(array, ids, row_bytes);
      places[i] = places_of(array, ids, row_bytes);
      memory[i] = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(view.bytes()));
      view.data = memory[i].get();
    }
    move_rows(context, views, places,
              [](std::byte* place, std::byte* row, size_t bytes) { std::memcpy(row, place, bytes); });
    const ops::Req req = ops::Req::write;
    ops::KernelArgs args;
    args.in = views;
    args.out = std::span(views).first(1);
    args.req = {&req, 1};
    args.context = &context;
    kernel_->run(*attrs_, args);
    move_rows(context, views, places,
              [](std::byte* place, std::byte* row, size_t bytes) { std::memcpy(place, row, bytes); });
  }

 private:
  template <class Move>
  static void move_rows(engine::RunContext& context, std::span<const TensorView> views,
                        std::span<const std::vector<std::byte*>> places, const Move& move) {
    for (size_t i = 0; i < views.size(); ++i) {
      if (places[i].empty()) continue;
      const int64_t row_bytes = views[i].shape[1] * size_of(views[i].dtype);
      auto* const rows = static_cast<std::byte*>(views[i].data);
      engine::parallel_for(context, views[i].shape[0],
                           std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(row_bytes, 1)),
                           [&](int64_t begin, int64_t end) {
                             for (int64_t row = begin; row < end; ++row)
                               move(places[i][static_cast<size_t>(row)], rows + row * row_bytes,
                                    static_cast<size_t>(row_bytes));
                           });
    }
  }

  const ops::OpDef& op_;
  const Ref<const AttrsBase> attrs_;
  const ops::Kernel* kernel_;
  InlineVector<NDArray, 4> arrays_;
  const OriginHook* origin_hook_;
  Origin origin_;
};

}  // namespace

bool updates_rows(const ops::OpDef& op, const AttrsBase& attrs, std::span<const NDArray* const> in) {
  const auto* const known = std::find_if(std::begin(kByRows), std::end(kByRows),
                                         [&](const ByRows& one) { return one.op == op.name; });
  if (known == std::end(kByRows) || in[1]->stype() != StorageType::row_sparse) return false;
  const StorageType stype = in[0]->stype();
  if (stype == StorageType::csr || !in[0]->device().is_host()) return false;
  const bool alike =
      std::all_of(in.begin() + 2, in.end(), [&](const NDArray* state) { return state->stype() == stype; });
  return alike && known->rule(attrs, stype == StorageType::row_sparse);
}

void update_rows(Runtime& runtime, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                 std::span<const NDArray* const> in, int16_t priority) {
  auto update = make_ref<RowUpdate>(runtime, op, attrs, in);
  ArrayTags tags;
  for (size_t i = 0; i < in.size(); ++i) {
    LOOMIX_INTERNAL_CHECK(in[i]->size() == in[1]->size());
    i == 1 ? tags.read(*in[i]) : tags.update(*in[i]);
  }
  engine::TaskInfo info;
  info.device = in[0]->device();
  info.priority = static_cast<int8_t>(priority);
  info.max_cores = 255;
  info.cost_ns = 1'000'000;  // what it is depends on the rows
  info.describe = {[](const void* self) {
                     return static_cast<const RowUpdate*>(static_cast<const RefCounted*>(self))->describe();
                   },
                   [](const void* self) {
                     return static_cast<const RowUpdate*>(static_cast<const RefCounted*>(self))->name();
                   },
                   update};
  runtime.engine().push(std::move(info), tags.tags(),
                        [update](engine::RunContext& context) { update->run(context); });
}

}  // namespace loomix
