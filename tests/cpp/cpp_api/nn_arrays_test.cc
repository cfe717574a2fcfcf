// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "loomix/nn/linalg.h"
#include "tests/cpp/cpp_api/nn_test.h"

namespace {

using namespace loomix::nn;  // NOLINT: as its users write
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NnArray, ComputesWithBroadcasting) {
  const Array a = Array{1, 2, 3}, b = Array::from(std::vector<float>{10, 20}, {2, 1});
  EXPECT_THAT((a + b).to_vector(), ElementsAre(11, 12, 13, 21, 22, 23));
  EXPECT_THAT((2 - a).to_vector(), ElementsAre(1, 0, -1));
  EXPECT_THAT((6 / a).to_vector(), ElementsAre(6, 3, 2));
  EXPECT_THAT((a > 1.5).to_vector(), ElementsAre(0, 1, 1));
  EXPECT_THAT((1.5 > a).to_vector(), ElementsAre(1, 0, 0));
  EXPECT_THAT(power(2, a).to_vector(), ElementsAre(2, 4, 8));
  EXPECT_THAT((-a % 2).to_vector(), ElementsAre(1, 0, 1));
  Array c = a.copy();
  c += 1;
  c *= a;
  EXPECT_THAT(c.to_vector(), ElementsAre(2, 6, 12));
  EXPECT_THAT(a.to_vector(), ElementsAre(1, 2, 3));
  EXPECT_EQ((a + b).sum().item(), 102);
  EXPECT_THAT((a + b).mean(0).to_vector(), ElementsAre(16, 17, 18));
  EXPECT_EQ((a + b).max({0, 1}, true).shape(), (Shape{1, 1}));
}

TEST(NnArray, TypesAreNotMixedSilently) {
  const Array a{1, 2}, b = a.astype(DType::float64), whole = a.astype(DType::int32);
  EXPECT_THAT(message([&] { a + b; }), HasSubstr("has type float64; the other arguments ask for float32"));
  EXPECT_THAT(message([&] { whole + 0.5; }), HasSubstr("0.5 with an array of int32 would be cut"));
  EXPECT_THAT((whole + 1).to_vector<int32_t>(), ElementsAre(2, 3));
  EXPECT_THAT(message([&] { whole.to_vector<float>(); }),
              HasSubstr("copy_to of float32 elements; the array has int32"));
  EXPECT_THAT(message([&] { Array() + a; }), HasSubstr("the array is empty"));
}

TEST(NnArray, PartsAreThoseOfPython) {
  const Array x = arange(0, 24).reshape({2, 3, 4});
  EXPECT_EQ(x(1).shape(), (Shape{3, 4}));
  EXPECT_THAT(x(all, Slice(0, 2), -1).to_vector(), ElementsAre(3, 7, 15, 19));
  EXPECT_THAT(x(0, -1, Slice(none, none, -2)).to_vector(), ElementsAre(11, 9));
  EXPECT_EQ(x(new_axis, ellipsis, 0).shape(), (Shape{1, 2, 3}));
  EXPECT_THAT(x(x > 20).to_vector(), ElementsAre(21, 22, 23));
  const Array i = Array{2, -3}.astype(DType::int32);
  EXPECT_THAT(x(0, i, i).to_vector(), ElementsAre(10, 1));
  EXPECT_EQ(x(all, i).shape(), (Shape{2, 2, 4}));
  EXPECT_EQ(x(i * 0, all, i).shape(), (Shape{2, 3}));  // apart: the block comes first
  EXPECT_EQ(x(Slice(2, 1)).shape(), (Shape{0, 3, 4}));
  EXPECT_EQ(x[-1].shape(), (Shape{3, 4}));
  EXPECT_THAT(message([&] { x(5).get(); }),
              HasSubstr("index 5 of axis 0 is out of range for an array of shape (2, 3, 4)"));
  EXPECT_THAT(message([&] { x(0, 0, 0, 0).get(); }), HasSubstr("4 keys, which is too many"));
  EXPECT_THAT(message([&] { x(Array{1, 0, 1} > 0).get(); }), HasSubstr("a mask of shape (3,) does not fit"));
}

