// SPDX-License-Identifier: Apache-2.0
// The parity cases through the command lines: convoy-train run on the case's data, convoy-ckpt export of what it left;
// every loss, norm, rate, gradient and weight against PyTorch's, to the case's own tolerances (tests/golden/parity), on
// one rank and over several in every kind of layout.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "libcore/checkpoint/safetensors.h"
#include "tests/apps/train_program.h"
#include "tests/support/megatron_pair.h"
#include "tests/support/mpi_launch.h"
#include "tests/support/tmp_dir.h"

namespace convoy::apps {
namespace {

using nlohmann::json;
using Tokens = std::vector<std::int32_t>;

json read_json(const std::filesystem::path& file) { return json::parse(support::content_of(file)); }

// tokens.bin holds windows of T + 1 that overlap by one token: the stream is the first token and the last T of each.
Tokens stream_of(const std::string& folder, const json& tokens) {
  const std::string bytes = support::content_of(folder + "/" + tokens["file"].get<std::string>());
  const bool narrow = tokens["dtype"] == "uint16";
  const std::size_t width = narrow ? 2 : 4, window = tokens["shape"][2].get<std::size_t>();
  Tokens stream;
  for (std::size_t i = 0; i < bytes.size() / width; ++i) {
    std::uint32_t id = 0;
    for (std::size_t b = 0; b < width; ++b)
      id |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i * width + b])) << (8 * b);
    if (i == 0 || i % window != 0) stream.push_back(static_cast<std::int32_t>(id));
  }
  return stream;
}

// A document ends with every end token.
std::vector<std::int32_t> document_lengths(const Tokens& stream, const json& test_case) {
  const std::int32_t end =
      test_case.contains("documents") ? test_case["documents"]["end_token"].get<std::int32_t>() : -1;
  std::vector<std::int32_t> lengths = {0};
  for (std::size_t i = 0; i < stream.size(); ++i) {
    ++lengths.back();
    if (stream[i] == end && i + 1 < stream.size()) lengths.push_back(0);
  }
  return lengths;
}

std::string text_of(const json& number) { return number.dump(); }

std::vector<std::string> train_arguments(const std::string& folder, const json& c, const support::TmpDir& work,
                                         const std::string& precision) {
  const json &optimizer = c["optimizer"], &schedule = c["schedule"], &batch = c["batch"];
  const std::string steps = text_of(batch["steps"]);
  std::vector<std::string> all = {"run",
                                  "--model",
                                  folder + "/config.json",
                                  "--init-from",
                                  folder,
                                  "--out",
                                  (work / "run").string(),
                                  "--data",
                                  (work / "train").string(),
                                  "--valid-data",
                                  (work / "valid").string(),
                                  "--foreign-data",
                                  "--data-order",
                                  "sequential",
                                  "--sequence-length",
                                  text_of(batch["tokens"]),
                                  "--global-batch-size",
                                  text_of(batch["sequences"]),
                                  "--micro-batch-size",
                                  text_of(batch["sequences_per_micro_batch"]),
                                  "--steps",
                                  steps,
                                  "--lr",
                                  text_of(schedule["peak"]),
                                  "--weight-decay",
                                  text_of(optimizer["weight_decay"]),
                                  "--beta1",
                                  text_of(optimizer["betas"][0]),
                                  "--beta2",
                                  text_of(optimizer["betas"][1]),
                                  "--epsilon",
                                  text_of(optimizer["eps"]),
                                  "--clip-norm",
                                  text_of(optimizer["clip"]),
                                  "--precision",
                                  precision,
                                  "--device",
                                  "cpu",
                                  "--dropout",
                                  "0",
                                  "--threads",
                                  "1",
                                  "--log-level",
                                  "warning",
                                  "--eval-every",
                                  steps,
                                  "--eval-steps",
                                  "1",
                                  "--checkpoint-every",
                                  steps,
                                  "--dump-gradients",
                                  "1"};
  const auto add = [&](std::initializer_list<std::string> more) { all.insert(all.end(), more); };
  if (schedule["kind"] == "constant") {
    add({"--lr-schedule", "constant"});
  } else {
    add({"--lr-schedule", "cosine", "--min-lr", text_of(schedule["minimum"]), "--warmup-steps",
         text_of(schedule["warmup_steps"])});
    add({"--decay-steps", text_of(schedule["decay_steps"])});
  }
  if (c.contains("documents") && c.contains("positions")) add({"--attention-reset-at-document"});
  if (c.value("mask_loss_after_end", false)) add({"--mask-loss-after-eos"});
  return all;
}

