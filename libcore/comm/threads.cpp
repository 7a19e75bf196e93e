// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "libcore/base/error.h"
#include "libcore/comm/call.h"
#include "libcore/comm/reduce.h"

namespace convoy::comm {
namespace {

using tensor::DType;
using tensor::MutableView;
using tensor::View;
using Counts = std::span<const std::int64_t>;

struct Group;

// What one rank brings to a call; the others read it between the call's meetings.
struct Entry {
  const char* what = "";
  DType dtype = DType::kU8;
  std::int64_t count = 0;  // of the whole
  Counts counts = {};
  Reduction reduction = Reduction::kSum;
  int root = 0;
  const void* input = nullptr;
  void* output = nullptr;
  int color = 0, key = 0;
  std::shared_ptr<Group> made = {};  // by a split

  // All ranks of one call must say the same of it.
  bool agrees_with(const Entry& other) const {
    return std::string_view(what) == other.what && dtype == other.dtype && count == other.count &&
           reduction == other.reduction && root == other.root && std::ranges::equal(counts, other.counts);
  }
  std::string text() const { return fmt::format("{} of {} {}", what, count, tensor::name_of(dtype)); }
};

struct Message {
  DType dtype = DType::kU8;
  std::int64_t count = 0;
  std::vector<std::byte> bytes;
};

// What all groups of one world share: one lock, and why no call can go on.
struct Universe {
  std::mutex mutex;
  std::string failure;
  std::vector<std::weak_ptr<Group>> groups;
};

// One group, guarded by the universe's lock. What entries point to is guarded by the meetings: a rank reads the others'
// between the first meeting of a call and the last.
struct Group {
  Group(std::shared_ptr<Universe> in, std::vector<int> members)
      : universe(std::move(in)), world_ranks(std::move(members)) {
    const std::size_t size = world_ranks.size();
    entries.resize(size);
    arrivals.resize(size);
    left.resize(size);
    mail.resize(size * size);
  }
  std::deque<Message>& mailbox(int from, int to) {
    return mail[static_cast<std::size_t>(from) * world_ranks.size() + static_cast<std::size_t>(to)];
  }

  std::shared_ptr<Universe> universe;
  std::vector<int> world_ranks;
  std::vector<Entry> entries;
  std::vector<std::int64_t> arrivals;  // meetings that a rank has come to
  std::vector<bool> left;              // ranks that have given up their communicator
  std::vector<std::deque<Message>> mail;
  std::int64_t met = 0;  // meetings that are complete
  std::condition_variable changed;
};

// Under the lock. The first reason counts.
void fail(Universe& universe, const std::string& why) {
  if (universe.failure.empty()) universe.failure = why;
  for (const std::weak_ptr<Group>& one : universe.groups) {
    if (const std::shared_ptr<Group> group = one.lock()) group->changed.notify_all();
  }
}

std::shared_ptr<Group> make_group(const std::shared_ptr<Universe>& universe, std::vector<int> world_ranks) {
  const auto group = std::make_shared<Group>(universe, std::move(world_ranks));
  const std::scoped_lock lock(universe->mutex);
  std::erase_if(universe->groups, [](const std::weak_ptr<Group>& one) { return one.expired(); });
  universe->groups.push_back(group);
  return group;
}

std::size_t bytes_of(std::int64_t count, DType dtype) { return static_cast<std::size_t>(count) * size_of(dtype); }

void copy_bytes(const void* from, void* to, std::size_t bytes) {
  if (from != to && bytes != 0) std::memcpy(to, from, bytes);
}

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Group> group, int rank, const std::string& name)
      : Communicator(rank, static_cast<int>(group->world_ranks.size()), name),
        group_(std::move(group)),
        sent_(group_->world_ranks.size()),
        received_(group_->world_ranks.size()),
        exceptions_(std::uncaught_exceptions()) {}

  // While an exception leaves the rank, whoever catches it tells the peers why.
  ~ThreadCommunicator() override {
    if (std::uncaught_exceptions() > exceptions_) return;
    const std::scoped_lock lock(group_->universe->mutex);
    group_->left[index(rank())] = true;
    group_->changed.notify_all();
  }

