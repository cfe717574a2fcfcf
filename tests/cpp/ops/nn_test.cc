// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "direct_convolution.h"
#include "eager_grad.h"
#include "ops/linear/gemm.h"

namespace loomix::ops::testing {
namespace {

// The convention 'same' pads by itself.
const char* padding(std::string_view convention, const char* pad) {
  return convention == "same" ? "(0, 0)" : pad;
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float64: return 1e-12;
    case DType::float32: return 2e-5;
    case DType::float16: return 5e-3;
    default: return 4e-2;
  }
}

// Every kernel of the operator against its last one, the reference. Kernels that refuse are left out, but for those whose
// refusal says only that another one is faster, where that is `forced`.
void compare_kernels(const std::string& op, const std::vector<Tensor>& inputs, const TextPairs& attrs,
                     const RunOptions& options = {}, bool forced = false) {
  const OpDef& def = builtin_table().at(op);
  const auto run = [&](const std::string& kernel, int cores) {
    auto how = options;
    how.cores = cores;
    how.kernel = kernel;
    auto fresh_inputs = inputs;
    return run_op(op, fresh_inputs, attrs, how);
  };
  const auto reference = run(def.kernels.back().name, 1);
  const auto& want = reference.out;
  const std::string chosen = run("", 1).kernel;
  for (const Kernel& kernel : def.kernels) {
    const std::string name = kernel.name;
    const bool may_run =
        (name.ends_with("_gemm") || name.ends_with("_dnnl")) && !name.ends_with("_bfloat16_dnnl");
    if (name != chosen && !(forced && may_run)) continue;
    RunResult alone;
    try {
      alone = run(name, 1);
    } catch (const Error& error) {  // there is no such primitive, or only a slow one
      if (name != chosen && std::string_view(error.what()).find("oneDNN says") != std::string_view::npos)
        continue;
      throw;
    }
    const auto &got = alone.out, by_team = run(name, 3).out;
    for (size_t i = 0; i < alone.saved.size(); ++i) {
      if (!is_floating(alone.saved[i].dtype)) {
        EXPECT_EQ(alone.saved[i].bytes, reference.saved[i].bytes) << op << " saves other values by " << name;
      }
    }
    for (size_t i = 0; i < want.size(); ++i) {
      expect_close(got[i], want[i], tolerance(inputs[0].dtype), op + " by " + name);
      EXPECT_EQ(got[i].bytes, by_team[i].bytes) << op << " by " << name << " depends on the number of cores";
    }
  }
}

// Forward, and the gradient of data.
void compare_pooling(const Tensor& x, const TextPairs& attrs, bool forced = false) {
  RunOptions kept;
  kept.saved = true;
  compare_kernels("Pooling", {x}, attrs, {}, forced);
  compare_kernels("Pooling", {x}, attrs, kept, forced);
  const RunResult run = run_op("Pooling", {x}, attrs, kept);
  const Tensor &y = run.out[0], grad = random_tensor(y.shape, 2, x.dtype);
  const auto type = std::ranges::find(attrs, "pool_type", &TextPairs::value_type::first);
  const std::string name = type == attrs.end() ? "max" : type->second;
  if (name == "max") {
    compare_kernels("_backward_Pooling_max", {grad, run.saved[0], x}, attrs, {}, forced);
  } else if (name == "lp") {
    compare_kernels("_backward_Pooling_norm", {grad, x, y}, attrs, {}, forced);
  } else {
    compare_kernels("_backward_Pooling_mean", {grad, x}, attrs, {}, forced);
  }
}

struct ConvCase {
  Shape data;
  Shape weight;
  TextPairs attrs;
};

TextPairs conv_attrs(const char* kernel, int filters, const char* stride, const char* pad, const char* dilate,
                     int groups, const char* layout = "None") {
  return {{"kernel", kernel}, {"num_filter", std::to_string(filters)}, {"stride", stride}, {"pad", pad},
          {"dilate", dilate}, {"num_group", std::to_string(groups)},   {"layout", layout}};
}

std::vector<ConvCase> conv_cases() {
  return {
      {{2, 3, 7, 9}, {5, 3, 3, 2}, conv_attrs("(3, 2)", 5, "(1, 1)", "(0, 0)", "(1, 1)", 1)},
      {{3, 4, 11, 6}, {6, 2, 3, 3}, conv_attrs("(3, 3)", 6, "(2, 2)", "(1, 1)", "(1, 1)", 2)},
      {{2, 3, 9, 9}, {4, 3, 2, 3}, conv_attrs("(2, 3)", 4, "(1, 2)", "(2, 1)", "(2, 2)", 1)},
      {{1, 6, 8, 8}, {6, 1, 3, 3}, conv_attrs("(3, 3)", 6, "(1, 1)", "(1, 1)", "(1, 1)", 6)},
      {{9, 1, 12, 13}, {20, 1, 5, 5}, conv_attrs("(5, 5)", 20, "(3, 1)", "(2, 0)", "(1, 1)", 1)},
      {{1, 2, 5, 70}, {3, 2, 1, 9}, conv_attrs("(1, 9)", 3, "(1, 1)", "(0, 4)", "(1, 1)", 1)},
      {{0, 2, 5, 5}, {3, 2, 2, 2}, conv_attrs("(2, 2)", 3, "(1, 1)", "(0, 0)", "(1, 1)", 1)},
      {{2, 3, 11}, {4, 3, 3}, conv_attrs("(3,)", 4, "(2,)", "(1,)", "(1,)", 1)},
      {{2, 2, 4, 5, 6},
       {3, 2, 2, 3, 2},
       conv_attrs("(2, 3, 2)", 3, "(1, 2, 1)", "(1, 0, 1)", "(1, 1, 2)", 1)},
      {{8, 20, 10, 13}, {35, 20, 3, 3}, conv_attrs("(3, 3)", 35, "(1, 1)", "(1, 1)", "(1, 1)", 1)},
      {{5, 32, 9, 6}, {64, 32, 3, 3}, conv_attrs("(3, 3)", 64, "(1, 1)", "(0, 1)", "(1, 1)", 1)},
      {{8, 16, 5, 5}, {32, 2, 3, 1}, conv_attrs("(3, 1)", 32, "(2, 1)", "(1, 0)", "(1, 1)", 8)},
      {{2, 5, 4, 6}, {4, 2, 3, 3}, conv_attrs("(2, 3)", 4, "(1, 1)", "(0, 1)", "(1, 1)", 2, "NHWC")},
  };
}

Shape conv_output(const ConvCase& c, DType dtype) {
  std::vector<Tensor> inputs = {random_tensor(c.data, 1, dtype), random_tensor(c.weight, 2, dtype),
                                random_tensor({c.weight[0]}, 3, dtype)};
  return run_op("Convolution", inputs, c.attrs).out[0].shape;
}

TEST(Convolution, KernelsAgree) {
  for (DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    for (const auto& c : conv_cases()) {
      const Tensor x = random_tensor(c.data, 1, dtype), w = random_tensor(c.weight, 2, dtype);
      const Tensor bias = random_tensor({c.weight[0]}, 3, dtype);
      const Tensor grad = random_tensor(conv_output(c, dtype), 4, dtype);
      const bool forced = dtype == DType::float32 && c.attrs.back().second == "None" && c.data.size() > 0;
      compare_kernels("Convolution", {x, w, bias}, c.attrs, {}, forced);
      auto no_bias = c.attrs;
      no_bias.emplace_back("no_bias", "True");
      compare_kernels("Convolution", {x, w}, no_bias, {}, forced);
      compare_kernels("_backward_Convolution_data", {grad, w, x}, c.attrs, {}, forced);
      compare_kernels("_backward_Convolution_weight", {grad, x, w}, c.attrs, {}, forced);
      RunOptions add;
      add.req = Req::add;
      add.start = 3;
      compare_kernels("_backward_Convolution_weight", {grad, x, w}, c.attrs, add, forced);
    }
  }
}

// Batches that are brought to float32 in pieces, the last of them shorter.
TEST(Convolution, HalvesAndChannelsLastInPieces) {
  const TextPairs attrs = {{"kernel", "(1, 1)"}, {"num_filter", "1"}, {"no_bias", "True"}};
  const Tensor x = random_tensor({9, 1, 512, 1024}, 1, DType::bfloat16);
  const Tensor w = random_tensor({1, 1, 1, 1}, 2, DType::bfloat16);
  const Tensor grad = random_tensor(x.shape, 4, DType::bfloat16);
  compare_kernels("Convolution", {x, w}, attrs);
  compare_kernels("_backward_Convolution_data", {grad, w, x}, attrs);
  // A sum over so many pixels is rounded to bfloat16 once in one order and once in another.
  compare_kernels("_backward_Convolution_weight", {grad, x, w}, attrs);
  RunOptions add;
  add.req = Req::add;
  add.start = 3;
  compare_kernels("_backward_Convolution_weight", {grad, x, w}, attrs, add);
  TextPairs last = {{"kernel", "(3, 2)"}, {"stride", "(2, 2)"}, {"pool_type", "max"}, {"layout", "NHWC"}};
  const Tensor images = random_tensor({9, 520, 512, 3}, 5, DType::float32);
  compare_pooling(images, last);
}

TEST(Convolution, AgreesWithItsDefinition) {
  for (DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    for (const auto& c : conv_cases()) {
      if (c.data.size() > 1500) continue;
      SCOPED_TRACE(c.data.to_string() + c.attrs.back().second + " " + std::string(name_of(dtype)));
      const OpDef& op = builtin_table().at("Convolution");
      const auto attrs = builtin_table().parse(op, c.attrs);
      const Tensor x = random_tensor(c.data, 1, dtype), w = random_tensor(c.weight, 2, dtype);
      const Tensor bias = random_tensor({c.weight[0]}, 3, dtype);
      const Tensor y = run_op("Convolution", {x, w, bias}, c.attrs).out[0];
      const Tensor grad = random_tensor(y.shape, 4, dtype);
      const DirectConvolution direct(attrs->as<ConvolutionParams>(), c.data, c.weight, y.shape);
      const auto expect = [&](const Tensor& got, const std::vector<double>& want, const char* what) {
        expect_close(got, {got.shape, DType::float64, want}, 2 * tolerance(dtype), what);
      };
      expect(y, direct.forward(x.values(), w.values(), bias.values()), "output");
      expect(run_op("_backward_Convolution_data", {grad, w, x}, c.attrs).out[0],
             direct.data_gradient(grad.values(), w.values()), "gradient of data");
      expect(run_op("_backward_Convolution_weight", {grad, x, w}, c.attrs).out[0],
             direct.weight_gradient(grad.values(), x.values()), "gradient of weight");
    }
  }
}

TEST(Convolution, LibraryRunsWhereItIsFaster) {
  const auto chosen = [](const ConvCase& c) {
    const Tensor x(c.data, DType::float32), w(c.weight, DType::float32);
    auto attrs = c.attrs;
    attrs.emplace_back("no_bias", "True");
    return run_op("Convolution", {x, w}, attrs).kernel;
  };
  const bool built = std::ranges::any_of(builtin_table().at("Convolution").kernels, [](const Kernel& kernel) {
    return std::string(kernel.name).ends_with("_dnnl");
  });
  const std::string many =
      chosen({{8, 64, 28, 28}, {64, 64, 5, 5}, conv_attrs("(5, 5)", 64, "(1, 1)", "(2, 2)", "(1, 1)", 1)});
  EXPECT_EQ(many, built ? "convolution_dnnl" : "convolution_gemm");
  for (const int64_t channels : {1, 20}) {
    EXPECT_EQ(chosen({{64, channels, 12, 12},
                      {50, channels, 5, 5},
                      conv_attrs("(5, 5)", 50, "(1, 1)", "(0, 0)", "(1, 1)", 1)}),
              "convolution_gemm");
  }
}

TEST(Convolution, Gradients) {
  for (const auto& c : conv_cases()) {
    if (c.data[0] > 3 || c.data[0] == 0) continue;
    check_gradient("Convolution",
                   {random_tensor(c.data, 1), random_tensor(c.weight, 2), random_tensor({c.weight[0]}, 3)},
                   c.attrs, {0, 1, 2});
  }
}

TEST(Convolution, SecondOrder) {
  const auto c = conv_cases()[1];
  const Tensor grad = random_tensor(conv_output(c, DType::float64), 4);
  check_gradient("_backward_Convolution_data", {grad, random_tensor(c.weight, 2), random_tensor(c.data, 1)},
                 c.attrs, {0, 1});
  check_gradient("_backward_Convolution_weight", {grad, random_tensor(c.data, 1), random_tensor(c.weight, 2)},
                 c.attrs, {0, 1});
}

TEST(Convolution, InfersWeightFromData) {
  const OpTable& table = builtin_table();
  const OpDef& op = table.at("Convolution");
  const auto attrs = table.parse(op, conv_attrs("(3, 3)", 8, "(2, 2)", "(1, 1)", "(1, 1)", 2));
  std::vector<Shape> in = {Shape{kUnknownDim, 4, 10, 9}, Shape::unknown(), Shape::unknown()};
  std::vector<Shape> out = {Shape::unknown()};
  ShapeInfer infer(op, in, out);
  op.infer_shape(*attrs, infer);
  EXPECT_EQ(in[1], (Shape{8, 2, 3, 3}));
  EXPECT_EQ(in[2], (Shape{8}));
  EXPECT_EQ(out[0], (Shape{kUnknownDim, 8, 5, 5}));
  out[0][0] = 7;
  op.infer_shape(*attrs, infer);
  EXPECT_EQ(in[0], (Shape{7, 4, 10, 9}));
  std::vector<Shape> small = {Shape{1, 4, 1, 1}, Shape::unknown(), Shape::unknown()};
  std::vector<Shape> none = {Shape::unknown()};
  ShapeInfer bad(op, small, none);
  const auto no_pad = table.parse(op, {{"kernel", "(3, 3)"}, {"num_filter", "8"}});
  EXPECT_THROW(op.infer_shape(*no_pad, bad), ShapeError);
}

TEST(Deconvolution, KernelsAgree) {
  struct DeconvCase {
    Shape data, weight;
    TextPairs attrs;
  };
  const auto with = [](const char* kernel, int filters, const char* stride, const char* pad,
                       TextPairs more = {}) {
    more.insert(more.end(), {{"kernel", kernel},
                             {"num_filter", std::to_string(filters)},
                             {"stride", stride},
                             {"pad", pad},
                             {"no_bias", "False"}});
    return more;
  };
  const std::vector<DeconvCase> cases = {
      {{2, 3, 5, 4}, {3, 2, 3, 3}, with("(3, 3)", 2, "(2, 2)", "(1, 1)", {{"adj", "(1, 1)"}})},
      {{1, 6, 7, 9}, {6, 20, 4, 4}, with("(4, 4)", 20, "(2, 2)", "(1, 1)")},
      {{8, 32, 6, 7}, {32, 16, 4, 4}, with("(4, 4)", 16, "(2, 2)", "(1, 1)")},
      {{9, 32, 8, 8}, {32, 32, 3, 3}, with("(3, 3)", 32, "(1, 1)", "(1, 1)")},
      {{8, 16, 8, 8}, {16, 1, 4, 4}, with("(4, 4)", 16, "(2, 2)", "(1, 1)", {{"num_group", "16"}})},
      {{8, 16, 8, 8}, {16, 16, 3, 3}, with("(3, 3)", 16, "(2, 2)", "(0, 0)", {{"target_shape", "(16, 15)"}})},
      {{8, 16, 6, 6}, {16, 16, 2, 3}, with("(2, 3)", 16, "(1, 1)", "(0, 0)", {{"target_shape", "(6, 7)"}})},
      {{2, 4, 9}, {4, 3, 3}, with("(3,)", 3, "(2,)", "(1,)")},
      {{0, 4, 5, 5}, {4, 3, 3, 3}, with("(3, 3)", 3, "(2, 2)", "(1, 1)")},
  };
  for (DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    for (const auto& c : cases) {
      const Tensor x = random_tensor(c.data, 1, dtype), w = random_tensor(c.weight, 2, dtype);
      std::vector<Tensor> inputs = {x, w,
                                    random_tensor({std::stoi(c.attrs[c.attrs.size() - 4].second)}, 3, dtype)};
      const Tensor grad = random_tensor(run_op("Deconvolution", inputs, c.attrs).out[0].shape, 4, dtype);
      const bool forced = dtype == DType::float32 && c.data.size() > 0;
      compare_kernels("Deconvolution", inputs, c.attrs, {}, forced);
      compare_kernels("_backward_Deconvolution_data", {grad, w, x}, c.attrs, {}, forced);
      compare_kernels("_backward_Deconvolution_weight", {grad, x, w}, c.attrs, {}, forced);
    }
  }
}

// One image is cut into phases, each a convolution of stride 1; more images are matrix products whose taps are added. Both
// give what the plain loops give, on any number of cores.
TEST(Deconvolution, FewImagesByPhases) {
  struct PhaseCase {
    Shape data, weight;
    int filters;
    TextPairs attrs;
  };
  const std::vector<PhaseCase> cases = {
      {{1, 16, 28, 28}, {16, 8, 4, 4}, 8, {{"kernel", "(4, 4)"}, {"stride", "(2, 2)"}, {"pad", "(1, 1)"}}},
      {{1, 5, 20, 30},
       {5, 7, 3, 3},
       7,
       {{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}, {"pad", "(1, 1)"}, {"adj", "(1, 0)"}}},
      {{2, 5, 21, 33},
       {5, 13, 5, 4},
       13,
       {{"kernel", "(5, 4)"}, {"stride", "(3, 2)"}, {"pad", "(0, 3)"}, {"adj", "(2, 1)"}}},
      {{1, 6, 24, 40}, {6, 6, 2, 2}, 6, {{"kernel", "(2, 2)"}, {"stride", "(3, 3)"}, {"adj", "(2, 1)"}}},
      {{1, 12, 19, 30},
       {12, 7, 3, 5},
       14,
       {{"kernel", "(3, 5)"}, {"stride", "(1, 4)"}, {"pad", "(1, 2)"}, {"num_group", "2"}}},
      {{1, 4, 400}, {4, 9, 3}, 9, {{"kernel", "(3,)"}, {"stride", "(2,)"}, {"pad", "(1,)"}}},
      {{1, 3, 9, 12, 20},
       {3, 8, 3, 2, 4},
       8,
       {{"kernel", "(3, 2, 4)"}, {"stride", "(2, 2, 2)"}, {"pad", "(1, 0, 1)"}}},
  };
  for (const auto& c : cases) {
    for (const bool is_biased : {false, true}) {
      TextPairs attrs = c.attrs;
      attrs.insert(attrs.end(),
                   {{"num_filter", std::to_string(c.filters)}, {"no_bias", is_biased ? "False" : "True"}});
      std::vector<Tensor> inputs = {random_tensor(c.data, 1, DType::float32),
                                    random_tensor(c.weight, 2, DType::float32)};
      if (is_biased) inputs.push_back(random_tensor({c.filters}, 3, DType::float32));
      compare_kernels("Deconvolution", inputs, attrs, {}, true);
      RunOptions alone, together;
      alone.kernel = together.kernel = "convolution_gemm";
      together.cores = 3;
      EXPECT_EQ(run_op("Deconvolution", inputs, attrs, alone).out[0].bytes,
                run_op("Deconvolution", inputs, attrs, together).out[0].bytes);
    }
  }
}

TEST(Deconvolution, RefusesWhatDoesNotFit) {
  const auto refused = [](const Shape& data, const TextPairs& attrs) {
    std::vector<Tensor> inputs = {Tensor(data, DType::float32),
                                  Tensor(Shape{data[1], 2, 3, 3}, DType::float32)};
    TextPairs all = {{"kernel", "(3, 3)"}, {"num_filter", "2"}};
    all.insert(all.end(), attrs.begin(), attrs.end());
    EXPECT_THROW(run_op("Deconvolution", inputs, all), Error);
  };
  const Shape image{1, 3, 4, 4};
  refused(image, {{"stride", "(2, 2)"}, {"adj", "(2, 0)"}});
  refused(image, {{"adj", "(1, 1)"}});
  refused(image, {{"target_shape", "(7, 7)"}});
  refused(image, {{"target_shape", "(6, 0)"}});
  refused(image, {{"target_shape", "(6,)"}});
  refused(image, {{"pad", "(3, 3)"}});
  refused(image, {{"num_group", "2"}});
  refused(Shape{1, 3, 4, 0}, {});
}

TEST(MatMul, BlocksForSeveralCores) {
  for (const auto& [m, n] :
       {std::pair(70, 300), std::pair(300, 70), std::pair(129, 161), std::pair(1, 9000)}) {
    for (int form = 0; form < 8; ++form) {
      const MatMul shape{m, n, 37, (form & 1) != 0, (form & 2) != 0, (form & 4) != 0};
      Tensor a = random_tensor({m * 37}, 1, DType::float32), b = random_tensor({n * 37}, 2, DType::float32);
      Tensor got = random_tensor({m * n}, 3, DType::float32), want = got;
      engine::RunContext context;
      context.cores = 4;
      matmul_cblas(shape, DType::float32, a.bytes.data(), b.bytes.data(), got.bytes.data(), context);
      matmul_reference(shape, DType::float32, a.bytes.data(), b.bytes.data(), want.bytes.data(), context);
      const auto x = got.values(), y = want.values();
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_NEAR(x[i], y[i], 1e-4) << m << " x " << n << " form " << form;
    }
  }
}

// In every form, with edges that are no multiple of a block: sums of halves become halves once.
TEST(MatMul, HalvesAreRoundedOnce) {
  constexpr int64_t m = 150, n = 300, k = 600;
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    for (int form = 0; form < 4; ++form) {
      const bool left = (form & 1) != 0, right = (form & 2) != 0;
      const Tensor a = random_tensor(left ? Shape{k, m} : Shape{m, k}, 1, dtype);
      const Tensor b = random_tensor(right ? Shape{n, k} : Shape{k, n}, 2, dtype);
      const TextPairs attrs = {{"transpose_a", left ? "1" : "0"}, {"transpose_b", right ? "1" : "0"}};
      const auto x = a.values(), y = b.values();
      std::vector<double> want(m * n);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t l = 0; l < k; ++l)
            sum += x[static_cast<size_t>(left ? l * m + i : i * k + l)] *
                   y[static_cast<size_t>(right ? j * k + l : l * n + j)];
          want[static_cast<size_t>(i * n + j)] = sum;
        }
      }
      RunOptions add;
      add.req = Req::add;
      add.start = 2;
      for (const auto& [options, start] : {std::pair(RunOptions(), 0.0), std::pair(add, 2.0)}) {
        auto several = options;
        several.cores = 3;
        const auto got = run_op("dot", {a, b}, attrs, options);
        EXPECT_TRUE(got.kernel == "matmul_halves" || got.kernel == "matmul_bfloat16_dnnl") << got.kernel;
        EXPECT_EQ(got.out[0].bytes, run_op("dot", {a, b}, attrs, several).out[0].bytes);
        const auto z = got.out[0].values();
        const double close = dtype == DType::float16 ? 1e-3 : 8e-3;  // one rounding
        for (size_t i = 0; i < z.size(); ++i)
          ASSERT_NEAR(z[i], want[i] + start, close * (std::abs(want[i] + start) + 0.01)) << "form " << form;
      }
    }
  }
}

