// SPDX-License-Identifier: Apache-2.0
#include "linalg/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "tests/cpp/linalg/random_layouts.h"

namespace loomix::linalg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class E, class Fn>
std::string error_of(Fn&& fn) {
  try {
    fn();
  } catch (const E& error) {
    return error.what();
  }
  return "no error";
}

TEST(Mesh, NumbersItsRanksRowByRow) {
  const Mesh mesh({{"data", 2}, {"model", 3}});
  EXPECT_EQ(mesh.size(), 6);
  EXPECT_THAT(mesh.coordinates(4), ElementsAre(1, 1));
  EXPECT_EQ(mesh.rank_at(std::vector{1, 2}), 5);
  EXPECT_THAT(mesh.line(4, "model"), ElementsAre(3, 4, 5));
  EXPECT_THAT(mesh.line(4, "data"), ElementsAre(1, 4));
  EXPECT_EQ(mesh.to_string(), "data=2, model=3");
}

TEST(Mesh, MistakesAreNamed) {
  const Mesh mesh({{"data", 2}, {"model", 3}});
  EXPECT_THAT(error_of<ValueError>([&] { mesh.check_ranks(4); }),
              HasSubstr("(data=2, model=3) is for 6 ranks, and the job has 4"));
  EXPECT_THAT(error_of<KeyError>([&] { mesh.line(0, "pipe"); }),
              HasSubstr("no axis 'pipe'; the mesh has data=2, model=3"));
  EXPECT_THAT(error_of<IndexError>([&] { mesh.coordinates(6); }), HasSubstr("0 to 5"));
  EXPECT_THROW(Mesh({{"a", 2}, {"a", 3}}), ValueError);
  EXPECT_THROW(Mesh({{"a", 0}}), ValueError);
  EXPECT_THROW(Mesh({}), ValueError);
}

TEST(Layout, OfEachName) {
  EXPECT_THAT(Layout::by_rows(10, 3, 4).row_cuts(), ElementsAre(0, 3, 6, 8, 10));
  EXPECT_THAT(Layout::by_columns(3, 2, 4).column_cuts(), ElementsAre(0, 1, 2, 2, 2))
      << "more ranks than columns";
  const Layout grid = Layout::on_grid(8, 6, 2, 3);
  EXPECT_EQ(grid.block(5), (Block{4, 4, 4, 2}));
  EXPECT_THAT(grid.owners(5), ElementsAre(5));
  const Layout cyclic = Layout::cyclic(7, 5, 2, 2, 2, 2);
  EXPECT_THAT(cyclic.blocks_of(3), ElementsAre(4, 10));
  EXPECT_EQ(cyclic.block(4), (Block{2, 2, 2, 2}));
  EXPECT_EQ(cyclic.elements_of(3), 4 + 2) << "the last block row has one row";
  const Layout all = Layout::replicated(4, 4, 3);
  EXPECT_EQ(all.copies(), 3);
  EXPECT_THAT(all.blocks_of(2), ElementsAre(0));
  const Mesh mesh({{"data", 2}, {"model", 2}});
  const Layout over = Layout::on_mesh(mesh, 8, 8, "", "model");
  EXPECT_THAT(over.owners(0), ElementsAre(0, 2));
  EXPECT_THAT(over.owners(1), ElementsAre(1, 3));
  EXPECT_THAT(Layout::on_rank(2, 2, 5).blocks_of(5), ElementsAre(0));
  EXPECT_TRUE(Layout::on_rank(2, 2, 5).blocks_of(1).empty());
}

TEST(Layout, MistakesAreNamed) {
  const auto says = [](std::vector<int64_t> rows, std::vector<int64_t> columns, std::vector<int> owners) {
    return error_of<ValueError>([&] { Layout::of_blocks(rows, columns, owners); });
  };
  EXPECT_THAT(says({0, 5, 3}, {0, 2}, {0, 1}), HasSubstr("cuts of the rows do not grow: 3 comes after 5"));
  EXPECT_THAT(says({1, 5}, {0, 2}, {0}), HasSubstr("expected 0 first"));
  EXPECT_THAT(says({0, 5}, {0, 2, 4}, {0, -1}), HasSubstr("block (0, 1) has no owner"));
  EXPECT_THAT(says({0, 5}, {0, 2, 4}, {0}), HasSubstr("1 owners came for 1 x 2 blocks; expected 2"));
  EXPECT_THAT(error_of<ValueError>([&] {
                Layout::of_blocks({0, 5}, {0, 2}, {1, 1}, 2);
              }),
              HasSubstr("expected different ranks"));
  EXPECT_THAT(error_of<ValueError>([&] { Layout::by_rows(4, 4, 3).check_ranks(2); }),
              HasSubstr("names rank 2, and the job has 2 ranks"));
  EXPECT_THROW(Layout::by_rows(-1, 4, 3), ValueError);
  EXPECT_THROW(Layout::on_grid(4, 4, 0, 3), ValueError);
  EXPECT_THROW(Layout::cyclic(4, 4, 0, 1, 2, 2), ValueError);
}

