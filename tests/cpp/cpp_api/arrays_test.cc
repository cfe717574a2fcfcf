// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "loomix/cpp.h"

namespace {

using namespace loomix::cpp;  // NOLINT: as its users write
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> values(const NDArray& array) {
  std::vector<float> result;
  array.SyncCopyToCPU(&result);
  return result;
}

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(CppShape, HoldsSizes) {
  const Shape shape(2, 3, 4);
  EXPECT_EQ(shape.ndim(), 3);
  EXPECT_EQ(shape.Size(), 24u);
  EXPECT_EQ(shape[1], 3);
  EXPECT_EQ(detail::to_text(shape), "(2,3,4)");
  EXPECT_EQ(detail::to_text(Shape(5)), "(5,)");
  EXPECT_EQ(detail::to_text(Shape()), "()");
  EXPECT_EQ(Shape(std::vector<mx_uint>{2, 3}), Shape(2, 3));
  EXPECT_NE(Shape(-1, 0), Shape(1, 0));
}

TEST(CppNDArray, Computes) {
  const NDArray a({1, 2, 3, 4}, Shape(2, 2), Context::cpu()), b({4, 3, 2, 1}, Shape(2, 2), Context::cpu());
  EXPECT_THAT(values(a + b), ElementsAre(5, 5, 5, 5));
  EXPECT_THAT(values(a - b), ElementsAre(-3, -1, 1, 3));
  EXPECT_THAT(values(a * b), ElementsAre(4, 6, 6, 4));
  EXPECT_THAT(values(a / b), ElementsAre(0.25f, 2.0f / 3, 1.5f, 4));
  EXPECT_THAT(values(a % 2.0f), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(values((a + 1) * 2 - 3), ElementsAre(1, 3, 5, 7));
  NDArray c = a.Copy(Context::cpu());
  c += b;
  c *= 2;
  c -= a;
  c /= 3.0f;
  EXPECT_THAT(values(c), ElementsAre(3, 8.0f / 3, 7.0f / 3, 2));
  EXPECT_THAT(values(a), ElementsAre(1, 2, 3, 4));
  c = 7.0f;
  EXPECT_THAT(values(c), ElementsAre(7, 7, 7, 7));
  EXPECT_THAT(values(b.ArgmaxChannel()), ElementsAre(0, 0));
}

TEST(CppNDArray, ViewsAndElements) {
  NDArray array({1, 2, 3, 4, 5, 6}, Shape(3, 2), Context::cpu());
  EXPECT_EQ(array.At(1, 1), 4);
  EXPECT_EQ(array.Offset(2, 1), 5u);
  EXPECT_EQ(array.Reshape(Shape(1, 3, 2)).At(0, 2, 0), 5);
  NDArray row = array.Slice(1, 2);
  row = 0.0f;
  EXPECT_THAT(values(array), ElementsAre(1, 2, 0, 0, 5, 6));
  EXPECT_EQ(array.GetData()[5], 6);
  EXPECT_THAT(array.GetShape(), ElementsAre(3u, 2u));
  EXPECT_EQ(array.GetContext(), Context::cpu());
  std::ostringstream text;
  text << row;
  EXPECT_EQ(text.str(), "[0,0]");
}

TEST(CppNDArray, FilesKeepNames) {
  const std::string path = (std::filesystem::temp_directory_path() / "loomix_cpp_arrays.params").string();
  NDArray::Save(path, std::map<std::string, NDArray>{{"a", NDArray(std::vector<float>{1, 2})},
                                                     {"b", NDArray(std::vector<float>{3})}});
  EXPECT_THAT(values(NDArray::LoadToMap(path).at("b")), ElementsAre(3));
  EXPECT_EQ(NDArray::LoadToList(path).size(), 2u);
  NDArray::Save(path, std::vector<NDArray>{NDArray(std::vector<float>{4})});
  EXPECT_THAT(values(NDArray::LoadToList(path).at(0)), ElementsAre(4));
  EXPECT_TRUE(NDArray::LoadToMap(path).empty());
  std::remove(path.c_str());
}

TEST(CppNDArray, ErrorsAreExceptions) {
  const NDArray a(Shape(2), Context::cpu()), b(Shape(3), Context::cpu());
  EXPECT_THAT(message([&] { a + b; }), HasSubstr("elemwise_add"));
  EXPECT_THAT(message([&] { a.Reshape(Shape(5)); }), HasSubstr("5"));
  EXPECT_THAT(message([&] { a.At(7); }), HasSubstr("outside"));
  EXPECT_THAT(message([] { NDArray().GetShape(); }), HasSubstr("null"));
  EXPECT_THAT(message([] { NDArray(Shape(2), Context::cpu(), false, LOOMIX_INT32).GetData(); }),
              HasSubstr("float32"));
  EXPECT_THAT(message([] { NDArray::Load("/nonexistent.params"); }), HasSubstr("/nonexistent.params"));
}

TEST(CppOperator, RunsOnArrays) {
  const NDArray a({1, 2}, Shape(1, 2), Context::cpu()), b({3, 4}, Shape(1, 2), Context::cpu());
  EXPECT_THAT(values(Operator("Concat").SetParam("dim", 0)(a, b).Invoke()[0]), ElementsAre(1, 2, 3, 4));
  NDArray out(Shape(1, 2), Context::cpu());
  Operator("broadcast_sub").SetInput("rhs", a).SetInput("lhs", b).Invoke(out);
  EXPECT_THAT(values(out), ElementsAre(2, 2));
  EXPECT_THAT(values(Operator("clip").SetParam(0, 1.5).SetParam(1, 3)(b).Invoke()[0]), ElementsAre(3, 3));
  EXPECT_THAT(message([&] { Operator("no_such")(a).Invoke(); }), HasSubstr("no_such"));
  EXPECT_THAT(message([&] { Operator("clip").SetParam(9, 1); }), HasSubstr("parameter 9"));
}

TEST(CppAutograd, GradientsOfWhatRuns) {
  const NDArray x({1, 3}, Shape(2), Context::cpu());
  AutogradMark({x});
  NDArray head;
  {
    const AutogradScope scope;
    head = x * x * 2;
  }
  AutogradBackward({head});
  EXPECT_THAT(values(x.Grad()), ElementsAre(4, 12));
  EXPECT_THAT(message([&] { (x * 3).Grad(); }), HasSubstr("no gradient"));
}

TEST(CppInitializer, GoesByNames) {
  NDArray array(Shape(64, 100), Context::cpu());
  Xavier xavier(Xavier::uniform, Xavier::in, 3);
  xavier("fc_weight", &array);
  float largest = 0, sum = 0;
  for (const float value : values(array)) {
    largest = std::max(largest, std::abs(value));
    sum += value;
  }
  EXPECT_LE(largest, std::sqrt(3.0f / 100));
  EXPECT_GT(largest, 0.16f);
  EXPECT_LT(std::abs(sum / 6400), 0.01f);
  xavier("bn_gamma", &array);
  EXPECT_EQ(array.At(0), 1);
  xavier("fc_bias", &array);
  EXPECT_EQ(array.At(0), 0);
  Constant(5)("whatever", &array);
  EXPECT_EQ(array.At(17), 5);
  xavier("whatever", &array);
  EXPECT_EQ(array.At(17), 5);
  Normal(10, 0.1f)("x", &array);
  EXPECT_NEAR(array.At(0), 10, 1);
  NDArray kernel(Shape(1, 1, 4, 4), Context::cpu());
  Bilinear()("x", &kernel);
  EXPECT_NEAR(kernel.At(5), 0.5625f, 1e-6);
  EXPECT_THAT(message([&] { Bilinear()("x", &array); }), HasSubstr("4 axes"));
}

TEST(CppMetrics, AreMeans) {
  const NDArray labels(std::vector<float>{1, 0}), scores({.1f, .9f, .2f, .8f}, Shape(2, 2), Context::cpu());
  Accuracy accuracy;
  accuracy.Update(labels, scores);
  EXPECT_FLOAT_EQ(accuracy.Get(), 0.5f);
  accuracy.Update(labels, labels);
  EXPECT_FLOAT_EQ(accuracy.Get(), 0.75f);
  accuracy.Reset();
  EXPECT_EQ(accuracy.Get(), 0);
  LogLoss loss;
  loss.Update(labels, scores);
  EXPECT_NEAR(loss.Get(), -(std::log(.9f) + std::log(.2f)) / 2, 1e-6);
  const NDArray numbers(std::vector<float>{4, 0});
  MAE mae;
  mae.Update(labels, numbers);
  EXPECT_FLOAT_EQ(mae.Get(), 1.5f);
  MSE mse;
  mse.Update(labels, numbers);
  EXPECT_FLOAT_EQ(mse.Get(), 4.5f);
  RMSE rmse;
  rmse.Update(labels, numbers);
  EXPECT_FLOAT_EQ(rmse.Get(), std::sqrt(4.5f));
  PSNR psnr;
  psnr.Update(labels, numbers);
  EXPECT_NEAR(psnr.Get(), 10 * std::log10(255 * 255 / 4.5f), 1e-4);
  EXPECT_THAT(message([&] { loss.Update(NDArray(std::vector<float>{5, 0}), scores); }), HasSubstr("classes"));
  EXPECT_THAT(message([&] { mae.Update(labels, scores); }), HasSubstr("4 predictions"));
}

}  // namespace