// Deep weights are read piece by piece, and any number of rows may leave lanes of the last panel idle.
TEST(FullyConnected, PanelsOfAnyRowsAndDepth) {
  constexpr int64_t hidden = 203;
  const TextPairs attrs = {{"num_hidden", "203"}};
  RunOptions several;
  several.cores = 3;
  for (const auto& [dtype, kernel] :
       {std::pair(DType::float32, "fully_connected_panels"), std::pair(DType::bfloat16, "bfloat16_panels")}) {
    for (const auto& [rows, depth] : {std::pair(12, 36), std::pair(17, 2048), std::pair(64, 2050),
                                      std::pair(65, 300), std::pair(150, 9000)}) {
      const Tensor data = random_tensor({rows, depth}, 1, dtype),
                   weight = random_tensor({hidden, depth}, 2, dtype);
      const Tensor bias = random_tensor({hidden}, 3, dtype);
      const auto got = run_op("FullyConnected", {data, weight, bias}, attrs);
      if (dtype == DType::bfloat16 && got.kernel != kernel) GTEST_SKIP() << "no instructions for bfloat16";
      EXPECT_EQ(got.kernel, kernel);
      EXPECT_EQ(got.out[0].bytes,
                run_op("FullyConnected", {data, weight, bias}, attrs, several).out[0].bytes);
      const auto x = data.values(), w = weight.values(), b = bias.values(), y = got.out[0].values();
      for (size_t i = 0; i < static_cast<size_t>(rows); i += 11) {
        for (size_t j = 0; j < hidden; j += 3) {
          double want = b[j], squares = 1;
          for (size_t k = 0; k < static_cast<size_t>(depth); ++k) {
            const double term = x[i * static_cast<size_t>(depth) + k] * w[j * static_cast<size_t>(depth) + k];
            want += term;
            squares += term * term;
          }
          const double rounding = dtype == DType::bfloat16 ? 4e-3 * std::abs(want) : 0;
          ASSERT_NEAR(y[i * hidden + j], want, rounding + 4e-5 * std::sqrt(squares))
              << rows << " x " << depth;
        }
      }
    }
  }
}

