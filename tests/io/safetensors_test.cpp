// tests/io/safetensors_test.cpp -- .safetensors files are read, written and refused.
#include "resilin/io/safetensors.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/json.h"
#include "resilin/tensor/row_major.h"

#include "tests/support/temporary_folder.h"
#include "tests/support/tensor.h"

namespace resilin {
namespace {

/// A file of this header and data, with a true length in front.
std::string file_of(const std::string& header, const std::string& data = "") {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i));
  return bytes + header + data;
}

/// The message of the refusal of these bytes, with <path> for the path; UnsupportedError is marked.
std::string refusal(const std::string& bytes) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/x.safetensors";
  atomic_write(path, bytes);
  std::string text = "no error";
  try {
    read_safetensors(path);
  } catch (const IoError& error) {
    text = error.what();
  } catch (const UnsupportedError& error) {
    text = std::string("unsupported: ") + error.what();
  }
  const std::size_t at = text.find(path);
  return at == std::string::npos ? text : text.replace(at, path.size(), "<path>");
}

std::string refusal(const std::string& header, const std::string& data) { return refusal(file_of(header, data)); }

Safetensors written_and_read(const NamedTensors& tensors, const NamedTexts& metadata = {}) {
  const testing::TemporaryFolder folder;
  write_safetensors(folder.path() + "/x", tensors, metadata);
  return read_safetensors(folder.path() + "/x");
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && bytes_of(row_major(a)) == bytes_of(row_major(b));
}

/// A tensor whose bytes are a pattern, of any dtype.
Tensor patterned(DType dtype, std::initializer_list<Dim> shape) {
  const Tensor x = Tensor::allocate({shape.begin(), shape.size()}, dtype);
  unsigned char* const bytes = static_cast<unsigned char*>(x.data());
  for (i64 i = 0; i < x.numel().value() * size_bytes(dtype); ++i) {
    bytes[i] = static_cast<unsigned char>(dtype == DType::Bool ? i % 2 : i * 37 + 11);
  }
  return x;
}

TEST_CASE("every dtype of the format comes back bit for bit") {
  NamedTensors tensors;
  for (int i = 0; i < kDTypeCount - 1; ++i) {
    const DType dtype = static_cast<DType>(i);
    tensors.emplace_back(cat("b.", name(dtype)), patterned(dtype, {3, 5}));
    tensors.emplace_back(cat("a.", name(dtype)), patterned(dtype, {7}));
  }
  const Safetensors read = written_and_read(tensors);
  REQUIRE(read.tensors.size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    bool found = false;
    for (const auto& [read_name, read_tensor] : read.tensors) {
      if (read_name != name) continue;
      found = true;
      CHECK(equal(tensor, read_tensor));
    }
    CHECK(found);
  }
  CHECK_THROWS_AS(written_and_read({{"x", patterned(DType::C128, {2})}}), UnsupportedError);
}

TEST_CASE("layouts of any kind are written row-major") {
  const Tensor x = test::random({4, 6}, DType::F32, 1);
  const std::vector<Dim> shape = {6, 2}, strides = {1, 12}, repeated_shape = {3, 4}, repeated_strides = {0, 6};
  const Tensor strided = Tensor::view(x.storage(), DType::F32, 6, shape, strides);
  const Tensor repeated = Tensor::view(x.storage(), DType::F32, 2, repeated_shape, repeated_strides);
  const Safetensors read = written_and_read({{"strided", strided}, {"repeated", repeated}});
  REQUIRE(read.tensors.size() == 2);
  CHECK(read.tensors[1].first == "strided");
  CHECK(read.tensors[1].second.is_contiguous());
  CHECK(test::values_of(read.tensors[1].second) == test::values_of(strided));
  CHECK(test::values_of(read.tensors[0].second) == test::values_of(repeated));
}

TEST_CASE("empty tensors, tensors without axes and files without tensors are fine") {
  const Safetensors read =
      written_and_read({{"empty", patterned(DType::F64, {0, 5})}, {"scalar", test::scalar<float>(2.5F)}, {"", patterned(DType::U8, {1})}});
  REQUIRE(read.tensors.size() == 3);
  CHECK(read.tensors[0].first.empty());
  CHECK(read.tensors[1].second.shape() == Shape{0, 5});
  CHECK(read.tensors[2].second.ndim() == 0);
  CHECK(read.tensors[2].second.item<float>() == 2.5F);
  CHECK(written_and_read({}).tensors.empty());
}

