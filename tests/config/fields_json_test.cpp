// Structs to JSON and back, field by field.
#include "config/fields_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "config/run_config.h"
#include "support/error_of.h"
#include "support/json_pointer.h"

namespace laptime {
namespace {

using testing::HasSubstr;

enum class Colour : uint8_t { kRed, kBlue };
constexpr auto choices_of(Colour) {
  return std::array{Choice<Colour>{Colour::kRed, "red"}, Choice<Colour>{Colour::kBlue, "blue"}};
}

struct Inner {
  int64_t count = 0;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("count", self.count);
  }
};

struct Outer {
  bool flag = false;
  double seconds = 0;
  std::string text;
  Colour colour = Colour::kRed;
  std::optional<double> unknown;
  std::vector<Inner> list;
  std::map<std::string, int64_t> parts;
  JsonObject free;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("flag", self.flag);
    visit(Key{"seconds", Unit::kSeconds}, self.seconds);
    visit("text", self.text);
    visit("colour", self.colour);
    visit("unknown", self.unknown);
    visit("list", self.list);
    visit(Key{"parts", Unit::kBytes}, self.parts);
    visit("free", self.free);
  }
};

std::string field_error_of(const Json& json) {
  return test::error_of([&] { from_json<Outer>(json, "shape", "ask its author"); });
}

TEST(FieldsJson, EveryKindOfFieldRoundTrips) {
  const Outer value{true, 0.5, "a", Colour::kBlue, 2.0, {{1}, {2}}, {{"x", 3}}, Json{{"k", nullptr}}};
  const std::string text =
      R"({"flag":true,"seconds":0.5,"text":"a","colour":"blue","unknown":2.0,"list":[{"count":1},{"count":2}],)"
      R"("parts":{"x":3},"free":{"k":null}})";
  EXPECT_EQ(to_json(value).dump(), text);
  EXPECT_EQ(to_json(from_json<Outer>(Json::parse(text), "shape")).dump(), text);
}

TEST(FieldsJson, UnknownValuesRoundTripAsNull) {
  Outer value;
  value.seconds = std::nan("");
  const Json json = to_json(value);
  for (const char* key : {"seconds", "text", "unknown"}) EXPECT_TRUE(json.at(key).is_null()) << key;
  const Outer back = from_json<Outer>(json, "shape");
  EXPECT_TRUE(std::isnan(back.seconds));
  EXPECT_EQ(back.text, "");
  EXPECT_FALSE(back.unknown.has_value());
}

TEST(FieldsJson, ErrorNamesBadField) {
  const Json good = to_json(Outer());
  const auto with = [&](const char* pointer, const Json& value) {
    Json json = good;
    at_pointer(json, pointer) = value;
    return field_error_of(json);
  };
  EXPECT_EQ(field_error_of(good), "");
  EXPECT_EQ(with("/flag", 1), "shape: 'flag' must be true or false, found 1; ask its author");
  EXPECT_EQ(with("/colour", "green"), "shape: 'colour' must be one of red, blue, found \"green\"; ask its author");
  EXPECT_THAT(with("/list", Json::array({Json{{"count", "x"}}})), HasSubstr("'list[0].count' must be an integer"));
  EXPECT_THAT(with("/list", Json::array({Json::object()})), HasSubstr("'list[0].count' is missing"));
  EXPECT_THAT(with("/parts", Json{{"x", 0.5}}), HasSubstr("'parts.x' must be an integer"));
  EXPECT_THAT(with("/free", "x"), HasSubstr("'free' must be an object"));
  EXPECT_EQ(field_error_of(Json::array()), "shape: expected a JSON object, found array");
}

TEST(FieldsJson, KeepsOptionKeysAndEmptyStrings) {
  RunConfig config;
  config.weights = "";
  config.keep.reset();
  config.dtype = Precision::kBFloat16;
  const Json json = to_json(config);
  EXPECT_EQ(json.at("weights"), "");
  EXPECT_TRUE(json.at("keep").is_null());
  EXPECT_EQ(json.at("dtype"), "bfloat16");
  EXPECT_EQ(json.at("context_length"), config.model.context_length);
}

}  // namespace
}  // namespace laptime
