// Key: the name and unit under which a struct declares a field; and LAPTIME_FIELDS, which lists the fields of a struct.
#pragma once

#include <cstdint>
#include <string_view>

namespace laptime {

enum class Unit : uint8_t {
  kNone,
  kSeconds,
  kBytes,
  kFraction,
  kRatio,
  kFlops,
  kFlopsPerSecond,
  kBytesPerSecond,
  kTokensPerSecond,
  kNats
};

std::string_view name_of(Unit unit);  // "s", "bytes", "FLOP/s", ...; "" for plain numbers

// For a list or map, the unit is that of its elements.
struct Key {
  constexpr Key(const char* name, Unit unit = Unit::kNone)  // NOLINT(google-explicit-constructor): a name is a key
      : name(name), unit(unit) {}
  constexpr operator const char*() const { return name; }  // NOLINT(google-explicit-constructor): visitors take names

  const char* name;
  Unit unit;
};

}  // namespace laptime

// Defines visit_fields() for a struct whose keys are its field names, in list order. Fields that share a unit are
// grouped in parentheses, after the unit: LAPTIME_FIELDS(phase, (kSeconds, mean, median), (kFraction, share))
#define LAPTIME_FIELDS(...)                             \
  template <class Self, class Visit>                    \
  static void visit_fields(Self& self, Visit&& visit) { \
    LAPTIME_SCAN_4(LAPTIME_ITEMS(__VA_ARGS__))          \
  }

// An item is a name, or a group in parentheses. A macro does not expand within itself, so each scan of the result
// expands one more item.
#define LAPTIME_ITEMS(item, ...)                                        \
  LAPTIME_JOIN(LAPTIME_ITEM_, LAPTIME_SECOND(LAPTIME_IS_GROUP item, 0)) \
  (item) __VA_OPT__(LAPTIME_ITEMS_LATER LAPTIME_PARENTHESES(__VA_ARGS__))
#define LAPTIME_ITEM_0(name) visit(::laptime::Key{#name}, self.name);
#define LAPTIME_ITEM_1(group) LAPTIME_GROUP group
#define LAPTIME_GROUP(unit, name, ...)                            \
  visit(::laptime::Key{#name, ::laptime::Unit::unit}, self.name); \
  __VA_OPT__(LAPTIME_GROUP_LATER LAPTIME_PARENTHESES(unit, __VA_ARGS__))
#define LAPTIME_ITEMS_LATER() LAPTIME_ITEMS
#define LAPTIME_GROUP_LATER() LAPTIME_GROUP
#define LAPTIME_PARENTHESES ()
#define LAPTIME_IS_GROUP(...) 0, 1
#define LAPTIME_SECOND(...) LAPTIME_SECOND_OF(__VA_ARGS__)
#define LAPTIME_SECOND_OF(first, second, ...) second
#define LAPTIME_JOIN(a, b) LAPTIME_JOINED(a, b)
#define LAPTIME_JOINED(a, b) a##b
#define LAPTIME_SCAN_1(...) __VA_ARGS__
#define LAPTIME_SCAN_2(...) LAPTIME_SCAN_1(LAPTIME_SCAN_1(LAPTIME_SCAN_1(LAPTIME_SCAN_1(__VA_ARGS__))))
#define LAPTIME_SCAN_3(...) LAPTIME_SCAN_2(LAPTIME_SCAN_2(LAPTIME_SCAN_2(LAPTIME_SCAN_2(__VA_ARGS__))))
#define LAPTIME_SCAN_4(...) LAPTIME_SCAN_3(LAPTIME_SCAN_3(LAPTIME_SCAN_3(LAPTIME_SCAN_3(__VA_ARGS__))))