TEST(NnArray, PartsAreAssigned) {
  Array x = zeros({2, 3});
  x(0) = 7;
  x(1, Slice(0, 2)) = Array{1, 2};
  EXPECT_THAT(x.to_vector(), ElementsAre(7, 7, 7, 1, 2, 0));
  x(x > 5) = -1;
  EXPECT_THAT(x.to_vector(), ElementsAre(-1, -1, -1, 1, 2, 0));
  x(all, Array{2, 0}.astype(DType::int64)) = 5.0;
  EXPECT_THAT(x.to_vector(), ElementsAre(5, -1, 5, 5, 2, 5));
  x(all, Slice(none, none, -1)) = Array{1, 2, 3};
  EXPECT_THAT(x.to_vector(), ElementsAre(3, 2, 1, 3, 2, 1));
  x(0, 1) += 10;
  EXPECT_EQ(x(0, 1).item(), 12);
  x[1].fill(0);  // a row shares memory
  EXPECT_THAT(x.to_vector(), ElementsAre(3, 12, 1, 0, 0, 0));
}

TEST(NnArray, MemoryIsShared) {
  std::vector<double> memory = {1, 2, 3, 4};
  int released = 0;
  {
    Array x = Array::over(
        std::span<double>(memory), {2, 2}, [](void* count) { ++*static_cast<int*>(count); }, &released);
    x += 1;
    x.wait();
    EXPECT_EQ(memory[3], 5);
    EXPECT_EQ(x.span<double>().data(), memory.data());
    Array same = Array::from_dlpack(x.to_dlpack());
    same(0, 0) = 9;
    same.wait();
    EXPECT_EQ(memory[0], 9);
    EXPECT_EQ(released, 0);
  }
  wait_all();
  EXPECT_EQ(released, 1);
}

TEST(NnArray, PrintsAsNumPy) {
  std::ostringstream text;
  text << Array{1, 2.5, -3}.reshape({1, 3});
  EXPECT_EQ(text.str(), "[[1, 2.5, -3]]\n<Array (1, 3) float32 @cpu(0)>");
  std::ostringstream more;
  more << arange(0, 5000);
  EXPECT_THAT(more.str(), HasSubstr("[0, 1, 2, ..., 4997, 4998, 4999]"));
}

TEST(NnArray, GradientsOfWhatIsRecorded) {
  Array x{1, 2, 3};
  x.attach_grad();
  Array y;
  {
    const Record record;
    EXPECT_TRUE(is_recording() && is_training());
    y = (x * x)(Slice(1, 3)).get().sum();
  }
  EXPECT_FALSE(is_recording());
  y.backward();
  EXPECT_THAT(x.grad().to_vector(), ElementsAre(0, 4, 6));
}

TEST(NnOps, HaveNamedParameters) {
  const Array x = ones({1, 2, 4, 4}), weight = ones({3, 2, 3, 3});
  const Array y = op::Convolution(x, weight, {}, {.kernel = {3, 3}, .num_filter = 3, .no_bias = true});
  EXPECT_EQ(y.shape(), (Shape{1, 3, 2, 2}));
  EXPECT_EQ(y(0, 0, 0, 0).item(), 18);
  EXPECT_EQ(op::concat({x, x}, {.dim = 1}).shape(), (Shape{1, 4, 4, 4}));
  EXPECT_EQ(op::split(x, {.num_outputs = 2}).size(), 2u);
  EXPECT_THAT(message([&] { op::Convolution(x, weight, {}, {.num_filter = 3}); }), HasSubstr("kernel"));
}

void expect_near(const Array& a, const Array& b, double tolerance = 1e-9) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_LT(op::max(op::abs(a - b)).item(), tolerance);
}

