// SPDX-License-Identifier: Apache-2.0
//
// Kernels pack on a worker, start a call of the group and return. The group's thread ends the task: there what came is put in its
// place, if it does not lie there already (whole rows, cut evenly, as a rule do).
#include "linalg/collective/collective_ops.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/inline_vector.h"
#include "engine/device/scratch_block.h"
#include "linalg/collective/boxes.h"
#include "linalg/collective/collective_group.h"
#include "symbol/executor/ordered_state.h"

namespace loomix::linalg {
namespace {

using engine::Completion;
using ops::GradBuilder;
using ops::KernelArgs;
using ops::ShapeInfer;

constexpr const char* kGather = "_parallel_gather";
constexpr const char* kReduceScatter = "_parallel_reduce_scatter";
constexpr const char* kAllReduce = "_parallel_all_reduce";
constexpr const char* kAllToAll = "_parallel_all_to_all";
constexpr const char* kOwn = "_parallel_own";
constexpr const char* kShare = "_parallel_share";

struct GroupParams {
  std::string group;
  CollectiveGroupRef found;
  int size() const { return found ? found->size() : 1; }
  int rank() const { return found ? found->rank() : 0; }
  template <class P>
  static void group_field(FieldList<P>& f) {
    f("group", &GroupParams::group, "The ranks, by the name of their group; empty: this process alone.");
  }
};

// An axis that is cut over the ranks of the group.
struct CutParams : GroupParams {
  int axis = 0;
  int64_t whole = 0;
  template <class P>
  static void cut_fields(FieldList<P>& f) {
    group_field(f);
    f("axis", &CutParams::axis, "The axis that is cut over the ranks.");
    f("whole", &CutParams::whole,
      "Its size on all ranks together; 0: as many on each. The first ranks have one more where it does not "
      "go up.")
        .at_least(0);
  }
};

struct ScatterParams : CutParams {
  static void fields(FieldList<ScatterParams>& f) { cut_fields(f); }
};

struct GatherParams : CutParams {
  bool partial_gradient = true;
  static void fields(FieldList<GatherParams>& f) {
    cut_fields(f);
    f("partial_gradient", &GatherParams::partial_gradient,
      "Whether each rank has a part of the output's gradient, to be added; else all have the same.");
  }
};

struct SumParams : GroupParams {
  bool partial_gradient = true;
  bool training_only = false;
  static void fields(FieldList<SumParams>& f) {
    group_field(f);
    f("partial_gradient", &SumParams::partial_gradient,
      "Whether each rank has a part of the output's gradient, to be added; else all have the same.");
    f("training_only", &SumParams::training_only,
      "Whether only training needs the sum; in prediction nothing is sent, and the output is the input.");
  }
};

struct ShareParams : GroupParams {
  static void fields(FieldList<ShareParams>& f) { group_field(f); }
};

struct ExchangeParams : CutParams {
  int new_axis = 1;
  int64_t new_whole = 0;
  static void fields(FieldList<ExchangeParams>& f) {
    cut_fields(f);
    f("new_axis", &ExchangeParams::new_axis, "The axis that is cut afterwards.");
    f("new_whole", &ExchangeParams::new_whole,
      "The size of that axis on all ranks together; 0: as the input's, which is divided evenly.")
        .at_least(0);
  }
};

template <class P>
P with_group(P p) {
  if (!p.group.empty()) p.found = find_collective_group(p.group);
  return p;
}

// ---- shapes ----

int checked_axis(const char* who, int axis, const Shape& shape) {
  LOOMIX_CHECK(axis < shape.ndim() && axis >= -shape.ndim(), ShapeError,
               "[{}] axis {} is out of range for data of shape {}; expected {} to {}.", who, axis,
               shape.to_string(), -shape.ndim(), shape.ndim() - 1);
  return axis < 0 ? axis + shape.ndim() : axis;
}

// From the part of this rank, or to it.
int64_t whole_size(const char* who, const GroupParams& p, int64_t part, int64_t whole) {
  if (whole == 0) return part * p.size();
  const int64_t expected = part_of(whole, p.size(), p.rank()).size;
  LOOMIX_CHECK(part == expected, ShapeError, "[{}] rank {} of {} has {} of {} along the axis; expected {}.",
               who, p.rank(), p.size(), part, whole, expected);
  return whole;
}
int64_t part_size(const char* who, const GroupParams& p, int axis, int64_t size, int64_t whole) {
  LOOMIX_CHECK(whole == 0 || whole == size, ShapeError, "[{}] axis {} has size {}; expected whole, {}.", who,
               axis, size, whole);
  LOOMIX_CHECK(size >= p.size(), ShapeError,
               "[{}] axis {} of size {} cannot be cut into {} parts that are not empty.", who, axis, size,
               p.size());
  LOOMIX_CHECK(whole != 0 || size % p.size() == 0, ShapeError,
               "[{}] axis {} of size {} does not divide into {} equal parts; say its size as `whole`.", who,
               axis, size, p.size());
  return part_of(size, p.size(), p.rank()).size;
}

Shape gathered(const char* who, const CutParams& p, const Shape& in) {
  Shape out = in;
  const int axis = checked_axis(who, p.axis, in);
  out[axis] = whole_size(who, p, in[axis], p.whole);
  return out;
}
Shape cut(const char* who, const CutParams& p, const Shape& in) {
  Shape out = in;
  const int axis = checked_axis(who, p.axis, in);
  out[axis] = part_size(who, p, axis, in[axis], p.whole);
  return out;
}
void infer_gather(const GatherParams& p, ShapeInfer& s) {
  if (s.in(0).is_known()) s.set_out(0, gathered(s.who(), p, s.in(0)));
}
void infer_cut(const ScatterParams& p, ShapeInfer& s) {
  if (s.in(0).is_known()) s.set_out(0, cut(s.who(), p, s.in(0)));
}
void infer_exchange(const ExchangeParams& p, ShapeInfer& s) {
  if (!s.in(0).is_known()) return;
  Shape out = gathered(s.who(), p, s.in(0));
  const int axis = checked_axis(s.who(), p.new_axis, out);
  LOOMIX_CHECK(axis != checked_axis(s.who(), p.axis, out), ValueError,
               "[{}] axis and new_axis are both {}; expected two.", s.who(), axis);
  out[axis] = part_size(s.who(), p, axis, out[axis], p.new_whole);
  s.set_out(0, out);
}

// ---- gradients ----

template <class To>
To like(const GroupParams& p) {
  To made;
  made.group = p.group;
  made.found = p.found;
  return made;
}
template <class To>
To cut_like(const CutParams& p) {
  To made = like<To>(p);
  made.axis = p.axis;
  made.whole = p.whole;
  return made;
}
template <class P>
void back_by(GradBuilder& g, const char* op, P p) {
  g.set(0, g.call1(op, {g.grad_of(0)}, make_attrs(std::move(p))));
}

void gather_gradient(const GatherParams& p, GradBuilder& g) {
  back_by(g, p.partial_gradient ? kReduceScatter : kOwn, cut_like<ScatterParams>(p));
}
void reduce_scatter_gradient(const ScatterParams& p, GradBuilder& g) {
  back_by(g, kGather, cut_like<GatherParams>(p));
}
void own_gradient(const ScatterParams& p, GradBuilder& g) {
  GatherParams back = cut_like<GatherParams>(p);
  back.partial_gradient = false;
  back_by(g, kGather, std::move(back));
}
void all_reduce_gradient(const SumParams& p, GradBuilder& g) {
  if (p.partial_gradient) back_by(g, kAllReduce, p);
  else back_by(g, kShare, like<ShareParams>(p));
}
void share_gradient(const ShareParams& p, GradBuilder& g) {
  SumParams back = like<SumParams>(p);
  back.partial_gradient = false;
  back_by(g, kAllReduce, std::move(back));
}
void exchange_gradient(const ExchangeParams& p, GradBuilder& g) {
  ExchangeParams back = like<ExchangeParams>(p);
  back.axis = p.new_axis;
  back.whole = p.new_whole;
  back.new_axis = p.axis;
  back.new_whole = p.whole;
  back_by(g, kAllToAll, std::move(back));
}

// ---- kernels ----

class CollectiveState final : public OrderedState {
 public:
  explicit CollectiveState(CollectiveGroupRef group) : group_(std::move(group)) {}
  engine::Var* channel() const noexcept override { return group_ ? &group_->channel() : nullptr; }
  void dropped(const std::string& what) const noexcept override {
    if (!group_) return;
    try {
      group_->group().give_up("an error in what it reads kept an operation from running, " + what);
    } catch (const std::exception&) {  // no memory: the others have their deadline
    }
  }

