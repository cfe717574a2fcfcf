// SPDX-License-Identifier: Apache-2.0
#include "linalg/remap.h"

#include <algorithm>
#include <map>
#include <utility>

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
  Wire wire;

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
// One message: its pieces, and how many elements of those of the same rank are in earlier ones.
struct Parcel {
  Route route;
  int64_t first;
};
using ParcelRef = std::shared_ptr<const Parcel>;

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

// All pieces of a message, one after the other.
void gather(engine::RunContext& context, const Remap& remap, const Route& route, std::byte* to) {
  for (const Piece& p : route.pieces) {
    copy_in_parallel(context, remap.source(p), {to, remap.wire.dtype, p.columns}, p, remap.plan->transpose);
    to += p.size() * size_of(remap.wire.dtype);
  }
}

void scatter(engine::RunContext& context, const Remap& remap, const Route& route, const std::byte* from) {
  for (const Piece& p : route.pieces) {
    copy_in_parallel(context, {from, remap.wire.dtype, p.columns}, remap.target(p), p, false);
    from += p.size() * size_of(remap.wire.dtype);
  }
}

// Of what a code left out, the part for a message.
float* residual_of(const Remap& remap, const Parcel& parcel) {
  return static_cast<float*>(remap.wire.residuals.at(parcel.route.rank).storage().data()) + parcel.first;
}

void push_pack(Job& job, const RemapRef& remap, const ParcelRef& parcel, const Message& message) {
  ArrayTags tags;
  for (const Piece& p : parcel->route.pieces) tags.read(remap->source_array(p));
  tags.write(message.whole());
  // An error in a block is no error of what is sent when the block has been written again.
  if (remap->wire.code.enabled()) tags.use(remap->wire.residuals.at(parcel->route.rank).var());
  job.engine().push(
      copy_task([](const void*) { return "pack"; }, parcel->route.elements * size_of(remap->wire.dtype)),
      tags.tags(),
      [remap, parcel, whole = message.whole().storage_ref(),
       bytes = message.whole().bytes()](engine::RunContext& context) {
        const NDArray array(whole, Shape{bytes}, DType::uint8);
        auto* const place = static_cast<std::byte*>(whole->data());
        const Route& route = parcel->route;
        if (remap->wire.code.enabled()) {
          std::vector<float> values(static_cast<size_t>(route.elements));
          gather(context, *remap, route, reinterpret_cast<std::byte*>(values.data()));
          ops::compress(remap->wire.code, values.data(), residual_of(*remap, *parcel), place, route.elements);
        } else {
          gather(context, *remap, route, place);
        }
        Message::mark_good(array);
      });
}