TEST_CASE("names and metadata keep their text and are sorted") {
  const NamedTexts metadata = {{"z", "last \"quoted\" \n é😀"}, {"a", ""}};
  const Safetensors read = written_and_read({{"b \"\\\t", test::scalar<float>(1)}, {"a é", test::scalar<float>(2)}}, metadata);
  CHECK(read.tensors[0].first == "a é");
  CHECK(read.tensors[1].first == "b \"\\\t");
  CHECK(read.metadata == NamedTexts{{"a", ""}, {"z", "last \"quoted\" \n é😀"}});
}

TEST_CASE("the bytes of a file are those of the format") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/x";
  write_safetensors(path, {{"b", test::make<std::uint8_t>({1, 2, 3})}, {"a", test::make<float>({1.0F})}}, {{"k", "v"}});
  const std::string header =
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[3],"data_offsets":[4,7]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  CHECK(read_file(path) == file_of(padded, std::string("\x00\x00\x80\x3f\x01\x02\x03", 7)));
}

TEST_CASE("writing into a read tensor changes neither the file nor another tensor") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/x";
  write_safetensors(path, {{"a", test::make<float>({1, 2})}, {"b", test::make<float>({3, 4})}});
  const std::string before = read_file(path);
  {
    const Safetensors read = read_safetensors(path);
    read.tensors[0].second.data_as<float>()[1] = 9;
    read.tensors[0].second.storage().bump_version();
    CHECK(read.tensors[1].second.version() == 0);
    CHECK(test::values_of(read.tensors[0].second) == std::vector<double>{1, 9});
    CHECK(test::values_of(read.tensors[1].second) == std::vector<double>{3, 4});
    CHECK(test::values_of(read_safetensors(path).tensors[0].second) == std::vector<double>{1, 2});
  }
  CHECK(read_file(path) == before);
}

TEST_CASE("tensors outlive the name of their file and the other tensors") {
  Tensor kept;
  {
    const testing::TemporaryFolder folder;
    write_safetensors(folder.path() + "/x", {{"a", test::make<float>({1, 2})}, {"b", test::make<double>({3, 4})}});
    kept = read_safetensors(folder.path() + "/x").tensors[1].second;
  }
  CHECK(test::values_of(kept) == std::vector<double>{3, 4});
}

TEST_CASE("data at any byte are read, and tensors that lie well are views") {
  // One byte in front of the floats puts them off their alignment; the header's length moves them too.
  for (std::size_t spaces = 0; spaces < 8; ++spaces) {
    const std::string header =
        R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})" +
        std::string(spaces, ' ');
    const testing::TemporaryFolder folder;
    const float values[] = {1.5F, -2.0F};
    std::string data(9, '\7');
    std::memcpy(data.data() + 1, values, 8);
    atomic_write(folder.path() + "/x", file_of(header, data));
    const Safetensors read = read_safetensors(folder.path() + "/x");
    const Tensor& b = read.tensors[1].second;
    CHECK(test::values_of(b) == std::vector<double>{1.5, -2});
    CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 4 == 0);
    const char* const a = static_cast<const char*>(read.tensors[0].second.data());
    const bool is_view = static_cast<const char*>(b.data()) == a + 1;
    CHECK(is_view == ((8 + header.size() + 1) % 4 == 0));
  }
}

