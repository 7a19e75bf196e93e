// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/agree.h"

#include <algorithm>
#include <numeric>

namespace convoy::comm {
namespace {

using tensor::DType;
using tensor::MutableView;

MutableView view_of(std::int64_t& number) { return {&number, DType::kI64, {1}, 0}; }

MutableView view_of(std::string& text) {
  return {text.data(), DType::kU8, {static_cast<std::int64_t>(text.size())}, 0};
}

std::vector<std::int64_t> all_gather_one(Communicator& group, device::Stream& stream, std::int64_t mine) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(group.size()));
  const std::vector<std::int64_t> counts(all.size(), 1);
  group.all_gather(stream, view_of(mine), {all.data(), DType::kI64, {group.size()}, 0}, counts);
  return all;
}

}  // namespace

Verdict agree(Communicator& group, device::Stream& stream, int code, const std::string& message) {
  const std::vector<std::int64_t> codes = all_gather_one(group, stream, code);
  Verdict verdict;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (codes[static_cast<std::size_t>(rank)] != 0) verdict.failed.push_back(rank);
  }
  if (verdict.failed.empty()) return verdict;
  verdict.code = static_cast<int>(codes[static_cast<std::size_t>(verdict.failed.front())]);
  verdict.message = broadcast_text(group, stream, message, verdict.failed.front());
  const std::int64_t same = code == verdict.code && message == verdict.message ? 1 : 0;
  const std::vector<std::int64_t> sames = all_gather_one(group, stream, same);
  verdict.alike = std::ranges::all_of(sames, [](std::int64_t one) { return one == 1; });
  return verdict;
}

std::string broadcast_text(Communicator& group, device::Stream& stream, const std::string& text, int root) {
  auto size = static_cast<std::int64_t>(text.size());
  group.broadcast(stream, view_of(size), root);
  std::string received = text;
  received.resize(static_cast<std::size_t>(size));
  if (size > 0) group.broadcast(stream, view_of(received), root);
  return received;
}

std::vector<std::string> all_gather_texts(Communicator& group, device::Stream& stream, const std::string& text) {
  const std::vector<std::int64_t> sizes = all_gather_one(group, stream, static_cast<std::int64_t>(text.size()));
  std::string mine = text;
  std::string all(static_cast<std::size_t>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0})), ' ');
  group.all_gather(stream, view_of(mine), view_of(all), sizes);
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (const std::int64_t size : sizes) {
    texts.push_back(all.substr(begin, static_cast<std::size_t>(size)));
    begin += static_cast<std::size_t>(size);
  }
  return texts;
}

std::vector<std::string> gather_texts(Communicator& group, device::Stream& stream, const std::string& text, int root) {
  const std::vector<std::int64_t> sizes = all_gather_one(group, stream, static_cast<std::int64_t>(text.size()));
  std::string mine = text;
  if (group.rank() != root) {
    if (!mine.empty()) group.send(stream, view_of(mine), root);
    return {};
  }
  std::vector<std::string> texts;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank == root) {
      texts.push_back(text);
      continue;
    }
    texts.emplace_back(static_cast<std::size_t>(sizes[static_cast<std::size_t>(rank)]), ' ');
    if (!texts.back().empty()) group.receive(stream, view_of(texts.back()), rank);
  }
  return texts;
}

}  // namespace convoy::comm