TEST(Layout, EachElementHasItsOwners) {
  RandomLayouts random(1);
  for (int round = 0; round < 300; ++round) {
    const int ranks = random.number(1, 12);
    const int64_t rows = random.number(0, 20), columns = random.number(0, 20);
    const Layout layout = random.next(rows, columns, ranks);
    std::vector<int> seen(static_cast<size_t>(rows * columns));
    for (int rank = 0; rank < ranks; ++rank) {
      int64_t own = 0;
      for (const int number : layout.blocks_of(rank)) {
        const Block b = layout.block(number);
        own += b.size();
        for (int64_t i = b.top; i < b.top + b.rows; ++i) {
          for (int64_t j = b.left; j < b.left + b.columns; ++j) ++seen[static_cast<size_t>(i * columns + j)];
        }
      }
      EXPECT_EQ(own, layout.elements_of(rank));
    }
    for (const int times : seen) ASSERT_EQ(times, layout.copies()) << layout.to_string();
    EXPECT_EQ(layout.transposed().transposed(), layout);
    EXPECT_EQ(layout.transposed().transposed().hash(), layout.hash());
  }
}

TEST(Layout, ScalapackBothWays) {
  for (const auto& [rows, columns, p, q] :
       {std::array{9, 9, 2, 3}, {5, 40, 2, 2}, {1, 1, 3, 1}, {100, 3, 1, 4}}) {
    const ScalapackDescriptor given{1, 7, rows, columns, 2, 3, p - 1, q - 1, 1};
    const Layout layout = Layout::from_scalapack(given, p, q);
    EXPECT_EQ(layout.rows(), rows);
    for (int rank = 0; rank < p * q; ++rank) {
      ScalapackDescriptor back = layout.to_scalapack(rank, p, q, 7);
      int own_rows = 0;  // as NUMROC counts
      for (int i = 0; i < rows; ++i) own_rows += (i / 2 + p - 1) % p == rank / q ? 1 : 0;
      EXPECT_EQ(back[8], std::max(own_rows, 1));
      EXPECT_EQ(Layout::from_scalapack(back, p, q), layout)
          << "blocks that are larger than the matrix are cut";
    }
  }
  EXPECT_EQ(Layout::from_scalapack({1, 0, 7, 5, 2, 2, 0, 0, 4}, 2, 2), Layout::cyclic(7, 5, 2, 2, 2, 2));
  EXPECT_THROW(Layout::from_scalapack({501, 0, 7, 5, 2, 2, 0, 0, 4}, 2, 2), ValueError);
  EXPECT_THROW(Layout::from_scalapack({1, 0, 7, 5, 2, 2, 2, 0, 4}, 2, 2), ValueError);
  EXPECT_THAT(error_of<ValueError>([] { Layout::on_grid(7, 9, 3, 1).to_scalapack(0, 1, 3); }),
              HasSubstr("not block-cyclic on 1 x 3"));
}

TEST(Layout, IsDrawn) {
  EXPECT_EQ(Layout::on_grid(8, 6, 2, 2).to_string(), R"((8, 6): grid of 2 x 2 ranks
   0   3   6
0  +---+---+
   | 0 | 1 |
4  +---+---+
   | 2 | 3 |
8  +---+---+)");
  EXPECT_THAT(Layout::replicated(100, 6, 3).to_string(), HasSubstr("| 0,1,2 |"));
  EXPECT_THAT(Layout::cyclic(100, 100, 1, 1, 2, 2).to_string(), HasSubstr("100 x 100 blocks in all"));
  EXPECT_THAT(Layout::on_grid(8, 6, 2, 2).to_svg(), HasSubstr("<rect"));
}

}  // namespace
}  // namespace loomix::linalg
