// SPDX-License-Identifier: Apache-2.0
#include "linalg/transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "linalg/wire.h"
#include "tests/cpp/linalg/random_layouts.h"

namespace loomix::linalg {
namespace {

// The blocks of one rank, as plain memory.
using Blocks = std::map<int, std::vector<float>>;

std::vector<Blocks> blocks_of_all(const Layout& layout, int ranks, bool filled) {
  std::vector<Blocks> all(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    for (const int number : layout.blocks_of(rank)) {
      const Block b = layout.block(number);
      auto& values = all[static_cast<size_t>(rank)][number];
      values.assign(static_cast<size_t>(b.size()), -1);
      for (int64_t i = 0; filled && i < b.rows; ++i) {
        for (int64_t j = 0; j < b.columns; ++j)
          values[static_cast<size_t>(i * b.columns + j)] = static_cast<float>((b.top + i) * 100 + b.left + j);
      }
    }
  }
  return all;
}

struct Remap {
  const Layout& from;
  const Layout& to;
  bool transpose;
  std::vector<Blocks> sources, targets;

  ConstElements source(const Piece& p, int rank) {
    const Block b = from.block(p.from_block);
    const float* data = sources[static_cast<size_t>(rank)].at(p.from_block).data();
    return {reinterpret_cast<const std::byte*>(data + p.from_row * b.columns + p.from_column), DType::float32,
            b.columns};
  }
  Elements target(const Piece& p, int rank) {
    const Block b = to.block(p.to_block);
    float* data = targets[static_cast<size_t>(rank)].at(p.to_block).data();
    return {reinterpret_cast<std::byte*>(data + p.to_row * b.columns + p.to_column), DType::float32,
            b.columns};
  }
  void run(int ranks) {
    std::map<std::pair<int, int>, std::vector<float>> messages;
    std::vector<Transfer> plans;
    int64_t moved = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const Transfer& plan = plans.emplace_back(from, to, rank, transpose);
      moved += plan.elements_to_send();
      for (const Piece& p : plan.copies.pieces)
        copy_elements(source(p, rank), target(p, rank), p.rows, p.columns, transpose);
      for (const Route& route : plan.sends) {
        auto& message = messages[{rank, route.rank}];
        message.resize(static_cast<size_t>(route.elements));
        float* place = message.data();
        for (const Piece& p : route.pieces) {
          copy_elements(source(p, rank), {reinterpret_cast<std::byte*>(place), DType::float32, p.columns},
                        p.rows, p.columns, transpose);
          place += p.size();
        }
      }
    }
    EXPECT_EQ(moved, elements_moved(from, to, transpose));
    for (int rank = 0; rank < ranks; ++rank) {
      int64_t got = plans[static_cast<size_t>(rank)].copies.elements;
      for (const Route& route : plans[static_cast<size_t>(rank)].receives) {
        const auto& message = messages.at({route.rank, rank});
        ASSERT_EQ(static_cast<int64_t>(message.size()), route.elements);
        got += route.elements;
        const float* place = message.data();
        for (const Piece& p : route.pieces) {
          copy_elements({reinterpret_cast<const std::byte*>(place), DType::float32, p.columns},
                        target(p, rank), p.rows, p.columns, false);
          place += p.size();
        }
      }
      EXPECT_EQ(got, to.elements_of(rank)) << "each element comes once";
    }
  }
};

TEST(Transfer, AThousandRemaps) {
  RandomLayouts random(7);
  for (int round = 0; round < 1000; ++round) {
    const int ranks = random.number(1, 12);
    const int64_t rows = random.number(0, 24), columns = random.number(0, 24);
    const bool transpose = random.number(0, 2) == 0;
    const Layout from = random.next(rows, columns, ranks);
    const Layout to = transpose ? random.next(columns, rows, ranks) : random.next(rows, columns, ranks);
    Remap remap{from, to, transpose, blocks_of_all(from, ranks, true), blocks_of_all(to, ranks, false)};
    remap.run(ranks);
    auto expected = blocks_of_all(to, ranks, true);
    if (transpose) {
      for (auto& blocks : expected) {
        for (auto& [number, values] : blocks) {
          for (float& value : values) {
            const int place = static_cast<int>(value);
            value = static_cast<float>(place % 100 * 100 + place / 100);
          }
        }
      }
    }
    ASSERT_EQ(remap.targets, expected) << "round " << round << ": " << from.to_string() << "\n"
                                       << to.to_string();
  }
}

// Both ends cut alike, and the parts are the whole.
TEST(Transfer, RoutesAreCutIntoMessages) {
  RandomLayouts random(8);
  for (int round = 0; round < 300; ++round) {
    const int ranks = random.number(2, 6);
    const int64_t rows = random.number(0, 24), columns = random.number(0, 24), most = random.number(1, 60);
    const bool transpose = random.number(0, 1) == 0;
    const Layout from = random.next(rows, columns, ranks);
    const Layout to = transpose ? random.next(columns, rows, ranks) : random.next(rows, columns, ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      for (const Route& route : Transfer(from, to, rank, transpose).sends) {
        const auto messages = cut_into_messages(route, most, transpose);
        EXPECT_LE(static_cast<int>(messages.size()), most_messages(rows * columns, most));
        const Transfer other(from, to, route.rank, transpose);
        const auto taken = std::find_if(other.receives.begin(), other.receives.end(),
                                        [&](const Route& one) { return one.rank == rank; });
        const auto expected = cut_into_messages(*taken, most, transpose);
        ASSERT_EQ(messages.size(), expected.size());
        std::set<std::tuple<int, int64_t, int64_t, int64_t, int64_t>> places;
        for (size_t i = 0; i < messages.size(); ++i) {
          EXPECT_LE(messages[i].elements, most);
          EXPECT_EQ(messages[i].pieces, expected[i].pieces);
          for (const Piece& p : messages[i].pieces) {
            for (int64_t r = 0; r < p.rows; ++r) {
              for (int64_t c = 0; c < p.columns; ++c)
                EXPECT_TRUE(places
                                .emplace(p.to_block, p.to_row + r, p.to_column + c,
                                         p.from_row + (transpose ? c : r),
                                         p.from_column + (transpose ? r : c))
                                .second);
            }
          }
        }
        EXPECT_EQ(static_cast<int64_t>(places.size()), route.elements);
      }
    }
  }
}

TEST(Transfer, NothingMovesWhereAllIsThere) {
  EXPECT_EQ(elements_moved(Layout::replicated(8, 8, 4), Layout::by_rows(8, 8, 4)), 0);
  EXPECT_EQ(elements_moved(Layout::by_rows(8, 6, 4), Layout::by_columns(6, 8, 4), true), 0);
  EXPECT_EQ(elements_moved(Layout::by_rows(8, 8, 4), Layout::by_columns(8, 8, 4)), 64 * 3 / 4);
  EXPECT_EQ(elements_moved(Layout::by_rows(8, 8, 4), Layout::replicated(8, 8, 4)), 64 * 3);
}

TEST(Transfer, RanksThatHaveCopiesShareTheWork) {
  const Mesh mesh({{"data", 4}, {"model", 2}});
  const Layout from = Layout::on_mesh(mesh, 8, 8, "", "model");
  const Layout to = Layout::on_mesh(mesh, 8, 8, "", "");
  for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(Transfer(from, to, rank).elements_to_send(), 32);
}

TEST(Transfer, ThePlanIsAsLargeAsTheOwnPart) {
  constexpr int kRanks = 4096;
  const Layout from = Layout::on_grid(kRanks * 4, kRanks * 4, 64, 64);
  const Layout to = Layout::on_grid(kRanks * 4, kRanks * 4, 32, 128);
  const Transfer plan(from, to, 77);
  EXPECT_LE(plan.sends.size(), 4U);
  EXPECT_LE(plan.receives.size(), 4U);
}

TEST(Transfer, IsKept) {
  TransferCache cache(1);
  const Layout from = Layout::by_rows(8, 8, 4), to = Layout::by_columns(8, 8, 4);
  const auto plan = cache.find(from, to, false);
  EXPECT_EQ(cache.find(Layout::by_rows(8, 8, 4), Layout::by_columns(8, 8, 4), false), plan);
  EXPECT_NE(cache.find(from, to, true), plan);
  EXPECT_EQ(cache.moved(from, to, false), 48);
}

TEST(Transfer, SizesMustFit) {
  EXPECT_THROW(Transfer(Layout::by_rows(8, 6, 2), Layout::by_rows(6, 8, 2), 0), ShapeError);
  EXPECT_THROW(Transfer(Layout::by_rows(8, 6, 2), Layout::by_rows(8, 6, 2), 0, true), ShapeError);
}

TEST(Transfer, ConvertsAndTransposes) {
  const std::vector<double> from{1, 2, 3, 4, 5, 1.0 / 3};
  std::vector<float16> to(6);
  copy_elements({reinterpret_cast<const std::byte*>(from.data()), DType::float64, 3},
                {reinterpret_cast<std::byte*>(to.data()), DType::float16, 2}, 3, 2, true);
  EXPECT_EQ(static_cast<float>(to[1]), 4);
  EXPECT_EQ(static_cast<float>(to[4]), 3);
  EXPECT_EQ(to[5].bits, float16(1.0F / 3).bits);
  EXPECT_EQ(wire_type(DType::float64, DType::float16), DType::float16);
  EXPECT_EQ(wire_type(DType::bfloat16, DType::float32), DType::bfloat16);
  EXPECT_EQ(wire_type(DType::float16, DType::bfloat16), DType::float16) << "rounded once, at the end";
}

}  // namespace
}  // namespace loomix::linalg
