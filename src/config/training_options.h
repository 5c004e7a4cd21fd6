// TrainingOptions: the training run whose duration and price a command shows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/option.h"

namespace laptime {

// Parses "10B", "3.5T", "500M" or "1e9"; throws Error unless the text is a number of tokens from 1 to 1e18.
double parse_token_count(std::string_view where, std::string_view text);
// Parses "2.5/h", "2.5/hour" or "2.5", without a currency; throws Error unless the number is from 0 to 1e9.
double parse_hourly_price(std::string_view where, std::string_view text);

// A training run, given as a number of tokens or of passes over the record's data.
struct TrainingBudget {
  std::optional<double> tokens{};
  std::optional<double> epochs{};
  std::optional<double> price_per_hour{};

  bool is_asked() const { return tokens || epochs; }
};

struct TrainingOptions {
  std::string tokens;            // empty: not given
  std::optional<double> epochs;  // passes over --data
  std::string price;             // per hour; empty: not given

  // Throws Error if tokens and epochs are both given, if a price is given without either, or if a text is invalid.
  TrainingBudget budget() const;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Training";
    visit(Option{.flag = "tokens",
                 .key = "tokens",
                 .group = kGroup,
                 .help = "show the steps and the time that training on this many tokens takes",
                 .otherwise = "not shown",
                 .axis = false,
                 .changes_result = false,
                 .value = "COUNT",
                 .canonical = unchanged<parse_token_count>},
          self.tokens);
    visit(Option{.flag = "epochs",
                 .key = "epochs",
                 .group = kGroup,
                 .help = "show the steps and the time that this many passes over the tokens of --data take",
                 .empty = "none",
                 .min = 1e-6,
                 .max = 1e6,
                 .axis = false,
                 .changes_result = false},
          self.epochs);
    visit(Option{.flag = "price",
                 .key = "price",
                 .group = kGroup,
                 .help = "hourly price of the machine, to show the cost of --tokens or --epochs",
                 .otherwise = "not shown",
                 .axis = false,
                 .changes_result = false,
                 .value = "N/h",
                 .canonical = unchanged<parse_hourly_price>},
          self.price);
  }
};

}  // namespace laptime