TEST_CASE("a header that lies about its length or is no JSON object is refused") {
  CHECK(refusal("") == "read_safetensors: the file has 0 bytes: <path>; 8 bytes with the header's length come first");
  CHECK(refusal("1234567") == "read_safetensors: the file has 7 bytes: <path>; 8 bytes with the header's length come first");
  CHECK(refusal(std::string("\x03\0\0\0\0\0\0\0{}", 10)) ==
        "read_safetensors: the header runs past the end: 3 bytes in a file of 10: <path>; it must lie inside");
  CHECK(refusal(std::string(16, '\xff')) ==
        "read_safetensors: the header is too long: 18446744073709551615 bytes: <path>; 100000000 are the most");
  CHECK(refusal(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10)) ==
        "read_safetensors: the header is too long: 100000001 bytes: <path>; 100000000 are the most");
  CHECK(refusal("", "").starts_with("read_safetensors: the header does not start with '{'"));
  CHECK(refusal(" {}", "").starts_with("read_safetensors: the header does not start with '{'"));
  CHECK(refusal("[]", "").starts_with("read_safetensors: the header does not start with '{'"));
  CHECK(refusal("{", "") ==
        "read_safetensors: the header is no JSON: parse_json: no key at byte 1; JSON is needed: <path>; it must be a JSON object");
  CHECK(refusal(R"({"a":1,"a":1})", "").find("a repeated key at byte") != std::string::npos);
  CHECK(refusal(std::string(R"({"a":)") + std::string(1000, '['), "").find("64 levels") != std::string::npos);
  CHECK(refusal("{\"\xff\":1}", "").find("not UTF-8") != std::string::npos);
  CHECK(refusal("{\"a\":[" + std::string(10'000'001, ',') + "]}", "") ==
        "read_safetensors: the header has too many values: 10000001 commas: <path>; 10000000 are the most");
}

TEST_CASE("metadata that are not texts are refused") {
  CHECK(refusal(R"({"__metadata__":1})", "") == "read_safetensors: __metadata__ is no object: <path>; it must be an object of texts");
  CHECK(refusal(R"({"__metadata__":{"k":1}})", "") ==
        "read_safetensors: __metadata__: the value of \"k\" is no text: <path>; every value must be one");
}

TEST_CASE("entries with wrong members are refused") {
  const auto entry = [](const std::string& members) { return refusal("{\"t\":" + members + "}", "1234"); };
  CHECK(entry("1") == "read_safetensors: tensor \"t\": dtype is missing: <path>; a tensor has dtype, shape and data_offsets");
  CHECK(entry(R"({"dtype":"U8"})").find("shape is missing") != std::string::npos);
  CHECK(entry(R"({"dtype":"U8","shape":[4]})").find("data_offsets is missing") != std::string::npos);
  CHECK(entry(R"({"dtype":1,"shape":[4],"data_offsets":[0,4]})").find("dtype is no text") != std::string::npos);
  CHECK(entry(R"({"dtype":"U32","shape":[1],"data_offsets":[0,4]})") ==
        "unsupported: read_safetensors: tensor \"t\": there is no dtype for \"U32\": <path>; known are BOOL U8 I8 I16 I32 I64 F16 BF16 F32 "
        "F64 F8_E4M3 F8_E5M2 C64");
  CHECK(entry(R"({"dtype":"U8","shape":4,"data_offsets":[0,4]})").find("shape is no array") != std::string::npos);
  for (const char* offsets : {"4", "[4]", "[0,4,4]", "[0,4.0]", "[0,\"4\"]", "[null,4]", "{}"}) {
    CAPTURE(offsets);
    CHECK(entry(cat(R"({"dtype":"U8","shape":[4],"data_offsets":)", offsets, "}")).find("no pair of integers") != std::string::npos);
  }
  CHECK(entry(R"({"dtype":"BOOL","shape":[4],"data_offsets":[0,4]})") ==
        "read_safetensors: tensor \"t\": element 0 of BOOL is the byte 49: <path>; it must be 0 or 1");
}

TEST_CASE("shapes that are negative, no integers or too large are refused") {
  const auto shape = [](const std::string& text) {
    return refusal(R"({"t":{"dtype":"U8","shape":)" + text + R"(,"data_offsets":[0,4]}})", "1234");
  };
  CHECK(shape("[-4]") == "read_safetensors: tensor \"t\": shape holds \"-4\": <path>; sizes must be integers >= 0");
  CHECK(shape("[4.0]").find("sizes must be integers") != std::string::npos);
  CHECK(shape("[null]").find("sizes must be integers") != std::string::npos);
  for (const char* text : {"[9223372036854775807]", "[4611686018427387904,4]", "[4294967296,4294967296]", "[0,144115188075855873]",
                           "[144115188075855872,144115188075855872,0]", "[2,2,2,2305843009213693952]"}) {
    CAPTURE(text);
    CHECK(shape(text) == cat("read_safetensors: tensor \"t\": too many elements: shape \"", text, "\": <path>; 2^57 are the most"));
  }
  CHECK(shape("[9223372036854775808]").find("an integer beyond 64 bits") != std::string::npos);
  std::string ones = "[1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  CHECK(shape(ones + "]") == "read_safetensors: tensor \"t\": shape has 65 axes: <path>; 64 are the most");
  CHECK(shape("[4]") == "no error");
}

