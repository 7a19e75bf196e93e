// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/hdf5_file.h"

#include <fmt/format.h>
#include <hdf5.h>

#include <array>
#include <mutex>
#include <optional>
#include <source_location>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/checkpoint/step_directory.h"

namespace convoy::checkpoint {
namespace {

using tensor::DType;
using tensor::Shape;

constexpr hsize_t kAlignment = 64;  // of every payload: a cache line

// The library is safe to enter from several threads only where it was built so.
std::mutex& library_lock() {
  static std::mutex lock;
  return lock;
}

// While it lives, this thread is alone in the library, and the library prints nothing of its own.
class Library {
 public:
  Library() : lock_(library_lock()) {
    // A file that could not be written cannot be closed either, and at the end of the process the library would fall
    // over it, a second time and with a signal. Whatever could be closed is closed by then.
    static const herr_t no_second_try = H5dont_atexit();
    static_cast<void>(no_second_try);
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Library() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

herr_t keep_innermost(unsigned /*number*/, const H5E_error2_t* error, void* text) {
  if (error->desc != nullptr && *error->desc != '\0') *static_cast<std::string*>(text) = error->desc;
  return 0;
}

// What the library says of its last failure: the innermost message, which holds the system's reason.
std::string reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_innermost, &text);
  return text.empty() ? "HDF5 gives no reason" : text;
}

// A failed call: of the file system where we write, of the file's content where we read.
enum class Use { kWrite, kRead };

class Session {
 public:
  Session(const Path& file, Use use) : file_(file), use_(use) {}
  const Path& file() const { return file_; }

  template <class Result>
  Result must(Result result, std::string_view what) const {
    if (result >= 0) return result;
    if (use_ == Use::kRead) throw DataError(fmt::format("{}: {}: {}", file_.string(), what, reason()));
    throw EnvironmentError(fmt::format("cannot write '{}': {}: {}", file_.string(), what, reason()));
  }