bool is_skipped(std::size_t element, const json& ranges) {
  for (const json& range : ranges) {
    if (element >= range[0].get<std::size_t>() && element < range[1].get<std::size_t>()) return true;
  }
  return false;
}

// The determined elements of one tensor.
std::vector<double> values_of(const tensor::View& view, const json& undetermined) {
  std::vector<double> values;
  for (std::size_t i = 0; i < static_cast<std::size_t>(view.count()); ++i) {
    if (!is_skipped(i, undetermined)) values.push_back(view.as<float>()[i]);
  }
  return values;
}

void compare_statistics(const std::string& name, const std::vector<double>& values, const json& expected) {
  double squares = 0.0, sum = 0.0, largest = 0.0;
  for (const double value : values) {
    squares += value * value;
    sum += value;
    largest = std::max(largest, std::abs(value));
  }
  const auto compare = [&](const char* key, double got) {
    EXPECT_NEAR(got, expected[key]["fp64"].get<double>(), expected[key]["tolerance"].get<double>())
        << key << " of " << name;
  };
  compare("l2", std::sqrt(squares));
  compare("sum", sum);
  compare("absmax", largest);
}

// ||got - reference|| / ||reference||.
double relative_distance(const std::vector<double>& got, const std::vector<double>& reference) {
  double difference = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    difference += (got[i] - reference[i]) * (got[i] - reference[i]);
    norm += reference[i] * reference[i];
  }
  return std::sqrt(difference / norm);
}

std::map<std::string, tensor::View> views_of(const checkpoint::SafetensorsFile& file) {
  std::map<std::string, tensor::View> views;
  for (const checkpoint::NamedTensor& tensor : file.tensors()) views[tensor.name] = tensor.view;
  return views;
}

// Statistics of every tensor, and the distance from the reference where the repository keeps it.
void compare_tensors(const std::filesystem::path& got, const std::filesystem::path& reference, const json& expected,
                     const json& undetermined) {
  const checkpoint::SafetensorsFile ours(got);
  const auto views = views_of(ours);
  EXPECT_EQ(views.size(), expected.size());
  std::optional<checkpoint::SafetensorsFile> theirs;
  if (std::filesystem::exists(reference)) theirs.emplace(reference);
  for (const auto& [name, numbers] : expected.items()) {
    ASSERT_TRUE(views.contains(name)) << got << " lacks " << name;
    const json skipped = undetermined.value(name, json::array());
    const std::vector<double> values = values_of(views.at(name), skipped);
    compare_statistics(name, values, numbers);
    if (!theirs) continue;
    const std::vector<double> want = values_of(views_of(*theirs).at(name), skipped);
    ASSERT_EQ(values.size(), want.size()) << name;
    EXPECT_LE(relative_distance(values, want), numbers["relative_distance"]["tolerance"].get<double>()) << name;
  }
}

// How a case is started: on how many ranks, with which further arguments.
struct Launch {
  int ranks = 1;
  std::vector<std::string> arguments = {};
};

support::ProgramResult start(const Launch& launch, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), launch.arguments.begin(), launch.arguments.end());
  if (launch.ranks == 1) return call("convoy-train", std::move(arguments));
  arguments.insert(arguments.begin(), program("convoy-train"));
  return support::run_program(support::mpi_call(launch.ranks, arguments));
}

// One case: trains it, and holds what comes out against the reference.
class Case {
 public:
  explicit Case(const std::string& name)
      : folder_(golden("parity/" + name)),
        case_(read_json(folder_ + "/case.json")),
        expected_(read_json(folder_ + "/expected.json")) {}