TEST_CASE("offsets that do not cover the data exactly are refused") {
  const auto two = [](const std::string& first, const std::string& second, const std::string& data = "12345678") {
    return refusal(
        R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first + R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + second + "}}",
        data);
  };
  CHECK(two("[0,4]", "[4,8]") == "no error");
  CHECK(two("[4,8]", "[0,4]") == "no error");
  CHECK(
      two("[0,4]", "[2,6]") ==
      "read_safetensors: tensor \"b\": data_offsets [2, 6] overlap another tensor's, the tensors before it end at 4: <path>; the data must "
      "follow each other");
  CHECK(two("[0,4]", "[0,4]").find("overlap") != std::string::npos);
  CHECK(two("[0,4]", "[5,9]", "123456789").find("\"b\": data_offsets [5, 9] leave a hole, the tensors before it end at 4") !=
        std::string::npos);
  CHECK(two("[1,5]", "[5,9]", "123456789").find("\"a\": data_offsets [1, 5] leave a hole") != std::string::npos);
  CHECK(two("[0,4]", "[4,8]", "123456789") ==
        "read_safetensors: the tensors end at byte 8 of 9 bytes of data: <path>; they must cover the file");
  CHECK(two("[0,4]", "[4,8]", "1234567") ==
        "read_safetensors: tensor \"b\": data_offsets are [4, 8], the file has 7 bytes of data: <path>; 0 <= begin <= end <= the bytes of "
        "data must hold");
  CHECK(two("[0,4]", "[8,4]").find("data_offsets are [8, 4]") != std::string::npos);
  CHECK(two("[-4,0]", "[0,4]").find("data_offsets are [-4, 0]") != std::string::npos);
  CHECK(two("[0,3]", "[4,8]") ==
        "read_safetensors: tensor \"a\": data_offsets [0, 3] hold 3 bytes, shape [4] of u8 has 4: <path>; they must agree");
  CHECK(two("[0,4]", "[4,9223372036854775807]").find("data_offsets are") != std::string::npos);
  CHECK(refusal("{}", "1").find("they must cover the file") != std::string::npos);
}

TEST_CASE("what cannot be written or read again is refused and leaves the old file") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/x";
  const Tensor x = test::scalar<float>(1);
  write_safetensors(path, {{"x", x}});
  const std::string before = read_file(path);
  CHECK_THROWS_WITH_AS(write_safetensors(path, {{"a", x}, {"a", x}}), doctest::Contains("a repeated key"), ArgumentError);
  CHECK_THROWS_WITH_AS(write_safetensors(path, {{"\xff", x}}), doctest::Contains("not UTF-8"), ArgumentError);
  CHECK_THROWS_WITH_AS(write_safetensors(path, {}, {{"k", "\xff"}}), doctest::Contains("not UTF-8"), ArgumentError);
  CHECK_THROWS_WITH_AS(write_safetensors(path, {{"__metadata__", x}}), doctest::Contains("the format keeps this name"), ArgumentError);
  CHECK_THROWS_WITH_AS(write_safetensors(path, {{"a", Tensor()}}), doctest::Contains("is undefined"), ArgumentError);
  CHECK_THROWS_AS(write_safetensors(path + "/x/y", {{"x", x}}), IoError);
  CHECK_THROWS_AS(read_safetensors(path + ".missing"), IoError);
  CHECK_THROWS_AS(read_safetensors(folder.path()), IoError);
  CHECK(read_file(path) == before);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator()) == 1);
}

}  // namespace
}  // namespace resilin
