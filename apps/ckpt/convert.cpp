// SPDX-License-Identifier: Apache-2.0
#include "apps/ckpt/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "libcore/app/progress.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/units.h"
#include "libcore/checkpoint/save.h"
#include "libcore/checkpoint/step_directory.h"

namespace convoy::apps::ckpt {
namespace {

using checkpoint::Manifest;
using checkpoint::ReshardPlan;

constexpr int kMostThreads = 4;

std::uint64_t bytes_of(const checkpoint::StoredTensor& tensor, const tensor::Box& box) {
  return static_cast<std::uint64_t>(box.count()) * tensor::size_of(tensor.dtype);
}

std::uint64_t total_bytes(const Manifest& inventory) {
  std::uint64_t bytes = 0;
  for (const checkpoint::StoredTensor& tensor : inventory.tensors)
    bytes += bytes_of(tensor, tensor::whole(tensor.shape));
  return bytes;
}

std::string layout_text(const LayoutArguments& layout) {
  return fmt::format("tensor {} x pipeline {} x {} shards", layout.tensor, layout.pipeline, layout.zero_shards);
}

std::string files_text(std::size_t files) { return fmt::format("{} {}", files, files == 1 ? "file" : "files"); }

std::string layout_json(const LayoutArguments& layout) {
  return JsonObject()
      .add("tensor_parallel", layout.tensor)
      .add("pipeline_parallel", layout.pipeline)
      .add("zero_shards", layout.zero_shards)
      .text();
}

// Every copy, a line or an array element each, as it is found: all of them may be millions.
void print_plan(const Manifest& inventory, const ReshardPlan& plan, const ConvertArguments& arguments, bool json) {
  if (json)
    fmt::print(R"({{"out":{},"dry_run":true,"layout":{},"copies":[)", json_quoted(arguments.out),
               layout_json(arguments.layout));
  std::uint64_t copies = 0;
  for (std::size_t i = 0; i < inventory.tensors.size(); ++i) {
    const checkpoint::StoredTensor& tensor = inventory.tensors[i];
    for (const checkpoint::BoxCopy& copy : checkpoint::copies_of(inventory, plan, i)) {
      const std::string& from = inventory.files[inventory.fragments[copy.source].file].name;
      const std::string& to = plan.files[copy.target.file].name;
      const auto bytes = static_cast<std::int64_t>(bytes_of(tensor, copy.box));
      if (json) {
        fmt::print("{}{}", copies == 0 ? "" : ",",
                   JsonObject()
                       .add("name", tensor.name)
                       .add("state", tensor.state)
                       .add("box", copy.box.text())
                       .add("from", from)
                       .add("to", to)
                       .add("bytes", bytes)
                       .text());
      } else {
        fmt::print("{} {} {}  {} -> {}  {} bytes\n", tensor.state, tensor.name, copy.box.text(), from, to, bytes);
      }
      ++copies;
    }
  }
  const std::uint64_t bytes = total_bytes(inventory);
  if (json) {
    fmt::print("],\"files\":{},\"bytes\":{}}}\n", plan.files.size(), bytes);
  } else {
    fmt::print("{} copies into {} ({}), {}; nothing was written\n", copies, files_text(plan.files.size()),
               layout_text(arguments.layout), format_bytes(static_cast<double>(bytes)));
  }
}

int threads_of(const ConvertArguments& arguments) {
  if (arguments.threads > 0) return arguments.threads;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
}

Manifest write(const Source& source, const Manifest& inventory, const ReshardPlan& plan,
               const ConvertArguments& arguments, const app::Session& session) {
  app::Progress progress(session.command, static_cast<std::int64_t>(total_bytes(inventory)), "bytes");
  AtomicDirectory directory(arguments.out);
  const auto read = [&](std::size_t tensor, const tensor::Box& box, tensor::MutableView out) {
    read_box(source, inventory, tensor, box, out);
  };
  Manifest result = checkpoint::execute_reshard(
      inventory, has_digests(source), plan, arguments.layout.stored(), read, directory.temporary(),
      {.memory = arguments.max_memory, .threads = threads_of(arguments)},
      [&](std::uint64_t done) { progress.update(static_cast<std::int64_t>(done)); });
  checkpoint::write_manifest(directory.temporary(), result);
  directory.commit();
  progress.finish();
  return result;
}

void print_result(const Source& source, const Manifest& result, const ConvertArguments& arguments, double seconds,
                  bool json) {
  const std::string digest = checkpoint::digest_of(result);
  const std::uint64_t bytes = total_bytes(result);
  if (json) {
    fmt::print("{}\n", JsonObject()
                           .add("source", source.folder().string())
                           .add("out", arguments.out)
                           .add("step", result.description.progress.step)
                           .add_raw("layout", layout_json(arguments.layout))
                           .add("files", static_cast<std::int64_t>(result.files.size()))
                           .add("bytes", static_cast<std::int64_t>(bytes))
                           .add("digest", digest)
                           .add("seconds", seconds)
                           .text());
    return;
  }
  fmt::print("{}: step {}, {} in {} ({}), from {}\n", arguments.out, result.description.progress.step,
             format_bytes(static_cast<double>(bytes)), files_text(result.files.size()), layout_text(arguments.layout),
             source.folder().string());
  fmt::print("digest {}\n", digest);
}

}  // namespace

void prepare_place(const std::string& out) {
  if (out.empty()) throw ConfigError("--out '': expected the name of a folder to create");
  const Path path(out);
  checkpoint::refuse_inside_checkpoint(path);
  const Path parent = (path.has_filename() ? path : path.parent_path()).parent_path();
  if (!parent.empty()) ensure_directory(parent);
}

std::vector<app::Option> convert_options(ConvertArguments& arguments) {
  return {
      app::text("out", "DIR", arguments.out, "step directory to create").required(),
      app::bytes("max-memory", arguments.max_memory,
                 {checkpoint::kLeastReshardMemory, std::numeric_limits<std::int64_t>::max()},
                 "memory to stay within, whatever the checkpoint's size"),
      app::count("threads", arguments.threads, {0, 1024}, "that copy; 0: the machine's, at most four"),
  };
}

int convert(const Source& source, const checkpoint::Description& description, const ConvertArguments& arguments,
            const app::Session& session) {
  const auto start = std::chrono::steady_clock::now();
  check_layout(arguments.layout, source.config);
  Manifest inventory = inventory_of(source);
  inventory.description = description;
  const ReshardPlan plan = checkpoint::plan_reshard(inventory, files_of(arguments.layout, source.config, inventory));
  if (arguments.dry_run) {
    print_plan(inventory, plan, arguments, session.json);
    return 0;
  }
  prepare_place(arguments.out);
  const Manifest result = write(source, inventory, plan, arguments, session);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  print_result(source, result, arguments, elapsed.count(), session.json);
  return 0;
}

}  // namespace convoy::apps::ckpt
