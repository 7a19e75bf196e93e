// SPDX-License-Identifier: Apache-2.0
// The life of a group, its messages, and how it waits; mpi_collectives.cpp has what is made of them.
#include "libcore/comm/mpi/mpi_communicator.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <numeric>
#include <thread>

#include "libcore/base/error.h"

namespace convoy::comm {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int kMessageTag = 1;
constexpr int kFirstCallTag = 16;
constexpr std::int64_t kCallTags = 16384;  // MPI guarantees tags up to 32767

// How a rank waits: at first it asks again at once, then it lets others run in between, then it sleeps, so that a rank
// whose peer computes on the same core does not take that core's time.
class Patience {
 public:
  // Returns the seconds waited so far, from the first sleep on; 0 before.
  double pause() {
    if (++rounds_ < kSpins) return 0;
    if (rounds_ == kSpins) start_ = Clock::now();
    const Seconds waited = Clock::now() - start_;
    if (waited < kYielding) {
      ::sched_yield();
      return 0;
    }
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(2 * sleep_, kLongestSleep);
    return waited.count();
  }
  int rounds() const { return rounds_; }

 private:
  static constexpr int kSpins = 100;
  static constexpr Seconds kYielding{2e-3};
  static constexpr Seconds kLongestSleep{100e-6};
  int rounds_ = 0;
  Seconds sleep_{12.5e-6};
  Clock::time_point start_;
};

// Looking for alarms: only in waits that are long already, and then about a hundred times a second.
constexpr double kLongWait = 1.0;  // seconds
constexpr int kRoundsBetweenLooks = 64;

std::vector<int> world_ranks_of(MPI_Comm group, MPI_Comm world, int size) {
  MPI_Group ours = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
  MPI_Comm_group(group, &ours);
  MPI_Comm_group(world, &all);
  std::vector<int> ranks(static_cast<std::size_t>(size)), in_world(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  expect_success(MPI_Group_translate_ranks(ours, size, ranks.data(), all, in_world.data()), "translating ranks");
  MPI_Group_free(&ours);
  MPI_Group_free(&all);
  return in_world;
}

}  // namespace

std::unique_ptr<Communicator> make_mpi_world(const MpiOptions& options) {
  const auto job = std::make_shared<Job>(options);
  auto world = std::make_unique<MpiCommunicator>(job, job->world(), job->rank(), job->size(), "world");
  world->set_nodes(job->hosts());
  return world;
}

MpiCommunicator::MpiCommunicator(std::shared_ptr<Job> job, MPI_Comm group, int rank, int size, std::string name)
    : Communicator(rank, size, std::move(name)),
      job_(std::move(job)),
      group_(group),
      is_world_(group == job_->world()),
      world_ranks_(world_ranks_of(group, job_->world(), size)),
      sent_(world_ranks_.size()),
      received_(world_ranks_.size()),
      exceptions_(std::uncaught_exceptions()) {}

// A group is not freed, which its ranks would have to do together; MPI_Finalize frees it.
MpiCommunicator::~MpiCommunicator() {
  try {
    job_->keep(std::move(outgoing_));
    if (!is_world_ || job_->broken() || std::uncaught_exceptions() > exceptions_) return;
    meet(begin("end"));
    job_->finish(watchdog_seconds());
  } catch (const std::exception&) {
    // Some rank does not come to the end: without MPI_Finalize, the launcher sees that and ends the others.
  }
}

void MpiCommunicator::do_end_job(int exit_code) noexcept {
  job_->set_broken();
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, exit_code);
}

Call MpiCommunicator::begin(const char* what) { return {what, ++sequence_}; }

int MpiCommunicator::tag() const { return kFirstCallTag + static_cast<int>(sequence_ % kCallTags); }

void MpiCommunicator::post_send(const std::byte* data, std::size_t bytes, int to, int tag,
                                std::vector<MPI_Request>& requests) const {
  do {
    const std::size_t piece = std::min(bytes, job_->options().piece_bytes);
    requests.push_back(MPI_REQUEST_NULL);
    expect_success(MPI_Isend(data, static_cast<int>(piece), MPI_BYTE, to, tag, group_, &requests.back()), "a send");
    data += piece;
    bytes -= piece;
  } while (bytes > 0);
}

void MpiCommunicator::post_receive(std::byte* data, std::size_t bytes, int from, int tag) {
  do {
    const std::size_t piece = std::min(bytes, job_->options().piece_bytes);
    posted_.push_back(MPI_REQUEST_NULL);
    expect_success(MPI_Irecv(data, static_cast<int>(piece), MPI_BYTE, from, tag, group_, &posted_.back()), "a receive");
    data += piece;
    bytes -= piece;
  } while (bytes > 0);
}