  void fail_all(const std::string& why) {
    const std::scoped_lock lock(group_->universe->mutex);
    fail(*group_->universe, why);
  }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  int world_rank(int rank) const { return group_->world_ranks[index(rank)]; }
  std::string text(const std::vector<int>& ranks) const {
    std::vector<int> of_world;
    for (const int rank : ranks) of_world.push_back(world_rank(rank));
    return ranks_text(of_world, nodes());
  }
  const Entry& entry(int rank) const { return group_->entries[index(rank)]; }

  [[noreturn]] void give_up(const Call& call) const {
    throw ClusterError(fmt::format("{} cannot be completed: {}", text_of(call, name()), group_->universe->failure));
  }

  // Ranks that have not come to this rank's meeting.
  std::vector<int> missing_ranks() const {
    std::vector<int> missing;
    for (int other = 0; other < size(); ++other) {
      if (group_->arrivals[index(other)] < group_->arrivals[index(rank())]) missing.push_back(other);
    }
    return missing;
  }

  std::string report(const Call& call, const std::vector<int>& missing) const {
    std::vector<int> waiting;
    for (int other = 0; other < size(); ++other) {
      if (std::ranges::find(missing, other) == missing.end()) waiting.push_back(other);
    }
    if (call.peer >= 0)
      return fmt::format("{} sent nothing for {} within {} s", text(missing), text_of(call, name()),
                         watchdog_seconds());
    return fmt::format("{} did not arrive at {} within {} s; waiting there: {}", text(missing), text_of(call, name()),
                       watchdog_seconds(), text(waiting));
  }