// Sums over the batch, for results that end within strips of both matrices.
TEST(FullyConnected, GradientsOfAWeightAreShortSums) {
  const std::string kernel = "matmul_short_sums";
  for (const auto& [rows, hidden, columns] :
       {std::tuple(1, 64, 1), std::tuple(3, 70, 17), std::tuple(33, 203, 50), std::tuple(256, 65, 130)}) {
    const Tensor grad = random_tensor({rows, hidden}, 1, DType::float32),
                 data = random_tensor({rows, columns}, 2, DType::float32);
    std::vector<Tensor> in = {grad, data, Tensor({hidden, columns}, DType::float32)};
    const TextPairs attrs = {{"num_hidden", std::to_string(hidden)}};
    RunOptions options{.kernel = kernel};
    const auto got = run_op("_backward_FullyConnected_weight", in, attrs, options);
    options.cores = 3;
    EXPECT_EQ(got.out[0].bytes, run_op("_backward_FullyConnected_weight", in, attrs, options).out[0].bytes);
    options.req = Req::add;
    options.start = 2;
    const auto added = run_op("_backward_FullyConnected_weight", in, attrs, options);
    const auto g = grad.values(), x = data.values(), y = got.out[0].values(), z = added.out[0].values();
    for (size_t i = 0; i < static_cast<size_t>(hidden); ++i) {
      for (size_t j = 0; j < static_cast<size_t>(columns); ++j) {
        double want = 0;
        for (size_t k = 0; k < static_cast<size_t>(rows); ++k)
          want += g[k * static_cast<size_t>(hidden) + i] * x[k * static_cast<size_t>(columns) + j];
        const size_t at = i * static_cast<size_t>(columns) + j;
        ASSERT_NEAR(y[at], want, 1e-5 * rows) << rows << ": " << i << ", " << j;
        ASSERT_NEAR(z[at], want + 2, 1e-5 * rows) << rows << ": " << i << ", " << j;
      }
    }
    // The gradient of the second matrix of a dot product is the same one.
    const auto of_dot = run_op("_backward_dot_rhs", {data, grad, in[2]}, {}, {.kernel = kernel});
    EXPECT_EQ(got.out[0].bytes, of_dot.out[0].bytes);
  }
}

