// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse/graph_sample.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "ops/elemwise/apply.h"
#include "ops/random/philox.h"
#include "ops/sparse/graph.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr const char* kWho = "dgl_csr_neighbor_sample";
using Uniform = NeighborSampleParams<false>;
using Weighted = NeighborSampleParams<true>;

// Some of `places`, brought to the front: `wanted` of them, each as likely as any other.
void draw(std::vector<int64_t>& places, int64_t wanted, PhiloxStream& random) {
  for (int64_t i = 0; i < wanted; ++i) {
    const auto left = static_cast<double>(static_cast<int64_t>(places.size()) - i);
    const auto other = i + static_cast<int64_t>(random.uniform() * left);
    std::swap(places[static_cast<size_t>(i)], places[static_cast<size_t>(other)]);
  }
  places.resize(static_cast<size_t>(wanted));
}

// The same by weights, without replacement: those of the largest log(u) / weight (Efraimidis, Spirakis: Weighted random
// sampling with a reservoir, 2006). Places of weight 0 are never drawn.
template <class Weight>
void draw_weighted(std::vector<int64_t>& places, int64_t wanted, PhiloxStream& random, Weight&& weight) {
  std::vector<std::pair<double, int64_t>> keys;
  for (const int64_t place : places) {
    const double w = weight(place);
    if (w > 0) keys.emplace_back(-std::log(random.uniform_positive()) / w, place);
  }
  wanted = std::min(wanted, static_cast<int64_t>(keys.size()));
  std::partial_sort(keys.begin(), keys.begin() + wanted, keys.end());
  places.clear();
  for (int64_t i = 0; i < wanted; ++i) places.push_back(keys[static_cast<size_t>(i)].second);
}

double weight_of(const KernelArgs& args, int64_t vertex) {
  return dispatch_floating(args.in[1].dtype, kWho,
                           [&]<class W>(Type<W>) { return static_cast<double>(args.in[1].as<W>()[vertex]); });
}

struct Sample {
  std::vector<int64_t> order;                              // vertices as they were found
  std::unordered_map<int64_t, int64_t> layer;              // of each: steps from the nearest seed
  std::unordered_map<int64_t, std::vector<int64_t>> kept;  // of each that was looked at: places of its edges

  bool full(int64_t limit) const { return static_cast<int64_t>(order.size()) >= limit; }
  void find(int64_t vertex, int64_t steps) {
    if (layer.emplace(vertex, steps).second) order.push_back(vertex);
  }
};

// Breadth first from the seeds of sample i, with some edges of each vertex. Ends at the first neighbour for which there is
// no room.
template <class T>
Sample sample(const NeighborSample& p, const KernelArgs& args, int i, const CsrView<T>& graph) {
  const TensorView& seeds = args.in[static_cast<size_t>(p.fixed_inputs() + i)];
  Sample found;
  for (const int64_t seed : vertices_of(seeds, graph.rows, kWho)) found.find(seed, 0);
  for (size_t next = 0; next < found.order.size(); ++next) {
    const int64_t vertex = found.order[next], steps = found.layer[vertex];
    if (steps >= p.num_hops) break;
    std::vector<int64_t> places(static_cast<size_t>(graph.starts[vertex + 1] - graph.starts[vertex]));
    std::iota(places.begin(), places.end(), graph.starts[vertex]);
    if (static_cast<int64_t>(places.size()) > p.num_neighbor) {
      PhiloxStream random(args.random, i * graph.rows + vertex);  // each vertex has one of its own
      if (p.weighted) {
        draw_weighted(places, p.num_neighbor, random,
                      [&](int64_t place) { return weight_of(args, graph.columns[place]); });
      } else {
        draw(places, p.num_neighbor, random);
      }
    }
    std::sort(places.begin(), places.end());
    std::vector<int64_t>& kept = found.kept[vertex];
    for (const int64_t place : places) {
      const int64_t neighbour = graph.columns[place];
      const bool fits = found.layer.count(neighbour) > 0 || !found.full(p.max_num_vertices);
      if (!fits) return found;
      found.find(neighbour, steps + 1);
      kept.push_back(place);
    }
  }
  return found;
}

