// src/resilin/io/safetensors.cpp -- tensors over the mapped data of a .safetensors file, and files from tensors.
#include "resilin/io/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "resilin/base/file.h"
#include "resilin/io/safetensors_header.h"
#include "resilin/tensor/row_major.h"

namespace resilin {
namespace {

/// Other bytes than 0 and 1 are no values of a bool, neither for C++ nor for kernels.
void check_bools(const SafetensorsEntry& entry, std::span<const std::byte> data, const std::string& path) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (std::to_integer<unsigned>(data[i]) > 1) {
      throw IoError(cat("read_safetensors: tensor ", quoted(entry.name), ": element ", i, " of BOOL is the byte ",
                        std::to_integer<unsigned>(data[i]), ": ", path, "; it must be 0 or 1"));
    }
  }
}

Tensor tensor_of(const SafetensorsEntry& entry, std::span<std::byte> data, const std::shared_ptr<MappedFile>& file) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(data.data()) % static_cast<std::uintptr_t>(size_bytes(entry.dtype)) == 0;
  if (data.empty() || !aligned) {
    const Tensor copy = Tensor::allocate(entry.shape, entry.dtype);
    if (!data.empty()) std::memcpy(copy.data(), data.data(), data.size());
    return copy;
  }
  // A storage of its own, so that a write into one tensor is no write into the others.
  const Storage storage = Storage::external(data.data(), static_cast<i64>(data.size()), [file] {});
  return Tensor::view(storage, entry.dtype, 0, entry.shape, contiguous_strides(entry.shape));
}

/// Places the data of each entry: larger elements first, so that every tensor is aligned without gaps.
void place(std::vector<SafetensorsEntry>& entries, std::vector<std::size_t>& order) {
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size_bytes(entries[a].dtype) > size_bytes(entries[b].dtype); });
  i64 next = 0;
  for (const std::size_t i : order) {
    entries[i].begin = next;
    next += product(entries[i].shape).value() * size_bytes(entries[i].dtype);
    entries[i].end = next;
  }
}

}  // namespace

Safetensors read_safetensors(const std::string& path) {
  const std::shared_ptr<MappedFile> file = std::make_shared<MappedFile>(path, MapAccess::CopyOnWrite);
  SafetensorsHeader header = parse_safetensors_header(file->bytes(), path);
  const std::span<std::byte> data = file->writable_bytes().subspan(header.size_bytes);
  Safetensors out;
  out.metadata = std::move(header.metadata);
  for (SafetensorsEntry& entry : header.entries) {
    const std::span<std::byte> bytes =
        data.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.end - entry.begin));
    if (entry.dtype == DType::Bool) check_bools(entry, bytes, path);
    out.tensors.emplace_back(entry.name, tensor_of(entry, bytes, file));
  }
  return out;
}

void write_safetensors(const std::string& path, const NamedTensors& tensors, const NamedTexts& metadata) {
  NamedTensors sorted;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined()) {
      throw ArgumentError(cat("write_safetensors: tensor ", quoted(name), " is undefined: ", path, "; it must have elements"));
    }
    sorted.emplace_back(name, row_major(tensor));
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  NamedTexts texts = metadata;
  std::sort(texts.begin(), texts.end());
  std::vector<SafetensorsEntry> entries;
  std::vector<std::size_t> order;
  for (const auto& [name, tensor] : sorted) {
    order.push_back(entries.size());
    entries.push_back({name, tensor.dtype(), tensor.shape(), 0, 0});
  }
  place(entries, order);
  const std::string header = safetensors_header_text(entries, texts, path);
  std::vector<std::string_view> pieces{header};
  for (const std::size_t i : order) pieces.push_back(bytes_of(sorted[i].second));
  atomic_write(path, pieces);
}

}  // namespace resilin
