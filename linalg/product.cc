// SPDX-License-Identifier: Apache-2.0
#include "linalg/product.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "ndarray/copy.h"
#include "symbol/executor/run_node.h"

// The four ways, as tasks. Operands and result have been brought into blocks of which each step uses whole ones; all of this is
// pushed ahead, and buffers, which a task must have read before another one writes them, bound how far ahead it runs.
namespace loomix::linalg {
namespace {

// An operand by its blocks as they are multiplied, though it may be stored transposed.
struct Operand {
  DistMatrix matrix;
  bool transposed;

  Block place(int i, int j) const {
    const Layout& layout = matrix.layout();
    return layout.block(transposed ? j * layout.block_columns() + i : i * layout.block_columns() + j);
  }
  Shape shape(int i, int j) const {  // as stored
    const Block block = place(i, j);
    return Shape{block.rows, block.columns};
  }
  const NDArray& at(int i, int j) const {  // an own one
    const Layout& layout = matrix.layout();
    const int number = transposed ? j * layout.block_columns() + i : i * layout.block_columns() + j;
    const auto own = layout.blocks_of(matrix.job()->rank());
    return matrix
        .local()[static_cast<size_t>(std::lower_bound(own.begin(), own.end(), number) - own.begin())];
  }
  int64_t bytes_of_largest() const {
    int64_t most = 0;
    for (int b = 0; b < matrix.layout().blocks(); ++b) most = std::max(most, matrix.layout().block(b).size());
    return most * size_of(matrix.dtype());
  }
};

class Multiplication {
 public:
  // `keeps`: what moves in a ring goes there, too; none: nowhere.
  Multiplication(const Operand& a, const Operand& b, const ProductWay& way, DistMatrix result, NDArray keeps,
                 std::string what)
      : job_(*result.job()),
        a_(a),
        b_(b),
        way_(way),
        c_{std::move(result), false},
        keeps_(std::move(keeps)),
        operation_(c_.matrix.job(), std::move(what), a.matrix.layout().hash() ^ b.matrix.layout().hash(),
                   messages()) {}

  void push() {
    switch (way_.algorithm) {
      case Algorithm::local: return push_local();
      case Algorithm::ring: return push_ring();
      case Algorithm::grid: return push_grid();
      case Algorithm::reduce: return push_reduce();
    }
  }

 private:
  int messages() const {
    switch (way_.algorithm) {
      case Algorithm::local: return 1;
      case Algorithm::ring: return job_.size() * way_.chunks;
      case Algorithm::grid: return 2 * way_.a.block_columns();
      case Algorithm::reduce: return way_.chunks;
    }
    return 1;
  }

  // c = a b, or c += a b.
  void multiply(NDArray a, NDArray b, NDArray c, bool add) {
    if (c.size() == 0) return;
    if (a.size() == 0 || b.size() == 0) {
      if (!add) fill(c, 0);
      return;
    }
    if (a.dtype() != c.dtype()) a = cast(a, c.dtype());
    if (b.dtype() != c.dtype()) b = cast(b, c.dtype());
    NDArray* const out[] = {&c};
    const ops::Req request[] = {add ? ops::Req::add : ops::Req::write};
    run_node(job_.runtime(), "dot", {a, b},
             {{"transpose_a", a_.transposed ? "True" : "False"},
              {"transpose_b", b_.transposed ? "True" : "False"}},
             {.out = out, .req = request});
  }

  void keep(const NDArray& part, const Block& place) {
    if (part.size() == 0) return;
    ArrayTags tags;
    tags.read(part);
    tags.update(keeps_);
    engine::TaskInfo info;
    info.cost_ns = move_cost_ns(2 * part.bytes());
    info.describe.name = [](const void*) { return "keep_part"; };
    job_.engine().push(std::move(info), tags.tags(), [part, whole = keeps_, place](engine::RunContext&) {
      const TensorView from = part.view(), to = whole.view();
      const int64_t stride = to.shape[1];
      auto* const first =
          static_cast<std::byte*>(to.data) + (place.top * stride + place.left) * size_of(to.dtype);
      copy_elements({static_cast<const std::byte*>(from.data), from.dtype, place.columns},
                    {first, to.dtype, stride}, place.rows, place.columns, false);
    });
  }

