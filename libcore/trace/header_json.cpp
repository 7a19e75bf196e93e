// SPDX-License-Identifier: Apache-2.0
// The header of a trace as JSON. Members of a group that are evenly spaced, as those of a mesh are, take three numbers,
// so that the header of a rank of any world fits into its block.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/trace/format.h"
#include "libcore/trace/record_check.h"

namespace convoy::trace {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestText = 4096;  // bytes: of paths the system's own limit
constexpr std::size_t kLongestShown = 60;
constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;
constexpr std::int64_t kMostOf = std::numeric_limits<std::int32_t>::max();  // attempts, micro-batches, threads
constexpr std::size_t kMostGroups = 16;
constexpr std::size_t kFewestSpaced = 3;
constexpr int kDeepestNesting = 8;
constexpr double kMostFlops = 1e24;

std::string_view shortened(std::string_view text) {
  if (text.size() <= kLongestText) return text;
  std::size_t size = kLongestText;  // not within a character
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

bool is_spaced(const std::vector<int>& members) {
  if (members.size() < kFewestSpaced || members[1] <= members[0]) return false;
  for (std::size_t i = 1; i < members.size(); ++i)
    if (members[i] - members[i - 1] != members[1] - members[0]) return false;
  return true;
}

std::string members_json(const std::vector<int>& members) {
  if (!is_spaced(members)) return fmt::format("[{}]", fmt::join(members, ","));
  JsonObject spaced;
  spaced.add("first", members[0]).add("stride", members[1] - members[0]);
  return spaced.add("count", static_cast<std::int64_t>(members.size())).text();
}

std::string groups_json(const std::vector<Group>& groups) {
  std::vector<std::string> list;
  for (const Group& group : groups)
    list.push_back(
        JsonObject().add("kind", name_of(group.kind)).add_raw("members", members_json(group.members)).text());
  return json_array(list);
}

// A JSON object with its place, for messages.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) throw DataError(where_ + "expected a JSON object");
  }

  [[noreturn]] void wrong(const char* key, std::string_view expected) const {
    std::string shown = at(key).dump(-1, ' ', false, Json::error_handler_t::replace);
    if (shown.size() > kLongestShown) shown = shown.substr(0, kLongestShown) + "..";
    throw DataError(fmt::format("{}{}: expected {}, found {}", where_, key, expected, shown));
  }
  const std::string& where() const { return where_; }
  const Json& at(const char* key) const {
    const auto it = object_.find(key);
    if (it == object_.end()) throw DataError(fmt::format("{}{} is missing", where_, key));
    return *it;
  }
  std::string text(const char* key) const {
    if (!at(key).is_string()) wrong(key, "a string");
    return at(key).get<std::string>();
  }
  std::int64_t count(const char* key, std::int64_t least, std::int64_t most) const {
    const Json& value = at(key);
    const bool fits =
        value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
    if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
      wrong(key, fmt::format("a whole number from {} to {}", least, most));
    return value.get<std::int64_t>();
  }
  int small(const char* key, std::int64_t least, std::int64_t most) const {
    return static_cast<int>(count(key, least, most));
  }
  double amount(const char* key, double most) const {
    const Json& value = at(key);
    const double number = value.is_number() ? value.get<double>() : -1.0;
    if (!(number >= 0.0 && number <= most)) wrong(key, fmt::format("a number from 0 to {}", most));
    return number;
  }

 private:
  const Json& object_;
  std::string where_;
};

std::vector<int> spaced_members(const Fields& spaced, int world) {
  const int first = spaced.small("first", 0, world - 1), stride = spaced.small("stride", 1, world);
  const int most = (world - 1 - first) / stride + 1;
  const int count = spaced.small("count", 1, most);
  std::vector<int> members(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) members[static_cast<std::size_t>(i)] = first + i * stride;
  return members;
}

std::vector<int> members_of(const Fields& group, const Header& header) {
  const Json& value = group.at("members");
  if (value.is_object()) return spaced_members(Fields(value, group.where() + "members."), header.world);
  if (!value.is_array() || value.empty()) group.wrong("members", "a list of ranks");
  std::vector<int> members;
  for (const Json& member : value) {
    const bool fits = member.is_number_unsigned() && member.get<std::uint64_t>() < static_cast<unsigned>(header.world);
    if (!fits) group.wrong("members", fmt::format("ranks from 0 to {}", header.world - 1));
    members.push_back(member.get<int>());
  }
  std::vector<int> sorted = members;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) group.wrong("members", "every rank once");
  return members;
}

