// SPDX-License-Identifier: Apache-2.0
#include "linalg/remap.h"

#include <algorithm>

#include "engine/parallel_for.h"
#include "ndarray/copy.h"

namespace loomix::linalg {
namespace {

// What tasks of one remap need of it.
struct Remap {
  std::shared_ptr<const Transfer> plan;
  Layout from_layout, to_layout;
  int rank;
  std::vector<NDArray> from, to;
  DType wire;

  static const NDArray& own(const Layout& layout, const std::vector<NDArray>& arrays, int rank, int number) {
    const auto numbers = layout.blocks_of(rank);
    return arrays[static_cast<size_t>(std::lower_bound(numbers.begin(), numbers.end(), number) -
                                      numbers.begin())];
  }
  const NDArray& source_array(const Piece& p) const { return own(from_layout, from, rank, p.from_block); }
  const NDArray& target_array(const Piece& p) const { return own(to_layout, to, rank, p.to_block); }
  ConstElements source(const Piece& p) const {
    const TensorView view = source_array(p).view();
    const int64_t stride = view.shape[1];
    return {static_cast<const std::byte*>(view.data) +
                (p.from_row * stride + p.from_column) * size_of(view.dtype),
            view.dtype, stride};
  }
  Elements target(const Piece& p) const {
    const TensorView view = target_array(p).view();
    const int64_t stride = view.shape[1];
    return {static_cast<std::byte*>(view.data) + (p.to_row * stride + p.to_column) * size_of(view.dtype),
            view.dtype, stride};
  }
};
using RemapRef = std::shared_ptr<const Remap>;

engine::TaskInfo copy_task(const char* (*name)(const void*), int64_t bytes) {
  constexpr int64_t kLarge = 1 << 20;
  engine::TaskInfo info;
  info.max_cores = bytes >= kLarge ? kCopyCores : uint8_t{1};
  info.cost_ns = move_cost_ns(bytes);
  info.describe.name = name;
  return info;
}

void copy_in_parallel(engine::RunContext& context, const ConstElements& from, const Elements& to,
                      const Piece& p, bool transpose) {
  constexpr int64_t kGrain = 1 << 15;  // elements
  engine::parallel_for(context, p.rows, kGrain / p.columns + 1, [&](int64_t begin, int64_t end) {
    const int64_t skipped = begin * (transpose ? 1 : from.stride) * size_of(from.dtype);
    copy_elements({from.data + skipped, from.dtype, from.stride},
                  {to.data + begin * to.stride * size_of(to.dtype), to.dtype, to.stride}, end - begin,
                  p.columns, transpose);
  });
}

void push_pack(Job& job, const RemapRef& remap, const Route& route, const Message& message) {
  ArrayTags tags;
  for (const Piece& p : route.pieces) tags.read(remap->source_array(p));
  tags.write(message.whole());
  job.engine().push(copy_task([](const void*) { return "pack"; }, message.whole().bytes()), tags.tags(),
                    [remap, &route, whole = message.whole().storage_ref(),
                     bytes = message.whole().bytes()](engine::RunContext& context) {
                      const NDArray array(whole, Shape{bytes}, DType::uint8);
                      auto* place = static_cast<std::byte*>(whole->data());
                      for (const Piece& p : route.pieces) {
                        copy_in_parallel(context, remap->source(p), {place, remap->wire, p.columns}, p,
                                         remap->plan->transpose);
                        place += p.size() * size_of(remap->wire);
                      }
                      Message::mark_good(array);
                    });
}

void push_unpack(Job& job, const RemapRef& remap, const Route& route, const Message& message) {
  ArrayTags tags;
  tags.read(message.whole());
  for (const Piece& p : route.pieces) tags.update(remap->target_array(p));
  job.engine().push(
      copy_task([](const void*) { return "unpack"; }, message.whole().bytes()), tags.tags(),
      [remap, &route, whole = message.whole().storage_ref()](engine::RunContext& context) {
        const auto* place = static_cast<const std::byte*>(whole->data());
        for (const Piece& p : route.pieces) {
          copy_in_parallel(context, {place, remap->wire, p.columns}, remap->target(p), p, false);
          place += p.size() * size_of(remap->wire);
        }
      });
}

void push_copies(Job& job, const RemapRef& remap) {
  const Route& route = remap->plan->copies;
  if (route.pieces.empty()) return;
  ArrayTags tags;
  for (const Piece& p : route.pieces) {
    tags.read(remap->source_array(p));
    tags.update(remap->target_array(p));
  }
  job.engine().push(
      copy_task([](const void*) { return "copy_blocks"; }, route.elements * size_of(remap->wire)),
      tags.tags(), [remap, &route](engine::RunContext& context) {
        for (const Piece& p : route.pieces)
          copy_in_parallel(context, remap->source(p), remap->target(p), p, remap->plan->transpose);
      });
}

}  // namespace

void push_remap(const Operation& operation, const std::shared_ptr<const Transfer>& plan,
                const OwnBlocks& from, const OwnBlocks& to) {
  Job& job = operation.job();
  const auto remap = std::make_shared<const Remap>(Remap{plan,
                                                         from.layout,
                                                         to.layout,
                                                         job.rank(),
                                                         {from.arrays.begin(), from.arrays.end()},
                                                         {to.arrays.begin(), to.arrays.end()},
                                                         wire_type(from.dtype, to.dtype)});
  for (const Route& route : plan->sends) {
    const Message message(job, route.elements * size_of(remap->wire));
    push_pack(job, remap, route, message);
    operation.send(message, route.rank);
  }
  push_copies(job, remap);
  for (const Route& route : plan->receives) {
    const Message message(job, route.elements * size_of(remap->wire));
    operation.receive(message, route.rank);
    push_unpack(job, remap, route, message);
  }
}

}  // namespace loomix::linalg