TEST(FullyConnected, MemoryForHalvesDoesNotGrowWithTheBatch) {
  const auto scratch = [](int64_t rows) {
    return run_op("FullyConnected", {Tensor({rows, 256}, DType::float16), Tensor({8, 256}, DType::float16)},
                  {{"num_hidden", "8"}, {"no_bias", "True"}})
        .scratch_bytes;
  };
  EXPECT_LE(scratch(4), 64 * 1024);
  EXPECT_LE(scratch(100'000), 34 << 20);
}

TEST(FullyConnected, FewRowsOfHalvesTimesALargeMatrix) {
  for (const DType half : {DType::float16, DType::bfloat16}) {
    const Tensor rows = random_tensor({3, 1100}, 1, half), bias = random_tensor({20}, 3, half);
    compare_kernels("FullyConnected", {rows, random_tensor({20, 1100}, 2, half), bias},
                    {{"num_hidden", "20"}});
    compare_kernels("dot", {random_tensor({2, 40}, 1, half), random_tensor({40, 1100}, 2, half)}, {});
  }
}

// Their matrix is converted in registers; depths, rows and columns that fill no vector.
TEST(FullyConnected, OneRowOfHalvesTimesALargeMatrix) {
  RunOptions add;
  add.req = Req::add;
  add.start = 2;
  for (const DType half : {DType::float16, DType::bfloat16}) {
    for (const int64_t depth : {1, 7, 16, 2101}) {
      const Tensor row = random_tensor({1, depth}, 1, half), bias = random_tensor({21}, 3, half);
      compare_kernels("FullyConnected", {row, random_tensor({21, depth}, 2, half), bias},
                      {{"num_hidden", "21"}});
      for (const int64_t columns : {1, 6, 2077}) {
        compare_kernels("dot", {row, random_tensor({depth, columns}, 2, half)}, {});
        compare_kernels("dot", {row, random_tensor({depth, columns}, 2, half)}, {}, add);
      }
    }
  }
}

TEST(FullyConnected, KernelsAndGradients) {
  for (DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    for (int64_t rows : {0, 1, 5}) {
      compare_kernels("FullyConnected",
                      {random_tensor({rows, 3, 4}, 1, dtype), random_tensor({7, 12}, 2, dtype),
                       random_tensor({7}, 3, dtype)},
                      {{"num_hidden", "7"}});
    }
  }
  check_gradient("FullyConnected",
                 {random_tensor({3, 2, 4}, 1), random_tensor({5, 8}, 2), random_tensor({5}, 3)},
                 {{"num_hidden", "5"}}, {0, 1, 2});
  const TextPairs rest = {{"num_hidden", "5"}, {"flatten", "False"}, {"no_bias", "True"}};
  check_gradient("FullyConnected", {random_tensor({3, 2, 4}, 1), random_tensor({5, 4}, 2)}, rest, {0, 1});
  check_gradient("_backward_FullyConnected_data",
                 {random_tensor({3, 2, 5}, 4), random_tensor({5, 4}, 2), random_tensor({3, 2, 4}, 1)}, rest,
                 {0, 1});
  check_gradient("_backward_FullyConnected_weight",
                 {random_tensor({3, 2, 5}, 4), random_tensor({3, 2, 4}, 1), random_tensor({5, 4}, 2)}, rest,
                 {0, 1});
}

// Each of the three products multiplies as often.
TEST(FullyConnected, GradientsAreEstimatedToTakeAsLong) {
  const auto estimate = [](const std::string& op, Shape a, Shape b, Shape out) {
    const OpDef& def = builtin_table().at(op);
    const TensorView in[] = {{nullptr, DType::float32, std::move(a)},
                             {nullptr, DType::float32, std::move(b)}};
    const TensorView made{nullptr, DType::float32, std::move(out)};
    const Req req = Req::write;
    const auto attrs = builtin_table().parse(def, {{"num_hidden", "4096"}, {"no_bias", "True"}});
    return def.estimate_ns(*attrs, {in, std::span(&made, 1), std::span(&req, 1)});
  };
  const Shape data{32, 9216}, weight{4096, 9216}, output{32, 4096};
  const double forward = estimate("FullyConnected", data, weight, output);
  EXPECT_GT(forward, 1e6);
  EXPECT_NEAR(estimate("_backward_FullyConnected_data", output, weight, data) / forward, 1, 0.01);
  EXPECT_NEAR(estimate("_backward_FullyConnected_weight", output, data, weight) / forward, 1, 0.01);
}

TEST(Dot, KernelsAndGradients) {
  for (const char* a : {"0", "1"}) {
    for (const char* b : {"0", "1"}) {
      const TextPairs attrs = {{"transpose_a", a}, {"transpose_b", b}};
      const Tensor lhs = random_tensor(*a == '1' ? Shape{4, 2, 3} : Shape{2, 3, 4}, 1);
      const Tensor rhs = random_tensor(*b == '1' ? Shape{5, 4} : Shape{4, 5}, 2);
      compare_kernels("dot", {lhs, rhs}, attrs);
      check_gradient("dot", {lhs, rhs}, attrs, {0, 1});
      const Tensor left = random_tensor(*a == '1' ? Shape{3, 4, 2} : Shape{3, 2, 4}, 1);
      const Tensor right = random_tensor(*b == '1' ? Shape{3, 5, 4} : Shape{3, 4, 5}, 2);
      compare_kernels("batch_dot", {left, right}, attrs);
      check_gradient("batch_dot", {left, right}, attrs, {0, 1});
    }
  }
  check_gradient("dot", {random_tensor({4}, 1), random_tensor({4}, 2)}, {}, {0, 1});
  std::vector<Tensor> mismatch = {random_tensor({2, 3}, 1), random_tensor({4, 2}, 2)};
  EXPECT_THROW(run_op("dot", mismatch), ShapeError);
}

TEST(Pooling, KernelsAndGradients) {
  for (const Shape& data : {Shape{2, 3, 8, 24}, Shape{2, 3, 9, 7}, Shape{0, 3, 8, 8}, Shape{1, 1, 2, 2}}) {
    const TextPairs attrs = {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}};
    compare_pooling(random_tensor(data, 1, DType::float32), attrs);
  }
  for (const char* type : {"max", "avg", "sum", "lp"}) {
    for (const char* convention : {"valid", "full", "same"}) {
      for (const char* count : {"True", "False"}) {
        check_gradient("Pooling", {random_tensor({2, 2, 7, 6}, 5)},
                       {{"kernel", "(3, 2)"},
                        {"stride", "(2, 2)"},
                        {"pad", padding(convention, "(1, 0)")},
                        {"pool_type", type},
                        {"pooling_convention", convention},
                        {"p_value", "2"},
                        {"count_include_pad", count}},
                       {0});
      }
    }
    check_gradient("Pooling", {random_tensor({2, 3, 5}, 6)},
                   {{"global_pool", "True"}, {"pool_type", type}, {"p_value", "3"}}, {0});
    check_gradient("Pooling", {random_tensor({1, 3, 4, 3, 2}, 7)},
                   {{"kernel", "(2, 2, 1)"}, {"pool_type", type}, {"p_value", "1"}, {"layout", "NDHWC"}},
                   {0});
  }
}

// Values from a few numbers, so that maxima are often not unique.
Tensor coarse_tensor(const Shape& shape, uint32_t seed) {
  auto values = random_tensor(shape, seed, DType::float32, -3, 3).values();
  for (double& value : values) value = std::round(value);
  return {shape, DType::float32, values};
}

TEST(Pooling, LibraryAgrees) {
  for (const char* type : {"max", "avg"}) {
    for (const char* include : {"True", "False"}) {
      for (const Shape& shape : {Shape{2, 3, 17, 22}, Shape{3, 16, 12, 12}, Shape{1, 21, 33, 32}}) {
        for (const char* window : {"(3, 3)", "(3, 2)", "(5, 4)"}) {
          for (const char* stride : {"(1, 1)", "(2, 2)", "(1, 3)"}) {
            for (const char* pad : {"(0, 0)", "(1, 1)", "(2, 0)"}) {
              compare_pooling(coarse_tensor(shape, 1),
                              {{"kernel", window},
                               {"stride", stride},
                               {"pad", pad},
                               {"pool_type", type},
                               {"count_include_pad", include}},
                              std::string_view(type) == "avg");
            }
          }
        }
      }
      for (const char* convention : {"full", "same"}) {
        compare_pooling(coarse_tensor({4, 24, 13, 14}, 3), {{"kernel", "(3, 2)"},
                                                            {"stride", "(2, 2)"},
                                                            {"pad", padding(convention, "(1, 1)")},
                                                            {"pool_type", type},
                                                            {"pooling_convention", convention},
                                                            {"count_include_pad", include}});
      }
    }
    compare_pooling(coarse_tensor({4, 40, 7, 7}, 4), {{"global_pool", "True"}, {"pool_type", type}});
    compare_pooling(coarse_tensor({4, 10, 100}, 5),
                    {{"kernel", "(3,)"}, {"stride", "(2,)"}, {"pool_type", type}});
    compare_pooling(coarse_tensor({2, 9, 8, 9, 7}, 6),
                    {{"kernel", "(2, 3, 2)"}, {"stride", "(2, 1, 2)"}, {"pool_type", type}});
  }
}

TEST(Pooling, MaximaOfSpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float special : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
    Tensor x = random_tensor({4, 20, 30, 30}, 1, DType::float32);
    auto* values = reinterpret_cast<float*>(x.bytes.data());
    std::fill_n(values + 37 * 900, 900, special);
    const TextPairs attrs = {{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}};
    for (bool saved : {false, true}) {
      RunOptions how;
      how.saved = saved;
      const auto got = run_op("Pooling", {x}, attrs, how);
      how.kernel = "pooling_cpu";
      const auto want = run_op("Pooling", {x}, attrs, how);
      EXPECT_EQ(got.out[0].bytes, want.out[0].bytes) << got.kernel;
      EXPECT_EQ(got.saved[0].bytes, want.saved[0].bytes) << got.kernel;
    }
  }
}