std::vector<Group> groups_of(const Fields& fields, const Header& header) {
  const Json& list = fields.at("groups");
  if (!list.is_array() || list.size() > kMostGroups)
    fields.wrong("groups", fmt::format("a list of at most {}", kMostGroups));
  std::vector<Group> groups;
  for (const Json& entry : list) {
    const Fields group(entry, fmt::format("{}groups[{}].", fields.where(), groups.size()));
    const auto kind = group_kind_of(group.text("kind"));
    if (!kind) group.wrong("kind", "world, tensor, pipeline, data or pipeline_ends");
    groups.push_back({*kind, members_of(group, header)});
    if (std::ranges::find(groups.back().members, header.rank) == groups.back().members.end())
      group.wrong("members", fmt::format("rank {} among them", header.rank));
    if (std::ranges::count(groups, *kind, &Group::kind) > 1) group.wrong("kind", "every kind once");
  }
  return groups;
}

void read_place(const Fields& fields, Header& header) {
  header.world = fields.small("world", 1, kMostRanks);
  header.rank = fields.small("rank", 0, header.world - 1);
  header.tensor = fields.small("tensor", 1, header.world);
  header.pipeline = fields.small("pipeline", 1, header.world);
  header.data = fields.small("data", 1, header.world);
  const std::int64_t pair = std::int64_t{header.tensor} * header.pipeline;
  if (pair > header.world || pair * header.data != header.world)
    fields.wrong("world",
                 fmt::format("tensor x pipeline x data = {} x {} x {}", header.tensor, header.pipeline, header.data));
  header.at.tensor = fields.small("tensor_rank", 0, header.tensor - 1);
  header.at.pipeline = fields.small("pipeline_rank", 0, header.pipeline - 1);
  header.at.data = fields.small("data_rank", 0, header.data - 1);
}

Json parse(std::string_view json, std::string_view where) {
  try {
    // What is printed of a wrong value is printed by recursion.
    return Json::parse(json, [&](int depth, Json::parse_event_t, Json&) {
      if (depth > kDeepestNesting)
        throw DataError(fmt::format("{}: header: is nested deeper than {} levels", where, kDeepestNesting));
      return true;
    });
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{}: header: is not valid JSON: {}", where, error.what()));
  }
}

}  // namespace

std::string to_json(const Header& header) {
  JsonObject json;
  json.add("format", "convoy-trace").add("version", header.version).add("run", shortened(header.run));
  json.add("attempt", header.attempt).add("world", header.world).add("rank", header.rank);
  json.add("tensor", header.tensor).add("pipeline", header.pipeline).add("data", header.data);
  json.add("tensor_rank", header.at.tensor).add("pipeline_rank", header.at.pipeline).add("data_rank", header.at.data);
  if (header.virtual_stages > 1) json.add("virtual_stages", header.virtual_stages);
  json.add("micro_batches", header.micro_batches).add("threads", header.threads);
  json.add("tokens_per_step", header.tokens_per_step).add("flops_per_token", header.flops_per_token);
  json.add("flops_convention", shortened(header.flops_convention)).add("host", shortened(header.host));
  json.add("job_id", shortened(header.job_id)).add("process_id", header.process_id);
  json.add("started_unix_ns", header.started_unix_ns);
  json.add("started_monotonic_ns", static_cast<std::int64_t>(header.started_monotonic_ns));
  return json.add_raw("groups", groups_json(header.groups)).text();
}

Header header_of(std::string_view json, std::string_view where) {
  const Json tree = parse(json, where);
  const Fields fields(tree, fmt::format("{}: header: ", where));
  if (fields.text("format") != "convoy-trace") fields.wrong("format", "\"convoy-trace\"");
  Header header;
  header.version = fields.small("version", 1, kMostOf);
  if (header.version != kFormatVersion)
    fields.wrong("version", fmt::format("{}, which this convoy reads", kFormatVersion));
  header.run = fields.text("run");
  header.attempt = fields.small("attempt", 1, kMostOf);
  read_place(fields, header);
  if (tree.contains("virtual_stages")) header.virtual_stages = fields.small("virtual_stages", 1, kMostOf);
  header.micro_batches = fields.small("micro_batches", 1, kMostOf);
  header.threads = fields.small("threads", 1, kMostOf);
  header.tokens_per_step = fields.count("tokens_per_step", 0, static_cast<std::int64_t>(kMostTokens));
  header.flops_per_token = fields.amount("flops_per_token", kMostFlops);
  header.flops_convention = fields.text("flops_convention");
  header.host = fields.text("host");
  header.job_id = fields.text("job_id");
  header.process_id = fields.count("process_id", 0, std::numeric_limits<std::int64_t>::max());
  header.started_unix_ns = fields.count("started_unix_ns", 0, std::numeric_limits<std::int64_t>::max());
  header.started_monotonic_ns =
      static_cast<std::uint64_t>(fields.count("started_monotonic_ns", 0, static_cast<std::int64_t>(kLatestStart)));
  header.groups = groups_of(fields, header);
  return header;
}

}  // namespace convoy::trace
