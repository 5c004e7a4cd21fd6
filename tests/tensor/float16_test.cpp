// Conversions to float16 and bfloat16 round to nearest even, and every float16 value survives the conversion to float32
// and back.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/dtype.h"

namespace laptime {
namespace {

float half(uint16_t bits) {
  Float16 value;
  value.bits = bits;
  return static_cast<float>(value);
}

TEST(Float16, ConvertsKnownValues) {
  EXPECT_EQ(half(0x3C00), 1.0F);
  EXPECT_EQ(half(0xC000), -2.0F);
  EXPECT_EQ(half(0x7BFF), 65504.0F);
  EXPECT_EQ(half(0x0400), 0x1p-14F);
  EXPECT_EQ(half(0x0001), 0x1p-24F);
  EXPECT_EQ(half(0x2E66), 0.0999755859375F);  // the nearest value to 0.1
  EXPECT_TRUE(std::signbit(half(0x8000)));
  EXPECT_EQ(half(0x8000), 0.0F);
  EXPECT_EQ(half(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(half(0x7E01)));
}

TEST(Float16, EveryValueRoundTripsThroughFloat32) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = half(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Float16(value))));
    } else {
      EXPECT_EQ(Float16(value).bits, bits);
    }
  }
}

TEST(Float16, RoundsToNearestEven) {
  // Between each value and the next: below, exactly at, and above the midpoint.
  for (uint16_t bits = 0; bits < 0x7BFF; ++bits) {
    const auto next = static_cast<uint16_t>(bits + 1);
    const float middle = 0.5F * (half(bits) + half(next));
    EXPECT_EQ(Float16(middle).bits, bits % 2 == 0 ? bits : next);
    EXPECT_EQ(Float16(std::nextafter(middle, 0.0F)).bits, bits);
    EXPECT_EQ(Float16(-std::nextafter(middle, 1e6F)).bits, next | 0x8000);
  }
  EXPECT_EQ(Float16(65519.99F).bits, 0x7BFF);
  EXPECT_EQ(Float16(65520.0F).bits, 0x7C00);
  EXPECT_EQ(Float16(-std::numeric_limits<float>::infinity()).bits, 0xFC00);
  EXPECT_EQ(Float16(1e-30F).bits, 0);
}

TEST(BFloat16, RoundsToNearestEven) {
  EXPECT_EQ(BFloat16(1.0F).bits, 0x3F80);
  EXPECT_EQ(BFloat16(1.00390625F).bits, 0x3F80);  // the midpoint rounds to even
  EXPECT_EQ(BFloat16(1.01171875F).bits, 0x3F82);
  EXPECT_EQ(BFloat16(std::nextafter(1.00390625F, 2.0F)).bits, 0x3F81);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::nanf("")))));
}

}  // namespace
}  // namespace laptime
