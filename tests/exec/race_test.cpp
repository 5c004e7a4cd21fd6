// Races between candidates with given run times: the winner, and the number of runs of each candidate.
#include "exec/race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace laptime {
namespace {

using Times = std::vector<std::vector<double>>;

// Candidates with given run times in milliseconds. A candidate that has used all its times repeats the last one.
class Track {
 public:
  explicit Track(Times milliseconds) : milliseconds_(std::move(milliseconds)) { runs.resize(milliseconds_.size()); }

  RaceResult race() {
    return laptime::race(milliseconds_.size(), [this](size_t candidate) {
      const std::vector<double>& times = milliseconds_[candidate];
      return Seconds(1e-3 * times[std::min(runs[candidate]++, times.size() - 1)]);
    });
  }

  std::vector<size_t> runs;  // number of runs of each candidate

 private:
  Times milliseconds_;
};

TEST(Race, ShortestRunDecides) {
  Track track({{1, 0.98, 1.5, 1.5}, {1, 1.1, 0.97, 0.99}, {1, 1, 1, 0.99}});
  const RaceResult result = track.race();
  EXPECT_EQ(result.winner, 1U);
  EXPECT_DOUBLE_EQ(result.seconds.count(), 0.97e-3);
  EXPECT_EQ(track.runs, (std::vector<size_t>{4, 4, 4}));
}

TEST(Race, EqualCandidatesKeepTheirOrder) {
  Track track(Times{{1}, {1}});
  EXPECT_EQ(track.race().winner, 0U);
}

TEST(Race, FirstRoundHasAWiderMargin) {
  Track track(Times{{2}, {5, 1}});
  EXPECT_EQ(track.race().winner, 1U);
  EXPECT_EQ(track.runs, (std::vector<size_t>{2, 2}));  // after two rounds, the first candidate is dropped
}

TEST(Race, DropsCandidatesFarBehind) {
  Track track(Times{{1}, {9}, {1.05}});
  const RaceResult result = track.race();
  EXPECT_EQ(result.winner, 0U);
  EXPECT_EQ(track.runs, (std::vector<size_t>{4, 1, 4}));
  ASSERT_EQ(result.shortest.size(), 3U);
  EXPECT_DOUBLE_EQ(result.shortest[1].count(), 9e-3);
}

TEST(Race, EndsWhenOneCandidateRemains) {
  Track track(Times{{100}, {300}});
  EXPECT_EQ(track.race().winner, 0U);
  EXPECT_EQ(track.runs, (std::vector<size_t>{1, 1}));
}

TEST(Race, EndsAfterOneRoundIfRunsAreVeryLong) {
  Track track(Times{{800}, {790}});
  EXPECT_EQ(track.race().winner, 1U);
  EXPECT_EQ(track.runs, (std::vector<size_t>{1, 1}));
}

TEST(Race, EndsAfterTwoRoundsIfRunsAreLong) {
  Track track({{41, 40}, {41, 39}});
  EXPECT_EQ(track.race().winner, 1U);
  EXPECT_EQ(track.runs, (std::vector<size_t>{2, 2}));
}

TEST(Race, LoneCandidateWins) {
  Track track(Times{{3}});
  const RaceResult result = track.race();
  EXPECT_EQ(result.winner, 0U);
  EXPECT_DOUBLE_EQ(result.seconds.count(), 3e-3);
}

TEST(TiedWith, IncludesCandidatesWithinNoise) {
  const RaceResult result{
      .winner = 0, .seconds = Seconds(1.0), .shortest = {Seconds(1.0), Seconds(1.04), Seconds(1.08)}};
  const auto all = [](size_t) { return true; };
  EXPECT_EQ(tied_with(result, 0, all), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(tied_with(result, 1, all), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(tied_with(result, 0, [](size_t candidate) { return candidate != 1; }), std::vector<size_t>{0});
}

TEST(ClearWinner, PrefersAFavouriteThatIsNearlyAsFast) {
  const auto favours = [](const std::vector<size_t>& favoured) {
    return [favoured](size_t candidate) {
      return std::find(favoured.begin(), favoured.end(), candidate) != favoured.end();
    };
  };
  const RaceResult close = Track(Times{{1}, {1.2}, {1.04}}).race();
  EXPECT_EQ(close.winner, 0U);
  EXPECT_EQ(clear_winner(close, favours({1, 2})), 2U);  // candidate 0 leads candidate 2 by less than 5 %
  EXPECT_EQ(clear_winner(close, favours({1})), 0U);
  EXPECT_EQ(clear_winner(close, favours({0})), 0U);
  EXPECT_EQ(clear_winner(close, favours({})), 0U);
  EXPECT_EQ(fastest_of(close, favours({1, 2})), 2U);
  EXPECT_EQ(fastest_of(close, favours({})), std::nullopt);
}

}  // namespace
}  // namespace laptime
