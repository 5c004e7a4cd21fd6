// TrainingOptions: how long a training is whose time and price a command tells.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/option.h"

namespace laptime {

// "10B", "3.5T", "500M" or "1e9": Error unless the text is a number of tokens from 1 to 1e18.
double parse_token_count(std::string_view where, std::string_view text);
std::string canonical_token_count(std::string_view where, std::string_view text);
// "2.5/h" or "2.5": Error unless the text is a price for an hour, in whatever currency.
double parse_hourly_price(std::string_view where, std::string_view text);
std::string canonical_hourly_price(std::string_view where, std::string_view text);

// A training of so many tokens, or of so many passes over the data of a record.
struct TrainingBudget {
  std::optional<double> tokens{};
  std::optional<double> epochs{};
  std::optional<double> price_per_hour{};

  bool is_asked() const { return tokens || epochs; }
};

struct TrainingOptions {
  std::string tokens;            // empty: not given
  std::optional<double> epochs;  // of --data
  std::string price;             // for an hour; empty: not given

  TrainingBudget budget() const;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Training";
    visit(Option{.flag = "tokens",
                 .key = "tokens",
                 .group = kGroup,
                 .help = "tell how many steps and how long training on so many tokens takes",
                 .otherwise = "not told",
                 .axis = false,
                 .changes_result = false,
                 .value = "COUNT",
                 .canonical = canonical_token_count},
          self.tokens);
    visit(Option{.flag = "epochs",
                 .key = "epochs",
                 .group = kGroup,
                 .help = "the same for so many passes over the tokens of --data",
                 .empty = "none",
                 .min = 1e-6,
                 .max = 1e6,
                 .axis = false,
                 .changes_result = false},
          self.epochs);
    visit(Option{.flag = "price",
                 .key = "price",
                 .group = kGroup,
                 .help = "price of an hour of the machine, for --tokens",
                 .otherwise = "not told",
                 .axis = false,
                 .changes_result = false,
                 .value = "N/h",
                 .canonical = canonical_hourly_price},
          self.price);
  }
};

}  // namespace laptime
