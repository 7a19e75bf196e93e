// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/embedding.h"

#include "libcore/model/sequence_parallel.h"
#include "libcore/ops/embedding.h"

namespace convoy::model {

Embedding make_embedding(Parameters& parameters, const Config& config, const Shard& shard) {
  const bool gpt2 = config.architecture == Architecture::kGpt2;
  Embedding embedding;
  const std::size_t tokens = parameters.index(gpt2 ? "transformer.wte.weight" : "model.embed_tokens.weight");
  embedding.tokens = parameters.weight(tokens);
  embedding.dtokens = parameters.gradient(tokens);
  embedding.first = vocabulary_of(config, shard).begin;
  embedding.peers = shard.peers();
  embedding.dropout = {config.dropout.embedding, DropoutSite::kEmbedding, 0};
  if (gpt2) {
    const std::size_t positions = parameters.index("transformer.wpe.weight");
    if (shard.tensor_rank == 0) embedding.positions = parameters.weight(positions);
    embedding.dpositions = parameters.gradient(positions);
  }
  return embedding;
}

void forward(device::Stream& stream, const Embedding& embedding, const MicroBatch& micro, tensor::MutableView whole,
             tensor::MutableView y) {
  const bool learned = embedding.positions.present(), split = micro.row_peers != nullptr;
  ops::embedding_forward(stream, {.tokens = micro.tokens,
                                  .table = embedding.tokens,
                                  .first = embedding.first,
                                  .positions = learned ? micro.positions : tensor::View{},
                                  .position_table = embedding.positions,
                                  .y = split ? micro.of(whole) : y});
  if (split) {
    sum_to_own_rows(stream, micro, whole, y);
  } else if (embedding.peers != nullptr) {
    embedding.peers->all_reduce(stream, y, comm::Reduction::kSum);
  }
  drop(stream, embedding.dropout, micro, y);
}

void backward(device::Stream& stream, const Embedding& embedding, const MicroBatch& micro, tensor::MutableView whole,
              tensor::MutableView dy) {
  const bool learned = embedding.dpositions.present();
  drop(stream, embedding.dropout, micro, dy);
  ops::embedding_backward(stream, {.tokens = micro.tokens,
                                   .first = embedding.first,
                                   .positions = learned ? micro.positions : tensor::View{},
                                   .dy = all_rows(stream, micro, dy, whole),
                                   .dtable = embedding.dtokens,
                                   .dposition_table = embedding.dpositions});
}

}  // namespace convoy::model