// The first of several maxima, counted row by row, takes the gradient; windows of more than 255 places, too.
TEST(Pooling, PlacesOfMaxima) {
  const auto places = [](const Shape& shape, const std::vector<double>& values, const TextPairs& attrs) {
    RunOptions kept;
    kept.saved = true;
    return run_op("Pooling", {Tensor(shape, DType::float32, values)}, attrs, kept).saved[0].values();
  };
  using Places = std::vector<double>;
  const TextPairs square = {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}};
  EXPECT_EQ(places({1, 1, 2, 4}, {1, 2, 5, 5, 3, 0, 5, 5}, square), (Places{2, 0}));
  EXPECT_EQ(places({1, 1, 1, 3}, {1, 3, 3}, {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}}), (Places{5, 4, 3}));
  std::vector<double> many(400, 0);
  many[333] = 1;
  EXPECT_EQ(places({1, 1, 20, 20}, many, {{"kernel", "(20, 20)"}}), Places{333});
  EXPECT_EQ(places({1, 1, 20, 20}, many, {{"global_pool", "True"}}), Places{333});
}

TEST(Softmax, KernelsAndGradients) {
  for (const char* op : {"softmax", "softmin", "log_softmax"}) {
    for (const Shape& shape : {Shape{5, 33}, Shape{1, 1}, Shape{0, 4}, Shape{3, 16}}) {
      compare_kernels(op, {random_tensor(shape, 1, DType::float32, -9, 9)}, {{"temperature", "0.7"}});
    }
    for (const char* axis : {"-1", "0", "1"}) {
      const TextPairs attrs = {{"axis", axis}, {"temperature", "1.5"}};
      check_gradient(op, {random_tensor({2, 3, 4}, 1)}, attrs, {0});
      std::vector<Tensor> inputs = {random_tensor({2, 3, 4}, 1)};
      const Tensor y = run_op(op, inputs, attrs).out[0];
      check_gradient(std::string("_backward_") + op, {random_tensor({2, 3, 4}, 2), y, y}, attrs, {0, 1});
    }
  }
  check_gradient("SoftmaxActivation", {random_tensor({2, 3, 4}, 1)}, {{"mode", "channel"}}, {0});
  check_gradient("SoftmaxActivation", {random_tensor({2, 3, 4}, 1)}, {{"mode", "instance"}}, {0});
  check_gradient("softmax_cross_entropy", {random_tensor({3, 4}, 1), Tensor({3}, DType::float64, {0, 3, 1})},
                 {}, {0});
}

