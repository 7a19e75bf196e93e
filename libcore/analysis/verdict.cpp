// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace convoy::analysis {
namespace {

constexpr double kStarvedWorthAWord = 0.1;
constexpr double kAFactor = 300.0;  // percent, from which on "4.1 times" is read more easily

std::string more_than_others(const Straggler& straggler) {
  const std::string others = straggler.against_itself ? "in its other steps" : "on its peers";
  if (straggler.excess_percent >= kAFactor)
    return fmt::format("takes {:.3g} times as long as {}", 1.0 + straggler.excess_percent / 100.0, others);
  return fmt::format("takes {:.1f} % longer than {}", straggler.excess_percent, others);
}

std::string when(const Straggler& straggler) {
  return fmt::format("in {} of the steps {}-{}", straggler.steps_affected, straggler.first_step, straggler.last_step);
}

std::string one(const Straggler& straggler, double lost) {
  return fmt::format("Rank {} on {} is slow: its {} {} {}, which costs up to {:.1f} % of the training time.",
                     straggler.rank, straggler.host, trace::name_of(straggler.phase), more_than_others(straggler),
                     when(straggler), lost);
}

// What the named lose together: in lockstep, stragglers of the same steps do not add up, so the largest alone is sure.
double largest_loss(const std::vector<Straggler>& stragglers) {
  double most = 0.0;
  for (const Straggler& straggler : stragglers) most = std::max(most, straggler.lost_percent);
  return most;
}

std::string several(const std::vector<Straggler>& stragglers) {
  std::set<int> ranks;
  std::set<std::string> hosts;
  bool all_hosts = true;
  for (const Straggler& straggler : stragglers) {
    ranks.insert(straggler.rank);
    hosts.insert(straggler.host);
    all_hosts = all_hosts && straggler.cause == Cause::kHost;
  }
  const Straggler& worst = stragglers.front();
  if (all_hosts && hosts.size() == 1)
    return fmt::format(
        "Host {} is slow: on all of its {} ranks, {} {} {}, which costs up to {:.1f} % of the training time.",
        worst.host, ranks.size(), trace::name_of(worst.phase), more_than_others(worst), when(worst),
        largest_loss(stragglers));
  if (ranks.size() == 1) return one(worst, largest_loss(stragglers));
  return fmt::format(
      "{} ranks are slow, first of all rank {} on {}: its {} {} {}, which costs up to {:.1f} % of the training "
      "time.",
      ranks.size(), worst.rank, worst.host, trace::name_of(worst.phase), more_than_others(worst), when(worst),
      worst.lost_percent);
}

std::string nobody(const Report& report) {
  if (report.starved_share > kStarvedWorthAWord)
    return fmt::format(
        "No rank is slow of itself, but cores are short: {:.0f} % of the time a rank could run and had none.",
        100.0 * report.starved_share);
  if (!report.abstained.empty())
    return fmt::format("Nobody is named, but not all can be judged: {}.", report.abstained.front());
  return "No rank is slow: own work differs no more between peers than chance makes it.";
}

}  // namespace

std::string verdict_of(const Report& report) {
  if (!report.stragglers.empty()) return several(report.stragglers);
  if (report.steps == 0 && report.recorded.last >= report.recorded.first) {
    return fmt::format("Nothing to judge: none of those steps was recorded; the run has steps {} to {}.",
                       report.recorded.first, report.recorded.last);
  }
  if (report.steps == 0) return "Nothing to judge: no step was recorded.";
  if (report.ranks == 1) return "One rank: there is nobody to compare it with.";
  if (!report.judged) {
    return "Insufficient data: nobody can be called slow or healthy" +
           (report.abstained.empty() ? std::string(".") : ": " + report.abstained.front() + ".");
  }
  return nobody(report);
}

}  // namespace convoy::analysis