// The vertices in order of their numbers, then zeros, and at last how many there are; what belongs to them likewise.
template <class T>
void write_sample(const NeighborSample& p, const KernelArgs& args, int i, const CsrView<T>& graph,
                  Sample& found) {
  const auto out = [&](int kind) { return static_cast<size_t>(kind * p.samples() + i); };
  const auto wanted = [&](int kind) { return args.req[out(kind)] != Req::null; };
  const auto limit = static_cast<size_t>(p.max_num_vertices);
  std::vector<int64_t> ids = std::move(found.order);
  std::sort(ids.begin(), ids.end());
  if (wanted(0)) {
    auto* to = args.out[out(0)].template mutable_as<int64_t>();
    std::fill(std::copy(ids.begin(), ids.end(), to), to + limit, 0);
    to[limit] = static_cast<int64_t>(ids.size());
  }
  if (wanted(1)) {
    CsrRows<T> rows;
    for (size_t row = 0; row < limit; ++row) {
      if (row < ids.size()) {
        for (const int64_t place : found.kept[ids[row]]) rows.add(graph.columns[place], graph.values[place]);
      }
      rows.end_row();
    }
    rows.store(output_storage(args, out(1)));
  }
  if (p.weighted && wanted(2)) {
    const TensorView& to = args.out[out(2)];
    std::memset(to.data, 0, static_cast<size_t>(to.bytes()));
    for (size_t row = 0; row < ids.size(); ++row) {
      convert_row(to.dtype, element(args.in[1], ids[row]), to.dtype,
                  mutable_element(to, static_cast<int64_t>(row)), 1);
    }
  }
  const int layers = p.outputs() - 1;
  if (wanted(layers)) {
    auto* to = args.out[out(layers)].template mutable_as<int64_t>();
    for (size_t row = 0; row < limit; ++row) to[row] = row < ids.size() ? found.layer[ids[row]] : 0;
  }
}

template <class P>
void sample_cpu(const P& p, const KernelArgs& args) {
  dispatch_bits(args.in[0].dtype, [&]<class T>(Type<T>) {
    const CsrView<T> graph = csr_of<T>(input_storage(args, 0), args.in[0].shape);
    for (int i = 0; i < p.samples(); ++i) {
      Sample found = sample(p, args, i, graph);
      write_sample(p, args, i, graph, found);
    }
  });
}

void compact_cpu(const GraphCompactParams& p, const KernelArgs& args) {
  dispatch_numeric(args.in[0].dtype, "dgl_graph_compact", [&]<class T>(Type<T>) {
    for (int i = 0; i < p.graphs(); ++i) {
      const auto at = static_cast<size_t>(i);
      const CsrView<T> graph = csr_of<T>(input_storage(args, at), args.in[at].shape);
      const int64_t size = p.graph_sizes[at];
      TensorView vertices = args.in[static_cast<size_t>(p.graphs() + i)];
      vertices.shape = Shape{size};
      const std::vector<int64_t> ids = vertices_of(vertices, graph.width, "dgl_graph_compact");
      std::unordered_map<int64_t, int64_t> place;
      for (const int64_t id : ids) place.emplace(id, static_cast<int64_t>(place.size()));
      LOOMIX_CHECK(static_cast<int64_t>(place.size()) == size, ValueError,
                   "[dgl_graph_compact] the {} vertices of graph {} are not all different.", size, i);
      CsrRows<T> rows;
      for (int64_t row = 0; row < size; ++row) {
        for (int64_t k = graph.starts[row]; k < graph.starts[row + 1]; ++k) {
          const auto found = place.find(graph.columns[k]);
          LOOMIX_CHECK(
              found != place.end(), ValueError,
              "[dgl_graph_compact] graph {} has an edge to vertex {}, which is not among its vertices.", i,
              graph.columns[k]);
          rows.add(found->second, graph.values[k]);
        }
        rows.end_row();
      }
      store_graph(rows, args, at, static_cast<size_t>(p.graphs()));
    }
  });
}

template <class P>
Support takes_sample(const P& p, const KernelSpec& spec) {
  const auto samples = static_cast<size_t>(p.samples());
  return takes_graphs(spec, 1, samples, 2 * samples);
}

Support takes_compact(const GraphCompactParams& p, const KernelSpec& spec) {
  return takes_graphs(spec, static_cast<size_t>(p.graphs()), 0, spec.out.size());
}

void sample_shape(const NeighborSample& p, ShapeInfer& s) {
  const Shape& graph = s.in(0);
  s.expect(0, graph.ndim() == 2 && graph[0] == graph[1], "a square matrix");
  if (p.weighted) {
    s.expect(1, s.in(1).ndim() == 1, "one axis");
    if (graph.ndim_known()) s.set_in(1, Shape{graph[0]});
  }
  for (int i = 0; i < p.samples(); ++i) {
    const Shape& seeds = s.in(p.fixed_inputs() + i);
    s.expect(p.fixed_inputs() + i, seeds.ndim() == 1, "one axis");
    LOOMIX_CHECK(!seeds.ndim_known() || seeds[0] <= p.max_num_vertices, ValueError,
                 "[{}] {} seeds are more than max_num_vertices={}.", s.who(), seeds[0], p.max_num_vertices);
    for (int kind = 0; kind < p.outputs(); ++kind) {
      const int out = kind * p.samples() + i;
      if (kind != 1) s.set_out(out, Shape{p.max_num_vertices + (kind == 0 ? 1 : 0)});
      if (kind == 1 && graph.ndim_known()) s.set_out(out, Shape{p.max_num_vertices, graph[1]});
    }
  }
}

