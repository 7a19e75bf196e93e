// SPDX-License-Identifier: Apache-2.0
// What `info` says as a page.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/preprocess/info_facts.h"
#include "libcore/analysis/markup.h"
#include "libcore/analysis/page_frame.h"
#include "libcore/analysis/page_plot.h"
#include "libcore/base/units.h"
#include "libcore/base/version.h"
#include "libcore/data/index_format.h"

namespace convoy::apps::preprocess {
namespace {

using analysis::tile;

std::string tiles(const Facts& facts) {
  const data::LengthStatistics& l = facts.lengths;
  const auto ratio = facts.text_bytes_a_token();
  std::string html = "<dl class=\"tiles\">";
  html += tile("Documents", fmt::format("{}", facts.dataset.documents()), fmt::format("median {} tokens", l.median));
  html += tile("Tokens", fmt::format("{}", facts.dataset.tokens()),
               fmt::format("{}, {}", data::name_of(facts.dataset.token_type()), format_bytes(static_cast<double>(facts.bin_bytes()))));
  html += tile("Bytes a token", ratio ? fmt::format("{:.3f}", *ratio) : "not known", ratio ? "of text" : "the metadata do not say");
  html += tile("Different ids", fmt::format("{}", facts.frequencies.distinct),
               fmt::format("{:.1f} % of a vocabulary of {}", 100 * facts.vocabulary_share(), facts.vocabulary));
  if (facts.entropy.tokens > 0) {
    html += tile("Cross-entropy, nats", fmt::format("{:.3f}", facts.entropy.bigram),
                 fmt::format("bigram; unigram {:.3f}", facts.entropy.unigram));
  }
  return html + "</dl>\n";
}

std::string lengths(const Facts& facts) {
  const data::LengthStatistics& l = facts.lengths;
  analysis::LogPlot plot{.title = "Documents by length", .x_label = "tokens in a document", .y_label = "documents", .points = {}, .bars = true};
  for (const data::LengthBin& bin : l.bins) {
    if (bin.first > 0) plot.points.push_back({static_cast<double>(bin.first), static_cast<double>(bin.documents)});
  }
  const std::string note = fmt::format("Each bar is twice as wide as the one before it. min {}, 10 % {}, median {}, 90 % {}, 99 % {}, max {}, mean {:.1f}.",
                                       l.least, l.p10, l.median, l.p90, l.p99, l.most, l.mean);
  return analysis::section("Document lengths", note, analysis::plot_figure(plot));
}

// As many ranks as a line shows, evenly spaced on the logarithmic axis.
std::string frequencies(const Facts& facts) {
  constexpr double kPerDecade = 60;
  analysis::LogPlot plot{.title = "Tokens by rank", .x_label = "rank of the id", .y_label = "times that it occurs", .points = {}};
  const std::int64_t last = facts.frequencies.distinct;
  std::int64_t rank = 1, ids = 0;  // the rank to be drawn next; ids that are as frequent as those at hand, or more
  for (const data::Frequency& frequency : facts.frequencies.falling) {
    ids += frequency.ids;
    while (rank <= ids) {
      plot.points.push_back({static_cast<double>(rank), static_cast<double>(frequency.times)});
      const auto next = static_cast<std::int64_t>(static_cast<double>(rank) * std::pow(10.0, 1 / kPerDecade));
      rank = rank == last ? rank + 1 : std::min(std::max(rank + 1, next), last);
    }
  }
  return analysis::section("Token frequencies", "How often each id occurs, the most frequent first. Natural text falls in a line.",
                           analysis::plot_figure(plot));
}

}  // namespace

std::string page_of(const Facts& facts) {
  const auto& meta = facts.dataset.meta();
  const analysis::PageFrame frame{
      .title = facts.prefix + ": convoy-preprocess info",
      .heading = facts.prefix,
      .below = {meta ? "tokenizer sha256 " + meta->tokenizer_sha256 : "a pair of another tool, without metadata"},
      .footer = fmt::format("convoy-preprocess {}. docs/preprocess.md has the formula of each number.", version())};
  return analysis::framed_page(frame, tiles(facts) + "<div class=\"pair\"><div>" + lengths(facts) + "</div><div>" + frequencies(facts) + "</div></div>\n");
}

}  // namespace convoy::apps::preprocess
