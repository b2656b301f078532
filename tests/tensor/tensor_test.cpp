// tests/tensor/tensor_test.cpp -- making, viewing, sharing and reading tensors.
#include "resilin/tensor/tensor.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/tensor/allocator.h"

#include "tests/support/tensor.h"

namespace resilin {
namespace {

using test::make;
using test::make_from;
using test::scalar;
using test::values_of;

TEST_CASE("a fresh tensor is row-major, aligned and of the asked shape and dtype") {
  const Shape shape{2, 3, 4};
  const Tensor x = Tensor::allocate(shape, DType::F64);
  CHECK(x.defined());
  CHECK(x.shape() == shape);
  CHECK(x.strides() == Strides{12, 4, 1});
  CHECK(x.dtype() == DType::F64);
  CHECK(x.ndim() == 3);
  CHECK(x.numel() == 24);
  CHECK(x.storage().size_bytes() == 192);
  CHECK(x.is_contiguous());
  CHECK(x.device() == kCpu);
  CHECK(reinterpret_cast<std::uintptr_t>(x.data()) % 64 == 0);
  CHECK(x.size(-1) == 4);
  CHECK(x.stride(0) == 12);
}

TEST_CASE("an empty tensor has a null pointer and the strides it would have") {
  const Shape shape{2, 0, 4};
  const Tensor x = Tensor::allocate(shape, DType::F32);
  CHECK(x.data() == nullptr);
  CHECK(x.strides() == Strides{4, 4, 1});
  CHECK(x.numel() == 0);
}

TEST_CASE("a tensor of many axes keeps them") {
  const Shape shape{1, 2, 1, 2, 1, 2, 1, 2};
  const Tensor x = Tensor::allocate(shape, DType::I8);
  CHECK(x.shape() == shape);
  CHECK(x.strides() == contiguous_strides(shape));
}

TEST_CASE("impossible shapes are refused") {
  CHECK_THROWS_WITH_AS(Tensor::allocate(Shape{-1, 2}, DType::F32), "Trying to create tensor with negative dimension -1: [-1, 2]",
                       ShapeError);
  CHECK_THROWS_AS(Tensor::allocate(Shape{i64{1} << 40, i64{1} << 40}, DType::F32), ShapeError);
  CHECK_THROWS_AS(Tensor::allocate(Shape{0, i64{1} << 40, i64{1} << 40}, DType::F32), ShapeError);
  CHECK_THROWS_AS(Tensor::allocate(Shape{Dim::symbol('s', 0)}, DType::F32), DataDependentError);
}

TEST_CASE("copies share the body, which is freed with the last of them") {
  const i64 before = allocator_stats().in_use_bytes;
  {
    Tensor x = make<float>({1, 2, 3});
    const Tensor y = x;
    CHECK(y.is_same(x));
    x = Tensor();
    CHECK(!x.defined());
    CHECK(values_of(y) == std::vector<double>{1, 2, 3});
    Tensor z = y;
    const Tensor moved = std::move(z);
    CHECK(moved.is_same(y));
  }
  CHECK(allocator_stats().in_use_bytes == before);
}

TEST_CASE("what a tensor carries for higher floors dies with it and is not seen by the next tensor") {
  struct Watch : Extension {
    explicit Watch(int& count) : count(count) {}
    ~Watch() override { ++count; }
    int& count;
  };
  int deaths = 0;
  {
    const Tensor x = make<float>({1});
    x.body().grad = std::make_unique<Watch>(deaths);
    const Tensor y = x;
  }
  CHECK(deaths == 1);
  const Tensor next = make<float>({1});
  CHECK(next.body().grad == nullptr);
  CHECK(!next.is_traced());
}

TEST_CASE("a view shares the storage and its version") {
  const Tensor x = make<i64>({0, 1, 2, 3, 4, 5}, {2, 3});
  const Shape shape{3, 2}, strides{1, 3};
  const Tensor t = Tensor::view(x.storage(), DType::I64, 0, shape, strides);
  CHECK(values_of(t) == std::vector<double>{0, 3, 1, 4, 2, 5});
  CHECK(!t.is_contiguous());
  CHECK(t.storage() == x.storage());
  x.storage().bump_version();
  CHECK(t.version() == x.version());
  const Shape two{2}, one{1};
  const Tensor tail = Tensor::view(x.storage(), DType::I64, 4, two, one);
  CHECK(tail.offset() == 4);
  CHECK(*tail.data_as<i64>() == 4);
}

TEST_CASE("a view that leaves its storage is refused") {
  const Tensor x = make<float>({1, 2, 3, 4});
  const auto view = [&](i64 offset, const Shape& shape, const Strides& strides) {
    return Tensor::view(x.storage(), DType::F32, offset, shape, strides);
  };
  CHECK(view(0, {4}, {1}).numel() == 4);
  CHECK(view(3, {1}, {1}).numel() == 1);
  CHECK(view(4, {0}, {1}).data() == nullptr);
  CHECK(view(1, {3, 1000}, {1, 0}).numel() == 3000);
  CHECK_THROWS_AS(view(1, {4}, {1}), ShapeError);
  CHECK_THROWS_AS(view(0, {2}, {4}), ShapeError);
  CHECK_THROWS_AS(view(-1, {1}, {1}), ShapeError);
  CHECK_THROWS_AS(view(5, {0}, {1}), ShapeError);
  CHECK_THROWS_AS(view(3, {2}, {-1}), ShapeError);
  CHECK_THROWS_AS(view(0, {2}, {1, 1}), ShapeError);
  CHECK_THROWS_AS(Tensor::view(x.storage(), DType::F64, 0, Shape{3}, Strides{1}), ShapeError);
  CHECK_THROWS_AS(Tensor::view(Storage(), DType::F32, 0, Shape{1}, Strides{1}), ArgumentError);
}

TEST_CASE("item converts the one element") {
  CHECK(scalar<float>(1.5f).item<double>() == 1.5);
  CHECK(make<i64>({7}, {1, 1}).item<int>() == 7);
  CHECK(scalar<double>(-2.9).item<i64>() == -2);
  CHECK(scalar<bool>(true).item<double>() == 1);
  CHECK(scalar<double>(0.5).item<bool>());
  CHECK(make_from<BF16>(std::vector<double>{3}, {}).item<float>() == 3);
  CHECK(scalar<double>(1.5).item<F16>().bits == 0x3e00);
  CHECK(scalar<i64>(std::numeric_limits<i64>::min()).item<i64>() == std::numeric_limits<i64>::min());
  CHECK(scalar<double>(-0x1p63).item<i64>() == std::numeric_limits<i64>::min());
}

TEST_CASE("item refuses other numbers of elements and values that do not fit") {
  CHECK_THROWS_WITH_AS(make<float>({1, 2, 3}).item<float>(), "a Tensor with 3 elements cannot be converted to Scalar: its shape is [3]",
                       ArgumentError);
  CHECK_THROWS_AS(Tensor::allocate(Shape{0}, DType::F32).item<float>(), ArgumentError);
  CHECK_THROWS_AS(scalar<double>(0x1p63).item<i64>(), NumericError);
  CHECK_THROWS_AS(scalar<double>(std::numeric_limits<double>::quiet_NaN()).item<i64>(), NumericError);
  CHECK_THROWS_AS(scalar<double>(-1).item<std::uint8_t>(), NumericError);
  CHECK_THROWS_AS(scalar<i64>(300).item<std::uint8_t>(), NumericError);
  CHECK_THROWS_AS(Tensor::allocate(Shape{}, DType::C64).item<double>(), UnsupportedError);
}

TEST_CASE("a tensor of values needs as many as its shape holds") {
  CHECK_THROWS_WITH_AS(make<float>({1, 2, 3}, {2, 2}), "of: 3 values do not fill shape [2, 2]; 4 are needed", ShapeError);
}

TEST_CASE("the data of another dtype is refused") {
  CHECK_THROWS_WITH_AS(make<float>({1}).data_as<double>(),
                       "data_as: expected scalar type f64 but found f32; ask for the tensor's own dtype", DtypeError);
}

TEST_CASE("an undefined tensor answers only whether it is defined") {
  const Tensor x;
  CHECK(!x.defined());
  CHECK_THROWS_AS(x.shape(), ArgumentError);
  CHECK_THROWS_AS(x.data(), ArgumentError);
}

TEST_CASE("a traced tensor has symbolic dims and refuses to show elements") {
  const Dim s0 = Dim::symbol('s', 0);
  const Tensor x = Tensor::symbolic(Shape{s0, 3}, DType::F32, std::make_unique<Extension>());
  CHECK(x.is_traced());
  CHECK(x.numel() == s0 * 3);
  CHECK(x.strides() == Strides{3, 1});
  CHECK(x.is_contiguous());
  CHECK(x.version() == 0);
  CHECK_THROWS_AS(x.data(), DataDependentError);
  CHECK_THROWS_AS(x.item<float>(), DataDependentError);
}

TEST_CASE("axes are normalised or refused with torch's words") {
  CHECK(normalize_axis(-1, 3, "sum") == 2);
  CHECK(normalize_axis(0, 3, "sum") == 0);
  CHECK_THROWS_WITH_AS(normalize_axis(2, 2, ""), "Dimension out of range (expected to be in range of [-2, 1], but got 2)", IndexError);
  CHECK_THROWS_WITH_AS(normalize_axis(-3, 2, "sum"), "sum: Dimension out of range (expected to be in range of [-2, 1], but got -3)",
                       IndexError);
  CHECK_THROWS_WITH_AS(normalize_axis(0, 0, ""), "Dimension specified as 0 but tensor has no dimensions", IndexError);
}

TEST_CASE("overlap is seen by addresses") {
  const Tensor x = make<float>({0, 1, 2, 3, 4, 5, 6, 7});
  const auto part = [&](i64 offset, i64 size, i64 stride) {
    return Tensor::view(x.storage(), DType::F32, offset, Shape{size}, Strides{stride});
  };
  CHECK(may_overlap(x, x));
  CHECK(may_overlap(part(0, 4, 1), part(3, 2, 1)));
  CHECK(!may_overlap(part(0, 4, 1), part(4, 4, 1)));
  CHECK(!may_overlap(part(0, 0, 1), x));
  CHECK(!may_overlap(x, make<float>({1})));
  const Storage alias = Storage::external(x.data(), 8, {});
  CHECK(may_overlap(x, Tensor::view(alias, DType::F32, 0, Shape{2}, Strides{1})));
}

}  // namespace
}  // namespace resilin
