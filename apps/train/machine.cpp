// SPDX-License-Identifier: Apache-2.0
#include "apps/train/machine.h"

#include <unistd.h>

#include "libcore/base/error.h"
#include "libcore/train/agreement.h"

namespace convoy::apps::train {

config::MachineFacts machine_facts(comm::Communicator& world, const cluster::Launch& launch) {
  config::MachineFacts facts;
  const std::string cores = cluster::core_list();
  const std::vector<std::string> nodes = convoy::train::gather_texts(world, launch.node);
  const std::vector<std::string> lists = convoy::train::gather_texts(world, cores);
  std::vector<std::string> neighbours;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    if (nodes[rank] == launch.node) neighbours.push_back(lists[rank]);
  }
  facts.cores = cluster::allowed_cores();
  facts.world = world.size();
  facts.ranks_sharing = cluster::ranks_sharing(cores, neighbours);
  facts.default_threads = cluster::default_threads(facts.cores, facts.ranks_sharing);
  facts.omp_threads = cluster::requested_threads();
  return facts;
}

std::string spread_problem(comm::Communicator& world, const cluster::Launch& launch) {
  return cluster::spread_problem(convoy::train::gather_texts(world, launch.node));
}

convoy::train::Identity identity(const cluster::Launch& launch) {
  return {.host = launch.node, .pid = getpid(), .job_id = launch.job, .description = cluster::describe(launch)};
}

cluster::Launch launch_of_process() {
  try {
    return cluster::read_launch();
  } catch (const ConfigError&) {
    return {};
  }
}

int sampling_threads(std::optional<std::int64_t> given) {
  if (given) return static_cast<int>(*given);
  return cluster::requested_threads().value_or(cluster::allowed_cores());
}

}  // namespace convoy::apps::train
