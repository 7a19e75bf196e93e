// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/stragglers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "libcore/analysis/phase_search.h"
#include "libcore/analysis/statistics.h"

namespace convoy::analysis {
namespace {

using trace::Phase;

constexpr double kStarved = 0.1;        // of its work, from which on run-delay makes a team's times unusable
constexpr std::size_t kFewFreedom = 3;  // distances between healthy ranks that make their spread known
constexpr double kSecondPhase = 0.25;   // of the costliest phase's time: what a rank's further phases must cost
constexpr double kOwnShare = 0.5;  // of a rank's excess over its other steps, what is not the others' getting faster
constexpr double kMedianError = 1.2533;  // of a median of normal values, times sigma over the root of their number
constexpr double kExpectedFreedom = 4.0;
constexpr double kAlike = 2.0;         // how far the ranks of a slow host may be apart
constexpr double kMovingShare = 0.02;  // of the step, from which on wandering stalls are worth a sentence

double square(double value) { return value * value; }

// Whether a candidate is more than the spread of healthy ranks and the noise of steps, and enough to matter.
class Judge {
 public:
  Judge(const Floors& floors, Phase phase, PhaseFindings& findings) : floors_(floors), phase_(phase) {
    step_noise_ = median(findings.step_noise).value_or(0.0);
    block_noise_ = median(findings.block_noise).value_or(0.0);
    freedom_ = findings.spread.freedom();
    // Few distances say little of the spread: what is expected of it weighs as much as kExpectedFreedom of them.
    const double expected = floors.spread_per_step_noise * step_noise_;
    const auto freedom = static_cast<double>(freedom_);
    spread_ =
        std::max(expected, std::sqrt((freedom * square(findings.spread.sigma()) + kExpectedFreedom * square(expected)) /
                                     (freedom + kExpectedFreedom)));
  }

  bool names(const Candidate& candidate) const {
    if (candidate.rank == 0 && phase_ == Phase::kCheckpoint) return false;  // it writes what is common to all
    if (candidate.against_itself && std::log(candidate.own_ratio) < kOwnShare * candidate.slow.excess) return false;
    if (candidate.ratio < 1.0 + floor(candidate)) return false;
    if (candidate.slow.affected < floors_.steps) return false;
    const auto affected = static_cast<double>(candidate.slow.affected);
    if (candidate.against_itself && affected < floors_.affected_of_itself * static_cast<double>(candidate.slow.values))
      return false;
    if (candidate.step_seconds <= 0.0 || candidate.seconds < floors_.step_share * candidate.step_seconds) return false;
    if (candidate.slow.excess < std::log1p(floor(candidate))) return false;
    const double values = static_cast<double>(candidate.slow.values);
    const double chance = std::max(kMedianError * step_noise_ / std::sqrt(values),
                                   block_noise_ / std::sqrt(std::max(1.0, values / static_cast<double>(kBlockSteps))));
    const bool of_less = candidate.slow.values < candidate.slow.outside;
    const bool of_part = candidate.against_itself ? of_less : candidate.slow.outside >= floors_.steps;
    if (of_part && (affected < floors_.affected_of_part * values || candidate.step_seconds < floors_.seconds_of_part))
      return false;
    return candidate.slow.excess >= (of_less ? floors_.sigmas_of_part : floors_.sigmas) * std::hypot(chance, spread_);
  }

 private:
  double floor(const Candidate& candidate) const {
    if (phase_ == Phase::kCheckpoint) return floors_.excess_of_checkpoint;
    if (candidate.against_itself) return floors_.excess_of_itself;
    return candidate.few || freedom_ < kFewFreedom ? floors_.excess_of_few : floors_.excess;
  }

