// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "libcore/analysis/report_numbers.h"
#include "libcore/analysis/report_writers.h"
#include "libcore/base/json.h"

namespace convoy::analysis {
namespace {

// json_number writes null for what is not finite.
std::string number(const std::optional<double>& value) { return value ? json_number(*value) : "null"; }

std::string layout(const trace::Header& header) {
  return JsonObject().add("tp", header.tensor).add("pp", header.pipeline).add("dp", header.data).text();
}

std::string quantiles(const std::optional<Quantiles>& q) {
  if (!q) return "null";
  return JsonObject().add("p50", q->p50).add("p95", q->p95).add("p99", q->p99).add("max", q->max).text();
}

std::string phases(const Report& report) {
  JsonObject all;
  for (const PhaseShare& phase : report.phases) {
    all.add_raw(trace::name_of(phase.phase),
                JsonObject().add("mean_seconds", phase.mean_seconds).add("share", phase.share).text());
  }
  return all.text();
}

std::string exposed_communication(const Report& report) {
  constexpr std::pair<trace::GroupKind, const char*> kKeys[] = {{trace::GroupKind::kTensor, "tp"},
                                                                {trace::GroupKind::kPipeline, "pp"},
                                                                {trace::GroupKind::kData, "dp"},
                                                                {trace::GroupKind::kWorld, "world"}};
  const std::vector<Exposed>& rows = report.exposed;
  JsonObject seconds;
  for (const auto& [kind, key] : kKeys) {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [kind = kind](const Exposed& e) { return e.group == kind; });
    const bool measured = row != rows.end();
    seconds.add_raw(key, measured ? json_number(row->seconds) : "null");
    seconds.add_raw(fmt::format("{}_waiting", key), measured ? number(row->waiting) : "null");
    seconds.add_raw(fmt::format("{}_transferring", key), measured ? number(row->transferring) : "null");
  }
  return seconds.add_raw("share", number(exposed_share(report))).text();
}

std::string straggler(const Straggler& s) {
  JsonObject json;
  json.add("rank", s.rank).add("host", s.host);
  json.add("tp", s.at.tensor).add("pp", s.at.pipeline).add("dp", s.at.data);
  json.add("cause", name_of(s.cause)).add("phase", trace::name_of(s.phase)).add("excess_percent", s.excess_percent);
  json.add("steps_affected", s.steps_affected).add("first_step", s.first_step).add("last_step", s.last_step);
  json.add("step_excess_percent", s.step_excess_percent).add("lost_percent", s.lost_percent);
  return json.add("compared_with", s.against_itself ? "itself" : "peers").text();
}

}  // namespace

std::string report_json(const Report& report) {
  std::vector<std::string> stragglers;
  for (const Straggler& s : report.stragglers) stragglers.push_back(straggler(s));
  JsonObject json;
  json.add("version", 1).add("run", report.run).add("started", report.started).add("attempts", report.attempts);
  json.add("ranks", report.ranks).add("ranks_read", report.ranks_read).add_raw("layout", layout(report.header));
  json.add("steps", report.steps).add("warm_up_steps", report.warm_up_steps);
  json.add_raw("step_seconds", quantiles(report.step_seconds));
  json.add_raw("tokens_per_second", number(report.tokens_per_second));
  json.add_raw("mfu", number(report.mfu)).add_raw("peak_tflops", number(report.peak_tflops));
  json.add("flops_convention", report.header.flops_convention);
  json.add_raw("phases", phases(report));
  json.add_raw("starved_share", report.phases.empty() ? "null" : json_number(report.starved_share));
  json.add_raw("exposed_communication", exposed_communication(report));
  json.add_raw("bubble", JsonObject()
                             .add_raw("measured", number(report.bubble_measured))
                             .add_raw("ideal", number(report.bubble_ideal))
                             .text());
  json.add_raw("stragglers", json_array(stragglers)).add_raw("what_if", "null");
  json.add_raw("abstained", json_strings(report.abstained)).add_raw("incomplete", json_strings(report.incomplete));
  return json.add("verdict", report.verdict).text();
}

}  // namespace convoy::analysis