 private:
  const CollectiveGroupRef group_;
};

// What one call of a group needs until it ends.
struct Call {
  CollectiveGroupRef group;
  TensorView in, out;
  InlineVector<Ref<Storage>, 2> storages;
  engine::ScratchBlock sent, received;

  Call(const CollectiveGroupRef& of, const KernelArgs& args) : group(of), in(args.in[0]), out(args.out[0]) {
    for (const Ref<Storage>& storage : args.storages) storages.push_back(storage);
  }
  engine::ScratchBlock block(int64_t bytes) const {
    return {engine::ScratchBlock::pool_of(group->engine(), Device::cpu()), static_cast<size_t>(bytes),
            nullptr};
  }
  std::byte* source() const { return static_cast<std::byte*>(in.data); }
  std::byte* target() const { return static_cast<std::byte*>(out.data); }
  size_t item() const { return static_cast<size_t>(size_of(in.dtype)); }
};
using CallRef = std::shared_ptr<Call>;

// Ends the task: `finish` first, with what came.
template <class Finish>
comm::ProcessGroup::Done ending(CallRef call, Completion completion, Finish finish) {
  return [call = std::move(call), completion = std::move(completion),
          finish = std::move(finish)](std::exception_ptr error) mutable {
    if (error) return completion.fail(std::move(error));
    finish(*call);
    completion.done();
  };
}

void copy_whole(const KernelArgs& args) {
  if (args.out[0].data != args.in[0].data)
    std::memcpy(args.out[0].data, args.in[0].data, static_cast<size_t>(args.in[0].bytes()));
}
// Of a kernel that has nobody to talk to, or nothing to do.
bool is_alone(const GroupParams& p, const KernelArgs& args) {
  if (args.req[0] == ops::Req::null) return true;
  if (p.size() > 1) return false;
  copy_whole(args);
  return true;
}

// How parts of an array lie in a message: each in as much room as the largest takes.
struct Parts {
  int ranks, axis;
  int64_t whole;
  Shape room;
  bool in_place;  // the message is the array