void sample_type(const NeighborSample& p, TypeInfer& t) {
  if (p.weighted) t.default_in(1);
  for (int i = 0; i < p.samples(); ++i) {
    t.default_in(p.fixed_inputs() + i, DType::int64);
    for (int kind = 0; kind < p.outputs(); ++kind) {
      const bool weights = kind == 2 && p.weighted;
      t.set_out(kind * p.samples() + i, kind == 1 ? t.in(0) : weights ? t.in(1) : DType::int64);
    }
  }
}

void compact_shape(const GraphCompactParams& p, ShapeInfer& s) {
  LOOMIX_CHECK(p.num_args % 2 == 0, ValueError,
               "[{}] num_args is {}; expected as many arrays of vertices as graphs.", s.who(), p.num_args);
  LOOMIX_CHECK(static_cast<int>(p.graph_sizes.size()) == p.graphs(), ValueError,
               "[{}] graph_sizes has {} numbers; expected one for each of {} graphs.", s.who(),
               p.graph_sizes.size(), p.graphs());
  for (int i = 0; i < p.graphs(); ++i) {
    const int64_t size = p.graph_sizes[static_cast<size_t>(i)];
    const Shape &graph = s.in(i), &vertices = s.in(p.graphs() + i);
    s.expect(i, graph.ndim() == 2, "a matrix");
    s.expect(p.graphs() + i, vertices.ndim() == 1, "one axis");
    const auto fits = [&](const Shape& shape) { return !shape.ndim_known() || size <= shape[0]; };
    LOOMIX_CHECK(size >= 0 && fits(graph) && fits(vertices), ValueError,
                 "[{}] graph_sizes[{}] is {}; graph and vertices have shapes {} and {}.", s.who(), i, size,
                 graph.to_string(), vertices.to_string());
    for (int out = i; out < s.num_out(); out += p.graphs()) s.set_out(out, Shape{size, size});
  }
}

void compact_type(const GraphCompactParams& p, TypeInfer& t) {
  for (int i = 0; i < p.graphs(); ++i) {
    t.set_in(i, t.in(0));
    t.default_in(p.graphs() + i, DType::int64);
    for (int out = i; out < t.num_out(); out += p.graphs()) t.set_out(out, t.in(0));
  }
}

template <class P>
OpBuilder<P> add_sample(OpTable& table, const char* name, std::initializer_list<std::string_view> inputs,
                        const char* doc) {
  return table.add<P>(name, inputs)
      .doc(doc)
      .variadic("seed_arrays", "num_args", &P::num_args)
      .output("output")
      .num_outputs([](const P& p) { return p.samples() * p.outputs(); })
      .infer_shape([](const P& p, ShapeInfer& s) { sample_shape(p, s); })
      .infer_type([](const P& p, TypeInfer& t) { sample_type(p, t); })
      .types(kNumericTypes)
      .uses_rng([](const P& p, const KernelSpec& spec) {
        return static_cast<uint64_t>(p.samples() * spec.in[0].shape[0]);
      });
}

template <class P>
void sample_kernels(OpTable& table, const char* name) {
  table.kernel<refuse_dense>(name, "refuse_dense_cpu");
  add_sparse<sample_cpu<P>, takes_sample<P>>(table, name, "sample_cpu");
}

}  // namespace

void register_graph_sample(OpTable& table) {
  add_sample<Uniform>(
      table, "_contrib_dgl_csr_neighbor_uniform_sample", {"csr_matrix"},
      "Samples the neighbourhood of some vertices of a graph, for each array of seeds: the vertices' numbers "
      "with their count at the end; a matrix with the sampled edges of vertex i in row i; the vertices' "
      "distances from the seeds.");
  add_sample<Weighted>(
      table, "_contrib_dgl_csr_neighbor_non_uniform_sample", {"csr_matrix", "probability"},
      "Samples the neighbourhood of some vertices by probabilities of all vertices, for each array of seeds: "
      "the vertices' numbers with their count at the end; a matrix with the sampled edges of vertex i in row "
      "i; the vertices' probabilities; their distances from the seeds.")
      .input_types(1, kFloatingTypes);
  table.add<GraphCompactParams>("_contrib_dgl_graph_compact")
      .doc(
          "Square matrices of sampled graphs: without the rows of no vertex, columns numbered as the "
          "vertices.")
      .variadic("graph_data", "num_args", &GraphCompactParams::num_args)
      .output("output")
      .num_outputs([](const GraphCompactParams& p) { return p.graphs() * (p.return_mapping ? 2 : 1); })
      .infer_shape(compact_shape)
      .infer_type(compact_type)
      .types(kNumericTypes);
}

void kernels_graph_sample(OpTable& table) {
  sample_kernels<Uniform>(table, "_contrib_dgl_csr_neighbor_uniform_sample");
  sample_kernels<Weighted>(table, "_contrib_dgl_csr_neighbor_non_uniform_sample");
  table.kernel<refuse_dense>("_contrib_dgl_graph_compact", "refuse_dense_cpu");
  add_sparse<compact_cpu, takes_compact>(table, "_contrib_dgl_graph_compact", "compact_cpu");
}

}  // namespace loomix::ops
