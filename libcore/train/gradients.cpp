// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/gradients.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "libcore/checkpoint/hf_folder.h"
#include "libcore/tensor/tensor.h"

namespace convoy::train {
namespace {

using tensor::Box;
using tensor::DType;
using tensor::Tensor;

// A flat range of one parameter of a rank.
struct Piece {
  std::size_t index = 0;
  parallel::Range range;
};

// What the rank at `at` knows the sums of: everything in the first replica, or its shares from ZeRO 1 on; each element
// of the model once.
std::vector<Piece> pieces_of(const std::vector<model::LocalParameter>& table, const parallel::Layout& layout,
                             const parallel::Coordinates& at) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::int64_t count = table[i].box.count();
    const parallel::Range range = layout.zero > 0 ? parallel::flat_partition(count, layout.data, at.data)
                                                  : parallel::Range{0, at.data == 0 ? count : 0};
    if (table[i].primary && range.size() > 0) pieces.push_back({i, range});
  }
  return pieces;
}

// Puts the values of a box in row-major order where they belong in the whole tensor.
void place(const float* values, const Box& box, Tensor& whole) {
  const std::int64_t columns = box.extent.back();
  for (std::int64_t first = 0; first < box.count(); first += columns) {
    std::copy_n(values + first, columns, whole.as<float>() + tensor::index_in_whole(whole.shape(), box, first));
  }
}

void place(const float* values, const model::LocalParameter& parameter, const parallel::Range& range, Tensor& whole) {
  for (const Box& box : tensor::boxes_of_range(parameter.box, range.begin, range.end)) {
    place(values, box, whole);
    values += box.count();
  }
}

using Whole = std::map<std::string, Tensor>;

Whole receive_all(const model::Config& config, const StepContext& context) {
  const parallel::Layout& layout = context.groups.layout;
  Whole whole;
  for (const model::Parameter& parameter : model::parameter_table(config))
    whole.emplace(parameter.name, Tensor(parameter.shape, DType::kF32));
  for (int rank = 0; rank < layout.world(); ++rank) {
    const parallel::Coordinates at = parallel::coordinates_of(layout, rank);
    const std::vector<model::LocalParameter> table =
        model::local_parameters(config, model::shards_at(config, layout, at));
    for (const Piece& piece : pieces_of(table, layout, at)) {
      Tensor& target = whole.at(table[piece.index].name);
      if (rank == 0) {
        const float* own = context.parameters.gradient_part(piece.index, piece.range).as<float>();
        place(own, table[piece.index], piece.range, target);
        continue;
      }
      Tensor values({piece.range.size()}, DType::kF32);
      context.groups.world->receive(context.stream, values.mutable_view(), rank);
      place(values.as<float>(), table[piece.index], piece.range, target);
    }
  }
  return whole;
}

void send_all(const StepContext& context) {
  const parallel::Groups& groups = context.groups;
  for (const Piece& piece : pieces_of(context.parameters.table(), groups.layout, groups.at)) {
    groups.world->send(context.stream, context.parameters.gradient_part(piece.index, piece.range), 0);
  }
}

}  // namespace

void dump_gradients(const Path& file, const model::Config& config, const StepContext& context, Agreement& agreement) {
  if (!agreement.is_root()) send_all(context);
  agreement.root([&] {
    const Whole whole = receive_all(config, context);
    std::vector<checkpoint::NamedTensor> tensors;
    for (const model::Parameter& parameter : model::parameter_table(config))
      tensors.push_back({parameter.name, whole.at(parameter.name).view()});
    ensure_directory(file.parent_path());
    checkpoint::write_hf_tensors(file, tensors, DType::kF32);
  });
}

}  // namespace convoy::train