void push_unpack(Job& job, const RemapRef& remap, const ParcelRef& parcel, const Message& message) {
  ArrayTags tags;
  tags.read(message.whole());
  for (const Piece& p : parcel->route.pieces) tags.update(remap->target_array(p));
  job.engine().push(
      copy_task([](const void*) { return "unpack"; }, parcel->route.elements * size_of(remap->wire.dtype)),
      tags.tags(), [remap, parcel, whole = message.whole().storage_ref()](engine::RunContext& context) {
        const auto* const place = static_cast<const std::byte*>(whole->data());
        const Route& route = parcel->route;
        if (!remap->wire.code.enabled()) return scatter(context, *remap, route, place);
        std::vector<float> values(static_cast<size_t>(route.elements));
        ops::decompress(remap->wire.code, {place, static_cast<size_t>(remap->wire.bytes_of(route.elements))},
                        values.data(), route.elements);
        scatter(context, *remap, route, reinterpret_cast<const std::byte*>(values.data()));
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
      copy_task([](const void*) { return "copy_blocks"; }, route.elements * size_of(remap->wire.dtype)),
      tags.tags(), [remap, &route](engine::RunContext& context) {
        for (const Piece& p : route.pieces)
          copy_in_parallel(context, remap->source(p), remap->target(p), p, remap->plan->transpose);
      });
}

// What goes to or from a rank, by parts that the group makes and uses itself,
// on its thread.
struct PartedRoute {
  RemapRef remap;
  std::vector<Route> parts;

  PartedMessage message(const std::shared_ptr<const PartedRoute>& self, int rank) const {
    PartedMessage made{rank, {}};
    const int64_t item = size_of(remap->wire.dtype);
    for (const Route& part : parts) made.parts.sizes.push_back(static_cast<size_t>(part.elements * item));
    made.parts.fill = [self](size_t part, std::byte* to) { self->fill(self->parts[part], to); };
    made.parts.use = [self](size_t part, const std::byte* from) { self->use(self->parts[part], from); };
    return made;
  }
  void fill(const Route& part, std::byte* to) const {
    for (const Piece& p : part.pieces) {
      copy_elements(remap->source(p), {to, remap->wire.dtype, p.columns}, p.rows, p.columns,
                    remap->plan->transpose);
      to += p.size() * size_of(remap->wire.dtype);
    }
  }
  void use(const Route& part, const std::byte* from) const {
    for (const Piece& p : part.pieces) {
      copy_elements({from, remap->wire.dtype, p.columns}, remap->target(p), p.rows, p.columns, false);
      from += p.size() * size_of(remap->wire.dtype);
    }
  }
};

PartedMessage in_parts(const RemapRef& remap, const Route& route) {
  const auto most = static_cast<int64_t>(Operation::kMostPartBytes) / size_of(remap->wire.dtype);
  const auto made = std::make_shared<const PartedRoute>(
      PartedRoute{remap, cut_into_messages(route, most, remap->plan->transpose)});
  return made->message(made, route.rank);
}

// Takes those routes out that the group takes in parts. Receiving comes before the copies of own blocks, which may have errors: others would
// wait for a rank that does not receive.
void push_in_parts(const Operation& operation, const RemapRef& remap, std::vector<Route>& sends,
                   std::vector<Route>& receives) {
  const auto takes = [&](const Route& route) { return operation.job().group().takes_parts(route.rank); };
  for (const Route& route : sends) {
    if (!takes(route)) continue;
    ArrayTags tags;
    for (const Piece& p : route.pieces) tags.read(remap->source_array(p));
    operation.send_parts(tags, in_parts(remap, route));
  }
  ArrayTags tags;
  std::vector<PartedMessage> messages;
  for (const Route& route : receives) {
    if (!takes(route)) continue;
    for (const Piece& p : route.pieces) tags.update(remap->target_array(p));
    messages.push_back(in_parts(remap, route));
  }
  operation.receive_parts(tags, std::move(messages));
  std::erase_if(sends, takes);
  std::erase_if(receives, takes);
}

int64_t most_in_message(const Job& job, const Wire& wire) {
  return std::max<int64_t>(job.message_bytes / size_of(wire.dtype), 1);
}

// Messages of one direction, by rank, and the buffers that they take in turn.
class Stages {
 public:
  Stages(Job& job, const std::vector<Route>& routes, const Wire& wire, bool transpose) : wire_(wire) {
    int64_t largest = 0;
    size_t count = 0;
    for (const Route& route : routes) {
      int64_t first = 0;
      for (Route& message : cut_into_messages(route, most_in_message(job, wire), transpose)) {
        const int64_t elements = message.elements;
        largest = std::max(largest, wire.bytes_of(elements));
        parcels_[route.rank].push_back(std::make_shared<const Parcel>(
            Parcel{std::move(message), std::exchange(first, first + elements)}));
        ++count;
      }
      longest_ = std::max(longest_, parcels_[route.rank].size());
    }
    for (size_t i = 0; i < std::min(count, static_cast<size_t>(job.buffers)); ++i)
      buffers_.emplace_back(job, largest);
  }
  size_t longest() const { return longest_; }  // messages of a rank
  // Message `number` of a rank; null where it has fewer.
  ParcelRef find(int rank, size_t number) const {
    const auto found = parcels_.find(rank);
    return found == parcels_.end() || number >= found->second.size() ? nullptr : found->second[number];
  }
  Message next_buffer(const Parcel& parcel) {
    return buffers_[turn_++ % buffers_.size()].first(wire_.bytes_of(parcel.route.elements));
  }

 private:
  const Wire& wire_;
  std::map<int, std::vector<ParcelRef>> parcels_;
  size_t longest_ = 0;
  std::vector<Message> buffers_;
  size_t turn_ = 0;
};

}  // namespace

int remap_messages(const Job& job, const Layout& from, const Wire& wire) {
  return most_messages(from.rows() * from.columns(), most_in_message(job, wire));
}

void push_remap(const Operation& operation, const std::shared_ptr<const Transfer>& plan,
                const OwnBlocks& from, const OwnBlocks& to, const Wire& wire) {
  Job& job = operation.job();
  const int me = job.rank(), ranks = job.size();
  const auto remap = std::make_shared<const Remap>(Remap{plan,
                                                         from.layout,
                                                         to.layout,
                                                         me,
                                                         {from.arrays.begin(), from.arrays.end()},
                                                         {to.arrays.begin(), to.arrays.end()},
                                                         wire});
  std::vector<Route> to_send = plan->sends, to_receive = plan->receives;
  if (job.in_parts && !wire.code.enabled()) push_in_parts(operation, remap, to_send, to_receive);
  Stages sends(job, to_send, remap->wire, plan->transpose);
  Stages receives(job, to_receive, remap->wire, plan->transpose);
  const size_t longest = std::max(sends.longest(), receives.longest());
  for (size_t i = 0; i < longest; ++i) {
    for (int away = 1; away < ranks; ++away) {
      const int right = (me + away) % ranks, left = (me + ranks - away) % ranks;
      if (const ParcelRef parcel = sends.find(right, i)) {
        const Message buffer = sends.next_buffer(*parcel);
        push_pack(job, remap, parcel, buffer);
        operation.send(buffer, right, static_cast<int>(i));
      }
      if (const ParcelRef parcel = receives.find(left, i)) {
        const Message buffer = receives.next_buffer(*parcel);
        operation.receive(buffer, left, static_cast<int>(i));
        push_unpack(job, remap, parcel, buffer);
      }
    }
  }
  push_copies(job, remap);
}

}  // namespace loomix::linalg