 private:
  const Path& file_;
  Use use_;
};

// An HDF5 identifier and the function that closes it.
class Id {
 public:
  Id(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
  Id(Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Id& operator=(Id&&) = delete;
  ~Id() {
    if (id_ >= 0) close_(id_);
  }
  hid_t get() const { return id_; }
  herr_t close() { return close_(std::exchange(id_, -1)); }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

struct Dimensions {
  std::array<hsize_t, tensor::kMaxRank> extent{};
  int rank = 0;
};

Dimensions dimensions_of(const Shape& shape) {
  Dimensions dimensions{.extent = {}, .rank = shape.rank()};
  for (int d = 0; d < shape.rank(); ++d)
    dimensions.extent[static_cast<std::size_t>(d)] = static_cast<hsize_t>(shape[d]);
  return dimensions;
}

Id space_of(const Session& session, const Shape& shape) {
  const Dimensions dimensions = dimensions_of(shape);
  const hid_t id = dimensions.rank == 0 ? H5Screate(H5S_SCALAR)
                                        : H5Screate_simple(dimensions.rank, dimensions.extent.data(), nullptr);
  return {session.must(id, "a data space"), H5Sclose};
}

struct FloatFormat {
  std::size_t exponent_at, exponent_bits, mantissa_bits, bias;
};

// 16-bit floats that the library has no name for are made of its 32-bit one: sign on top, mantissa at the bottom.
Id small_float(const Session& session, const FloatFormat& format) {
  Id type(session.must(H5Tcopy(H5T_IEEE_F32LE), "a type"), H5Tclose);
  session.must(H5Tset_fields(type.get(), 15, format.exponent_at, format.exponent_bits, 0, format.mantissa_bits),
               "a type's fields");
  session.must(H5Tset_precision(type.get(), 16), "a type's precision");
  session.must(H5Tset_size(type.get(), 2), "a type's size");
  session.must(H5Tset_ebias(type.get(), format.bias), "a type's bias");
  return type;
}

Id type_of(const Session& session, DType dtype) {
  if (dtype == DType::kBF16)
    return small_float(session, {.exponent_at = 7, .exponent_bits = 8, .mantissa_bits = 7, .bias = 127});
  if (dtype == DType::kF16)
    return small_float(session, {.exponent_at = 10, .exponent_bits = 5, .mantissa_bits = 10, .bias = 15});
  return {session.must(H5Tcopy(H5T_IEEE_F32LE), "a type"), H5Tclose};
}

Id string_type(const Session& session, std::size_t size) {
  Id type(session.must(H5Tcopy(H5T_C_S1), "a type"), H5Tclose);
  session.must(H5Tset_size(type.get(), size == 0 ? 1 : size), "a type's size");
  session.must(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "a type's padding");
  session.must(H5Tset_cset(type.get(), H5T_CSET_UTF8), "a type's encoding");
  return type;
}

void write_attribute(const Session& session, hid_t object, const char* name, const std::string& text) {
  const Id type = string_type(session, text.size());
  const Id space(session.must(H5Screate(H5S_SCALAR), name), H5Sclose);
  const Id attribute(session.must(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), name),
                     H5Aclose);
  session.must(H5Awrite(attribute.get(), type.get(), text.c_str()), name);
}

void write_attribute(const Session& session, hid_t object, const char* name, std::int64_t value) {
  const Id space(session.must(H5Screate(H5S_SCALAR), name), H5Sclose);
  const Id attribute(session.must(H5Acreate2(object, name, H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT), name),
                     H5Aclose);
  session.must(H5Awrite(attribute.get(), H5T_NATIVE_INT64, &value), name);
}

void write_attribute(const Session& session, hid_t object, const char* name, double value) {
  const Id space(session.must(H5Screate(H5S_SCALAR), name), H5Sclose);
  const Id attribute(
      session.must(H5Acreate2(object, name, H5T_IEEE_F64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT), name), H5Aclose);
  session.must(H5Awrite(attribute.get(), H5T_NATIVE_DOUBLE, &value), name);
}

// A list of one number a dimension; a scalar tensor has none, and HDF5 no empty list that old readers know.
void write_attribute(const Session& session, hid_t object, const char* name, const Shape& shape) {
  if (shape.rank() == 0) return;
  std::array<std::int64_t, tensor::kMaxRank> values{};
  for (int d = 0; d < shape.rank(); ++d) values[static_cast<std::size_t>(d)] = shape[d];
  const hsize_t count = static_cast<hsize_t>(shape.rank());
  const Id space(session.must(H5Screate_simple(1, &count, nullptr), name), H5Sclose);
  const Id attribute(session.must(H5Acreate2(object, name, H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT), name),
                     H5Aclose);
  session.must(H5Awrite(attribute.get(), H5T_NATIVE_INT64, values.data()), name);
}

Id access_list(const Session& session) {
  Id list(session.must(H5Pcreate(H5P_FILE_ACCESS), "access properties"), H5Pclose);
  session.must(H5Pset_libver_bounds(list.get(), H5F_LIBVER_V18, H5F_LIBVER_V110), "format bounds");
  session.must(H5Pset_alignment(list.get(), 1, kAlignment), "alignment");
  // Files appear under their final names complete, and some parallel file systems know no locks.
  session.must(H5Pset_file_locking(list.get(), false, true), "file locking");
  return list;
}

Id create_file(const Session& session, const std::string& save_id) {
  const Id access = access_list(session);
  const Id creation(session.must(H5Pcreate(H5P_FILE_CREATE), "creation properties"), H5Pclose);
  session.must(H5Pset_userblock(creation.get(), kUserBlock), "user block");
  Id file(session.must(H5Fcreate(session.file().c_str(), H5F_ACC_EXCL, creation.get(), access.get()), "creating it"),
          H5Fclose);
  write_attribute(session, file.get(), "format", std::string("convoy-checkpoint"));
  write_attribute(session, file.get(), "format_version", std::int64_t{kFormatVersion});
  write_attribute(session, file.get(), "save_id", save_id);
  return file;
}

Id open_file(const Session& session) {
  const Id access = access_list(session);
  return {session.must(H5Fopen(session.file().c_str(), H5F_ACC_RDONLY, access.get()), "is no readable HDF5 file"),
          H5Fclose};
}

Id layout_list(const Session& session) {
  Id list(session.must(H5Pcreate(H5P_DATASET_CREATE), "creation properties"), H5Pclose);
  session.must(H5Pset_layout(list.get(), H5D_CONTIGUOUS), "layout");
  session.must(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY), "allocation time");
  session.must(H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER), "fill time");
  return list;
}

Id link_list(const Session& session) {
  Id list(session.must(H5Pcreate(H5P_LINK_CREATE), "link properties"), H5Pclose);
  session.must(H5Pset_create_intermediate_group(list.get(), 1), "groups");
  return list;
}

// Where a file says which rank wrote it.
void write_coordinates(const Session& session, hid_t file) {
  const std::optional<ShardCoordinates> rank = parse_shard_file_name(session.file().filename().string());
  if (!rank) return;
  write_attribute(session, file, "tensor_rank", std::int64_t{rank->tensor});
  write_attribute(session, file, "pipeline_rank", std::int64_t{rank->pipeline});
  write_attribute(session, file, "data_rank", std::int64_t{rank->data});
}

// A type that is stored once in the file, under a name, and that its datasets share.
class Types {
 public:
  Types(const Session& session, hid_t file) : session_(session), file_(file) {}
  hid_t get(DType dtype) {
    if (dtype == DType::kF32) return H5T_IEEE_F32LE;
    std::optional<Id>& type = dtype == DType::kBF16 ? bf16_ : fp16_;
    if (!type) {
      type.emplace(type_of(session_, dtype));
      const std::string name(tensor::name_of(dtype));
      session_.must(H5Tcommit2(file_, name.c_str(), type->get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), name);
    }
    return type->get();
  }

