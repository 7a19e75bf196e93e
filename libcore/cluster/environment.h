// SPDX-License-Identifier: Apache-2.0
// What the launcher and the machine say about this process. Only this module reads environment variables; everything is
// a function of a lookup, so that tests need no cluster.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convoy::cluster {

// The value of an environment variable, if it is set.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;
Lookup process_environment();

// How this process was started. mpirun's variables win over Slurm's, because under mpirun inside a Slurm job
// SLURM_PROCID and SLURM_LOCALID are those of mpirun's own daemon, the same for every rank of a node. Slurm's count
// only in a step that srun started (SLURM_STEP_ID); a batch script's own process is one rank, whatever SLURM_NTASKS
// says, and so is one in the shell of an interactive job.
struct Launch {
  std::string launcher;  // "mpirun", "pmi" (MPICH's and its relatives'), "srun"; empty if started alone
  int rank = 0;
  int world = 1;       // how many tasks the launcher started
  int local_rank = 0;  // among the ranks of this node
  int local_size = 1;  // ranks that share this node
  std::string node;    // SLURMD_NODENAME where set (emulated nodes share a host name), else the host name
  std::string job;     // Slurm's job id ("17", in an array "17_3"); empty outside of Slurm
};

// Throws ConfigError naming variable and value if the launcher's variables make no sense.
Launch read_launch(const Lookup& lookup = process_environment());

// Why a job that was started like this would not be one job, for the user; empty if nothing is wrong. One rank alone
// inside a Slurm job of several tasks or nodes: the launcher was forgotten, or several train the same by themselves. A
// step of srun whose tasks no MPI can connect (--mpi=none). The same on every rank.
std::string launch_problem(const Launch& launch, const Lookup& lookup = process_environment());

// Why ranks on these nodes (by rank) are spread badly: not as many on each node. Empty if nothing is wrong.
std::string spread_problem(const std::vector<std::string>& nodes);

// "job 17, rank 3 of 8, process 4242 on node n01": for lock files and records.
std::string describe(const Launch& launch);

// Cores this process may run on (sched_getaffinity), at least 1.
int allowed_cores();
// The same as text, "0-3,8": which cores, for comparing ranks. Empty where the system does not say.
std::string core_list();
// How many of `lists` (core_list() of the ranks of one node) name a core that `mine` names, at least 1: bound ranks
// have cores of their own, others share.
int ranks_sharing(const std::string& mine, const std::vector<std::string>& lists);

// OMP_NUM_THREADS, which counts as an explicit --threads; the first level of a nested list. Throws ConfigError if it is
// no number above 0.
std::optional<int> requested_threads(const Lookup& lookup = process_environment());

// The number of threads where none was asked for: max(1, cores / ranks that share them).
int default_threads(int cores, int ranks_sharing);

}  // namespace convoy::cluster
