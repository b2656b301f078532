// src/resilin/ops/create/fill.h -- new tensors: full, zeros, ones, empty, eye, arange, and a size as a tensor.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kFillOps;

struct FillAttrs {
  Shape shape;
  DType dtype = DType::F32;
  static constexpr auto fields() {
    return std::tuple{field("shape", &FillAttrs::shape, "Sizes of the result."), field("dtype", &FillAttrs::dtype, "Dtype of the result.")};
  }
};
struct ArangeAttrs {
  Dim length = 0;
  DType dtype = DType::I64;
  static constexpr auto fields() {
    return std::tuple{field("length", &ArangeAttrs::length, "Number of elements."),
                      field("dtype", &ArangeAttrs::dtype, "Dtype of the result.")};
  }
};
struct EyeAttrs {
  Dim rows = 0;
  Dim columns = 0;
  DType dtype = DType::F32;
  static constexpr auto fields() {
    return std::tuple{field("rows", &EyeAttrs::rows, "Number of rows."), field("columns", &EyeAttrs::columns, "Number of columns."),
                      field("dtype", &EyeAttrs::dtype, "Dtype of the result.")};
  }
};
struct SizeAttrs {
  Dim size = 0;
  static constexpr auto fields() { return std::tuple{field("size", &SizeAttrs::size, "The size.")}; }
};

/// Every element is `value`, converted to the dtype; without a dtype a float gives f32, an integer i64, a bool Bool. ShapeError for negative sizes.
RESILIN_API Tensor full(std::span<const Dim> shape, Number value, std::optional<DType> dtype = std::nullopt);
RESILIN_API Tensor full(std::initializer_list<Dim> shape, Number value, std::optional<DType> dtype = std::nullopt);
RESILIN_API Tensor zeros(std::span<const Dim> shape, DType dtype = DType::F32);
RESILIN_API Tensor zeros(std::initializer_list<Dim> shape, DType dtype = DType::F32);
RESILIN_API Tensor ones(std::span<const Dim> shape, DType dtype = DType::F32);
RESILIN_API Tensor ones(std::initializer_list<Dim> shape, DType dtype = DType::F32);
/// Row-major with elements that are not set; zeros while tracing. ShapeError for negative sizes.
RESILIN_API Tensor empty(std::span<const Dim> shape, DType dtype = DType::F32);
RESILIN_API Tensor empty(std::initializer_list<Dim> shape, DType dtype = DType::F32);
RESILIN_API Tensor empty_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);
/// 1 on the main diagonal, 0 elsewhere: [rows, columns], square unless columns are given. ShapeError for negative sizes; DtypeError for complex ones.
RESILIN_API Tensor eye(Dim rows, std::optional<Dim> columns = std::nullopt, DType dtype = DType::F32);
/// Row-major, of x's shape and, unless another is given, dtype.
RESILIN_API Tensor full_like(const Tensor& x, Number value, std::optional<DType> dtype = std::nullopt);
RESILIN_API Tensor zeros_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);
RESILIN_API Tensor ones_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);

/// start, start + step, ... before end: [ceil((end - start) / step)]. i64 when all are integers, else f32, unless a dtype is given; an integral dtype
/// truncates the numbers first. Element i is start + i * step, in i64 or in f64 rounded once.
/// ArgumentError for a step of 0 or of the wrong sign and for numbers that are not finite; DtypeError for Bool.
RESILIN_API Tensor arange(Number start, Number end, Number step = 1, std::optional<DType> dtype = std::nullopt);
RESILIN_API Tensor arange(Number end);
/// The same given its length, which may be a symbol: element i is start + i * step.
RESILIN_API Tensor iota(Dim length, DType dtype = DType::I64, Number start = 0, Number step = 1);
/// A size, which may be a symbol, as an i64 tensor [].
RESILIN_API Tensor size_tensor(Dim size);

}  // namespace resilin