 private:
  const Session& session_;
  hid_t file_;
  std::optional<Id> bf16_, fp16_;
};

std::uint64_t create_dataset(const Session& session, hid_t file, hid_t type, const DatasetPlan& plan) {
  const Id space = space_of(session, plan.box.extent), layout = layout_list(session), link = link_list(session);
  const Id dataset(
      session.must(H5Dcreate2(file, plan.path.c_str(), type, space.get(), link.get(), layout.get(), H5P_DEFAULT),
                   plan.path),
      H5Dclose);
  write_attribute(session, dataset.get(), "global_shape", plan.shape);
  write_attribute(session, dataset.get(), "start", plan.box.offset);
  const haddr_t offset = H5Dget_offset(dataset.get());
  check(offset != HADDR_UNDEF, "an early-allocated contiguous dataset has a place");
  return offset;
}

[[noreturn]] void differs(const Path& file, const std::string& what, const std::string& expected,
                          const std::string& found) {
  throw DataError(fmt::format("{}: {}: the manifest says {}, the file {}", file.string(), what, expected, found));
}

void check_dataset(const Session& session, hid_t file, const DatasetPlan& plan, std::uint64_t offset) {
  const Id dataset(session.must(H5Dopen2(file, plan.path.c_str(), H5P_DEFAULT), "has no dataset " + plan.path),
                   H5Dclose);
  const Id type(session.must(H5Dget_type(dataset.get()), plan.path), H5Tclose), wanted = type_of(session, plan.dtype);
  if (session.must(H5Tequal(type.get(), wanted.get()), plan.path) == 0)
    differs(session.file(), plan.path, std::string(tensor::name_of(plan.dtype)), "has another type");
  const Id space(session.must(H5Dget_space(dataset.get()), plan.path), H5Sclose);
  const Id box = space_of(session, plan.box.extent);
  if (session.must(H5Sextent_equal(space.get(), box.get()), plan.path) == 0)
    differs(session.file(), plan.path, plan.box.extent.text(), "has other extents");
  if (const haddr_t found = H5Dget_offset(dataset.get()); found != offset)
    differs(session.file(), plan.path, fmt::format("offset {}", offset), fmt::format("has {}", found));
}

std::string read_text(const Session& session, hid_t type, const std::string& name,
                      herr_t (*read)(hid_t object, hid_t type, char* text), hid_t object) {
  std::string text(H5Tget_size(type), '\0');
  session.must(read(object, type, text.data()), name);
  text.resize(std::min(text.size(), text.find('\0')));
  return text;
}

// A space of several elements would be read past the end of what waits for one.
void expect_one_element(const Session& session, const Id& space, const char* name) {
  if (session.must(H5Sget_simple_extent_npoints(space.get()), name) != 1)
    differs(session.file(), name, "one value", "has another number of values");
}

std::string text_attribute(const Session& session, hid_t object, const char* name) {
  const Id attribute(session.must(H5Aopen(object, name, H5P_DEFAULT), fmt::format("has no attribute {}", name)),
                     H5Aclose);
  const Id type(session.must(H5Aget_type(attribute.get()), name), H5Tclose);
  if (H5Tget_class(type.get()) != H5T_STRING) differs(session.file(), name, "a text", "has another type");
  expect_one_element(session, {session.must(H5Aget_space(attribute.get()), name), H5Sclose}, name);
  return read_text(
      session, type.get(), name, [](hid_t o, hid_t t, char* text) { return H5Aread(o, t, text); }, attribute.get());
}

std::int64_t count_attribute(const Session& session, hid_t object, const char* name) {
  const Id attribute(session.must(H5Aopen(object, name, H5P_DEFAULT), fmt::format("has no attribute {}", name)),
                     H5Aclose);
  expect_one_element(session, {session.must(H5Aget_space(attribute.get()), name), H5Sclose}, name);
  std::int64_t value = 0;
  session.must(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value), name);
  return value;
}

void check_root(const Session& session, hid_t file, const std::string& save_id) {
  if (const std::string found = text_attribute(session, file, "save_id"); found != save_id)
    differs(session.file(), "save_id", save_id, "has " + found);
  if (const std::int64_t found = count_attribute(session, file, "format_version"); found != kFormatVersion)
    differs(session.file(), "format_version", fmt::format("{}", kFormatVersion), fmt::format("has {}", found));
}

void write_text(const Session& session, hid_t file, const char* name, const std::string& text) {
  const Id type = string_type(session, text.size());
  const Id space(session.must(H5Screate(H5S_SCALAR), name), H5Sclose);
  const Id dataset(
      session.must(H5Dcreate2(file, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), name),
      H5Dclose);
  session.must(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.c_str()), name);
}

