// SPDX-License-Identifier: Apache-2.0
#include "libcore/cluster/environment.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "libcore/base/error.h"
#include "libcore/base/host.h"
#include "libcore/cluster/tasks_per_node.h"

namespace convoy::cluster {
namespace {

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The number in `name`, at least `least`; `otherwise` if it is not set.
int number(const Lookup& lookup, const std::string& name, int least, int otherwise) {
  const std::optional<std::string> text = lookup(name);
  if (!text) return otherwise;
  const std::optional<int> value = whole_number(*text);
  if (value && *value >= least) return *value;
  throw ConfigError(
      fmt::format("the launcher set {}={}, expected a whole number of at least {}; unset it, or start the ranks with "
                  "srun or mpirun",
                  name, *text, least));
}

// The variables of one launcher.
struct Names {
  std::string launcher, world, rank, local_size, local_rank;
};

const std::array<Names, 2> kMpiLaunchers = {Names{"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
                                                  "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
                                            Names{"pmi", "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS", "MPI_LOCALRANKID"}};

Launch from_mpi(const Lookup& lookup, const Names& names) {
  Launch launch;
  launch.launcher = names.launcher;
  launch.world = number(lookup, names.world, 1, 1);
  launch.rank = number(lookup, names.rank, 0, 0);
  launch.local_size = number(lookup, names.local_size, 1, launch.world);
  launch.local_rank = number(lookup, names.local_rank, 0, launch.rank);
  return launch;
}

Launch from_srun(const Lookup& lookup) {
  Launch launch;
  launch.launcher = "srun";
  launch.world = number(lookup, "SLURM_STEP_NUM_TASKS", 1, number(lookup, "SLURM_NTASKS", 1, 1));
  launch.rank = number(lookup, "SLURM_PROCID", 0, 0);
  launch.local_rank = number(lookup, "SLURM_LOCALID", 0, 0);
  const int node = number(lookup, "SLURM_NODEID", 0, 0);
  const std::optional<std::string> layout = lookup("SLURM_STEP_TASKS_PER_NODE");
  launch.local_size = layout ? tasks_on_node(*layout, node).value_or(launch.local_rank + 1) : launch.world;
  return launch;
}

// In a step that srun made. The ids from 0xfffffffa on are the steps that Slurm makes by itself: of an interactive
// job's shell, of the batch script.
bool in_step(const Lookup& lookup) {
  constexpr std::int64_t kFirstOfSlurmsOwn = 0xfffffffa;
  const std::optional<std::string> step = lookup("SLURM_STEP_ID");
  if (!step || !lookup("SLURM_PROCID")) return false;
  std::int64_t id = 0;
  std::from_chars(step->data(), step->data() + step->size(), id);
  return id < kFirstOfSlurmsOwn;
}

// What srun's plugins for MPI, and Cray's, leave in a task's environment.
bool connects(const Lookup& lookup) {
  constexpr std::array<const char*, 4> kMarks = {"PMIX_RANK", "PMIX_NAMESPACE", "PMI_RANK", "PALS_RANKID"};
  return std::ranges::any_of(kMarks, [&](const char* name) { return lookup(name).has_value(); });
}

Launch from_launcher(const Lookup& lookup) {
  for (const Names& names : kMpiLaunchers) {
    if (lookup(names.world) && lookup(names.rank)) return from_mpi(lookup, names);
  }
  return in_step(lookup) ? from_srun(lookup) : Launch{};
}

std::string job_id(const Lookup& lookup) {
  const std::optional<std::string> array = lookup("SLURM_ARRAY_JOB_ID"), task = lookup("SLURM_ARRAY_TASK_ID");
  return array && task ? *array + '_' + *task : lookup("SLURM_JOB_ID").value_or("");
}

// Element i says whether a list like "0-3,8" names core i.
std::vector<bool> cores_of(std::string_view list) {
  std::vector<bool> cores;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    const std::size_t dash = item.find('-');
    const int first = whole_number(item.substr(0, dash)).value_or(0);
    const int last = dash == std::string_view::npos ? first : whole_number(item.substr(dash + 1)).value_or(first);
    if (cores.size() <= static_cast<std::size_t>(last)) cores.resize(static_cast<std::size_t>(last) + 1);
    for (int core = first; core <= last; ++core) cores[static_cast<std::size_t>(core)] = true;
    list.remove_prefix(std::min(list.size(), item.size() + 1));
  }
  return cores;
}

}  // namespace

Lookup process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Launch read_launch(const Lookup& lookup) {
  Launch launch = from_launcher(lookup);
  launch.node = lookup("SLURMD_NODENAME").value_or(host_name());
  launch.job = job_id(lookup);
  if (launch.rank >= launch.world || launch.local_rank >= launch.local_size) {
    throw ConfigError(fmt::format(
        "the variables of {} name rank {} of {} (on its node {} of {}), which cannot be; start the ranks with "
        "srun or mpirun",
        launch.launcher, launch.rank, launch.world, launch.local_rank, launch.local_size));
  }
  return launch;
}

std::string launch_problem(const Launch& launch, const Lookup& lookup) {
  if (launch.launcher.empty()) {
    const int tasks = number(lookup, "SLURM_NTASKS", 1, 1), nodes = number(lookup, "SLURM_JOB_NUM_NODES", 1, 1);
    if (launch.job.empty() || std::max(tasks, nodes) == 1) return "";
    return fmt::format(
        "job {} has {}, but this is one rank alone, started without a launcher: start the ranks with 'srun --mpi=pmix "
        "convoy-train ...' or 'mpirun convoy-train ...'; if one rank is meant, say so with 'srun --ntasks=1 --nodes=1 "
        "convoy-train ...'",
        launch.job, tasks > 1 ? fmt::format("{} tasks", tasks) : fmt::format("{} nodes", nodes));
  }
  if (launch.launcher == "srun" && launch.world > 1 && !connects(lookup))
    return fmt::format(
        "srun started {} tasks of job {} without anything that connects them (--mpi=none, or Slurm's default is none), "
        "so that each would be a rank alone: start them with 'srun --mpi=pmix' ('srun --mpi=list' shows what there "
        "is), or with mpirun",
        launch.world, launch.job);
  return "";
}

std::string spread_problem(const std::vector<std::string>& nodes) {
  std::vector<std::pair<std::string, int>> counts;  // in the order of the ranks
  for (const std::string& node : nodes) {
    const auto same = std::ranges::find(counts, node, &std::pair<std::string, int>::first);
    if (same == counts.end()) {
      counts.emplace_back(node, 1);
    } else {
      ++same->second;
    }
  }
  const auto [least, most] = std::ranges::minmax(counts, {}, &std::pair<std::string, int>::second);
  if (counts.empty() || least.second == most.second) return "";
  const std::size_t ranks = nodes.size(), even = ranks / counts.size();
  return fmt::format(
      "the {} ranks are not spread evenly over the {} nodes ({} on {}, {} on {}): every node must have as many; ask "
      "for it with --ntasks-per-node ({} ranks a node are {}) and leave --ntasks out",
      ranks, counts.size(), most.second, most.first, least.second, least.first, even, even * counts.size());
}

std::string describe(const Launch& launch) {
  const std::string job = launch.job.empty() ? "" : fmt::format("job {}, ", launch.job);
  const std::string rank = launch.world == 1 ? "" : fmt::format("rank {} of {}, ", launch.rank, launch.world);
  return fmt::format("{}{}process {} on {}", job, rank, ::getpid(), launch.node);
}

int allowed_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // More than CPU_SETSIZE processors make the fixed set too small; then all that are online count.
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  return std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

std::string core_list() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return "";
  std::string list;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &cores)) continue;
    int last = core;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cores)) ++last;
    list += fmt::format("{}{}", list.empty() ? "" : ",", core);
    if (last > core) list += fmt::format("-{}", last);
    core = last;
  }
  return list;
}

int ranks_sharing(const std::string& mine, const std::vector<std::string>& lists) {
  const std::vector<bool> my_cores = cores_of(mine);
  int sharing = 0;
  for (const std::string& list : lists) {
    const std::vector<bool> cores = cores_of(list);
    bool common = list == mine;
    for (std::size_t i = 0; i < std::min(cores.size(), my_cores.size()); ++i)
      common = common || (cores[i] && my_cores[i]);
    sharing += common;
  }
  return std::max(1, sharing);
}

std::optional<int> requested_threads(const Lookup& lookup) {
  const std::optional<std::string> text = lookup("OMP_NUM_THREADS");
  if (!text || text->empty()) return std::nullopt;
  const std::optional<int> threads = whole_number(std::string_view(*text).substr(0, text->find(',')));
  if (threads && *threads >= 1) return threads;
  throw ConfigError(
      fmt::format("OMP_NUM_THREADS={} is not a number of threads (at least 1); correct or unset it", *text));
}

int default_threads(int cores, int ranks_sharing) { return std::max(1, cores / std::max(1, ranks_sharing)); }

}  // namespace convoy::cluster
