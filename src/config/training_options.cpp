// Parses token counts and prices.
#include "config/training_options.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/words.h"

namespace laptime {
namespace {

struct Leading {
  double number = 0;
  std::string_view rest;
  bool is_number = false;
};
Leading leading_number(std::string_view text) {
  Leading found;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), found.number);
  found.is_number = problem == std::errc() && std::isfinite(found.number);
  found.rest = text.substr(static_cast<size_t>(stop - text.data()));
  return found;
}

}  // namespace

double parse_token_count(std::string_view where, std::string_view text) {
  struct Unit {
    std::string_view name;
    double tokens;
  };
  constexpr std::array kUnits{Unit{"", 1},    Unit{"k", 1e3}, Unit{"m", 1e6},
                              Unit{"b", 1e9}, Unit{"g", 1e9}, Unit{"t", 1e12}};
  constexpr double kMost = 1e18;
  const Leading found = leading_number(text);
  for (const Unit& unit : kUnits) {
    if (!found.is_number || lowered(found.rest) != unit.name) continue;
    const double tokens = found.number * unit.tokens;
    if (tokens >= 1 && tokens <= kMost) return tokens;
    throw Error::format("{}: {} is out of range; give 1 to 1e18 tokens", where, quote(text));
  }
  throw Error::format("{}: {} is not a number of tokens; write for example 500M, 10B, 1.5T or 1000000", where,
                      quote(text));
}

double parse_hourly_price(std::string_view where, std::string_view text) {
  const Leading found = leading_number(text);
  const bool has_unit = found.rest.empty() || found.rest == "/h" || found.rest == "/hour";
  constexpr double kMost = 1e9;
  if (!found.is_number || !has_unit || found.number < 0 || found.number > kMost)
    throw Error::format("{}: {} is not an hourly price; write for example 2.5/h", where, quote(text));
  return found.number;
}

TrainingBudget TrainingOptions::budget() const {
  TrainingBudget budget{.epochs = epochs};
  if (!tokens.empty()) budget.tokens = parse_token_count("--tokens", tokens);
  if (!price.empty()) budget.price_per_hour = parse_hourly_price("--price", price);
  if (budget.tokens && budget.epochs) throw Error("--tokens and --epochs exclude each other; give one of them");
  if (budget.price_per_hour && !budget.is_asked()) throw Error("--price needs --tokens or --epochs");
  return budget;
}

}  // namespace laptime