  void check_fp32(const Launch& launch = {}) {
    train("fp32", launch);
    compare_rows(expected_["steps"], expected_["eval_loss"], "tolerance");
    compare_tensors(work_ / "run/debug/gradients-1.safetensors", folder_ + "/grads.safetensors", expected_["gradients"],
                    json::object());
    export_weights();
    compare_tensors(work_ / "hf/model.safetensors", folder_ + "/final.safetensors", expected_["parameters"],
                    expected_["undetermined"]);
  }

  void check_bf16(const Launch& launch = {}) {
    train("bf16", launch);
    compare_rows(expected_["bf16"]["steps"], expected_["bf16"]["eval_loss"], "band");
  }

  // fp16 rounds to 11 bits where bf16 rounds to 8, so it keeps within the band of the latter.
  void check_fp16() {
    train("fp16", {});
    compare_rows(expected_["bf16"]["steps"], expected_["bf16"]["eval_loss"], "band");
    EXPECT_EQ(steps_.back()["skipped"], 0);
  }

  // What transformers finds for the exported folder over the same windows; empty where Python lacks it.
  std::optional<double> transformers_loss() {
    train("fp32", {});
    export_weights();
    const support::ProgramResult loss = support::run_program(
        {.arguments = {"python3", std::string(CONVOY_SOURCE_DIR) + "/tests/apps/transformers_loss.py",
                       (work_ / "hf").string(), (work_ / "valid").string(), text_of(case_["batch"]["tokens"])}});
    if (loss.exit_code == kNoTransformers) return std::nullopt;
    EXPECT_EQ(loss.exit_code, 0) << loss.err;
    return std::stod(loss.out);
  }

  double evaluation_loss() const { return evaluations_.front()["loss"].get<double>(); }

 private:
  static constexpr int kNoTransformers = 77;

  void export_weights() {
    const support::ProgramResult exported =
        call("convoy-ckpt", {"export", (work_ / "run").string(), "--out", (work_ / "hf").string(), "--to", "hf"});
    ASSERT_EQ(exported.exit_code, 0) << exported.err;
  }

  void train(const std::string& precision, const Launch& launch) {
    const Tokens all = stream_of(folder_, case_["tokens"]);
    const json& batch = case_["batch"];
    const auto split = batch["steps"].get<std::ptrdiff_t>() * batch["sequences"].get<std::ptrdiff_t>() *
                       batch["tokens"].get<std::ptrdiff_t>();
    const Tokens train(all.begin(), all.begin() + split + 1), valid(all.begin() + split, all.end());
    support::write_pair(work_ / "train", train, document_lengths(train, case_));
    support::write_pair(work_ / "valid", valid, document_lengths(valid, case_));
    const support::ProgramResult result = start(launch, train_arguments(folder_, case_, work_, precision));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    std::ifstream metrics(work_ / "run/metrics.jsonl");
    for (std::string line; std::getline(metrics, line);) {
      const json row = json::parse(line);
      (row["kind"] == "step" ? steps_ : evaluations_).push_back(row);
    }
  }

  // `width` names the allowed distance: "tolerance" (fp32), "band" (bf16).
  void compare_rows(const json& steps, const json& evaluation, const char* width) {
    ASSERT_EQ(steps_.size(), steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (const char* key : {"loss", "grad_norm"}) {
        EXPECT_NEAR(steps_[i][key].get<double>(), steps[i][key]["fp64"].get<double>(),
                    steps[i][key][width].get<double>())
            << key << " of step " << i + 1;
      }
      const json& rate = expected_["steps"][i]["lr"];
      EXPECT_NEAR(steps_[i]["lr"].get<double>(), rate["fp64"].get<double>(), rate["tolerance"].get<double>())
          << "step " << i + 1;
      EXPECT_EQ(steps_[i]["tokens"], case_["target_counts"][i]);
    }
    ASSERT_EQ(evaluations_.size(), 1u);
    EXPECT_NEAR(evaluations_[0]["loss"].get<double>(), evaluation["fp64"].get<double>(),
                evaluation[width].get<double>());
  }

  std::string folder_;
  json case_, expected_;
  support::TmpDir work_;
  std::vector<json> steps_, evaluations_;
};

