// SPDX-License-Identifier: Apache-2.0
// What all ranks of a job decide together: whether a piece of work succeeded on every one, and texts that one knows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libcore/comm/communicator.h"
#include "libcore/trace/lane.h"

namespace convoy::train {

class Agreement {
 public:
  // `node`: of this rank, for messages.
  Agreement(comm::Communicator& world, std::string node) : world_(world), node_(std::move(node)) {}

  // Collective. Every rank does its `work`; if it fails on any, all throw the error of the lowest such rank, which is
  // named unless every rank failed alike.
  void all(const std::function<void()>& work);
  // Rank 0 alone works; all throw if it fails.
  void root(const std::function<void()>& work);
  // Work whose failures are thrown on every rank by themselves.
  void alike(const std::function<void()>& work);

  // Where the agreeing is recorded from now on.
  void set_lane(const trace::Lane& lane) { lane_ = lane; }

  // Whether the error on its way is known to every rank.
  bool is_shared() const { return shared_; }
  // All ranks have made up for the last error, which is none any more.
  void forget() { shared_ = false; }
  bool is_root() const { return world_.rank() == 0; }
  comm::Communicator& world() const { return world_; }
  const std::string& node() const { return node_; }

 private:
  comm::Communicator& world_;
  std::string node_;
  trace::Lane lane_;
  bool shared_ = false;
};

// Collective: the texts of all ranks, in rank order, on every rank.
std::vector<std::string> gather_texts(comm::Communicator& world, const std::string& text);
// Collective: rank `root`'s text.
std::string broadcast_text(comm::Communicator& world, const std::string& text, int root);

}  // namespace convoy::train
