// src/resilin/io/safetensors_header.cpp -- the header of a .safetensors file as values, read with distrust and written.
#include "resilin/io/safetensors_header.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "resilin/base/json.h"

namespace resilin {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's numbers are little endian");

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr std::size_t kPrefixBytes = 8;
constexpr std::size_t kMostHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::size_t kMostAxes = 64;
constexpr i64 kMostElements = i64{1} << 57;  // what Tensor::allocate takes
// A value of JSON takes up to twenty times its bytes in memory.
constexpr std::ptrdiff_t kMostCommas = 10'000'000;

struct FormatName {
  std::string_view text;
  DType dtype;
};
constexpr FormatName kFormatNames[] = {
    {"BOOL", DType::Bool},        {"U8", DType::U8},          {"I8", DType::I8},     {"I16", DType::I16}, {"I32", DType::I32},
    {"I64", DType::I64},          {"F16", DType::F16},        {"BF16", DType::BF16}, {"F32", DType::F32}, {"F64", DType::F64},
    {"F8_E4M3", DType::F8E4M3FN}, {"F8_E5M2", DType::F8E5M2}, {"C64", DType::C64},
};

class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> file, const std::string& path) : file_(file), path_(path) {}

  SafetensorsHeader read() {
    const std::string_view text = header_text();
    const Json json = parse(text);
    if (!json.is_object()) refuse("the header is no JSON object", "it must be one");
    SafetensorsHeader header;
    header.size_bytes = kPrefixBytes + text.size();
    data_bytes_ = static_cast<i64>(file_.size() - header.size_bytes);
    for (const auto& [name, value] : json.object()) {
      if (name == kMetadataKey) {
        header.metadata = read_metadata(value);
      } else {
        header.entries.push_back(read_entry(name, value));
      }
    }
    check_cover(header.entries);
    return header;
  }

 private:
  [[noreturn]] void refuse(std::string_view what, std::string_view must) const {
    throw IoError(cat("read_safetensors: ", what, ": ", path_, "; ", must));
  }
  [[noreturn]] void refuse(const std::string& name, std::string_view what, std::string_view must) const {
    refuse(cat("tensor ", quoted(name), ": ", what), must);
  }

  std::string_view header_text() const {
    if (file_.size() < kPrefixBytes) refuse(cat("the file has ", file_.size(), " bytes"), "8 bytes with the header's length come first");
    std::uint64_t length = 0;
    std::memcpy(&length, file_.data(), kPrefixBytes);
    if (length > kMostHeaderBytes) refuse(cat("the header is too long: ", length, " bytes"), "100000000 are the most");
    if (length > file_.size() - kPrefixBytes) {
      refuse(cat("the header runs past the end: ", length, " bytes in a file of ", file_.size()), "it must lie inside");
    }
    const std::string_view text(reinterpret_cast<const char*>(file_.data()) + kPrefixBytes, static_cast<std::size_t>(length));
    if (!text.starts_with('{')) refuse("the header does not start with '{'", "it must be a JSON object");
    const std::ptrdiff_t commas = std::count(text.begin(), text.end(), ',');
    if (commas > kMostCommas) refuse(cat("the header has too many values: ", commas, " commas"), cat(kMostCommas, " are the most"));
    return text;
  }

  Json parse(std::string_view text) const {
    try {
      return parse_json(text, kMostHeaderBytes);
    } catch (const ArgumentError& error) {
      refuse(cat("the header is no JSON: ", error.what()), "it must be a JSON object");
    }
  }

  NamedTexts read_metadata(const Json& value) const {
    if (!value.is_object()) refuse("__metadata__ is no object", "it must be an object of texts");
    NamedTexts texts;
    for (const auto& [key, text] : value.object()) {
      if (!text.is_text()) refuse(cat("__metadata__: the value of ", quoted(key), " is no text"), "every value must be one");
      texts.emplace_back(key, text.text());
    }
    return texts;
  }

  const Json& member(const std::string& name, const Json& value, std::string_view key) const {
    const Json* const found = value.is_object() ? value.find(key) : nullptr;
    if (found == nullptr) refuse(name, cat(key, " is missing"), "a tensor has dtype, shape and data_offsets");
    return *found;
  }

  SafetensorsEntry read_entry(const std::string& name, const Json& value) const {
    SafetensorsEntry entry;
    entry.name = name;
    entry.dtype = read_dtype(name, member(name, value, "dtype"));
    const i64 numel = read_shape(name, member(name, value, "shape"), entry.shape);
    read_offsets(member(name, value, "data_offsets"), entry);
    const i64 needed = numel * size_bytes(entry.dtype);
    if (entry.end - entry.begin != needed) {
      refuse(name,
             cat("data_offsets [", entry.begin, ", ", entry.end, "] hold ", entry.end - entry.begin, " bytes, shape ", entry.shape, " of ",
                 entry.dtype, " has ", needed),
             "they must agree");
    }
    return entry;
  }

  DType read_dtype(const std::string& name, const Json& value) const {
    if (!value.is_text()) refuse(name, "dtype is no text", "it must be a name like \"F32\"");
    for (const FormatName& known : kFormatNames) {
      if (known.text == value.text()) return known.dtype;
    }
    throw UnsupportedError(cat("read_safetensors: tensor ", quoted(name), ": there is no dtype for ", quoted(value.text()), ": ", path_,
                               "; known are BOOL U8 I8 I16 I32 I64 F16 BF16 F32 F64 F8_E4M3 F8_E5M2 C64"));
  }

  /// Fills `shape` and gives back the number of elements. An axis of size 0 forgives no overflow of the others.
  i64 read_shape(const std::string& name, const Json& value, Shape& shape) const {
    if (!value.is_array()) refuse(name, "shape is no array", "it must be an array of sizes");
    if (value.array().size() > kMostAxes) refuse(name, cat("shape has ", value.array().size(), " axes"), cat(kMostAxes, " are the most"));
    i64 elements = 1;
    bool empty = false;
    for (const Json& size : value.array()) {
      if (!size.is_integer() || size.integer() < 0) {
        refuse(name, cat("shape holds ", quoted(write_json(size))), "sizes must be integers >= 0");
      }
      const i64 count = size.integer();
      empty = empty || count == 0;
      if (count > kMostElements || (count > 0 && __builtin_mul_overflow(elements, count, &elements)) || elements > kMostElements) {
        refuse(name, cat("too many elements: shape ", quoted(write_json(value))), "2^57 are the most");
      }
      shape.push_back(count);
    }
    return empty ? 0 : elements;
  }

  void read_offsets(const Json& value, SafetensorsEntry& entry) const {
    const bool pair = value.is_array() && value.array().size() == 2 && value.array()[0].is_integer() && value.array()[1].is_integer();
    if (!pair) refuse(entry.name, "data_offsets are no pair of integers", "they must be [begin, end]");
    entry.begin = value.array()[0].integer();
    entry.end = value.array()[1].integer();
    if (entry.begin < 0 || entry.end < entry.begin || entry.end > data_bytes_) {
      refuse(entry.name, cat("data_offsets are [", entry.begin, ", ", entry.end, "], the file has ", data_bytes_, " bytes of data"),
             "0 <= begin <= end <= the bytes of data must hold");
    }
  }

  /// Every byte behind the header belongs to exactly one tensor.
  void check_cover(const std::vector<SafetensorsEntry>& entries) const {
    std::vector<const SafetensorsEntry*> sorted;
    for (const SafetensorsEntry& entry : entries) sorted.push_back(&entry);
    std::sort(sorted.begin(), sorted.end(), [](const SafetensorsEntry* a, const SafetensorsEntry* b) {
      return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
    });
    i64 covered = 0;
    for (const SafetensorsEntry* const entry : sorted) {
      if (entry->begin != covered) {
        refuse(entry->name,
               cat("data_offsets [", entry->begin, ", ", entry->end, "] ",
                   entry->begin < covered ? "overlap another tensor's" : "leave a hole", ", the tensors before it end at ", covered),
               "the data must follow each other");
      }
      covered = entry->end;
    }
    if (covered != data_bytes_) {
      refuse(cat("the tensors end at byte ", covered, " of ", data_bytes_, " bytes of data"), "they must cover the file");
    }
  }

  std::span<const std::byte> file_;
  const std::string& path_;
  i64 data_bytes_ = 0;
};