class CommandLineParity : public testing::TestWithParam<std::string> {};

TEST_P(CommandLineParity, Fp32) { Case(GetParam()).check_fp32(); }

TEST_P(CommandLineParity, Bf16) { Case(GetParam()).check_bf16(); }

TEST_P(CommandLineParity, Fp16) { Case(GetParam()).check_fp16(); }

std::string test_name(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == ' '; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, CommandLineParity,
                         testing::Values("gpt2-tiny", "llama-gqa", "llama-tied", "llama-rope3", "llama-bias",
                                         "gpt2-docmask", "llama-eosmask", "qwen2-gqa"),
                         [](const auto& parameter) { return test_name(parameter.param); });

struct LayoutCase {
  std::string name;
  Launch launch;
};

class LayoutParity : public testing::TestWithParam<std::tuple<std::string, LayoutCase>> {
 protected:
  Case case_{std::get<0>(GetParam())};
  Launch launch_ = std::get<1>(GetParam()).launch;
};

std::string layout_test_name(const testing::TestParamInfo<std::tuple<std::string, LayoutCase>>& parameter) {
  return test_name(std::get<0>(parameter.param) + " on " + std::get<1>(parameter.param).name);
}

TEST_P(LayoutParity, Fp32) { case_.check_fp32(launch_); }

// Two replicas of gpt2-tiny need micro-batches of two sequences: its global batch is four.
INSTANTIATE_TEST_SUITE_P(Cases, LayoutParity,
                         testing::Combine(testing::Values("gpt2-tiny", "llama-gqa"),
                                          testing::Values(LayoutCase{"tp2", {2, {"--tensor-parallel", "2"}}},
                                                          LayoutCase{"pp2", {2, {"--pipeline-parallel", "2"}}},
                                                          LayoutCase{"dp2", {2, {"--micro-batch-size", "2"}}},
                                                          LayoutCase{"dp2 zero1",
                                                                     {2, {"--micro-batch-size", "2", "--zero", "1"}}},
                                                          LayoutCase{"tp2 pp2 dp2",
                                                                     {8,
                                                                      {"--tensor-parallel", "2", "--pipeline-parallel",
                                                                       "2", "--micro-batch-size", "2"}}})),
                         layout_test_name);

// Four layers in four chunks; four micro-batches are two groups, one is half of one.
INSTANTIATE_TEST_SUITE_P(
    Interleaved, LayoutParity,
    testing::Combine(
        testing::Values("llama-gqa"),
        testing::Values(
            LayoutCase{"pp2 v2",
                       {2, {"--pipeline-parallel", "2", "--schedule", "interleaved", "--virtual-stages", "2"}}},
            LayoutCase{"pp2 v2 one micro batch",
                       {2,
                        {"--pipeline-parallel", "2", "--schedule", "interleaved", "--virtual-stages", "2",
                         "--micro-batch-size", "8"}}},
            LayoutCase{"tp2 pp2 v2 dp2",
                       {8,
                        {"--tensor-parallel", "2", "--pipeline-parallel", "2", "--schedule", "interleaved",
                         "--virtual-stages", "2", "--pipeline-split", "1,1,1,1", "--micro-batch-size", "2"}}})),
    layout_test_name);

INSTANTIATE_TEST_SUITE_P(Order, LayoutParity,
                         testing::Combine(testing::Values("llama-gqa"),
                                          testing::Values(LayoutCase{
                                              "dp2 pp2 tp2",
                                              {8,
                                               {"--tensor-parallel", "2", "--pipeline-parallel", "2", "--rank-order",
                                                "dp,pp,tp", "--zero", "1"}}})),
                         layout_test_name);

INSTANTIATE_TEST_SUITE_P(
    SequenceParallel, LayoutParity,
    testing::Combine(testing::Values("gpt2-tiny", "llama-gqa"),
                     testing::Values(LayoutCase{"tp2 sp", {2, {"--tensor-parallel", "2", "--sequence-parallel"}}},
                                     LayoutCase{"tp4 sp dp2 zero1",
                                                {8,
                                                 {"--tensor-parallel", "4", "--sequence-parallel", "--micro-batch-size",
                                                  "2", "--zero", "1"}}})),
    layout_test_name);

