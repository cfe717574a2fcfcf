// SPDX-License-Identifier: Apache-2.0
#include "linalg/dist_matrix.h"

#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "engine/parallel_for.h"
#include "linalg/relabel.h"
#include "ndarray/copy.h"
#include "ops/random/philox.h"
#include "symbol/executor/run_node.h"

namespace loomix::linalg {
namespace {

void check_type(DType dtype) {
  LOOMIX_CHECK(is_floating(dtype), TypeError, "[Matrix] type {}; expected {}.", name_of(dtype),
               kFloatingTypes.to_string());
}

template <class T>
void draw_row(T* row, int64_t columns, uint64_t first, const Distribution& d, uint64_t seed) {
  const double width = d.second - d.first;
  if (d.kind == Distribution::Kind::normal) {
    for (int64_t j = 0; j < columns; ++j) {
      ops::PhiloxStream draws(ops::RandomStream{seed, first}, j);
      row[j] = static_cast<T>(static_cast<Accum<T>>(d.first + d.second * draws.normal()));
    }
  } else if constexpr (sizeof(T) == 8) {
    for (int64_t j = 0; j < columns; ++j) {
      uint32_t words[2] = {};
      ops::philox_words({seed, 2 * (first + static_cast<uint64_t>(j))}, 0, 2,
                        [&](int64_t i, uint32_t word) { words[i] = word; });
      row[j] = d.first + width * ops::unit_double(words[0], words[1]);
    }
  } else {
    ops::philox_words({seed, first}, 0, columns, [&](int64_t j, uint32_t word) {
      row[j] =
          static_cast<T>(static_cast<float>(d.first + width * static_cast<double>(ops::unit_float(word))));
    });
  }
}

const char* operator_of(Arithmetic operation) {
  constexpr const char* kNames[] = {"elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div"};
  return kNames[static_cast<size_t>(operation)];
}
const char* broadcast_of(Arithmetic operation) {
  constexpr const char* kNames[] = {"broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div"};
  return kNames[static_cast<size_t>(operation)];
}
const char* scalar_of(Arithmetic operation, bool reverse) {
  constexpr const char* kNames[] = {"_plus_scalar", "_minus_scalar", "_mul_scalar", "_div_scalar"};
  constexpr const char* kReversed[] = {"_plus_scalar", "_rminus_scalar", "_mul_scalar", "_rdiv_scalar"};
  return (reverse ? kReversed : kNames)[static_cast<size_t>(operation)];
}

// The type that sums of elements are kept in.
DType sum_type(DType dtype) { return size_of(dtype) < 4 ? DType::float32 : dtype; }

}  // namespace

std::string DistMatrix::to_string() const {
  return fmt::format("({}, {}) {}, {}", rows(), columns(), name_of(dtype_), layout_.name());
}

// ---- made ---------------------------------------------------------------------------------------------------------------

DistMatrix DistMatrix::from_local(const JobRef& job, const Layout& layout, DType dtype,
                                  std::vector<NDArray> blocks) {
  check_type(dtype);
  layout.check_ranks(job->size());
  const auto own = layout.blocks_of(job->rank());
  LOOMIX_CHECK(blocks.size() == own.size(), ValueError,
               "[Matrix] {} blocks came at rank {}; it has {} in {}.", blocks.size(), job->rank(), own.size(),
               layout.name());
  for (size_t i = 0; i < own.size(); ++i) {
    const Block block = layout.block(own[i]);
    const Shape expected{block.rows, block.columns};
    LOOMIX_CHECK(
        blocks[i].is_dense() && blocks[i].device() == Device::cpu() && blocks[i].dtype() == dtype, TypeError,
        "[Matrix] block {} at rank {} is of type {} on {}; expected a dense array of {} on the host.", own[i],
        job->rank(), name_of(blocks[i].dtype()), blocks[i].device().to_string(), name_of(dtype));
    LOOMIX_CHECK(blocks[i].shape() == expected, ShapeError,
                 "[Matrix] block {} at rank {} has shape {}; expected {} by {}.", own[i], job->rank(),
                 blocks[i].shape().to_string(), expected.to_string(), layout.name());
  }
  DistMatrix result(job, layout, dtype);
  result.blocks_ = std::move(blocks);
  return result;
}

DistMatrix DistMatrix::from_global(const JobRef& job, const NDArray& array, const Layout& layout, DType dtype,
                                   int root) {
  layout.check_ranks(job->size());
  LOOMIX_CHECK(root >= 0 && root < job->size(), ValueError, "[Matrix] root {}; expected rank 0 to {}.", root,
               job->size() - 1);
  std::vector<NDArray> blocks;
  const Layout there = Layout::on_rank(layout.rows(), layout.columns(), root);
  if (job->rank() == root) {
    LOOMIX_CHECK(!array.is_none(), ValueError, "[Matrix] rank {} is the root, and gave no array.", root);
    blocks.push_back(array);
  }
  return from_local(job, there, dtype, std::move(blocks)).remap(layout);
}

DistMatrix DistMatrix::uninitialised(const JobRef& job, const Layout& layout, DType dtype) {
  check_type(dtype);
  layout.check_ranks(job->size());
  DistMatrix result(job, layout, dtype);
  job->kept().make_room(job->engine(), layout.elements_of(job->rank()) * size_of(dtype));
  for (const int number : layout.blocks_of(job->rank())) {
    const Block block = layout.block(number);
    result.blocks_.emplace_back(job->engine(), Shape{block.rows, block.columns}, dtype, Device::cpu());
  }
  return result;
}

DistMatrix DistMatrix::filled(const JobRef& job, const Layout& layout, DType dtype, double value) {
  DistMatrix result = uninitialised(job, layout, dtype);
  for (const NDArray& block : result.blocks_) fill(block, value);
  return result;
}

DistMatrix DistMatrix::random(const JobRef& job, const Layout& layout, DType dtype,
                              const Distribution& distribution, uint64_t seed) {
  DistMatrix result = uninitialised(job, layout, dtype);
  const auto own = layout.blocks_of(job->rank());
  for (size_t i = 0; i < own.size(); ++i) {
    const NDArray& block = result.blocks_[i];
    const auto draw = [block, place = layout.block(own[i]), n = layout.columns(), distribution,
                       seed](engine::RunContext& context) {
      dispatch_floating(block.dtype(), "Matrix", [&]<class T>(Type<T>) {
        T* const data = block.view().mutable_as<T>();
        engine::parallel_for(
            context, place.rows, 4096 / std::max<int64_t>(place.columns, 1), [&](int64_t begin, int64_t end) {
              for (int64_t r = begin; r < end; ++r)
                draw_row(data + r * place.columns, place.columns,
                         static_cast<uint64_t>((place.top + r) * n + place.left), distribution, seed);
            });
      });
    };
    ArrayTags tags;
    tags.write(block);
    engine::TaskInfo info;
    info.max_cores = kCopyCores;
    info.cost_ns = move_cost_ns(4 * block.bytes());
    info.describe.name = [](const void*) { return "random_matrix"; };
    job->engine().push(std::move(info), tags.tags(), draw);
  }
  return result;
}

// ---- moved --------------------------------------------------------------------------------------------------------------

DistMatrix DistMatrix::remap(const Layout& given, const RemapOptions& options) const {
  const DType to = options.dtype.value_or(dtype_);
  Wire wire = make_wire(dtype_, to, options.wire);
  given.check_ranks(job_->size());
  const Relabelling there =
      options.relabel ? relabel(layout_, given, job_->size(), options.transpose) : Relabelling{given};
  const Layout& layout = there.layout;
  if (!options.transpose && to == dtype_ && layout == layout_) {
    DistMatrix same = *this;
    same.layout_ = layout;  // which may have another name
    same.bytes_spared_ = wire.bytes_of(there.elements_spared);
    return same;
  }
  const auto plan = job_->transfers().find(layout_, layout, options.transpose);
  DistMatrix result = uninitialised(job_, layout, to);
  result.bytes_spared_ = wire.bytes_of(there.elements_spared);
  const Operation operation(job_,
                            fmt::format("remap of {} to {} {}{}{}", to_string(), name_of(to), layout.name(),
                                        options.transpose ? ", transposed" : "",
                                        options.wire ? " by " + options.wire->to_string() : ""),
                            layout_.hash() ^ (layout.hash() << 1), remap_messages(*job_, layout, wire));
  if (wire.code.enabled()) {
    for (const Route& route : plan->sends)
      wire.residuals[route.rank] = identity_->residuals.find(job_->engine(), layout, options.transpose,
                                                             wire.code, route.rank, route.elements);
  }
  push_remap(operation, plan, {layout_, blocks_, dtype_}, {layout, result.blocks_, to}, wire);
  return result;
}

NDArray DistMatrix::to_global() const {
  return remap(Layout::replicated(rows(), columns(), job_->size())).blocks_.front();
}

NDArray DistMatrix::to_global(int root) const {
  const DistMatrix there = remap(Layout::on_rank(rows(), columns(), root));
  return there.blocks_.empty() ? NDArray() : there.blocks_.front();
}

// ---- kept ---------------------------------------------------------------------------------------------------------------

std::optional<DistMatrix> DistMatrix::kept_here() const {
  const NDArray whole = job_->kept().find(identity_, KeptCopies::Writes(blocks_));
  if (whole.is_none()) return {};
  DistMatrix copy(job_, Layout::replicated(rows(), columns(), job_->size()), dtype_);
  copy.blocks_ = {whole};
  return copy;
}

NDArray DistMatrix::replicated() const {
  if (layout_ == Layout::replicated(rows(), columns(), job_->size())) return blocks_.front();
  KeptCopies::Writes writes(blocks_);
  const DistMatrix there = by_kept_copies({*this}, "replicated copy of " + to_string()).front();
  const NDArray whole = there.to_global();
  if (there.identity_ == identity_ && job_->kept().may_keep(whole.bytes()))
    job_->kept().put(identity_, std::move(writes), whole);
  return whole;
}

std::vector<DistMatrix> by_kept_copies(std::vector<DistMatrix> matrices, const std::string& what) {
  const JobRef& job = matrices.front().job();
  std::vector<std::optional<DistMatrix>> copies;
  uint8_t here = 0;
  uint64_t key = 0;
  bool asks = false;
  for (size_t i = 0; i < matrices.size(); ++i) {
    const DistMatrix& matrix = matrices[i];
    key = key << 1 ^ matrix.layout().hash();
    asks = asks || matrix.identity()->kept;
    copies.push_back(matrix.kept_here());
    if (copies.back()) here |= static_cast<uint8_t>(1U << i);
  }
  const uint8_t everywhere = asks ? Operation::agree(job, "copies for " + what, key, here) : 0;
  for (size_t i = 0; i < matrices.size(); ++i) {
    if ((everywhere >> i & 1U) != 0) matrices[i] = *copies[i];
  }
  return matrices;
}

// ---- element by element -------------------------------------------------------------------------------------------------

template <class Each>
DistMatrix DistMatrix::each_block(Each&& each) const {
  DistMatrix result(job_, layout_, dtype_);
  const auto own = layout_.blocks_of(job_->rank());
  for (size_t i = 0; i < own.size(); ++i)
    result.blocks_.push_back(blocks_[i].size() == 0 ? blocks_[i] : each(i, layout_.block(own[i])));
  return result;
}

DistMatrix DistMatrix::with(Arithmetic operation, const DistMatrix& other) const {
  LOOMIX_CHECK(other.rows() == rows() && other.columns() == columns(), ShapeError,
               "[Matrix] {} and {}; expected the same sizes.", to_string(), other.to_string());
  const DistMatrix right = other.remap(layout_, {.dtype = dtype_});
  return each_block([&](size_t i, const Block&) {
    return run_node(job_->runtime(), operator_of(operation), {blocks_[i], right.blocks_[i]})[0];
  });
}

DistMatrix DistMatrix::with(Arithmetic operation, double number, bool reverse) const {
  return each_block([&](size_t i, const Block&) {
    return run_node(job_->runtime(), scalar_of(operation, reverse), {blocks_[i]},
                    {{"scalar", fmt::format("{}", number)}})[0];
  });
}

DistMatrix DistMatrix::with(Arithmetic operation, const NDArray& vector, bool reverse) const {
  const Shape& shape = vector.shape();
  const bool is_row = shape == Shape{columns()} || shape == Shape{1, columns()};
  LOOMIX_CHECK(is_row || shape == (Shape{rows(), 1}), ShapeError,
               "[Matrix] {} and a vector of shape {}; expected ({},), (1, {}) or ({}, 1).", to_string(),
               shape.to_string(), columns(), columns(), rows());
  const NDArray all =
      (vector.dtype() == dtype_ ? vector : cast(vector, dtype_)).reshape(Shape{vector.size()});
  return each_block([&](size_t i, const Block& block) {
    const NDArray part =
        is_row ? all.slice(block.left, block.left + block.columns).reshape(Shape{1, block.columns})
               : all.slice(block.top, block.top + block.rows).reshape(Shape{block.rows, 1});
    return reverse ? run_node(job_->runtime(), broadcast_of(operation), {part, blocks_[i]})[0]
                   : run_node(job_->runtime(), broadcast_of(operation), {blocks_[i], part})[0];
  });
}

// ---- added up -----------------------------------------------------------------------------------------------------------

// each(block, place, sums): adds a block's share. Of blocks that several ranks have, the first one does.
template <class Each>
NDArray DistMatrix::added_up(int64_t size, const char* what, Each&& each) const {
  const DType type = sum_type(dtype_);
  Job& job = *job_;
  const Operation operation(job_, fmt::format("{} of {}", what, to_string()), layout_.hash());
  const Message own(job, size * size_of(type));
  const NDArray sums = own.elements(Shape{size}, type);
  fill(sums, 0);
  const auto numbers = layout_.blocks_of(job.rank());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (layout_.owners(numbers[i]).front() != job.rank() || blocks_[i].size() == 0) continue;
    each(type == dtype_ ? blocks_[i] : cast(blocks_[i], type), layout_.block(numbers[i]), sums);
  }
  own.push_mark();
  NDArray sum = zeros(job.engine(), Shape{size}, type, Device::cpu());
  std::vector<Message> parts;
  for (int rank = 0; rank < job.size(); ++rank) {
    parts.push_back(rank == job.rank() ? own : Message(job, size * size_of(type)));
    if (rank == job.rank()) continue;
    operation.send(own, rank);
    operation.receive(parts.back(), rank);
  }
  if (size > 0) {
    for (const Message& part : parts)
      sum = run_node(job.runtime(), "elemwise_add", {sum, part.elements(Shape{size}, type)})[0];
  }
  return sum;
}

