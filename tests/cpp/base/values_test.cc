// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/device.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/shape.h"

namespace loomix {
namespace {

using ::testing::HasSubstr;

template <class E, class Fn>
std::string message_of(Fn&& fn) {
  try {
    fn();
  } catch (const E& error) {
    return error.what();
  }
  return "no error";
}

Shape with_axes(int ndim) {
  Shape shape;
  for (int i = 0; i < ndim; ++i) shape.push_back(i + 1);
  return shape;
}

TEST(Shape, Basics) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.ndim(), 3);
  EXPECT_EQ(shape.size(), 24);
  EXPECT_EQ(shape.size_between(1, 3), 12);
  EXPECT_EQ(Shape().size(), 1);
  EXPECT_EQ(Shape({0, 5}).size(), 0);
  EXPECT_EQ(Shape::filled(2, 7), Shape({7, 7}));
  EXPECT_FALSE(Shape::unknown().is_known());
  EXPECT_FALSE(Shape({2, kUnknownDim}).is_known());
  EXPECT_TRUE(Shape({2, 0}).is_known());
  EXPECT_NE(Shape::unknown(), Shape());
}

TEST(Shape, PrintsAsPython) {
  EXPECT_EQ(Shape().to_string(), "()");
  EXPECT_EQ(Shape({3}).to_string(), "(3,)");
  EXPECT_EQ(Shape({2, -1}).to_string(), "(2, ?)");
  EXPECT_EQ(Shape::unknown().to_string(), "None");
}

TEST(Shape, CopiesAndMovesAtEverySize) {
  for (int from = 0; from <= 12; from += 3) {
    for (int to = 0; to <= 12; to += 3) {
      const Shape source = with_axes(from);
      Shape copied = with_axes(to);
      copied = source;
      EXPECT_EQ(copied, source);
      Shape moved = with_axes(to);
      moved = std::move(copied);
      EXPECT_EQ(moved, source);
      EXPECT_EQ(copied, Shape());  // NOLINT: a moved-from shape is a scalar
      copied.push_back(5);
      EXPECT_EQ(copied, Shape({5}));
      Shape constructed(std::move(moved));
      EXPECT_EQ(constructed, source);
      EXPECT_EQ(moved.to_string(), "()");  // NOLINT
      Shape& alias = constructed;
      constructed = std::move(alias);
      EXPECT_EQ(constructed, source);
      constructed = Shape::unknown();
      EXPECT_FALSE(constructed.ndim_known());
      EXPECT_EQ(Shape(constructed), Shape::unknown());
    }
  }
}

TEST(Shape, ResizeKeepsAndClears) {
  Shape shape = with_axes(8);
  shape.resize(3);
  EXPECT_EQ(shape, Shape({1, 2, 3}));
  shape.resize(5);
  EXPECT_EQ(shape, Shape({1, 2, 3, 0, 0}));
  Shape unknown = Shape::unknown();
  unknown.push_back(4);
  EXPECT_EQ(unknown, Shape({4}));
  EXPECT_THAT(message_of<ShapeError>([] { with_axes(Shape::kMaxDims + 1); }),
              HasSubstr("33 axes are too many"));
}

TEST(Shape, Compatible) {
  EXPECT_TRUE(compatible(Shape::unknown(), Shape({1})));
  EXPECT_TRUE(compatible(Shape({-1, 2}), Shape({5, 2})));
  EXPECT_FALSE(compatible(Shape({5, 3}), Shape({5, 2})));
  EXPECT_FALSE(compatible(Shape({5}), Shape({5, 1})));
}

TEST(Shape, Broadcast) {
  EXPECT_EQ(broadcast({2, 1, 3}, {4, 1}, "add"), Shape({2, 4, 3}));
  EXPECT_EQ(broadcast({}, {4}, "add"), Shape({4}));
  EXPECT_EQ(broadcast({0, 1}, {1, 3}, "add"), Shape({0, 3}));
  EXPECT_EQ(broadcast({-1}, {3}, "add"), Shape({3}));
  EXPECT_EQ(broadcast({-1}, {1}, "add"), Shape({-1}));
  EXPECT_EQ(broadcast(Shape::unknown(), {1}, "add"), Shape::unknown());
  EXPECT_EQ(message_of<ShapeError>([] {
              broadcast({2, 3}, {4, 3}, "add");
            }),
            "[add] shapes (2, 3) and (4, 3) cannot be broadcast: sizes 2 and 4 on axis -2 differ; they must "
            "be equal or 1.");
  EXPECT_THROW(broadcast({0}, {2}, "add"), ShapeError);
}

