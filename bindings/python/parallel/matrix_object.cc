// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "bindings/python/parallel/core.h"
#include "linalg/product.h"

namespace loomix::python {
namespace {

using linalg::Arithmetic;
using linalg::DistMatrix;
using linalg::Layout;

DType dtype_of(const py::handle& object) { return core().to_dtype(object.ptr(), "Matrix"); }
std::optional<DType> maybe_dtype(const py::object& object) {
  if (object.is_none()) return {};
  return dtype_of(object);
}

DistMatrix from_local(const Layout& layout, const py::object& dtype, const py::list& given) {
  std::vector<NDArray> blocks;
  for (const py::handle item : given) blocks.push_back(core().to_array(item.ptr(), "Matrix", "blocks"));
  return DistMatrix::from_local(job(), layout, dtype_of(dtype), std::move(blocks));
}

DistMatrix from_global(const py::object& array, const Layout& layout, const py::object& dtype, int root) {
  const NDArray whole = array.is_none() ? NDArray() : core().to_array(array.ptr(), "Matrix", "array");
  return DistMatrix::from_global(job(), whole, layout, dtype_of(dtype), root);
}

DistMatrix random(const Layout& layout, const py::object& dtype, const std::string& kind, double first,
                  double second, uint64_t seed) {
  using Kind = linalg::Distribution::Kind;
  LOOMIX_CHECK(kind == "uniform" || kind == "normal", ValueError,
               "[Matrix] distribution '{}'; expected uniform or normal.", kind);
  return DistMatrix::random(job(), layout, dtype_of(dtype),
                            {kind == "normal" ? Kind::normal : Kind::uniform, first, second}, seed);
}

py::list local(const DistMatrix& matrix) {
  py::list result;
  for (const NDArray& block : matrix.local()) result.append(array_object(block));
  return result;
}

Arithmetic to_arithmetic(const std::string& name) {
  constexpr std::string_view kNames[] = {"add", "subtract", "multiply", "divide"};
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  LOOMIX_CHECK(found != std::end(kNames), ValueError, "[Matrix] there is no operation '{}'.", name);
  return static_cast<Arithmetic>(found - std::begin(kNames));
}

linalg::ProductOptions to_options(bool transpose_a, bool transpose_b, const std::optional<Layout>& out_layout,
                                  const std::optional<std::string>& algorithm) {
  linalg::ProductOptions options{
      .transpose_a = transpose_a, .transpose_b = transpose_b, .out_layout = out_layout};
  if (algorithm) options.algorithm = linalg::parse_algorithm(*algorithm);
  return options;
}

// For ranks that need not be there: of each way its name, bytes that a rank sends, steps, bytes of memory, and seconds.
std::vector<std::tuple<std::string, double, int64_t, int64_t, double>> ways(
    const Layout& a, const Layout& b, const py::object& dtype, int ranks, bool transpose_a, bool transpose_b,
    const std::tuple<double, double, double>& links) {
  const auto [bytes_per_s, latency_s, flops] = links;
  linalg::TransferCache transfers(0);
  std::vector<std::tuple<std::string, double, int64_t, int64_t, double>> found;
  a.check_ranks(ranks);
  b.check_ranks(ranks);
  for (const linalg::ProductWay& way :
       linalg::ways_to_multiply({a, b, dtype_of(dtype), ranks, {bytes_per_s, latency_s, flops}}, transfers,
                                to_options(transpose_a, transpose_b, {}, {})))
    found.emplace_back(way.name(), way.bytes, way.steps, way.memory, way.seconds);
  return found;
}

}  // namespace

void add_matrix(py::module_& m) {
  py::class_<DistMatrix>(m, "MatrixHandle")
      .def_static("from_local", &from_local)
      .def_static("from_global", &from_global)
      .def_static("filled",
                  [](const Layout& layout, const py::object& dtype, double value) {
                    return DistMatrix::filled(job(), layout, dtype_of(dtype), value);
                  })
      .def_static("random", &random)
      .def("layout", &DistMatrix::layout)
      .def("dtype",
           [](const DistMatrix& a) {
             return py::reinterpret_borrow<py::object>(core().dtype_class(a.dtype()));
           })
      .def("dtype_name", [](const DistMatrix& a) { return std::string(name_of(a.dtype())); })
      .def("local", &local)
      .def("to_string", &DistMatrix::to_string)
      .def("to_global", [](const DistMatrix& a) { return array_object(a.to_global()); })
      .def("to_root", [](const DistMatrix& a, int root) { return array_object(a.to_global(root)); })
      .def("replicated",
           [](const DistMatrix& a) {
             std::optional<NDArray> whole;
             {
               const py::gil_scoped_release release;  // it may wait for other ranks
               whole = a.replicated();
             }
             return array_object(*whole);
           })
      .def("remap",
           [](const DistMatrix& a, const Layout& layout, const py::object& dtype, bool transpose,
              const std::optional<std::string>& wire, bool relabel) {
             linalg::RemapOptions options{
                 .dtype = maybe_dtype(dtype), .transpose = transpose, .relabel = relabel};
             if (wire) options.wire = ops::Code::parse(*wire, "remap");
             return a.remap(layout, options);
           })
      .def("bytes_spared", &DistMatrix::bytes_spared)
      .def("transposed", &DistMatrix::transposed)
      .def("with_matrix", [](const DistMatrix& a, const std::string& operation,
                             const DistMatrix& b) { return a.with(to_arithmetic(operation), b); })
      .def("with_number", [](const DistMatrix& a, const std::string& operation, double number,
                             bool reverse) { return a.with(to_arithmetic(operation), number, reverse); })
      .def("with_vector",
           [](const DistMatrix& a, const std::string& operation, const py::object& vector, bool reverse) {
             return a.with(to_arithmetic(operation), core().to_array(vector.ptr(), "Matrix", "vector"),
                           reverse);
           })
      .def("sum", [](const DistMatrix& a, std::optional<int> axis) { return array_object(a.sum(axis)); })
      .def("norm", [](const DistMatrix& a) { return array_object(a.norm()); });
  m.def("type_name", [](const py::object& dtype) { return std::string(name_of(dtype_of(dtype))); });
  m.def("dot", [](const DistMatrix& a, const DistMatrix& b, bool transpose_a, bool transpose_b,
                  const std::optional<Layout>& out_layout, const std::optional<std::string>& algorithm) {
    const py::gil_scoped_release release;  // it may wait for other ranks
    return linalg::dot(a, b, to_options(transpose_a, transpose_b, out_layout, algorithm));
  });
  m.def("ways_to_multiply", &ways);
  m.def("explain_dot",
        [](const DistMatrix& a, const DistMatrix& b, bool transpose_a, bool transpose_b,
           const std::optional<Layout>& out_layout, const std::optional<std::string>& algorithm) {
          return linalg::explain_dot(a, b, to_options(transpose_a, transpose_b, out_layout, algorithm));
        });
}

}  // namespace loomix::python
