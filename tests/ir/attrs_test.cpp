// tests/ir/attrs_test.cpp -- attribute structs: what is part of a key and what is a run-time argument.
#include "resilin/ir/attrs.h"

#include <array>

#include <doctest/doctest.h>

#include "resilin/ir/attrs_info.h"
#include "resilin/tensor/dtype.h"

namespace resilin::ir {
namespace {

enum class Mode { Sum, Mean };
constexpr std::array<std::string_view, 2> enum_names(const Mode*) { return {"sum", "mean"}; }

struct Everything {
  i64 axis = -1;
  bool keepdim = false;
  Mode mode = Mode::Sum;
  std::optional<DType> dtype;
  SmallVector<i64, 4> axes;
  std::string name;
  double order = 2;
  Number alpha = 1.0;
  Dim start = 0;
  Shape shape;
  std::vector<Dim> sizes;
  std::optional<Dim> stop;
  std::optional<Number> limit;
  static constexpr auto fields() {
    return std::tuple{
        field("axis", &Everything::axis),
        field("keepdim", &Everything::keepdim),
        field("mode", &Everything::mode),
        field("dtype", &Everything::dtype),
        field("axes", &Everything::axes),
        field("name", &Everything::name),
        field("order", &Everything::order, "Order of the norm.", FieldKind::Structural),
        field("alpha", &Everything::alpha),
        field("start", &Everything::start),
        field("shape", &Everything::shape),
        field("sizes", &Everything::sizes),
        field("stop", &Everything::stop),
        field("limit", &Everything::limit),
    };
  }
};

const AttrsInfo& kInfo = kAttrsInfo<Everything>;

Everything typical() {
  Everything e;
  e.mode = Mode::Mean;
  e.dtype = DType::BF16;
  e.axes = {0, 2};
  e.name = "a, \"b\"}";
  e.alpha = 0.1;
  e.start = Dim::symbol('s', 2) + Dim(1);
  e.shape = {Dim::symbol('s', 0), 4};
  e.sizes = {7, Dim::symbol('s', 1) * Dim::symbol('s', 0)};
  e.stop = floordiv(Dim::symbol('s', 1), 2);
  e.limit = Number::argument(NumberKind::Float, 3);
  return e;
}

std::string printed(const Everything& e) {
  std::string out;
  kInfo.print(out, &e);
  return out;
}

bool one_key(const Everything& a, const Everything& b) {
  const bool equal = kInfo.equal_structural(&a, &b);
  if (equal) CHECK(kInfo.hash_structural(&a) == kInfo.hash_structural(&b));
  if (!equal) CHECK(kInfo.hash_structural(&a) != kInfo.hash_structural(&b));
  return equal;
}

TEST_CASE("attributes print what differs from the default and read back equal") {
  CHECK(printed(Everything{}) == "");
  const Everything e = typical();
  CHECK(printed(e) ==
        "mode=mean, dtype=bf16, axes=[0, 2], name=\"a, \\\"b\\\"}\", alpha=0x1.999999999999ap-4, start=s2 + 1, shape=[s0, 4], sizes=[7, "
        "s0*s1], "
        "stop=floordiv(s1, 2), limit=v3:f64");
  const Attrs read(kInfo.parse(printed(e)), &kInfo);
  CHECK(read == Attrs(AttrsRef{&e, &kInfo}));
  CHECK(read != Attrs(AttrsRef{std::make_shared<Everything>().get(), &kInfo}));
  CHECK(read.as<Everything>().shape == e.shape);
  CHECK(Attrs(kInfo.parse(""), &kInfo) == Attrs(AttrsRef{std::make_shared<Everything>().get(), &kInfo}));
  CHECK_THROWS_AS(kInfo.parse("axis=1, axis=2"), ArgumentError);
  CHECK_THROWS_AS(kInfo.parse("axes=[1"), ArgumentError);
}

TEST_CASE("values are in no key, everything else is") {
  const Everything base = typical();
  Everything other = base;
  other.alpha = 7.0;
  other.start = 5;
  other.shape = {1, 2};
  other.sizes = {3, 3};
  other.stop = 9;
  other.limit = 1.5;
  CHECK(one_key(base, other));
  CHECK_FALSE(kInfo.equal(&base, &other));

  const auto changed = [&](auto change) {
    Everything e = base;
    change(e);
    return !one_key(base, e) && !kInfo.equal(&base, &e);
  };
  CHECK(changed([](Everything& e) { e.axis = 0; }));
  CHECK(changed([](Everything& e) { e.keepdim = true; }));
  CHECK(changed([](Everything& e) { e.mode = Mode::Sum; }));
  CHECK(changed([](Everything& e) { e.dtype = DType::F16; }));
  CHECK(changed([](Everything& e) { e.dtype = std::nullopt; }));
  CHECK(changed([](Everything& e) { e.axes = {0, 1}; }));
  CHECK(changed([](Everything& e) { e.name = "c"; }));
  CHECK(changed([](Everything& e) { e.order = 3; }));
}

TEST_CASE("the length of a list, the presence of an optional and the kind of a number are in the key") {
  const Everything base = typical();
  const auto changed = [&](auto change) {
    Everything e = base;
    change(e);
    return !one_key(base, e);
  };
  CHECK(changed([](Everything& e) { e.shape.push_back(1); }));
  CHECK(changed([](Everything& e) { e.sizes.pop_back(); }));
  CHECK(changed([](Everything& e) { e.stop = std::nullopt; }));
  CHECK(changed([](Everything& e) { e.limit = std::nullopt; }));
  CHECK(changed([](Everything& e) { e.alpha = 1; }));
  CHECK(changed([](Everything& e) { e.limit = true; }));
}

TEST_CASE("values are visited, replaced and read in the order of the fields") {
  const Everything e = typical();
  std::vector<Dim> dims;
  kInfo.visit_dims(&e, [&](Dim d) { dims.push_back(d); });
  CHECK(dims == std::vector<Dim>{e.start, e.shape[0], e.shape[1], e.sizes[0], e.sizes[1], *e.stop});
  std::vector<Number> numbers;
  kInfo.visit_numbers(&e, [&](Number n) { numbers.push_back(n); });
  CHECK(numbers == std::vector<Number>{e.alpha, *e.limit});

  i64 next = 10;
  const std::shared_ptr<const void> mapped = kInfo.map_values(
      &e, [&](Dim) { return Dim(next++); }, [](Number n) { return n == Number(0.1) ? Number(2) : Number(3); });
  i64 values[6];
  CHECK(kInfo.read_dims(mapped.get(), values, 6) == 6);
  for (int i = 0; i < 6; ++i) CHECK(values[i] == 10 + i);
  Number read[2];
  CHECK(kInfo.read_numbers(mapped.get(), read, 2) == 2);
  CHECK(read[0] == Number(2));
  CHECK(read[1] == Number(3));
  CHECK(static_cast<const Everything*>(mapped.get())->name == e.name);

  CHECK_THROWS_AS(kInfo.read_dims(mapped.get(), values, 5), InternalError);
  CHECK_THROWS_AS(kInfo.read_dims(&e, values, 6), DataDependentError);
}

TEST_CASE("attributes know their struct") {
  const Attrs none;
  CHECK(none == Attrs());
  CHECK_NOTHROW(none.as<NoAttrs>());
  CHECK_THROWS_AS(none.as<Everything>(), InternalError);
  const Everything e = typical();
  const Attrs some(AttrsRef{&e, &kInfo});
  CHECK_FALSE(none == some);
  CHECK(Attrs(some.ref()) == some);
  i64 nothing = 0;
  CHECK(none.info().read_dims(none.data(), &nothing, 0) == 0);
}

}  // namespace
}  // namespace resilin::ir
