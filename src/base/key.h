// Key: the name under which a struct states a field, with the unit that the field counts in.
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

// visit(Key{"peak_bytes", Unit::kBytes}, self.peak_bytes); a field without a unit is stated by its name alone. The unit
// of a list or map is that of its elements.
struct Key {
  constexpr Key(const char* name, Unit unit = Unit::kNone)  // NOLINT(google-explicit-constructor): a name is a key
      : name(name), unit(unit) {}
  constexpr operator const char*() const { return name; }  // NOLINT(google-explicit-constructor): for visitors of names

  const char* name;
  Unit unit;
};

}  // namespace laptime
