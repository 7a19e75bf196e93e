// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/cpu/onednn_products.h"

#include <fmt/format.h>

#include <array>
#include <dnnl.hpp>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/device/arena.h"

namespace convoy::ops::cpu {
namespace {

using dnnl::memory;

memory::data_type type_of(DType dtype) {
  return dtype == DType::kBF16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc plain(std::int64_t rows, std::int64_t columns, std::int64_t stride, bool transposed, DType dtype) {
  const memory::dims strides = transposed ? memory::dims{1, stride} : memory::dims{stride, 1};
  return {{rows, columns}, type_of(dtype), strides};
}

// The library's own scratch memory belongs to the thread that made the primitive, and threads that execute it side by side
// would write into one another's.
dnnl::primitive_attr with_own_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// A primitive and, for each thread of the team, memory objects of its own whose addresses it sets. The last is scratch.
struct Prepared {
  dnnl::primitive primitive;
  std::vector<int> arguments;                 // DNNL_ARG_... of the memories below
  std::vector<std::vector<memory>> memories;  // [thread][argument]
};

void check_status(dnnl_status_t status, const char* what) {
  if (status != dnnl_success) throw InternalError(fmt::format("oneDNN: {}: status {}", what, static_cast<int>(status)));
}

// oneDNN's exceptions carry a status and a text; ours travel further.
template <class Make>
auto made(const char* what, Make&& make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    throw InternalError(fmt::format("oneDNN: {}: {} (status {})", what, error.what(), static_cast<int>(error.status)));
  }
}

// The form of a packed b does not depend on the rows that it meets; this many are what it is chosen for.
constexpr std::int64_t kTypicalRows = 256;

}  // namespace

struct OneDnnProducts::Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  std::vector<dnnl::stream> streams;    // one a thread
  std::vector<device::Buffer> scratch;  // one a thread, as large as the largest primitive needs
  std::map<ProductKey, Prepared> products;
  std::map<PackKey, Prepared> packs;
  std::map<PackKey, memory::desc> packed_forms;  // transposed is false

  Prepared prepared(dnnl::primitive primitive, std::vector<int> arguments, std::vector<memory::desc> forms,
                    const memory::desc& scratch_form) {
    arguments.push_back(DNNL_ARG_SCRATCHPAD);
    forms.push_back(scratch_form);
    Prepared result{std::move(primitive), std::move(arguments), {}};
    for (std::size_t thread = 0; thread < streams.size(); ++thread) {
      std::vector<memory>& own = result.memories.emplace_back();
      for (const memory::desc& form : forms) own.push_back(memory(form, engine, nullptr));
      if (scratch[thread].size() < scratch_form.get_size())
        scratch[thread] = device::Buffer(scratch_form.get_size(), {});
    }
    return result;
  }

  void execute(const Prepared& prepared, int thread, std::initializer_list<void*> addresses) const {
    constexpr std::size_t kMost = 4;
    std::array<dnnl_exec_arg_t, kMost> arguments{};
    const auto index = static_cast<std::size_t>(thread);
    std::size_t count = 0;
    const auto add = [&](void* address) {
      dnnl_memory_t object = prepared.memories[index][count].get();
      check_status(dnnl_memory_set_data_handle(object, address), "set_data_handle");
      arguments[count] = {prepared.arguments[count], object};
      ++count;
    };
    for (void* address : addresses) add(address);
    add(scratch[index].data());
    check_status(dnnl_primitive_execute(prepared.primitive.get(), streams[index].get(), static_cast<int>(count),
                                        arguments.data()),
                 "execute");
  }

  memory::desc packed_form(DType dtype, std::int64_t n, std::int64_t k) {
    const PackKey key{dtype, n, k, false};
    if (const auto found = packed_forms.find(key); found != packed_forms.end()) return found->second;
    const memory::desc any({k, n}, type_of(dtype), memory::format_tag::any);
    const dnnl::matmul::desc product(plain(kTypicalRows, k, k, false, dtype), any,
                                     plain(kTypicalRows, n, n, false, DType::kF32));
    const memory::desc form = dnnl::matmul::primitive_desc(product, engine).weights_desc();
    packed_forms.emplace(key, form);
    return form;
  }

  Prepared make(const ProductKey& key) {
    const memory::desc a = plain(key.m, key.k, key.lda, key.a_transposed, key.dtype);
    const memory::desc b =
        key.ldb == 0 ? packed_form(key.dtype, key.n, key.k) : plain(key.k, key.n, key.ldb, false, key.dtype);
    const memory::desc c = plain(key.m, key.n, key.ldc, false, DType::kF32);
    dnnl::primitive_attr attributes = with_own_scratch();
    if (key.accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attributes.set_post_ops(sum);
    }
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, c), attributes, engine);
    return prepared(dnnl::matmul(description), {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}, {a, b, c},
                    description.scratchpad_desc());
  }

  Prepared make(const PackKey& key) {
    const memory::desc from = plain(key.k, key.n, key.transposed ? key.k : key.n, key.transposed, key.dtype);
    const memory::desc to = packed_form(key.dtype, key.n, key.k);
    const dnnl::reorder::primitive_desc description(engine, from, engine, to, with_own_scratch());
    return prepared(dnnl::reorder(description), {DNNL_ARG_FROM, DNNL_ARG_TO}, {from, to},
                    description.scratchpad_desc());
  }
};

OneDnnProducts::OneDnnProducts(int threads)
    : library_(made("engine and streams", [&] {
        auto library = std::make_unique<Library>();
        for (int thread = 0; thread < threads; ++thread) library->streams.emplace_back(library->engine);
        library->scratch.resize(static_cast<std::size_t>(threads));
        return library;
      })) {}

OneDnnProducts::~OneDnnProducts() = default;

OneDnnProducts& OneDnnProducts::of(Stream& stream) {
  if (stream.backend_state() == nullptr) stream.backend_state() = std::make_shared<OneDnnProducts>(stream.threads());
  return *static_cast<OneDnnProducts*>(stream.backend_state().get());
}

void OneDnnProducts::prepare(const ProductKey& key) {
  if (library_->products.contains(key)) return;
  library_->products.emplace(key, made("a matrix product", [&] { return library_->make(key); }));
}

void OneDnnProducts::prepare(const PackKey& key) {
  if (library_->packs.contains(key)) return;
  library_->packs.emplace(key, made("packing a matrix", [&] { return library_->make(key); }));
}

std::size_t OneDnnProducts::packed_bytes(DType dtype, std::int64_t n, std::int64_t k) {
  return made("the form of a matrix", [&] { return library_->packed_form(dtype, n, k).get_size(); });
}

void OneDnnProducts::multiply(const ProductKey& key, int thread, const void* a, const void* b, float* c) const {
  library_->execute(library_->products.at(key), thread, {const_cast<void*>(a), const_cast<void*>(b), c});
}

void OneDnnProducts::pack(const PackKey& key, int thread, const void* b, void* packed) const {
  library_->execute(library_->packs.at(key), thread, {const_cast<void*>(b), packed});
}

bool has_bf16_products() {
  const auto isa = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  constexpr auto kWanted = static_cast<unsigned>(dnnl_cpu_isa_avx512_core_bf16);
  return (isa & kWanted) == kWanted;
}

}  // namespace convoy::ops::cpu