std::string_view format_name(const SafetensorsEntry& entry, const std::string& path) {
  for (const FormatName& known : kFormatNames) {
    if (known.dtype == entry.dtype) return known.text;
  }
  throw UnsupportedError(
      cat("write_safetensors: tensor ", quoted(entry.name), ": the format has no name for ", entry.dtype, ": ", path, "; cast it first"));
}

Json entry_json(const SafetensorsEntry& entry, const std::string& path) {
  Json::Array sizes;
  for (const Dim size : entry.shape) sizes.emplace_back(size.value());
  return Json::Object{
      {"dtype", format_name(entry, path)}, {"shape", std::move(sizes)}, {"data_offsets", Json::Array{entry.begin, entry.end}}};
}

/// Refuses what could not be read again: repeated names and text that is not UTF-8.
void check_readable(const std::string& text, const std::string& path) {
  try {
    parse_json(text, kMostHeaderBytes);
  } catch (const ArgumentError& error) {
    throw ArgumentError(cat("write_safetensors: the header would not be readable: ", path, ": ", error.what(),
                            "; names must differ, names and texts must be UTF-8, all of them together below 100 MB"));
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, const std::string& path) {
  return HeaderReader(file, path).read();
}

std::string safetensors_header_text(const std::vector<SafetensorsEntry>& entries, const NamedTexts& metadata, const std::string& path) {
  Json::Object members;
  if (!metadata.empty()) {
    Json::Object texts;
    for (const auto& [key, text] : metadata) texts.emplace_back(key, text);
    members.emplace_back(kMetadataKey, std::move(texts));
  }
  for (const SafetensorsEntry& entry : entries) {
    if (entry.name == kMetadataKey) {
      throw ArgumentError(
          cat("write_safetensors: a tensor is named ", quoted(entry.name), ": ", path, "; the format keeps this name for texts"));
    }
    members.emplace_back(entry.name, entry_json(entry, path));
  }
  std::string text = write_json(std::move(members));
  text.resize((text.size() + 7) / 8 * 8, ' ');
  check_readable(text, path);
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), kPrefixBytes) + text;
}

std::string quoted(std::string_view name) {
  constexpr std::size_t kMostShown = 100;
  if (name.size() <= kMostShown) return cat('"', name, '"');
  return cat('"', name.substr(0, kMostShown), "...\"");
}

}  // namespace resilin
