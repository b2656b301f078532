// src/resilin/ops/random/discrete.cpp -- random integers and coins: randint, bernoulli, bernoulli_.
#include "resilin/ops/random/discrete.h"

#include <limits>

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/random/stream.h"
#include "resilin/ops/size_rule.h"

namespace resilin {
namespace {

using ir::OpDef;
using ir::PointwiseContext;
using loop::Scalar;

void require_dtype(std::string_view op, DType dtype, ir::DTypeSet accepted) {
  if ((accepted & ir::bit(dtype)) == 0) throw DtypeError(cat(op, ": not implemented for dtype ", dtype));
}

// --- randint ------------------------------------------------------------------------------------------------------------------------
constexpr ir::DTypeSet kRandintDTypes = ir::kFloats | ir::kInts;

std::vector<ir::Type> infer_randint(ir::InferContext& c) {
  const FillAttrs& attrs = c.attrs<FillAttrs>();
  require_dtype(c.op(), attrs.dtype, kRandintDTypes);
  for (const int input : {0, 1}) {
    if (!c.is_number(input) || c.dtype(input) != DType::I64) throw ArgumentError(cat(c.op(), ": low and high must be integers"));
  }
  ops::require_stream(c, 2);
  ops::require_sizes(c, attrs.shape);
  return {{attrs.dtype, attrs.shape, {}}};
}

Scalar randint_formula(PointwiseContext& c) {
  const loop::PhiloxScalars random = ops::random_words(c, 2);
  const Scalar low_half = loop::cast(random.word[0], DType::I64) & Scalar::constant_integer(DType::I64, 0xFFFFFFFF);
  const Scalar word = (loop::cast(random.word[1], DType::I64) << 32) | low_half;
  const Scalar r = Scalar::make(loop::Code::ShiftRightLogical, DType::I64, {word, Scalar::constant_integer(DType::I64, 1)});
  return loop::cast(c.input(0) + loop::mod_int(r, c.input(1) - c.input(0)), compute_dtype(c.output_dtype()));
}

void randint_reference(ir::ReferenceCall& call) {
  ir::Array& out = call.output();
  const i64 low = call.input(0).integer(0);
  const i64 range = call.input(1).integer(0) - low;
  const std::uint64_t seed = static_cast<std::uint64_t>(call.input(2).integer(0));
  const std::uint64_t offset = static_cast<std::uint64_t>(call.input(3).integer(0));
  for (i64 i = 0; i < out.numel(); ++i) {
    const PhiloxWords random = ops::random_words(seed, offset, i);
    const i64 r = static_cast<i64>((std::uint64_t{random.word[1]} << 32 | random.word[0]) >> 1);
    if (out.is_real()) {
      out.set(i, static_cast<double>(low + r % range));
    } else {
      out.set_integer(i, low + r % range);
    }
  }
}

std::vector<ir::Sample> randint_samples() {
  const Shape shape{Dim::symbol('s', 0), Dim::symbol('s', 1)};
  const auto sample = [&](i64 low, i64 high, DType dtype) {
    return ir::Sample{{{.number = Number(low)}, {.number = Number(high)}, {.number = Number(7)}, {.number = Number(3)}},
                      ir::attrs_of(FillAttrs{shape, dtype}),
                      {3, 37}};
  };
  return {sample(-5, 6, DType::I64),     sample(-(i64{1} << 61), i64{1} << 61, DType::I64),
          sample(-100, 100, DType::I32), sample(0, 256, DType::U8),
          sample(0, 10, DType::F32),     sample(-3, 4, DType::BF16)};
}

constexpr OpDef randint_op{
    .name = "randint",
    .doc = "Random integers in [low, high), a function of seed, offset and element.",
    .inputs = {{.name = "low", .shape = "number", .promoted = false},
               {.name = "high", .shape = "number", .promoted = false},
               {.name = "seed", .shape = "number", .promoted = false},
               {.name = "offset", .shape = "number", .promoted = false}},
    .attrs = &ir::kAttrsInfo<FillAttrs>,
    .infer = infer_randint,
    .lower = ir::Pointwise{randint_formula},
    .reference = randint_reference,
    .samples = randint_samples,
};

template <class T>
bool holds(i64 low, i64 last) {
  return fits_integer<T>(low) && fits_integer<T>(last);
}
void require_range(i64 low, i64 high, DType dtype) {
  require_dtype("randint", dtype, kRandintDTypes);
  if (low >= high) throw ArgumentError(cat("randint: random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high));
  const bool fits = dtype == DType::U8 ? holds<std::uint8_t>(low, high - 1) : dtype != DType::I32 || holds<std::int32_t>(low, high - 1);
  if (!fits) throw ArgumentError(cat("randint: from or to - 1 is out of bounds for ", dtype, ": from is ", low, ", to is ", high));
  if (low < 0 && high > std::numeric_limits<i64>::max() + low) {
    throw ArgumentError(cat("randint: the range is too long: from is ", low, ", to is ", high, "; it must have less than 2^63 numbers"));
  }
}

// --- bernoulli ----------------------------------------------------------------------------------------------------------------------
std::vector<ir::Type> infer_bernoulli(ir::InferContext& c) {
  const FillAttrs& attrs = c.attrs<FillAttrs>();
  require_dtype(c.op(), attrs.dtype, ir::kArithmeticDTypes);
  if (!is_floating(c.dtype(0)) && !c.is_number(0)) throw DtypeError(cat(c.op(), ": p must be of a floating dtype, but is ", c.dtype(0)));
  ops::require_stream(c, 1);
  ops::require_sizes(c, attrs.shape);
  if (!c.is_number(0)) {
    const Shape shape = c.broadcast(c.shape(0), attrs.shape);
    if (shape.size() != attrs.shape.size()) {
      throw ShapeError(cat(c.op(), ": p cannot be broadcast to the result: p is ", c.shape(0), ", the result is ", attrs.shape));
    }
    for (std::size_t a = 0; a < shape.size(); ++a) c.same(shape[a], attrs.shape[a], "sizes of p and of the result");
  }
  return {{attrs.dtype, attrs.shape, {}}};
}

Scalar bernoulli_formula(PointwiseContext& c) {
  const loop::PhiloxScalars random = ops::random_words(c, 1);
  const DType dtype = is_floating(c.input_dtype(0)) ? compute_dtype(c.input_dtype(0)) : DType::F64;
  const Scalar is_one = ops::unit(random.word[0], random.word[1], dtype) < loop::cast(c.input(0), dtype);
  return loop::cast(is_one, compute_dtype(c.output_dtype()));
}

void bernoulli_reference(ir::ReferenceCall& call) {
  ir::Array& out = call.output();
  const ir::Array& p = call.input(0);
  const std::uint64_t seed = static_cast<std::uint64_t>(call.input(1).integer(0));
  const std::uint64_t offset = static_cast<std::uint64_t>(call.input(2).integer(0));
  const DType dtype = p.is_real() ? p.dtype : DType::F64;
  for (i64 i = 0; i < out.numel(); ++i) {
    const PhiloxWords random = ops::random_words(seed, offset, i);
    const bool is_one =
        ops::unit(random.word[0], random.word[1], dtype) < p.real(ir::broadcast_position(ir::unravel(i, out.shape), p.shape));
    if (out.is_real()) {
      out.set(i, is_one ? 1.0 : 0.0);
    } else {
      out.set_integer(i, is_one ? 1 : 0);
    }
  }
}

std::vector<ir::Sample> bernoulli_samples() {
  const Shape shape{Dim::symbol('s', 0), Dim::symbol('s', 1)};
  const ir::SampleInput seed{.number = Number(1234)};
  const ir::SampleInput offset{.number = Number(i64{1} << 33)};
  const auto p = [](Shape of, DType dtype) { return ir::SampleInput{.shape = std::move(of), .dtype = dtype}; };
  return {{{{.number = Number(0.25)}, seed, offset}, ir::attrs_of(FillAttrs{shape, DType::F32}), {3, 37}},
          {{{.number = Number(0.5)}, seed, offset}, ir::attrs_of(FillAttrs{shape, DType::Bool}), {3, 37}},
          {{p(shape, DType::F32), seed, offset}, ir::attrs_of(FillAttrs{shape, DType::F32}), {3, 37}},
          {{p({shape[1]}, DType::F64), seed, offset}, ir::attrs_of(FillAttrs{shape, DType::F64}), {3, 37}},
          {{p({}, DType::BF16), seed, offset}, ir::attrs_of(FillAttrs{shape, DType::I64}), {3, 37}}};
}

constexpr OpDef bernoulli_op{
    .name = "bernoulli",
    .doc = "1 with probability p, else 0, a function of seed, offset and element.",
    .inputs = {{.name = "p", .shape = "broadcasts to the result", .promoted = false},
               {.name = "seed", .shape = "number", .promoted = false},
               {.name = "offset", .shape = "number", .promoted = false}},
    .attrs = &ir::kAttrsInfo<FillAttrs>,
    .infer = infer_bernoulli,
    .lower = ir::Pointwise{bernoulli_formula},
    .reference = bernoulli_reference,
    .samples = bernoulli_samples,
};

constexpr const OpDef* kTable[] = {&randint_op, &bernoulli_op};

}  // namespace

constexpr OpTable kDiscreteOps = kTable;

Tensor randint(i64 low, i64 high, std::span<const Dim> shape, DType dtype, Generator* generator) {
  require_range(low, high, dtype);  // before the generator moves
  const ops::Draw at = ops::draw(shape, generator, "randint", "randint_at");
  return randint_at({low, high}, shape, at.seed, at.offset, dtype);
}
Tensor randint(i64 low, i64 high, std::initializer_list<Dim> shape, DType dtype, Generator* generator) {
  return randint(low, high, std::span<const Dim>(shape.begin(), shape.size()), dtype, generator);
}
Tensor randint_at(RandomRange range, std::span<const Dim> shape, Number seed, Number offset, DType dtype) {
  if (!range.low.is_argument() && !range.high.is_argument()) require_range(range.low.as_integer(), range.high.as_integer(), dtype);
  return apply_one(randint_op, {range.low, range.high, seed, offset}, FillAttrs{Shape(shape), dtype});
}

Tensor bernoulli(const Tensor& p, Generator* generator) {
  if (!is_floating(p.dtype())) throw DtypeError(cat("bernoulli: p must be of a floating dtype, but is ", p.dtype()));
  const ops::Draw at = ops::draw(p.shape(), generator, "bernoulli", "bernoulli_at");
  return bernoulli_at(p, p.shape(), at.seed, at.offset, p.dtype());
}
Tensor bernoulli_at(Input p, std::span<const Dim> shape, Number seed, Number offset, DType dtype) {
  return apply_one(bernoulli_op, {p, seed, offset}, FillAttrs{Shape(shape), dtype});
}
const Tensor& bernoulli_(const Tensor& x, Input p, Generator* generator) {
  if (p.is_number() && !(p.number().as_double() >= 0 && p.number().as_double() <= 1)) {
    throw ArgumentError(cat("bernoulli_: bernoulli_ expects p to be in [0, 1], but got p=", p.number().as_double()));
  }
  const ops::Draw at = ops::draw(x.shape(), generator, "bernoulli_", "bernoulli_at");
  return apply_into(x, bernoulli_op, {p, at.seed, at.offset}, FillAttrs{x.shape(), x.dtype()});
}

}  // namespace resilin
