// SPDX-License-Identifier: Apache-2.0
// Many threads between a source and a sink, with the order kept: the sink sees exactly what one thread would show it, in
// the same order, errors included, whatever the number of threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace convoy::data {

template <class In, class Out>
struct PipelineSteps {
  std::function<bool(In&)> source;           // false after the last item; one thread calls it
  std::function<Out(In&)> work;              // from many threads
  std::function<void(Out&)> sink;            // on the caller's thread, in the source's order
  std::function<std::size_t(const In&)> weight;  // bytes that an item in flight holds
  std::function<void()> poll;                // on the caller's thread, at least ten times a second; throws to stop
};

// Runs until the source ends. The first exception in the source's order, of any step, ends the run and is rethrown. Items in
// flight weigh at most `most_weight` together, or are a single one.
template <class In, class Out>
class OrderedPipeline {
 public:
  OrderedPipeline(PipelineSteps<In, Out> steps, std::size_t most_weight) : steps_(std::move(steps)), most_weight_(most_weight) {}
  ~OrderedPipeline() { join(); }
  OrderedPipeline(const OrderedPipeline&) = delete;
  OrderedPipeline& operator=(const OrderedPipeline&) = delete;

  void run(int workers) {
    threads_.emplace_back([this] { read_all(); });
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work_all(); });
    for (std::uint64_t next = 0;; ++next) {
      Result result;
      if (!wait_for(next, result)) break;
      if (result.error) std::rethrow_exception(result.error);
      steps_.sink(result.value);
      release(result.weight);
    }
    join();
  }

 private:
  struct Task {
    std::uint64_t number = 0;
    std::size_t weight = 0;
    In item{};
  };
  struct Result {
    std::size_t weight = 0;
    Out value{};
    std::exception_ptr error;
  };

  void read_all() {
    std::uint64_t number = 0;
    for (;; ++number) {
      Task task{number, 0, {}};
      try {
        if (!steps_.source(task.item)) break;
      } catch (...) {
        finish(number++, {0, {}, std::current_exception()});
        break;
      }
      task.weight = steps_.weight(task.item);
      if (!submit(std::move(task))) return;
    }
    {
      const std::lock_guard lock(mutex_);
      total_ = number;
    }
    work_.notify_all();
    done_.notify_one();
  }

  bool submit(Task task) {
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return stop_ || in_flight_ == 0 || in_flight_ + task.weight <= most_weight_; });
      if (stop_) return false;
      in_flight_ += task.weight;
      tasks_.push_back(std::move(task));
    }
    work_.notify_one();
    return true;
  }

  void work_all() {
    while (true) {
      Task task;
      {
        std::unique_lock lock(mutex_);
        work_.wait(lock, [&] { return stop_ || !tasks_.empty() || total_ != kUnknown; });
        if (stop_ || tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      Result result{task.weight, {}, {}};
      try {
        result.value = steps_.work(task.item);
      } catch (...) {
        result.error = std::current_exception();
      }
      finish(task.number, std::move(result));
    }
  }

  void finish(std::uint64_t number, Result result) {
    bool is_next = false;
    {
      const std::lock_guard lock(mutex_);
      results_.emplace(number, std::move(result));
      is_next = number == next_;
    }
    if (is_next) done_.notify_one();
  }

  bool wait_for(std::uint64_t number, Result& result) {
    while (true) {
      if (steps_.poll) steps_.poll();
      std::unique_lock lock(mutex_);
      next_ = number;
      done_.wait_for(lock, kPollInterval, [&] { return number == total_ || results_.contains(number); });
      const auto found = results_.find(number);
      if (found != results_.end()) {
        result = std::move(found->second);
        results_.erase(found);
        return true;
      }
      if (number == total_) return false;
    }
  }

  void release(std::size_t weight) {
    {
      const std::lock_guard lock(mutex_);
      in_flight_ -= weight;
    }
    room_.notify_one();
  }

  void join() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    room_.notify_all();
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  static constexpr std::chrono::milliseconds kPollInterval{100};

  PipelineSteps<In, Out> steps_;
  std::size_t most_weight_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable room_;  // the reader's: items in flight weigh less, or the run stops
  std::condition_variable work_;  // the workers': a task, the end, or the run stops
  std::condition_variable done_;  // the sink's: the result that is next, or the end
  std::deque<Task> tasks_;
  std::map<std::uint64_t, Result> results_;
  std::size_t in_flight_ = 0;
  std::uint64_t next_ = 0;  // the result that the sink waits for
  std::uint64_t total_ = kUnknown;
  bool stop_ = false;
};

}  // namespace convoy::data