void MpiCommunicator::wait(const Call& call) {
  statuses_.resize(posted_.size());
  Patience patience;
  for (;;) {
    int done = 0;
    const int code = MPI_Testall(static_cast<int>(posted_.size()), posted_.data(), &done, statuses_.data());
    if (code != MPI_SUCCESS) fail(call, code);
    if (done != 0) break;
    const double waited = patience.pause();
    if (waited == 0) continue;
    const bool too_long = watchdog_seconds() > 0 && waited > watchdog_seconds();
    const bool looks = waited > kLongWait && patience.rounds() % kRoundsBetweenLooks == 0;
    if (too_long || (looks && job_->hears_an_alarm())) give_up(call, waited);
  }
  posted_.clear();
}

void MpiCommunicator::fail(const Call& call, int code) {
  job_->set_broken();
  for (const MPI_Status& status : statuses_) {
    if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS && status.MPI_ERROR != MPI_ERR_PENDING)
      code = status.MPI_ERROR;
  }
  abandon();
  expect_success(code, text_of(call, name()));
  throw InternalError("MPI failed without an error");
}

void MpiCommunicator::give_up(const Call& call, double seconds) {
  const Report mine = make_report(job_->rank(), call, world_ranks_, name());
  const std::vector<Report> heard = job_->ask(mine);
  abandon();
  throw ClusterError(conclusion(mine, world_ranks_, job_->size(), heard, seconds, nodes()));
}

// The buffers of what is posted may be gone soon.
void MpiCommunicator::abandon() {
  for (MPI_Request& request : posted_) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
  posted_.clear();
}

void MpiCommunicator::reap_outgoing() {
  std::erase_if(outgoing_, [this](Outgoing& one) {
    int done = 0;
    expect_success(MPI_Testall(static_cast<int>(one.requests.size()), one.requests.data(), &done, MPI_STATUSES_IGNORE),
                   "a send");
    if (done == 0) return false;
    one.requests.clear();
    spare_.push_back(std::move(one));
    return true;
  });
}

// The smallest spare buffer that is large enough, or a buffer of its own.
Outgoing MpiCommunicator::take_outgoing(std::size_t bytes) {
  std::ranges::sort(spare_, {}, &Outgoing::capacity);
  const auto found = std::ranges::lower_bound(spare_, bytes, {}, &Outgoing::capacity);
  if (found != spare_.end()) {
    Outgoing one = std::move(*found);
    spare_.erase(found);
    return one;
  }
  if (!spare_.empty()) spare_.pop_back();  // too small, and as many are kept as were ever on their way
  return {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes, {}};
}

void MpiCommunicator::do_send(device::Stream&, const tensor::View& data, int to) {
  ++sent_[static_cast<std::size_t>(to)];
  reap_outgoing();
  const std::size_t bytes = static_cast<std::size_t>(data.count()) * size_of(data.dtype);
  Outgoing one = take_outgoing(bytes);
  if (bytes > 0) std::memcpy(one.bytes.get(), data.data, bytes);
  post_send(one.bytes.get(), bytes, to, kMessageTag, one.requests);
  outgoing_.push_back(std::move(one));
}

void MpiCommunicator::do_receive(device::Stream&, const tensor::MutableView& data, int from) {
  const auto peer_index = static_cast<std::size_t>(from);
  const Call call{"receive", ++received_[peer_index], world_ranks_[peer_index]};
  const std::size_t bytes = static_cast<std::size_t>(data.count()) * size_of(data.dtype);
  post_receive(static_cast<std::byte*>(data.data), bytes, from, kMessageTag);
  wait(call);
  std::size_t came = 0;
  for (const MPI_Status& status : statuses_) {
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    came += static_cast<std::size_t>(count);
  }
  if (came != bytes)
    throw InternalError(
        fmt::format("{} expects a message of {} bytes, but {} bytes came", text_of(call, name()), bytes, came));
}

std::unique_ptr<Communicator> MpiCommunicator::do_split(int color, int key, const std::string& group_name) {
  const Call call = begin("split");
  meet(call);  // MPI_Comm_split waits for ever for a rank that does not come
  MPI_Comm group = MPI_COMM_NULL;
  expect_success(MPI_Comm_split(group_, color < 0 ? MPI_UNDEFINED : color, key, &group), text_of(call, name()));
  if (group == MPI_COMM_NULL) return nullptr;
  int group_rank = 0, group_size = 1;
  expect_success(MPI_Comm_rank(group, &group_rank), "asking for the rank");
  expect_success(MPI_Comm_size(group, &group_size), "asking for the number of ranks");
  return std::make_unique<MpiCommunicator>(job_, group, group_rank, group_size, group_name);
}

}  // namespace convoy::comm