TEST(Softmax, LengthMasksTheRest) {
  std::vector<Tensor> inputs = {Tensor({2, 3}, DType::float32, {1, 2, 3, 4, 5, 6}),
                                Tensor({2}, DType::int32, {2, 0})};
  const auto y = run_op("softmax", inputs, {{"use_length", "True"}}).out[0].values();
  EXPECT_NEAR(y[0], 1 / (1 + std::exp(1.0)), 1e-6);
  for (size_t i : {2, 3, 4, 5}) EXPECT_EQ(y[i], 0);
}

TEST(SoftmaxOutput, GradientIsThatOfTheCrossEntropy) {
  const Tensor data = random_tensor({3, 4}, 1);
  const Tensor label({3}, DType::float64, {2, -1, 0});
  const EagerGrad rule("SoftmaxOutput", {data, label},
                       {{"use_ignore", "True"}, {"normalization", "valid"}, {"grad_scale", "3"}},
                       {random_tensor({3, 4}, 2)}, {0}, {});
  const auto grad = rule.grads().at(0).values();
  const auto y = rule.outputs()[0].values();
  for (size_t row = 0; row < 3; ++row) {
    for (size_t i = 0; i < 4; ++i) {
      const double target = (row == 0 && i == 2) || (row == 2 && i == 0) ? 1 : 0;
      EXPECT_NEAR(grad[row * 4 + i], row == 1 ? 0 : 1.5 * (y[row * 4 + i] - target), 1e-12);
    }
  }
}