TEST(Shape, NormalizeAxis) {
  EXPECT_EQ(normalize_axis(-1, 3, "sum"), 2);
  EXPECT_EQ(normalize_axis(0, 3, "sum"), 0);
  EXPECT_EQ(message_of<ValueError>([] { normalize_axis(3, 3, "sum"); }),
            "[sum] axis 3 is out of range for an array of 3 dimensions; expected -3 to 2.");
  EXPECT_THROW(normalize_axis(-4, 3, "sum"), ValueError);
  EXPECT_THROW(normalize_axis(0, 0, "sum"), ValueError);
}

TEST(DType, NamesAndSizes) {
  for (const char* name :
       {"float32", "float64", "float16", "bfloat16", "uint8", "int8", "int32", "int64", "bool"}) {
    const DType dtype = parse_dtype(name);
    EXPECT_EQ(name_of(dtype), name);
    EXPECT_TRUE(is_valid(dtype));
    EXPECT_EQ(dispatch_all(dtype, "test", []<class T>(Type<T>) { return static_cast<int64_t>(sizeof(T)); }),
              size_of(dtype));
    EXPECT_EQ(dispatch_all(dtype, "test", []<class T>(Type<T>) { return dtype_of<T>(); }), dtype);
  }
  EXPECT_THAT(message_of<TypeError>([] { parse_dtype("int16"); }),
              HasSubstr("'int16' is not a data type; expected one"));
  EXPECT_THROW(size_of(DType::unknown), TypeError);
  EXPECT_THROW(size_of(static_cast<DType>(8)), TypeError);
  EXPECT_FALSE(is_valid(static_cast<DType>(8)));
  EXPECT_EQ(message_of<TypeError>([] { dispatch_floating(DType::int8, "exp", [](auto) {}); }),
            "[exp] data type int8 is not supported; expected one of float16, bfloat16, float32, float64.");
}

TEST(Float16, EveryValueSurvivesARoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float wide = float16::to_float(static_cast<uint16_t>(bits));
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(float16::to_float(float16::from_float(wide))));
    } else {
      ASSERT_EQ(float16::from_float(wide), bits);
    }
  }
}

TEST(Float16, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {  // halfway between neighbours, and one step to each side
    const float low = float16::to_float(static_cast<uint16_t>(bits));
    const float high = float16::to_float(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(float16::from_float(middle), even);
    ASSERT_EQ(float16::from_float(std::nextafterf(middle, 0.0f)), bits);
    ASSERT_EQ(float16::from_float(std::nextafterf(middle, 1e9f)), bits + 1);
    ASSERT_EQ(float16::from_float(-middle), even | 0x8000u);
  }
  EXPECT_EQ(float16::from_float(65520.0f), 0x7c00);
  EXPECT_EQ(float16::from_float(std::nextafterf(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(float16::from_float(std::numeric_limits<float>::infinity()), 0x7c00);
}

TEST(BFloat16, RoundsToNearestEven) {
  const auto round = [](uint32_t word) {
    float value;
    std::memcpy(&value, &word, sizeof value);
    return bfloat16::from_float(value);
  };
  EXPECT_EQ(round(0x3f808000), 0x3f80);
  EXPECT_EQ(round(0x3f818000), 0x3f82);
  EXPECT_EQ(round(0x3f808001), 0x3f81);
  EXPECT_EQ(round(0x7f7fffff), 0x7f80);
  EXPECT_TRUE(std::isnan(static_cast<float>(bfloat16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(static_cast<float>(bfloat16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(Device, PrintsAndParses) {
  for (Device device : {Device::cpu(), Device::cpu(3), Device::gpu(1), Device::null(2),
                        Device{DeviceType::cpu_pinned, 0}, Device{DeviceType::cpu_shared, 0}}) {
    EXPECT_EQ(Device::parse(device.to_string()), device);
  }
  EXPECT_EQ(Device::parse("gpu"), Device::gpu(0));
  EXPECT_EQ(Device::gpu(1).to_string(), "gpu(1)");
  for (const char* text :
       {"", "tpu", "gpu(", "gpu()", "gpu(-1)", "gpu(1", "gpu(1)x", "gpu(99999)", "gpu 1"}) {
    EXPECT_THAT(message_of<ValueError>([text] { Device::parse(text); }), HasSubstr("is not a device"))
        << text;
  }
}

TEST(Error, KeepsTypeAndAddsContext) {
  try {
    try {
      throw ShapeError("[dot] no.");
    } catch (Error& error) {
      error.add_context("in node fc1");
      throw;
    }
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "[dot] no.\nin node fc1");
  }
  EXPECT_THROW(LOOMIX_CHECK(1 > 2, ValueError, "[x] {}", 5), ValueError);
  EXPECT_THAT(message_of<InternalError>([] { LOOMIX_INTERNAL_CHECK(1 + 1 == 3); }), HasSubstr("1 + 1 == 3"));
}

}  // namespace
}  // namespace loomix
