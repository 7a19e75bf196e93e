// SPDX-License-Identifier: Apache-2.0
#include "apps/train/machine.h"

#include <unistd.h>

#include "libcore/cluster/environment.h"

namespace convoy::apps::train {

config::MachineFacts machine_facts() {
  const cluster::Launch launch = cluster::read_launch();
  config::MachineFacts facts;
  facts.cores = cluster::allowed_cores();
  facts.default_threads = cluster::default_threads(facts.cores, launch.local_size);
  facts.omp_threads = cluster::requested_threads();
  facts.tasks = launch.world;
  facts.launcher = launch.launcher;
  return facts;
}

convoy::train::Identity identity() {
  const cluster::Launch launch = cluster::read_launch();
  return {.host = launch.node, .pid = getpid(), .job_id = launch.job, .description = cluster::describe(launch)};
}

int sampling_threads(std::optional<std::int64_t> given) {
  if (given) return static_cast<int>(*given);
  return cluster::requested_threads().value_or(cluster::allowed_cores());
}

}  // namespace convoy::apps::train