TEST(Norm, Gradients) {
  RunOptions training;
  training.training = true;
  for (const char* axis : {"1", "-1", "0"}) {
    for (const char* global : {"False", "True"}) {
      const int64_t channels = *axis == '1' ? 4 : *axis == '0' ? 3 : 2;
      check_gradient("BatchNorm",
                     {random_tensor({3, 4, 2}, 1), random_tensor({channels}, 2), random_tensor({channels}, 3),
                      random_tensor({channels}, 4), random_tensor({channels}, 5, DType::float64, 0.5, 2)},
                     {{"axis", axis}, {"fix_gamma", "False"}, {"use_global_stats", global}}, {0, 1, 2}, 1,
                     training);
    }
    const int64_t size = *axis == '1' ? 4 : *axis == '0' ? 3 : 2;
    check_gradient("LayerNorm",
                   {random_tensor({3, 4, 2}, 1), random_tensor({size}, 2), random_tensor({size}, 3)},
                   {{"axis", axis}, {"eps", "0.1"}}, {0, 1, 2});
  }
  check_gradient("InstanceNorm", {random_tensor({2, 3, 4}, 1), random_tensor({3}, 2), random_tensor({3}, 3)},
                 {}, {0, 1, 2});
  check_gradient("GroupNorm", {random_tensor({2, 4, 3}, 1), random_tensor({2}, 2), random_tensor({2}, 3)},
                 {{"num_groups", "2"}}, {0, 1, 2});
}

TEST(BatchNorm, MovingAveragesChangeInTheBackwardPass) {
  RunOptions training;
  training.training = true;
  std::vector<Tensor> inputs = {Tensor({4, 1}, DType::float64, {1, 2, 3, 6}),
                                Tensor({1}, DType::float64, {5}), Tensor({1}, DType::float64, {0}),
                                Tensor({1}, DType::float64, {10}), Tensor({1}, DType::float64, {20})};
  const TextPairs attrs = {{"momentum", "0.5"}};
  const auto out = run_op("BatchNorm", inputs, attrs, training).out;
  EXPECT_EQ(inputs[3].values()[0], 10);
  EXPECT_EQ(out[1].values()[0], 3);
  EXPECT_NEAR(out[2].values()[0], 1 / std::sqrt(3.5 + 1e-3), 1e-9);
  std::vector<Tensor> backward = {
      random_tensor({4, 1}, 1), inputs[0], out[1], out[2], inputs[1], inputs[3], inputs[4]};
  run_op("_backward_BatchNorm", backward, attrs, training);
  EXPECT_NEAR(backward[5].values()[0], 6.5, 1e-9);    // (10 + 3) / 2
  EXPECT_NEAR(backward[6].values()[0], 11.75, 1e-9);  // (20 + 3.5) / 2
  EXPECT_EQ(backward[4].values()[0], 1);              // fixed
}

TEST(BatchNorm, ConstantChannelsWithoutEps) {
  RunOptions training;
  training.training = true;
  std::vector<Tensor> inputs = {Tensor({2, 1}, DType::float32, {4, 4}), Tensor({1}, DType::float32, {1}),
                                Tensor({1}, DType::float32, {7}), Tensor({1}, DType::float32, {0}),
                                Tensor({1}, DType::float32, {1})};
  const auto out = run_op("BatchNorm", inputs, {{"eps", "0"}}, training).out;
  EXPECT_EQ(out[0].values(), (std::vector<double>{7, 7}));
  EXPECT_EQ(out[2].values()[0], 0);
}

// The gradients of the parameters of many elements, and of rows that share one.
TEST(Norm, ParametersOnAnyCores) {
  const Tensor grad = random_tensor({40, 1300}, 1, DType::float32);
  const Tensor x = random_tensor({40, 1300}, 2, DType::float32);
  const auto mean = Tensor({40, 1}, DType::float32, std::vector<double>(40, 0.25));
  const auto deviation = Tensor({40, 1}, DType::float32, std::vector<double>(40, 2));
  const Tensor gamma = random_tensor({1300}, 3, DType::float32);
  compare_kernels("_backward_LayerNorm", {grad, x, gamma, mean, deviation}, {});
  const auto out = run_op("_backward_LayerNorm", {grad, x, gamma, mean, deviation}).out;
  const auto g = grad.values(), v = x.values(), to_gamma = out[1].values(), to_beta = out[2].values();
  for (size_t k = 0; k < 1300; k += 7) {
    double want_gamma = 0, want_beta = 0;
    for (size_t row = 0; row < 40; ++row) {
      want_gamma += g[row * 1300 + k] * (v[row * 1300 + k] - 0.25) / 2;
      want_beta += g[row * 1300 + k];
    }
    ASSERT_NEAR(to_gamma[k], want_gamma, 1e-5) << k;
    ASSERT_NEAR(to_beta[k], want_beta, 1e-5) << k;
  }
}

// Rows of float32 have loops of their own, with what is left of their vectors.
TEST(Norm, GradientsOfFloatsAreThoseOfDoubles) {
  for (const int64_t size : {3, 16, 37, 700}) {
    const auto gradient = [&](DType dtype) {
      return run_op("_backward_LayerNorm",
                    {random_tensor({5, size}, 1, dtype), random_tensor({5, size}, 2, dtype),
                     random_tensor({size}, 3, dtype), Tensor({5, 1}, dtype, std::vector<double>(5, 0.25)),
                     Tensor({5, 1}, dtype, std::vector<double>(5, 0.75))})
          .out;
    };
    const auto got = gradient(DType::float32), want = gradient(DType::float64);
    for (size_t output = 0; output < 3; ++output) {
      const auto a = got[output].values(), b = want[output].values();
      for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << size << ", output " << output;
    }
  }
}

