// SPDX-License-Identifier: Apache-2.0
// convoy-preprocess: text to a tokenizer and to datasets.
#include "apps/preprocess/commands.h"
#include "libcore/data/libraries.h"

int main(int argc, char** argv) {
  using namespace convoy;
  using namespace convoy::apps;
  const app::Program program{.name = "convoy-preprocess",
                             .purpose = "turn text into a tokenizer and into token datasets, and look into them",
                             .examples = {"convoy-preprocess train-tokenizer docs/ --out tokenizer --vocab-size 1000",
                                          "convoy-preprocess encode docs/ --tokenizer tokenizer.model --out data/corpus --append-eos",
                                          "convoy-preprocess info data/corpus"},
                             .config_table = "preprocess",
                             .commands = {preprocess::train_tokenizer_command(), preprocess::encode_command(),
                                          preprocess::plan_command(), preprocess::status_command(),
                                          preprocess::merge_command(), preprocess::info_command(), preprocess::verify_command(), preprocess::cat_command()},
                             .libraries = data::libraries()};
  return app::run(program, argc, argv);
}