std::string text_dataset(const Session& session, hid_t file, const char* name) {
  const Id dataset(session.must(H5Dopen2(file, name, H5P_DEFAULT), fmt::format("has no dataset {}", name)), H5Dclose);
  const Id type(session.must(H5Dget_type(dataset.get()), name), H5Tclose);
  if (H5Tget_class(type.get()) != H5T_STRING) differs(session.file(), name, "a text", "has another type");
  expect_one_element(session, {session.must(H5Dget_space(dataset.get()), name), H5Sclose}, name);
  return read_text(
      session, type.get(), name,
      [](hid_t o, hid_t t, char* text) { return H5Dread(o, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, text); }, dataset.get());
}

std::string fingerprint_text(const Description& description) {
  JsonObject object;
  for (const auto& [key, value] : description.fingerprint) object.add(key, value);
  return object.text();
}

struct Counter {
  const char* name;
  std::int64_t value;
};

std::vector<Counter> counters_of(const Description& description) {
  const Progress& progress = description.progress;
  return {{"step", progress.step},
          {"update", progress.update},
          {"consumed_samples", progress.consumed_samples},
          {"skipped_in_a_row", progress.skipped_in_a_row},
          {"tensor_parallel", description.layout.tensor},
          {"pipeline_parallel", description.layout.pipeline},
          {"zero_shards", description.layout.zero_shards}};
}

}  // namespace

std::string user_block(std::string_view save_id) {
  std::string text = fmt::format("convoy-checkpoint\nformat_version {}\nsave_id {}\n", kFormatVersion, save_id);
  check(text.size() <= kUserBlock, "a save id is short");
  text.resize(kUserBlock, '\0');
  return text;
}

std::string dataset_path(std::string_view state, std::string_view name, std::size_t number, std::size_t count) {
  return count > 1 ? fmt::format("/{}/{}#{}", state, name, number) : fmt::format("/{}/{}", state, name);
}

std::vector<std::uint64_t> create_shard_file(const Path& file, const std::string& save_id,
                                             const std::vector<DatasetPlan>& datasets) {
  const Library library;
  const Session session(file, Use::kWrite);
  Id handle = create_file(session, save_id);
  write_coordinates(session, handle.get());
  std::vector<std::uint64_t> offsets;
  {
    Types types(session, handle.get());
    for (const DatasetPlan& plan : datasets)
      offsets.push_back(create_dataset(session, handle.get(), types.get(plan.dtype), plan));
  }
  session.must(handle.close(), "closing it");
  return offsets;
}

void check_shard_file(const Path& file, const std::string& save_id, const std::vector<DatasetPlan>& datasets,
                      const std::vector<std::uint64_t>& offsets) {
  const Library library;
  const Session session(file, Use::kRead);
  const Id handle = open_file(session);
  check_root(session, handle.get(), save_id);
  for (std::size_t i = 0; i < datasets.size(); ++i) check_dataset(session, handle.get(), datasets[i], offsets[i]);
}

void create_common_file(const Path& file, const std::string& save_id, const Description& description) {
  const Library library;
  const Session session(file, Use::kWrite);
  Id handle = create_file(session, save_id);
  for (const Counter& counter : counters_of(description))
    write_attribute(session, handle.get(), counter.name, counter.value);
  if (description.progress.loss_scale)
    write_attribute(session, handle.get(), "loss_scale", *description.progress.loss_scale);
  if (const auto& history = description.progress.loss_scale_history) {
    write_attribute(session, handle.get(), "loss_scale_finite_steps", history->finite_steps);
    write_attribute(session, handle.get(), "loss_scale_overflows_left", history->overflows_left);
  }
  write_attribute(session, handle.get(), "origin", description.origin);
  write_text(session, handle.get(), "model_config", description.model_config);
  write_text(session, handle.get(), "fingerprint", fingerprint_text(description));
  session.must(handle.close(), "closing it");
}

void check_common_file(const Path& file, const std::string& save_id, const Description& description) {
  const Library library;
  const Session session(file, Use::kRead);
  const Id handle = open_file(session);
  check_root(session, handle.get(), save_id);
  for (const Counter& counter : counters_of(description)) {
    if (const std::int64_t found = count_attribute(session, handle.get(), counter.name); found != counter.value)
      differs(file, counter.name, fmt::format("{}", counter.value), fmt::format("has {}", found));
  }
  if (text_dataset(session, handle.get(), "model_config") != description.model_config)
    differs(file, "model_config", "another text", "has its own");
  if (const std::string text = fingerprint_text(description);
      text_dataset(session, handle.get(), "fingerprint") != text)
    differs(file, "fingerprint", text, "has another");
}

}  // namespace convoy::checkpoint