  // Until done(), but no longer than the watchdog allows, and no longer than the ranks of missing() are there. With
  // `through`, a failure elsewhere does not end it.
  template <class Done, class Missing>
  void wait(std::unique_lock<std::mutex>& lock, const Call& call, bool through, Done done, Missing missing) {
    const auto start = std::chrono::steady_clock::now();
    const auto limit = std::chrono::duration<double>(watchdog_seconds());
    const auto deadline = start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit);
    Universe& universe = *group_->universe;
    while (!done()) {
      if (!universe.failure.empty() && !through) give_up(call);
      std::vector<int> gone = missing();
      std::erase_if(gone, [this](int other) { return !group_->left[index(other)]; });
      if (!gone.empty()) {
        fail(universe, fmt::format("{} has left the group before {}", text(gone), text_of(call, name())));
        give_up(call);
      } else if (watchdog_seconds() <= 0) {
        group_->changed.wait(lock);
      } else if (group_->changed.wait_until(lock, deadline) == std::cv_status::timeout && !done()) {
        fail(universe, report(call, missing()));
        give_up(call);
      }
    }
  }

  // Under the lock, by the last rank that comes to a call.
  void expect_agreement(const Call& call) {
    for (int other = 1; other < size(); ++other) {
      if (entry(other).agrees_with(entry(0))) continue;
      fail(
          *group_->universe,
          fmt::format("the ranks do not make the same calls: as #{} of group {}, rank {} calls {} and rank {} calls {}",
                      call.sequence, name(), world_rank(0), entry(0).text(), world_rank(other), entry(other).text()));
      give_up(call);
    }
  }

  // Comes to a call with what the others need, and returns when every rank of the group has.
  Call enter(Entry mine) {
    const Call call{mine.what, ++sequence_};
    std::unique_lock lock(group_->universe->mutex);
    if (!group_->universe->failure.empty()) give_up(call);
    group_->entries[index(rank())] = std::move(mine);
    meet(lock, call, true);
    return call;
  }

  // Ends a part of a call. The others are inside too and may be reading this rank's buffers, so a failure elsewhere
  // does not end the wait: it shows in the next call.
  void leave(const Call& call) {
    std::unique_lock lock(group_->universe->mutex);
    meet(lock, call, false);
  }

  void meet(std::unique_lock<std::mutex>& lock, const Call& call, bool opening) {
    const std::int64_t meeting = ++group_->arrivals[index(rank())];
    if (missing_ranks().empty()) {
      if (opening) expect_agreement(call);
      group_->met = meeting;
      group_->changed.notify_all();
    } else {
      wait(
          lock, call, !opening, [&] { return group_->met >= meeting; }, [this] { return missing_ranks(); });
    }
  }

  // Where elements [begin, ..) of every rank's input lie.
  std::vector<const void*> inputs_from(std::int64_t begin, DType dtype) const {
    std::vector<const void*> inputs;
    for (const Entry& one : group_->entries)
      inputs.push_back(static_cast<const std::byte*>(one.input) + bytes_of(begin, dtype));
    return inputs;
  }

  // Each rank reduces its part, and puts it where everybody wants it: nobody else touches that part of any buffer.
  void do_all_reduce(device::Stream&, const MutableView& data, Reduction reduction) override {
    const Call call = enter({.what = "all_reduce",
                             .dtype = data.dtype,
                             .count = data.count(),
                             .reduction = reduction,
                             .input = data.data,
                             .output = data.data});
    const Part part = part_of(data.count(), size(), rank());
    if (part.size() > 0) {
      const std::size_t offset = bytes_of(part.begin, data.dtype);
      std::byte* mine = static_cast<std::byte*>(data.data) + offset;
      reduce_in_rank_order(data.dtype, reduction, inputs_from(part.begin, data.dtype), mine, part.size());
      for (const Entry& one : group_->entries)
        copy_bytes(mine, static_cast<std::byte*>(one.output) + offset, bytes_of(part.size(), data.dtype));
    }
    leave(call);
  }

  void do_reduce_scatter(device::Stream&, const View& whole, const MutableView& mine, Counts counts,
                         Reduction reduction) override {
    const Call call = enter({.what = "reduce_scatter",
                             .dtype = whole.dtype,
                             .count = whole.count(),
                             .counts = counts,
                             .reduction = reduction,
                             .input = whole.data});
    std::int64_t begin = 0;
    for (int other = 0; other < rank(); ++other) begin += counts[index(other)];
    if (mine.count() > 0)
      reduce_in_rank_order(whole.dtype, reduction, inputs_from(begin, whole.dtype), mine.data, mine.count());
    leave(call);
  }

  void do_all_gather(device::Stream&, const View& mine, const MutableView& whole, Counts counts) override {
    const Call call = enter(
        {.what = "all_gather", .dtype = whole.dtype, .count = whole.count(), .counts = counts, .input = mine.data});
    std::byte* target = static_cast<std::byte*>(whole.data);
    for (int other = 0; other < size(); ++other) {
      const std::size_t bytes = bytes_of(counts[index(other)], whole.dtype);
      copy_bytes(entry(other).input, target, bytes);
      target += bytes;
    }
    leave(call);
  }

  void do_broadcast(device::Stream&, const MutableView& data, int root) override {
    const Call call =
        enter({.what = "broadcast", .dtype = data.dtype, .count = data.count(), .root = root, .input = data.data});
    copy_bytes(entry(root).input, data.data, bytes_of(data.count(), data.dtype));
    leave(call);
  }

  void do_send(device::Stream&, const View& data, int to) override {
    const auto* bytes = static_cast<const std::byte*>(data.data);
    Message message{data.dtype, data.count(), {bytes, bytes + bytes_of(data.count(), data.dtype)}};
    const Call call{"send", ++sent_[index(to)], world_rank(to)};
    const std::scoped_lock lock(group_->universe->mutex);
    if (!group_->universe->failure.empty()) give_up(call);
    group_->mailbox(rank(), to).push_back(std::move(message));
    group_->changed.notify_all();
  }

  void do_receive(device::Stream&, const MutableView& data, int from) override {
    const Call call{"receive", ++received_[index(from)], world_rank(from)};
    const Message message = take_message(call, from);
    if (message.dtype != data.dtype || message.count != data.count()) {
      throw InternalError(fmt::format("{} expects {} {}, but {} {} came", text_of(call, name()), data.count(),
                                      tensor::name_of(data.dtype), message.count, tensor::name_of(message.dtype)));
    }
    copy_bytes(message.bytes.data(), data.data, message.bytes.size());
  }

  Message take_message(const Call& call, int from) {
    std::unique_lock lock(group_->universe->mutex);
    std::deque<Message>& mailbox = group_->mailbox(from, rank());
    wait(
        lock, call, false, [&] { return !mailbox.empty(); }, [&] { return std::vector<int>{from}; });
    Message message = std::move(mailbox.front());
    mailbox.pop_front();
    return message;
  }

  void do_barrier() override { enter({.what = "barrier"}); }

  // The members of `color` in their order in the group: by (key, rank).
  std::vector<int> members(int color) const {
    std::vector<int> found;
    for (int other = 0; other < size(); ++other) {
      if (entry(other).color == color) found.push_back(other);
    }
    std::ranges::stable_sort(found, {}, [this](int other) { return entry(other).key; });
    return found;
  }

  std::unique_ptr<Communicator> do_split(int color, int key, const std::string& group_name) override {
    const Call call = enter({.what = "split", .color = color, .key = key});
    const std::vector<int> chosen = members(color);
    if (color >= 0 && chosen.front() == rank()) {
      std::vector<int> world_ranks;
      for (const int member : chosen) world_ranks.push_back(world_rank(member));
      group_->entries[index(rank())].made = make_group(group_->universe, std::move(world_ranks));
    }
    leave(call);
    std::unique_ptr<Communicator> made;
    if (color >= 0) {
      const auto place = std::ranges::find(chosen, rank()) - chosen.begin();
      made = std::make_unique<ThreadCommunicator>(entry(chosen.front()).made, static_cast<int>(place), group_name);
    }
    leave(call);
    if (color >= 0) group_->entries[index(rank())].made.reset();
    return made;
  }

  void do_end_job(int exit_code) noexcept override {
    try {
      fail_all(fmt::format("{} ended the job with exit code {}", rank_text(world_rank(rank()), nodes()), exit_code));
    } catch (const std::exception&) {
      // Without memory for the reason, the peers' watchdogs end their waits.
    }
  }

  std::shared_ptr<Group> group_;
  std::int64_t sequence_ = 0;
  std::vector<std::int64_t> sent_, received_;  // messages to and from each rank
  int exceptions_;
};