TEST(NnLinalg, Factors) {
  seed(3);
  const Array a = normal({5, 3}, 0, 1, {.dtype = DType::float64});
  const Array square = op::dot(a, a, {.transpose_a = true});
  const auto [q, r] = linalg::qr(a);
  expect_near(op::dot(q, r), a);
  expect_near(op::dot(q, q, {.transpose_a = true}), eye(3, 0, {.dtype = DType::float64}));
  EXPECT_EQ(r(2, 0).item(), 0);
  const auto qr_of_square = linalg::qr(square);
  expect_near(op::dot(qr_of_square.q, qr_of_square.r), square);
  EXPECT_EQ(qr_of_square.r(2, 0).item(), 0);
  const Array lower = linalg::cholesky(square);
  expect_near(op::dot(lower, lower, {.transpose_b = true}), square);
  const auto [values, vectors] = linalg::eigh(square);
  expect_near(op::dot(square, vectors), vectors * values);
  for (const Array& matrix : {a, a.transpose(), square}) {
    const auto [u, s, v] = linalg::svd(matrix);
    expect_near(op::dot(u * s, v, {.transpose_b = true}), matrix);
    EXPECT_GT(s(0).item(), s(1).item());
  }
  EXPECT_THAT(message([&] { linalg::cholesky(a); }),
              HasSubstr("cholesky of an array of shape (5, 3); expected square"));
}

TEST(NnLinalg, Solves) {
  const ArrayOptions options{.dtype = DType::float64};
  const Array a = eye(3, 0, options) * 2 + normal({3, 3}, 0, 0.1, options), b = normal({3}, 0, 1, options);
  expect_near(op::dot(a, linalg::solve(a, b)), b);
  const Array tall = normal({6, 2}, 0, 1, options), right = normal({6, 2}, 0, 1, options);
  const Array x = linalg::lstsq(tall, right);
  expect_near(op::dot(tall, op::dot(tall, x) - right, {.transpose_a = true}), zeros({2, 2}, options));
  expect_near(op::dot(linalg::pinv(tall), right), x);
  const Array two = op::stack({a, a * 2.0}, {.axis = 0}),
              sides = op::stack({b, b}, {.axis = 0}).reshape({2, 3, 1});
  expect_near(linalg::solve(two, sides)(0).get().reshape(Shape(3)), linalg::solve(a, b));
  EXPECT_NEAR(linalg::norm(Array{3, 4}).item(), 5, 1e-6);
  EXPECT_THAT(message([&] { linalg::lstsq(tall, b); }),
              HasSubstr("matrices of shape (6, 2) has a right-hand side of shape (3,)"));
}

// Each of a stack as it would be alone.
TEST(NnLinalg, Stacks) {
  const ArrayOptions options{.dtype = DType::float64};
  const Array tall = normal({2, 3, 5, 4}, 0, 1, options), b = normal({2, 3, 5, 2}, 0, 1, options);
  const Array square = op::linalg::gemm2(tall, tall, {.transpose_a = true});
  const Array sides = b(all, all, Slice(0, 4)).get();
  const auto factors = linalg::svd(tall);
  const auto [q, r] = linalg::qr(tall);
  const auto [values, vectors] = linalg::eigh(square);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      const auto one = [&](const Array& stack) { return stack(i, j).get(); };
      expect_near(one(factors.s), linalg::svd(one(tall)).s);
      expect_near(op::dot(one(factors.u) * one(factors.s), one(factors.v), {.transpose_b = true}), one(tall));
      expect_near(op::dot(one(q), one(r)), one(tall));
      expect_near(one(values), linalg::eigh(one(square)).values);
      expect_near(op::dot(one(square), one(vectors)), one(vectors) * one(values));
      expect_near(one(linalg::cholesky(square)), linalg::cholesky(one(square)));
      expect_near(one(linalg::solve(square, sides)), linalg::solve(one(square), one(sides)));
      expect_near(one(linalg::lstsq(tall, b)), linalg::lstsq(one(tall), one(b)));
      expect_near(one(linalg::pinv(tall)), linalg::pinv(one(tall)));
      expect_near(one(linalg::inverse(square)), linalg::inverse(one(square)));
      EXPECT_NEAR(linalg::norm(tall, 2, {-2, -1})(i, j).item(), linalg::norm(one(tall)).item(), 1e-9);
      // One axis less: a column for each matrix.
      expect_near(linalg::lstsq(tall, b(all, all, all, 1).get())(i, j).get(),
                  linalg::lstsq(one(tall), one(b))(all, 1).get());
    }
  }
  EXPECT_THAT(message([&] { linalg::solve(square, b); }),
              HasSubstr("expected as many rows in as many matrices"));
}

}  // namespace