  // Sends an own block, by a buffer.
  void send_own(const NDArray& block, const Message& buffer, int to, int number,
                const Message* after = nullptr) {
    const engine::PushPriority first(job_.engine(), 1);
    if (block.size() > 0) copy(block, buffer.elements(block.shape(), block.dtype()));
    buffer.push_mark();
    operation_.send(buffer, to, number, after);
  }

  void push_local() {
    const int me = job_.rank();
    if (way_.moves_a) multiply(a_.at(0, 0), b_.at(0, me), c_.at(0, me), false);
    else multiply(a_.at(me, 0), b_.at(0, 0), c_.at(me, 0), false);
  }

  // At step t a rank has the part of rank me + t; it came from the right and goes on to the left.
  void push_ring() {
    const int ranks = job_.size(), me = job_.rank();
    const int left = (me + ranks - 1) % ranks, right = (me + 1) % ranks;
    const Operand& moving = way_.moves_a ? a_ : b_;
    const bool by_row = way_.moves_a != way_.cuts_inner;  // its units lie on top of each other
    std::vector<Message>
        buffers;  // a part, which must all be there before the next one goes, and some units more
    for (int i = 1; i < way_.chunks + job_.buffers; ++i)
      buffers.emplace_back(job_, moving.bytes_of_largest());
    size_t turn = 0;
    for (int t = 0; t < ranks; ++t) {
      for (int chunk = 0; chunk < way_.chunks; ++chunk) {
        const int unit = (me + t) % ranks * way_.chunks + chunk;
        const int i = by_row ? unit : 0, j = by_row ? 0 : unit;
        const Message& buffer = buffers[turn++ % buffers.size()];
        NDArray part;
        if (t == 0) {
          part = moving.at(i, j);
          send_own(part, buffer, left, unit);
        } else {
          operation_.receive(buffer, right, unit);
          part = buffer.elements(moving.shape(i, j), moving.matrix.dtype());
          if (t + 1 < ranks) operation_.send(buffer, left, unit);
        }
        if (!keeps_.is_none()) keep(part, moving.place(i, j));
        const bool add = way_.cuts_inner && (t > 0 || chunk > 0);
        if (way_.moves_a) {
          multiply(part, b_.at(way_.cuts_inner ? unit : 0, me), c_.at(way_.cuts_inner ? 0 : unit, me), add);
        } else {
          multiply(a_.at(me, way_.cuts_inner ? unit : 0), part, c_.at(me, way_.cuts_inner ? 0 : unit), add);
        }
      }
    }
  }

  // A row or a column of ranks, along which panels go.
  struct Line {
    int base, step, length, place;           // the first rank, how far the next one is, and which one this is
    const Message* passed_before = nullptr;  // the last panel that was passed on in the round before
    const Message* passed = nullptr;
    int rank(int i) const { return base + (i + length) % length * step; }
  };

  // The panel that this rank has, or that comes along the line from the one at place `first`, and goes on. An own one does not go
  // before those of the round before: who waits for them is further away.
  NDArray panel(const Operand& of, int i, int j, const Message& buffer, Line& line, int first, int number) {
    const bool ends_here = (line.place + 1) % line.length == first;
    const int next = line.rank(line.place + 1);
    if (line.place == first) {
      const NDArray& own = of.at(i, j);
      if (!ends_here) send_own(own, buffer, next, number, line.passed_before);
      return own;
    }
    operation_.receive(buffer, line.rank(line.place - 1), number);
    if (!ends_here) {
      operation_.send(buffer, next, number);
      line.passed = &buffer;
    }
    return buffer.elements(of.shape(i, j), of.matrix.dtype());
  }

  // A panel of each line's ranks at a time, so that all links are in use: each rank sends its own, and passes on the others'. Which one is
  // multiplied first is that which comes first.
  struct Panel {
    int number, stretch, hops;
  };
  std::vector<std::vector<Panel>> rounds_of_panels() const {
    const int p = way_.p, q = way_.q, row = job_.rank() / q, column = job_.rank() % q;
    const int panels = way_.a.block_columns();
    std::vector<int> come(static_cast<size_t>(std::max(p, q)));
    std::vector<std::vector<Panel>> rounds;
    for (int t = 0; t < panels; ++t) {
      const int a_column = way_.a.owners(row * panels + t).front() % q;
      const int b_row = way_.b.owners(t * q + column).front() / q;
      const int stretch = p >= q ? b_row : a_column;
      const auto round = static_cast<size_t>(come[static_cast<size_t>(stretch)]++);
      if (rounds.size() <= round) rounds.resize(round + 1);
      rounds[round].push_back({t, stretch, std::max((column - a_column + q) % q, (row - b_row + p) % p)});
    }
    for (auto& round : rounds)
      std::stable_sort(round.begin(), round.end(),
                       [](const Panel& x, const Panel& y) { return x.hops < y.hops; });
    return rounds;
  }

