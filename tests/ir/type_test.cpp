// tests/ir/type_test.cpp -- types and their text.
#include "resilin/ir/type.h"

#include <doctest/doctest.h>

namespace resilin::ir {
namespace {

void check_round_trip(const Type& type, std::string_view text) {
  CHECK(cat(type) == text);
  CHECK(parse_type(text) == type);
}

TEST_CASE("types print and read back equal") {
  const Dim s0 = Dim::symbol('s', 0), s1 = Dim::symbol('s', 1);
  check_round_trip({DType::F32, {}}, "f32[]");
  check_round_trip({DType::I64, {s0, 4}}, "i64[s0, 4]");
  check_round_trip({DType::BF16, {s0, 4}, Strides{s1, 1}}, "bf16[s0, 4]@[s1, 1]");
  check_round_trip({DType::Bool, {floordiv(s0, 2), min(s0, s1)}}, "bool[floordiv(s0, 2), min(s0, s1)]");
  check_round_trip({DType::F64, {}, Strides{}}, "f64[]@[]");
}

TEST_CASE("a type without strides is row-major") {
  const Dim s0 = Dim::symbol('s', 0);
  CHECK(strides_of({DType::F32, {2, s0, 4}}) == Strides{s0 * 4, 4, 1});
  CHECK(strides_of({DType::F32, {2, 3}, Strides{1, 2}}) == Strides{1, 2});
}

TEST_CASE("text that is no type is refused with its place") {
  for (const char* text : {"", "f32", "f33[]", "f32[", "f32[1", "f32[1,]", "f32[1]x", "f32[1]@", "f32[1]@[1, 2]", "f32[(]", "f32[1))]",
                           "[1]", "f32[1]@[1", "f32[,]"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_type(text), ArgumentError);
  }
  CHECK_THROWS_WITH_AS(parse_type("f32[1]x"), "parse_type: at 6 of \"f32[1]x\": text after the type; it must end here", ArgumentError);
  CHECK_THROWS_WITH_AS(parse_type("f32[1]@[1, 2]"),
                       "parse_type: at 13 of \"f32[1]@[1, 2]\": 1 sizes and 2 strides; there must be one stride a size", ArgumentError);
}

TEST_CASE("numbers are passed in the widest dtype of their kind") {
  CHECK(dtype_of(NumberKind::Bool) == DType::Bool);
  CHECK(dtype_of(NumberKind::Integer) == DType::I64);
  CHECK(dtype_of(NumberKind::Float) == DType::F64);
}

}  // namespace
}  // namespace resilin::ir