NDArray DistMatrix::sum(std::optional<int> axis) const {
  LOOMIX_CHECK(!axis || *axis == 0 || *axis == 1, ValueError,
               "[Matrix] sum over axis {}; expected 0, 1 or none.", *axis);
  const bool over_rows = !axis || *axis == 0;
  const auto add = [&](const NDArray& block, const Block& place, const NDArray& sums) {
    NDArray part = over_rows ? sums.slice(place.left, place.left + place.columns)
                             : sums.slice(place.top, place.top + place.rows);
    NDArray* const out[] = {&part};
    const ops::Req request[] = {ops::Req::add};
    run_node(job_->runtime(), "sum", {block}, {{"axis", over_rows ? "0" : "1"}},
             {.out = out, .req = request});
  };
  NDArray result = added_up(over_rows ? columns() : rows(), "sum", add);
  if (!axis)
    result = columns() > 0 ? run_node(job_->runtime(), "sum", {result})[0].reshape(Shape{1})
                           : zeros(job_->engine(), Shape{1}, result.dtype(), Device::cpu());
  return result.dtype() == dtype_ ? result : cast(result, dtype_);
}

NDArray DistMatrix::norm() const {
  const auto add = [&](const NDArray& block, const Block&, const NDArray& sums) {
    const NDArray flat = block.reshape(Shape{1, block.size()});
    NDArray all = sums.reshape(Shape{1, 1});
    NDArray* const out[] = {&all};
    const ops::Req request[] = {ops::Req::add};
    run_node(job_->runtime(), "dot", {flat, flat}, {{"transpose_b", "True"}}, {.out = out, .req = request});
  };
  const NDArray result = run_node(job_->runtime(), "sqrt", {added_up(1, "norm", add)})[0];
  return result.dtype() == dtype_ ? result : cast(result, dtype_);
}

}  // namespace loomix::linalg