  void push_grid() {
    const int q = way_.q, row = job_.rank() / q, column = job_.rank() % q;
    const int panels = way_.a.block_columns();
    std::vector<Message> a_buffers, b_buffers;
    for (int i = 0; i < job_.buffers * std::max(way_.p, q); ++i) {
      a_buffers.emplace_back(job_, a_.bytes_of_largest());
      b_buffers.emplace_back(job_, b_.bytes_of_largest());
    }
    const auto rounds = rounds_of_panels();
    const auto line = static_cast<size_t>(std::max(way_.p, q));
    Line along_row{row * q, 1, q, column}, along_column{column, q, way_.p, row};
    bool add = false;
    for (size_t round = 0; round < rounds.size(); ++round) {
      const size_t first = round % static_cast<size_t>(job_.buffers) * line;
      std::vector<NDArray> a, b;  // first all of the one: so two ranks that send to a third one take turns
      for (const auto& [t, stretch, hops] : rounds[round]) {
        const int owner = way_.a.owners(row * panels + t).front() % q;
        a.push_back(panel(a_, row, t, a_buffers[first + static_cast<size_t>(stretch)], along_row, owner, t));
      }
      for (const auto& [t, stretch, hops] : rounds[round]) {
        const int owner = way_.b.owners(t * q + column).front() / q;
        b.push_back(panel(b_, t, column, b_buffers[first + static_cast<size_t>(stretch)], along_column, owner,
                          panels + t));
      }
      for (size_t i = 0; i < a.size(); ++i)
        multiply(a[i], b[i], c_.at(row, column), std::exchange(add, true));
      for (Line* const each : {&along_row, &along_column}) each->passed_before = each->passed;
    }
  }

  // Units of the result: the next rank's first, the own ones last. At step t a rank gets its units from rank me - t, which is then about ready
  // with them. What comes is added in this order, beside the result, so that the own products wait for nothing; they are added last.
  // They are done also whenever there is no buffer for a product that another rank waits for.
  void push_reduce() {
    const int ranks = job_.size(), me = job_.rank(), units = way_.chunks;
    const DType type = c_.matrix.dtype();
    std::vector<Message> sent, got, sums;
    for (int i = 0; i < job_.buffers; ++i) got.emplace_back(job_, bytes_of_largest_unit());
    // One more: else an own product, which is not short, would begin while a buffer is about to be free.
    for (int i = 0; i <= job_.buffers; ++i) sent.emplace_back(job_, bytes_of_largest_unit());
    for (int i = 0; i < units; ++i) sums.emplace_back(job_, bytes_of_largest_unit());
    size_t turn = 0;
    for (int t = 1; t < ranks; ++t) {
      const int to = (me + t) % ranks, from = (me + ranks - t) % ranks;
      for (int unit = 0; unit < units; ++unit, ++turn) {
        const Message& buffer = sent[turn % sent.size()];
        {
          const engine::PushPriority first(job_.engine(), 1);
          multiply(a_.at(to * units + unit, me), b_.at(me, 0), buffer.elements(unit_shape(to, unit), type),
                   false);
          buffer.push_mark();
        }
        operation_.send(buffer, to, unit);
        const Message& place = t == 1 ? sums[static_cast<size_t>(unit)] : got[turn % got.size()];
        operation_.receive(place, from, unit);
        const Shape shape = unit_shape(me, unit);
        if (t > 1 && shape.size() > 0)
          add_to(sums[static_cast<size_t>(unit)].elements(shape, type), place.elements(shape, type));
      }
    }
    for (int unit = 0; unit < units; ++unit)
      multiply(a_.at(me * units + unit, me), b_.at(me, 0), own_unit(unit), false);
    for (int unit = 0; unit < units; ++unit) {
      const NDArray part = own_unit(unit);
      if (part.size() > 0) add_to(part, sums[static_cast<size_t>(unit)].elements(part.shape(), type));
    }
  }