// 66 rows on four ranks, 74 on three.
INSTANTIATE_TEST_SUITE_P(
    UnevenRows, LayoutParity,
    testing::Values(
        std::tuple{"llama-tied", LayoutCase{"tp4 sp", {4, {"--tensor-parallel", "4", "--sequence-parallel"}}}},
        std::tuple{"gpt2-docmask",
                   LayoutCase{"tp3 sp pp2",
                              {6, {"--tensor-parallel", "3", "--sequence-parallel", "--pipeline-parallel", "2"}}}}),
    layout_test_name);

// Four and eight ranks share its two key/value heads.
INSTANTIATE_TEST_SUITE_P(
    SharedHeads, LayoutParity,
    testing::Combine(testing::Values("llama-gqa"),
                     testing::Values(LayoutCase{"tp4", {4, {"--tensor-parallel", "4"}}},
                                     LayoutCase{"tp8", {8, {"--tensor-parallel", "8"}}},
                                     LayoutCase{
                                         "tp4 dp2 zero1",
                                         {8, {"--tensor-parallel", "4", "--micro-batch-size", "2", "--zero", "1"}}})),
    layout_test_name);

// Every case on six layouts, of which two of its replicas have micro-batches of one sequence; two cases have 3 and 6
// heads. Of the long program alone.
std::vector<std::tuple<std::string, LayoutCase>> every_case() {
  std::vector<std::tuple<std::string, LayoutCase>> all;
  if (!CONVOY_EVERY_CASE) return all;
  for (const std::string name :
       {"gpt2-tiny", "llama-gqa", "llama-tied", "llama-rope3", "llama-bias", "gpt2-docmask", "llama-eosmask"}) {
    const int tensor = name == "gpt2-docmask" || name == "llama-eosmask" ? 3 : 2;
    const std::string size = std::to_string(tensor);
    for (const LayoutCase& layout :
         {LayoutCase{"tp", {tensor, {"--tensor-parallel", size}}}, LayoutCase{"pp2", {2, {"--pipeline-parallel", "2"}}},
          LayoutCase{"dp2", {2, {"--micro-batch-size", "1"}}},
          LayoutCase{"dp2 zero1 recompute", {2, {"--micro-batch-size", "1", "--zero", "1", "--recompute", "full"}}},
          LayoutCase{"tp sp pp2",
                     {2 * tensor, {"--tensor-parallel", size, "--sequence-parallel", "--pipeline-parallel", "2"}}},
          LayoutCase{"tp dp2 zero1 tree",
                     {2 * tensor,
                      {"--tensor-parallel", size, "--micro-batch-size", "1", "--reduction", "tree", "--zero", "1"}}}})
      all.emplace_back(name, layout);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Every, LayoutParity, testing::ValuesIn(every_case()), layout_test_name);

class LayoutParityBf16 : public LayoutParity {};

TEST_P(LayoutParityBf16, Bf16) { case_.check_bf16(launch_); }

INSTANTIATE_TEST_SUITE_P(Cases, LayoutParityBf16,
                         testing::Combine(testing::Values("gpt2-tiny", "llama-gqa"),
                                          testing::Values(LayoutCase{
                                              "tp2 dp2", {4, {"--tensor-parallel", "2", "--micro-batch-size", "2"}}})),
                         layout_test_name);

// Two programs that share nothing but the files: fp32 rounding of a mean over a few hundred tokens.
constexpr double kTwoPrograms = 2e-5;

TEST(Export, TransformersFindsTheEvaluationLoss) {
  for (const char* name : {"gpt2-tiny", "llama-gqa", "llama-tied"}) {
    Case one(name);
    const std::optional<double> theirs = one.transformers_loss();
    if (!theirs) GTEST_SKIP() << "python3 has no torch and transformers: the export is not loaded with them";
    EXPECT_NEAR(*theirs, one.evaluation_loss(), kTwoPrograms) << name;
  }
}

}  // namespace
}  // namespace convoy::apps