std::vector<std::unique_ptr<ThreadCommunicator>> make_ranks(int ranks) {
  check(ranks >= 1, "a world has ranks");
  std::vector<int> world_ranks(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) world_ranks[static_cast<std::size_t>(rank)] = rank;
  const std::shared_ptr<Group> group = make_group(std::make_shared<Universe>(), std::move(world_ranks));
  std::vector<std::unique_ptr<ThreadCommunicator>> world;
  for (int rank = 0; rank < ranks; ++rank) world.push_back(std::make_unique<ThreadCommunicator>(group, rank, "world"));
  return world;
}

// Keeps the exception that came first: the others follow from it.
class FirstException {
 public:
  void keep(std::exception_ptr exception) {
    const std::scoped_lock lock(mutex_);
    if (!first_) first_ = std::move(exception);
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

void run_rank(std::unique_ptr<ThreadCommunicator> world, const std::function<void(Communicator&)>& body,
              FirstException& first) {
  try {
    body(*world);
  } catch (const std::exception& error) {
    first.keep(std::current_exception());
    world->fail_all(fmt::format("rank {} failed: {}", world->rank(), error.what()));
  } catch (...) {
    first.keep(std::current_exception());
    world->fail_all(fmt::format("rank {} failed", world->rank()));
  }
}

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_world(int ranks) {
  std::vector<std::unique_ptr<Communicator>> world;
  for (std::unique_ptr<ThreadCommunicator>& rank : make_ranks(ranks)) world.push_back(std::move(rank));
  return world;
}

void run_ranks(int ranks, const std::function<void(Communicator& world)>& body, double watchdog_seconds) {
  FirstException first;
  {
    std::vector<std::unique_ptr<ThreadCommunicator>> world = make_ranks(ranks);
    std::vector<std::jthread> threads;
    for (std::unique_ptr<ThreadCommunicator>& rank : world) {
      rank->set_watchdog(watchdog_seconds);
      threads.emplace_back(
          [&body, &first, mine = std::move(rank)]() mutable { run_rank(std::move(mine), body, first); });
    }
  }
  first.rethrow();
}

}  // namespace convoy::comm
