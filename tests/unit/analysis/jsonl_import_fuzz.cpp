// SPDX-License-Identifier: Apache-2.0
// The importer of JSON Lines: any bytes give a run whose headers and records a reader takes, or a DataError.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "libcore/analysis/jsonl_import.h"
#include "libcore/base/error.h"
#include "libcore/trace/record_check.h"

namespace {

void import_text(std::string_view text, bool skip_bad_rows) {
  using namespace convoy;
  analysis::JsonlImport import("fuzz", skip_bad_rows);
  try {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      import.add(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    import.finish([](const analysis::ImportedTrace& trace) {
      trace::header_of(trace::to_json(trace.header), "fuzz");
    std::uint64_t last = 0;
    for (const trace::StepRecord& step : trace.steps) {
      if (!trace::problem_of(step).empty() || step.step <= last) std::abort();
      last = step.step;
    }
    for (const trace::Event& event : trace.events)
      if (!trace::problem_of(event, trace.header).empty()) std::abort();
  });
}
catch (const DataError&) {
  if (skip_bad_rows && import.summary().bad_rows < 0) std::abort();
}
}  // namespace

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  import_text(text, false);
  import_text(text, true);
  return 0;
}