  Parts(const GroupParams& p, int cut_axis, const Shape& all)
      : ranks(p.size()), axis(cut_axis), whole(all[cut_axis]), room(all) {
    room[axis] = part_of(whole, ranks, 0).size;
    in_place = whole % ranks == 0 && all.size_between(0, axis) == 1;
  }
  Shape part_shape(int rank) const {
    Shape shape = room;
    shape[axis] = part_of(whole, ranks, rank).size;
    return shape;
  }
  Corner corner(int rank) const { return {.axis = axis, .begin = part_of(whole, ranks, rank).begin}; }
};

void run_gather(const GatherParams& p, const KernelArgs& args, Completion completion) {
  if (is_alone(p, args)) return completion.done();
  const auto call = std::make_shared<Call>(p.found, args);
  const Shape& all = call->out.shape;
  const Parts parts(p, checked_axis(kGather, p.axis, all), all);
  const size_t item = call->item(), bytes = static_cast<size_t>(parts.room.size()) * item;
  std::byte* from = call->source();
  if (call->in.shape != parts.room) {
    call->sent = call->block(static_cast<int64_t>(bytes));
    from = call->sent.bytes().data();
    std::memset(from, 0, bytes);
    copy_box(call->in.shape, item, call->source(), call->in.shape, {}, from, parts.room, {});
  }
  std::byte* to = call->target();
  if (!parts.in_place) {
    call->received = call->block(static_cast<int64_t>(bytes) * p.size());
    to = call->received.bytes().data();
  }
  p.found->group().all_gather(
      from, to, bytes, ending(call, std::move(completion), [parts, bytes](Call& ended) {
        if (parts.in_place) return;
        for (int rank = 0; rank < parts.ranks; ++rank)
          copy_box(parts.part_shape(rank), ended.item(),
                   ended.received.bytes().data() + static_cast<size_t>(rank) * bytes, parts.room, {},
                   ended.target(), ended.out.shape, parts.corner(rank));
      }));
}

void run_reduce_scatter(const ScatterParams& p, const KernelArgs& args, Completion completion) {
  if (is_alone(p, args)) return completion.done();
  const auto call = std::make_shared<Call>(p.found, args);
  const Shape& all = call->in.shape;
  const Parts parts(p, checked_axis(kReduceScatter, p.axis, all), all);
  const size_t item = call->item(), bytes = static_cast<size_t>(parts.room.size()) * item;
  const std::byte* from = call->source();
  if (!parts.in_place) {
    call->sent = call->block(static_cast<int64_t>(bytes) * p.size());
    std::byte* const packed = call->sent.bytes().data();
    if (parts.whole % parts.ranks != 0) std::memset(packed, 0, bytes * static_cast<size_t>(p.size()));
    for (int rank = 0; rank < parts.ranks; ++rank)
      copy_box(parts.part_shape(rank), item, call->source(), all, parts.corner(rank),
               packed + static_cast<size_t>(rank) * bytes, parts.room, {});
    from = packed;
  }
  const bool direct = call->out.shape == parts.room;
  if (!direct) call->received = call->block(static_cast<int64_t>(bytes));
  std::byte* const to = direct ? call->target() : call->received.bytes().data();
  p.found->group().reduce_scatter(from, to, static_cast<size_t>(parts.room.size()), call->in.dtype,
                                  comm::Reduction::sum,
                                  ending(call, std::move(completion), [parts, direct](Call& ended) {
                                    if (!direct)
                                      copy_box(ended.out.shape, ended.item(), ended.received.bytes().data(),
                                               parts.room, {}, ended.target(), ended.out.shape, {});
                                  }));
}

void run_all_reduce(const SumParams& p, const KernelArgs& args, Completion completion) {
  if (is_alone(p, args)) return completion.done();
  if (p.training_only && !args.training) {
    copy_whole(args);
    return completion.done();
  }
  const auto call = std::make_shared<Call>(p.found, args);
  p.found->group().all_reduce(call->source(), call->target(), static_cast<size_t>(call->in.size()),
                              call->in.dtype, comm::Reduction::sum,
                              ending(call, std::move(completion), [](Call&) {}));
}

void run_exchange(const ExchangeParams& p, const KernelArgs& args, Completion completion) {
  if (is_alone(p, args)) return completion.done();
  const auto call = std::make_shared<Call>(p.found, args);
  const Shape in = call->in.shape, out = call->out.shape;
  const Parts given(p, checked_axis(kAllToAll, p.axis, out), out);
  const Parts wanted(p, checked_axis(kAllToAll, p.new_axis, in), in);
  const size_t item = call->item();
  std::vector<size_t> sizes_out, sizes_in;
  for (int rank = 0; rank < p.size(); ++rank) {
    Shape sent = in, received = out;
    sent[wanted.axis] = part_of(wanted.whole, p.size(), rank).size;
    received[given.axis] = part_of(given.whole, p.size(), rank).size;
    sizes_out.push_back(static_cast<size_t>(sent.size()) * item);
    sizes_in.push_back(static_cast<size_t>(received.size()) * item);
  }
  call->sent = call->block(call->in.bytes());
  call->received = call->block(call->out.bytes());
  std::byte* to = call->sent.bytes().data();
  for (int rank = 0; rank < p.size(); ++rank) {
    Shape box = in;
    box[wanted.axis] = part_of(wanted.whole, p.size(), rank).size;
    copy_box(box, item, call->source(), in, wanted.corner(rank), to, box, {});
    to += sizes_out[static_cast<size_t>(rank)];
  }
  p.found->group().all_to_all(call->sent.bytes().data(), sizes_out, call->received.bytes().data(), sizes_in,
                              ending(call, std::move(completion), [given](Call& ended) {
                                const std::byte* from = ended.received.bytes().data();
                                for (int rank = 0; rank < given.ranks; ++rank) {
                                  Shape box = ended.out.shape;
                                  box[given.axis] = part_of(given.whole, given.ranks, rank).size;
                                  copy_box(box, ended.item(), from, box, {}, ended.target(), ended.out.shape,
                                           given.corner(rank));
                                  from += static_cast<size_t>(box.size()) * ended.item();
                                }
                              }));
}

void run_own(const ScatterParams& p, const KernelArgs& args) {
  const Shape& all = args.in[0].shape;
  const int axis = checked_axis(kOwn, p.axis, all);
  copy_box(args.out[0].shape, static_cast<size_t>(size_of(args.in[0].dtype)),
           static_cast<const std::byte*>(args.in[0].data), all,
           {.axis = axis, .begin = part_of(all[axis], p.size(), p.rank()).begin},
           static_cast<std::byte*>(args.out[0].data), args.out[0].shape, {});
}
void run_share(const ShareParams&, const KernelArgs& args) { copy_whole(args); }

template <class P, void (*Run)(const P&, const KernelArgs&, Completion)>
void add_kernel(ops::OpTable& table, const char* op, const char* name) {
  ops::Kernel kernel{.name = name};
  kernel.prepare = [](const ops::OpDef&, const AttrsBase& attrs, const ops::KernelSpec&) {
    return Ref<const ops::KernelState>(make_ref<CollectiveState>(attrs.as<P>().found));
  };
  kernel.run_async = [](const AttrsBase& attrs, const KernelArgs& args, Completion completion) {
    Run(attrs.as<P>(), args, std::move(completion));
  };
  table.add_kernel(op, kernel);
}

template <class P>
ops::OpBuilder<P> add(ops::OpTable& table, const char* name, const char* doc) {
  auto op = table.add<P>(name);
  op.doc(doc).input("data").output("output").complete(with_group<P>);
  return op;
}

}  // namespace

void register_collectives(ops::OpTable& table) {
  add<GatherParams>(
      table, kGather,
      "Puts the parts of all ranks of a group together, along an axis. The gradient is that of the "
      "own part: of the sum over ranks (`_parallel_reduce_scatter`), or of what all have alike.")
      .infer_shape(infer_gather)
      .gradient(gather_gradient)
      .impure();
  add<ScatterParams>(
      table, kReduceScatter,
      "Adds the arrays of all ranks of a group, in their order; each gets its part along an axis. "
      "The gradient is gathered.")
      .types(kNumericTypes)
      .infer_shape(infer_cut)
      .gradient(reduce_scatter_gradient)
      .impure();
  add<SumParams>(
      table, kAllReduce,
      "Adds the arrays of all ranks of a group, in their order; all get the sum. The gradient is the "
      "sum of those of all ranks, or what all have alike.")
      .types(kNumericTypes)
      .one_shape()
      .inplace(0, 0)
      .training_matters()
      .gradient(all_reduce_gradient)
      .impure();
  add<ExchangeParams>(
      table, kAllToAll,
      "An array that is cut along one axis over the ranks of a group becomes one that is cut along "
      "another one. The gradient goes the other way.")
      .infer_shape(infer_exchange)
      .gradient(exchange_gradient)
      .impure();
  add<ScatterParams>(
      table, kOwn,
      "The own part, along an axis, of an array that all ranks of a group have. The gradient is "
      "gathered.")
      .infer_shape(infer_cut)
      .gradient(own_gradient);
  add<ShareParams>(
      table, kShare,
      "The array itself, which all ranks of a group have, and each uses in its own way from here on. "
      "The gradient is the sum of those of all ranks.")
      .types(kNumericTypes)
      .one_shape()
      .inplace(0, 0)
      .identity(0, 0)
      .gradient(share_gradient);
  add_kernel<GatherParams, run_gather>(table, kGather, "parallel_gather_cpu");
  add_kernel<ScatterParams, run_reduce_scatter>(table, kReduceScatter, "parallel_reduce_scatter_cpu");
  add_kernel<SumParams, run_all_reduce>(table, kAllReduce, "parallel_all_reduce_cpu");
  add_kernel<ExchangeParams, run_exchange>(table, kAllToAll, "parallel_all_to_all_cpu");
  table.kernel<run_own>(kOwn, "parallel_own_cpu");
  table.kernel<run_share>(kShare, "parallel_share_cpu");
  register_normalizer(table);
}

}  // namespace loomix::linalg
