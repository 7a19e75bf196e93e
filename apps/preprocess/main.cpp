// SPDX-License-Identifier: Apache-2.0
// convoy-preprocess: text to a tokenizer and to datasets.
#include "apps/preprocess/commands.h"
#include "libcore/data/libraries.h"

int main(int argc, char** argv) {
  using namespace convoy;
  const app::Program program{.name = "convoy-preprocess",
                             .purpose = "Turn text into a tokenizer and into token datasets, and look into them.",
                             .examples = {"convoy-preprocess encode corpus.jsonl --tokenizer tokenizer.model --out data/corpus"},
                             .config_table = "preprocess",
                             .commands = {preprocess::encode_command()},
                             .libraries = data::libraries()};
  return app::run(program, argc, argv);
}
