// The names of units.
#include "base/key.h"

namespace laptime {

std::string_view name_of(Unit unit) {
  switch (unit) {
    case Unit::kNone: return "";
    case Unit::kSeconds: return "s";
    case Unit::kBytes: return "bytes";
    case Unit::kFraction: return "fraction";
    case Unit::kRatio: return "times";
    case Unit::kFlops: return "FLOP";
    case Unit::kFlopsPerSecond: return "FLOP/s";
    case Unit::kBytesPerSecond: return "bytes/s";
    case Unit::kTokensPerSecond: return "tokens/s";
    case Unit::kNats: return "nats";
  }
  return "";
}

}  // namespace laptime