TEST(Dropout, DropsAndScales) {
  RunOptions training;
  training.training = true;
  std::vector<Tensor> inputs = {Tensor({100, 100}, DType::float32, std::vector<double>(10000, 2.0))};
  const auto out = run_op("Dropout", inputs, {{"p", "0.25"}}, training).out;
  int64_t dropped = 0;
  for (double value : out[0].values()) {
    if (value == 0) ++dropped;
    else EXPECT_NEAR(value, 2 / 0.75, 1e-6);
  }
  EXPECT_NEAR(static_cast<double>(dropped), 2500, 200);
  training.cores = 2;
  EXPECT_EQ(run_op("Dropout", inputs, {{"p", "0.25"}}, training).out[0].values(), out[0].values());
  EXPECT_EQ(run_op("Dropout", inputs, {{"p", "0.25"}}).out[0].values(), inputs[0].values());
  const auto rows = run_op("Dropout", inputs, {{"p", "0.5"}, {"axes", "(1,)"}}, training).out;
  EXPECT_EQ(rows[1].shape, (Shape{100, 1}));
  const auto values = rows[0].values();
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], values[i / 100 * 100]);
}

TEST(Update, SgdWithMomentumInEveryForm) {
  const std::vector<double> weight = {1, -2, 3}, grad = {0.5, 0.25, -1}, mom = {0.1, 0, -0.2};
  std::vector<double> want_mom, want;
  for (size_t i = 0; i < 3; ++i) {
    want_mom.push_back(0.9 * mom[i] - 0.1 * 0.01 * weight[i] - 0.1 * std::clamp(2 * grad[i], -0.75, 0.75));
    want.push_back(weight[i] + want_mom[i]);
  }
  const TextPairs shared = {{"momentum", "0.9"}, {"rescale_grad", "2"}, {"clip_gradient", "0.75"}};
  const auto with = [&](TextPairs more) {
    more.insert(more.end(), shared.begin(), shared.end());
    return more;
  };
  const auto expect = [&](const Tensor& out, const Tensor& state, double tolerance) {
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(out.values()[i], want[i], tolerance);
      EXPECT_NEAR(state.values()[i], want_mom[i], tolerance);
    }
  };
  for (DType dtype : {DType::float32, DType::float64}) {
    std::vector<Tensor> in = {Tensor({3}, dtype, weight), Tensor({3}, dtype, grad), Tensor({3}, dtype, mom)};
    auto single = in;
    expect(run_op("sgd_mom_update", single, with({{"lr", "0.1"}, {"wd", "0.01"}})).out[0], single[2], 1e-6);
    auto multi = in;
    multi.insert(multi.end(), in.begin(), in.end());
    const auto out = run_op("multi_sgd_mom_update", multi,
                            with({{"lrs", "(0.1, 0.1)"}, {"wds", "(0.01, 0.01)"}, {"num_weights", "2"}}))
                         .out;
    expect(out[1], multi[5], 1e-6);
  }
  std::vector<Tensor> mixed = {Tensor({3}, DType::float16, weight), Tensor({3}, DType::float16, grad),
                               Tensor({3}, DType::float32, mom), Tensor({3}, DType::float32, weight)};
  const auto out = run_op("mp_sgd_mom_update", mixed, with({{"lr", "0.1"}, {"wd", "0.01"}})).out;
  EXPECT_EQ(out[0].dtype, DType::float16);
  expect(mixed[3], mixed[2], 1e-6);
  expect(out[0], mixed[2], 4e-3);
  std::vector<Tensor> wrong = mixed;
  EXPECT_THROW(
      run_op("multi_sgd_update", wrong, {{"lrs", "(0.1,)"}, {"wds", "(0, 0)"}, {"num_weights", "2"}}),
      ValueError);
}

TEST(Update, VectorLoopsAgreeWithDouble) {
  struct Case {
    const char* name;
    int states;
    TextPairs attrs;
  };
  const std::vector<Case> cases = {{"sgd_update", 0, {}},
                                   {"sgd_mom_update", 1, {{"momentum", "0.9"}}},
                                   {"nag_mom_update", 1, {{"momentum", "0.9"}}},
                                   {"adam_update", 2, {}},
                                   {"rmsprop_update", 1, {{"clip_weights", "0.9"}}}};
  for (Case c : cases) {
    c.attrs.insert(c.attrs.end(), {{"lr", "0.1"}, {"wd", "0.01"}, {"clip_gradient", "0.5"}});
    std::vector<Tensor> single, wide;
    for (int i = 0; i < 2 + c.states; ++i) {
      const std::vector<double> drawn = random_tensor({133}, i + 1, DType::float32).values();
      std::vector<double> values;
      for (double value : drawn) values.push_back(i < 2 ? value : std::abs(value));
      single.emplace_back(Shape{133}, DType::float32, values);
      wide.emplace_back(Shape{133}, DType::float64, values);
    }
    const auto got = run_op(c.name, single, c.attrs).out[0].values();
    const auto want = run_op(c.name, wide, c.attrs).out[0].values();
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5) << c.name << " at " << i;
    for (size_t state = 2; state < single.size(); ++state) {
      const auto kept = single[state].values(), kept_wide = wide[state].values();
      for (size_t i = 0; i < kept.size(); ++i)
        ASSERT_NEAR(kept[i], kept_wide[i], 1e-5) << c.name << " state " << state << " at " << i;
    }
  }
}

TEST(Update, AdamAndHelpers) {
  std::vector<Tensor> in = {Tensor({1}, DType::float64, {2}), Tensor({1}, DType::float64, {0.5}),
                            Tensor({1}, DType::float64, {0.1}), Tensor({1}, DType::float64, {0.2})};
  const double mean = 0.9 * 0.1 + 0.1 * 0.5, var = 0.999 * 0.2 + 0.001 * 0.25;
  EXPECT_NEAR(run_op("adam_update", in, {{"lr", "0.1"}}).out[0].values()[0],
              2 - 0.1 * mean / (std::sqrt(var) + 1e-8), 1e-6);
  EXPECT_NEAR(in[2].values()[0], mean, 1e-6);
  std::vector<Tensor> finite = {Tensor({2}, DType::float32, {1, 2})};
  EXPECT_EQ(run_op("all_finite", finite).out[0].values()[0], 1);
  finite[0] = Tensor({2}, DType::float32, {1, INFINITY});
  EXPECT_EQ(run_op("all_finite", finite).out[0].values()[0], 0);
  std::vector<Tensor> arrays = {Tensor({2}, DType::float32, {1, 2}), Tensor({1}, DType::float64, {3})};
  EXPECT_EQ(run_op("multi_sum_sq", arrays, {{"num_arrays", "2"}}).out[0].values(),
            (std::vector<double>{5, 9}));
  run_op("reset_arrays", arrays, {{"num_arrays", "2"}});
  EXPECT_EQ(arrays[0].values(), (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace loomix::ops::testing