  // Of the result, as the left operand's rows are cut.
  Shape unit_shape(int rank, int unit) const {
    const auto cut = way_.a.row_cuts().begin() + rank * way_.chunks + unit;
    return Shape{cut[1] - cut[0], c_.matrix.columns()};
  }
  NDArray own_unit(int unit) const {
    const auto own = way_.a.row_cuts().begin() + job_.rank() * way_.chunks;
    return c_.at(job_.rank(), 0).slice(own[unit] - own[0], own[unit + 1] - own[0]);
  }
  int64_t bytes_of_largest_unit() const {
    int64_t rows = 0;
    const auto& cuts = way_.a.row_cuts();
    for (size_t i = 0; i + 1 < cuts.size(); ++i) rows = std::max(rows, cuts[i + 1] - cuts[i]);
    return rows * c_.matrix.columns() * size_of(c_.matrix.dtype());
  }

  void add_to(NDArray sum, const NDArray& part) {
    const engine::PushPriority first(job_.engine(), 2);  // it is short, and makes room for what comes
    NDArray* const out[] = {&sum};
    const ops::Req request[] = {ops::Req::write};
    run_node(job_.runtime(), "elemwise_add", {sum, part}, {}, {.out = out, .req = request});
  }

  Job& job_;
  const Operand a_, b_;
  const ProductWay& way_;
  const Operand c_;
  const NDArray keeps_;
  const Operation operation_;
};

// Whether ranks keep an operand that a product brings to all of them: whole, or in the parts of a ring.
bool may_keep(const DistMatrix& operand, const DistMatrix& used, DType dtype) {
  Job& job = *operand.job();
  return job.size() > 1 && used.identity() == operand.identity() && operand.layout().copies() < job.size() &&
         operand.dtype() == dtype &&
         job.kept().may_keep(operand.rows() * operand.columns() * size_of(operand.dtype()));
}

// Memory for the parts of a ring.
NDArray whole_of(const DistMatrix& operand) {
  Job& job = *operand.job();
  const Shape shape{operand.rows(), operand.columns()};
  job.kept().make_room(job.engine(), shape.size() * size_of(operand.dtype()));
  return NDArray(job.engine(), shape, operand.dtype(), Device::cpu());
}

}  // namespace

DistMatrix dot(const DistMatrix& a, const DistMatrix& b, const ProductOptions& options) {
  const JobRef& job = a.job();
  auto used = by_kept_copies({a, b}, fmt::format("product of {} and {}", a.to_string(), b.to_string()));
  const ProductWay way = ways_to_multiply(used[0], used[1], options).front();
  const bool is_ring = way.algorithm == Algorithm::ring, is_grid = way.algorithm == Algorithm::grid;
  const size_t everywhere = way.moves_a ? 0 : 1;  // sooner or later
  const DistMatrix& operand = everywhere == 0 ? a : b;
  NDArray whole;
  KeptCopies::Writes writes(operand.local());
  if (!is_grid && way.algorithm != Algorithm::reduce && may_keep(operand, used[everywhere], a.dtype())) {
    whole = is_ring ? whole_of(operand) : operand.to_global();
    if (!is_ring)
      used[everywhere] = DistMatrix::from_local(
          job, Layout::replicated(operand.rows(), operand.columns(), job->size()), operand.dtype(), {whole});
  }
  // What moves stays narrow; what stays is converted once.
  const DType inner = size_of(a.dtype()) < 4 ? DType::float32 : a.dtype();
  const DType a_type = is_grid || (is_ring && way.moves_a) ? a.dtype() : inner;
  const DType b_type = is_grid || (is_ring && !way.moves_a) ? a.dtype() : inner;
  const Operand left{used[0].remap(options.transpose_a ? way.a.transposed() : way.a, {.dtype = a_type}),
                     options.transpose_a};
  const Operand right{used[1].remap(options.transpose_b ? way.b.transposed() : way.b, {.dtype = b_type}),
                      options.transpose_b};
  const DistMatrix result = DistMatrix::uninitialised(job, way.c, inner);
  Multiplication(left, right, way, result, is_ring ? whole : NDArray(),
                 fmt::format("product of {} and {} by {}", a.to_string(), b.to_string(), way.name()))
      .push();
  if (!whole.is_none()) job->kept().put(operand.identity(), std::move(writes), whole);
  return result.remap(way.out, {.dtype = a.dtype()});
}

}  // namespace loomix::linalg
