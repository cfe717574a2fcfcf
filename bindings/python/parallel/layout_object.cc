// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "bindings/python/parallel/core.h"

namespace loomix::python {
namespace {

using linalg::Block;
using linalg::Layout;
using linalg::Mesh;

std::vector<int> to_vector(std::span<const int> numbers) { return {numbers.begin(), numbers.end()}; }

// A number of a block, from Python.
int checked_block(const Layout& layout, int number) {
  LOOMIX_CHECK(number >= 0 && number < layout.blocks(), IndexError,
               "[Layout] block {} is out of range; expected 0 to {}.", number, layout.blocks() - 1);
  return number;
}

py::tuple block_tuple(const Layout& layout, int number) {
  const Block block = layout.block(checked_block(layout, number));
  return py::make_tuple(block.top, block.left, block.rows, block.columns);
}

Mesh make_mesh(const std::vector<std::pair<std::string, int>>& axes) {
  std::vector<Mesh::Axis> all;
  for (const auto& [name, size] : axes) all.push_back({name, size});
  return Mesh(std::move(all));
}

std::vector<std::pair<std::string, int>> axes_of(const Mesh& mesh) {
  std::vector<std::pair<std::string, int>> all;
  for (const Mesh::Axis& axis : mesh.axes()) all.emplace_back(axis.name, axis.size);
  return all;
}

void add_mesh(py::module_& m) {
  py::class_<Mesh>(m, "MeshHandle")
      .def(py::init(&make_mesh))
      .def("axes", &axes_of)
      .def("size", &Mesh::size)
      .def("coordinates", &Mesh::coordinates)
      .def("rank_at", [](const Mesh& mesh, const std::vector<int>& at) { return mesh.rank_at(at); })
      .def("line", [](const Mesh& mesh, int rank, const std::string& axis) { return mesh.line(rank, axis); })
      .def("check_ranks", &Mesh::check_ranks);
}

}  // namespace

void add_layouts(py::module_& m) {
  add_mesh(m);
  py::class_<Layout>(m, "LayoutHandle")
      .def_static("by_rows", &Layout::by_rows)
      .def_static("by_columns", &Layout::by_columns)
      .def_static("on_grid", &Layout::on_grid)
      .def_static("cyclic", &Layout::cyclic)
      .def_static("replicated", &Layout::replicated)
      .def_static("on_rank", &Layout::on_rank)
      .def_static("on_mesh",
                  [](const Mesh& mesh, int64_t rows, int64_t columns, const std::string& row_axis,
                     const std::string& column_axis) {
                    return Layout::on_mesh(mesh, rows, columns, row_axis, column_axis);
                  })
      .def_static("of_blocks", &Layout::of_blocks)
      .def_static("from_scalapack", &Layout::from_scalapack)
      .def("to_scalapack", &Layout::to_scalapack)
      .def("rows", &Layout::rows)
      .def("columns", &Layout::columns)
      .def("row_cuts", &Layout::row_cuts)
      .def("column_cuts", &Layout::column_cuts)
      .def("copies", &Layout::copies)
      .def("block", &block_tuple)
      .def("owners", [](const Layout& layout,
                        int number) { return to_vector(layout.owners(checked_block(layout, number))); })
      .def("blocks_of", [](const Layout& layout, int rank) { return to_vector(layout.blocks_of(rank)); })
      .def("transposed", &Layout::transposed)
      .def("equals", [](const Layout& a, const Layout& b) { return a == b; })
      .def("hash", &Layout::hash)
      .def("name", &Layout::name)
      .def("to_string", &Layout::to_string)
      .def("to_svg", &Layout::to_svg);
}

}  // namespace loomix::python
