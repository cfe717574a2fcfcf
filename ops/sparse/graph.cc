// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse/graph.h"

#include <vector>

#include "base/error.h"
#include "ops/table.h"

namespace loomix::ops {

std::vector<int64_t> vertices_of(const TensorView& view, int64_t limit, const char* who) {
  std::vector<int64_t> ids = integers_of(view);
  for (const int64_t id : ids) {
    LOOMIX_CHECK(id >= 0 && id < limit, IndexError,
                 "[{}] vertex {} is out of range; the graph has vertices 0 to {}.", who, id, limit - 1);
  }
  return ids;
}

Support takes_graphs(const KernelSpec& spec, size_t graphs, size_t first, size_t last) {
  constexpr auto csr = StorageType::csr;
  for (size_t i = 0; i < spec.in.size(); ++i) {
    if (i < graphs && spec.in_stype(i) != csr) return Support::no("a graph is not csr");
    if (i >= graphs && spec.in_stype(i) != StorageType::dense) return Support::no("vertices are not dense");
  }
  for (size_t i = 0; i < spec.out.size(); ++i) {
    if ((spec.out_stype(i) == csr) != (i >= first && i < last))
      return Support::no("of its outputs graphs are csr");
  }
  return Support::yes();
}

void refuse_dense(const KernelArgs&) {
  detail::throw_error<TypeError>(
      "[dgl] a graph is no csr matrix; expected one, whose stored values are the edges.");
}

namespace {

int count_graphs(const SubgraphParams& p) { return p.num_args - 1; }

void subgraph_shape(const SubgraphParams& p, ShapeInfer& s) {
  const Shape& graph = s.in(0);
  s.expect(0, graph.ndim() == 2 && graph[0] == graph[1], "a square matrix");
  for (int i = 0; i < count_graphs(p); ++i) {
    const Shape& vertices = s.in(i + 1);
    if (!s.has_axes(i + 1, 1, "one axis")) continue;
    for (int out = i; out < s.num_out(); out += count_graphs(p))
      s.set_out(out, Shape{vertices[0], vertices[0]});
  }
}

void subgraph_type(const SubgraphParams& p, TypeInfer& t) {
  for (int i = 0; i < t.num_out(); ++i) t.set_out(i, t.in(0));
  for (int i = 0; i < count_graphs(p); ++i) t.default_in(i + 1, DType::int64);
}

std::vector<int64_t> sorted_vertices(const TensorView& view, int64_t limit) {
  std::vector<int64_t> ids = vertices_of(view, limit, "dgl_subgraph");
  for (size_t i = 1; i < ids.size(); ++i) {
    LOOMIX_CHECK(ids[i - 1] < ids[i], ValueError, "[dgl_subgraph] vertex {} follows {}; they must increase.",
                 ids[i], ids[i - 1]);
  }
  return ids;
}

// The edges between some vertices, numbered anew; and, where wanted, with the numbers that they have in the graph.
void subgraph_cpu(const SubgraphParams& p, const KernelArgs& args) {
  dispatch_numeric(args.in[0].dtype, "dgl_subgraph", [&]<class T>(Type<T>) {
    const CsrView<T> graph = csr_of<T>(input_storage(args, 0), args.in[0].shape);
    for (int i = 0; i < count_graphs(p); ++i) {
      const std::vector<int64_t> ids = sorted_vertices(args.in[static_cast<size_t>(i) + 1], graph.rows);
      CsrRows<T> rows;
      for (const int64_t id : ids) {
        for (int64_t k = graph.starts[id]; k < graph.starts[id + 1]; ++k) {
          const auto at = std::lower_bound(ids.begin(), ids.end(), graph.columns[k]);
          if (at != ids.end() && *at == graph.columns[k]) rows.add(at - ids.begin(), graph.values[k]);
        }
        rows.end_row();
      }
      store_graph(rows, args, static_cast<size_t>(i), static_cast<size_t>(count_graphs(p)));
    }
  });
}

Support takes_graph(const KernelSpec& spec) { return takes_graphs(spec, 1, 0, spec.out.size()); }

void adjacency_cpu(const KernelArgs& args) {
  Storage& to = output_storage(args, 0);
  copy_places(input_storage(args, 0), to, args.out[0].shape, args.out[0].dtype);
  std::fill_n(static_cast<float*>(to.data()), to.count(), 1.0f);
}

}  // namespace

void register_graph(OpTable& table) {
  table.add<NoParams>("_contrib_dgl_adjacency", {"data"})
      .doc("The adjacency matrix of a graph: a 1 for each edge.")
      .one_shape()
      .infer_type([](const NoParams&, TypeInfer& t) { t.set_out(0, DType::float32); });
  table.add<SubgraphParams>("_contrib_dgl_subgraph", {"graph"})
      .doc("The edges between some vertices of a graph, for each array of vertices.")
      .variadic("data", "num_args", &SubgraphParams::num_args)
      .output("output")
      .num_outputs([](const SubgraphParams& p) { return count_graphs(p) * (p.return_mapping ? 2 : 1); })
      .infer_shape(subgraph_shape)
      .infer_type(subgraph_type)
      .types(kNumericTypes);
}

void kernels_sparse_graph(OpTable& table) {
  table.kernel<refuse_dense>("_contrib_dgl_adjacency", "refuse_dense_cpu");
  add_sparse<adjacency_cpu, takes_graph>(table, "_contrib_dgl_adjacency", "adjacency_cpu");
  table.kernel<refuse_dense>("_contrib_dgl_subgraph", "refuse_dense_cpu");
  add_sparse<subgraph_cpu, takes_graph>(table, "_contrib_dgl_subgraph", "subgraph_cpu");
}

}  // namespace loomix::ops