  const Floors& floors_;
  Phase phase_;
  double step_noise_ = 0.0, block_noise_ = 0.0, spread_ = 0.0;
  std::size_t freedom_ = 0;
};

Cause cause_of(Phase phase) {
  switch (phase) {
    case Phase::kData:
      return Cause::kData;
    case Phase::kForward:
    case Phase::kBackward:
    case Phase::kOptimizer:
      return Cause::kCompute;
    case Phase::kCheckpoint:
      return Cause::kCheckpoint;
    default:
      return Cause::kUnknown;
  }
}

Straggler named(const Comparison& comparison, Phase phase, const Candidate& candidate, double training_seconds) {
  const RankPlace& place = comparison.ranks[static_cast<std::size_t>(candidate.rank)];
  return {.rank = candidate.rank,
          .host = place.host,
          .at = place.at,
          .cause = cause_of(phase),
          .phase = phase,
          .excess_percent = 100.0 * (candidate.ratio - 1.0),
          .steps_affected = static_cast<std::int64_t>(candidate.slow.affected),
          .first_step = comparison.steps[candidate.first],
          .last_step = comparison.steps[candidate.last],
          .step_excess_percent = 100.0 * candidate.seconds / candidate.step_seconds,
          .lost_percent = 100.0 * candidate.seconds / training_seconds,
          .against_itself = candidate.against_itself};
}

// The costliest interval of each rank in this phase.
std::map<int, Candidate> accepted(Phase phase, PhaseFindings& findings, const Floors& floors) {
  const Judge judge(floors, phase, findings);
  std::map<int, Candidate> best;
  for (const Candidate& candidate : findings.candidates) {
    if (!judge.names(candidate)) continue;
    const auto [so_far, is_first] = best.try_emplace(candidate.rank, candidate);
    if (!is_first && candidate.seconds > so_far->second.seconds) so_far->second = candidate;
  }
  return best;
}

// Of ranks without peers, one at a time, the costliest first: a slow one makes the others, of which there are few, look
// slow where it is not, so the next is looked for without it.
std::vector<Candidate> slow_solitary(const Comparison& comparison, const Floors& floors, std::size_t phase,
                                     std::vector<int> ranks) {
  std::vector<Candidate> result;
  while (ranks.size() >= 2) {
    PhaseSearch search(comparison, phase, floors.steps);
    search.add_solitary(ranks);
    PhaseFindings findings = search.take();
    const std::map<int, Candidate> slow = accepted(kComparedPhases[phase], findings, floors);
    if (slow.empty()) break;
    const auto seconds = [](const auto& entry) { return entry.second.seconds; };
    result.push_back(std::ranges::max_element(slow, {}, seconds)->second);
    std::erase(ranks, result.back().rank);
  }
  return result;
}

// A rank that waits for its cache after one slow phase is a little slow in the next: only what costs is listed.
void drop_side_effects(std::vector<Straggler>& stragglers) {
  std::map<int, double> most;
  for (const Straggler& straggler : stragglers)
    most[straggler.rank] = std::max(most[straggler.rank], straggler.lost_percent);
  std::erase_if(stragglers, [&](const Straggler& straggler) {
    return straggler.lost_percent < kSecondPhase * most[straggler.rank];
  });
}

// Where all ranks of one of several hosts are slow alike, it is the host.
void find_slow_hosts(const Comparison& comparison, std::vector<Straggler>& stragglers) {
  std::map<std::string, std::size_t> ranks_of;
  for (const RankPlace& place : comparison.ranks)
    if (place.present) ++ranks_of[place.host];
  if (ranks_of.size() < 2 || !comparison.hosts_are_constant) return;
  std::map<std::pair<std::string, Phase>, std::vector<Straggler*>> slow;
  for (Straggler& straggler : stragglers) slow[{straggler.host, straggler.phase}].push_back(&straggler);
  for (auto& [key, members] : slow) {
    if (members.size() < 2 || members.size() < ranks_of[key.first] || key.second == Phase::kCheckpoint) continue;
    const auto by_excess = [](const Straggler* a, const Straggler* b) { return a->excess_percent < b->excess_percent; };
    const auto [least, most] = std::ranges::minmax(members, by_excess);
    if (most->excess_percent > kAlike * least->excess_percent) continue;
    for (Straggler* member : members) member->cause = Cause::kHost;
  }
}

struct Sets {
  std::vector<PeerSet> comparable;
  std::vector<int> solitary;  // ranks that have no peers by layout
};

Sets sets_of(const Comparison& comparison, std::vector<std::string>& abstained) {
  Sets sets;
  for (PeerSet& set : peer_sets(comparison.layout, comparison.ranks)) {
    const int expected = expected_size(comparison.layout, set);
    if (expected == 1) {
      sets.solitary.push_back(set.ranks.front());
    } else if (set.ranks.size() >= 2 && static_cast<double>(set.ranks.size()) >= kQuorum * expected) {
      sets.comparable.push_back(std::move(set));
    } else {
      abstained.push_back(fmt::format("stage {}: {} of {} peers have a trace, too few to compare", set.pipeline,
                                      set.ranks.size(), expected));
    }
  }
  if (sets.solitary.size() == 1) sets.solitary.clear();
  return sets;
}

// Why the times of this run say nothing, if so.
std::optional<std::string> hopeless(const Comparison& comparison, const Floors& floors) {
  const std::size_t steps = counted_seconds(comparison).size();
  if (steps < floors.steps)
    return fmt::format("{} steps can be compared (warm-up left out), and {} are needed", steps, floors.steps);
  if (training_seconds(comparison) <= 0.0) return "no step trained: evaluation and checkpoints alone were recorded";
  if (comparison.threads <= 1) return std::nullopt;
  const auto most = std::ranges::max_element(comparison.starved);
  if (most == comparison.starved.end() || static_cast<double>(*most) <= kStarved) return std::nullopt;
  const auto rank = static_cast<std::size_t>(most - comparison.starved.begin());
  return fmt::format(
      "host starved: rank {} had no core for {:.0f} % of its work, and with {} threads a rank no phase's "
      "own work can be told from that; start fewer ranks or threads a host",
      rank, 100.0 * static_cast<double>(*most), comparison.threads);
}

void add_moving_stalls(double moving_seconds, double training, Judgement& judgement) {
  const auto is_data = [](const Straggler& straggler) { return straggler.phase == Phase::kData; };
  if (moving_seconds < kMovingShare * training || std::ranges::any_of(judgement.stragglers, is_data)) return;
  judgement.abstained.push_back(fmt::format(
      "data: stalls that move between ranks cost up to {:.1f} % of the training time; no single rank causes them",
      100.0 * moving_seconds / training));
}

}  // namespace

Judgement find_stragglers(const Comparison& comparison, const Floors& floors) {
  Judgement judgement;
  const Sets sets = sets_of(comparison, judgement.abstained);
  if (sets.comparable.empty() && sets.solitary.empty()) return judgement;
  if (const std::optional<std::string> reason = hopeless(comparison, floors)) {
    judgement.abstained.push_back(*reason);
    return judgement;
  }
  judgement.judged = true;
  const double training = training_seconds(comparison);
  double moving_seconds = 0.0;
  for (std::size_t phase = 0; phase < kComparedPhases.size(); ++phase) {
    PhaseSearch search(comparison, phase, floors.steps);
    for (const PeerSet& set : sets.comparable) search.add_set(set.ranks);
    PhaseFindings findings = search.take();
    moving_seconds += findings.moving_seconds;
    for (const auto& [rank, candidate] : accepted(kComparedPhases[phase], findings, floors))
      judgement.stragglers.push_back(named(comparison, kComparedPhases[phase], candidate, training));
    for (const Candidate& candidate : slow_solitary(comparison, floors, phase, sets.solitary))
      judgement.stragglers.push_back(named(comparison, kComparedPhases[phase], candidate, training));
  }
  drop_side_effects(judgement.stragglers);
  find_slow_hosts(comparison, judgement.stragglers);
  std::ranges::stable_sort(judgement.stragglers, std::greater{}, &Straggler::lost_percent);
  add_moving_stalls(moving_seconds, training, judgement);
  if (!sets.solitary.empty() && judgement.stragglers.empty())
    judgement.abstained.push_back(
        "without replicas a rank has no peers: one that is slow in all steps cannot be told from a stage with more "
        "work");
  return judgement;
}

}  // namespace convoy::analysis
