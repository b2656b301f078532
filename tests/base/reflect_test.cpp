// tests/base/reflect_test.cpp -- equality, hash and text derived from fields().
#include "resilin/base/reflect.h"

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <doctest/doctest.h>

namespace resilin {
namespace {

enum class Mode { Sum, Mean };
constexpr std::array<std::string_view, 2> enum_names(Mode*) { return {"sum", "mean"}; }

struct Inner {
  i64 axis = -1;
  double scale = 1.0;
  static constexpr auto fields() { return std::tuple{field("axis", &Inner::axis), field("scale", &Inner::scale)}; }
};

struct Attributes {
  i64 axis = -1;
  bool keepdim = false;
  double eps = 1e-5;
  Mode mode = Mode::Sum;
  std::string name = "x";
  SmallVector<i64, 4> sizes;
  std::vector<std::string> labels;
  std::optional<double> limit;
  std::uint64_t seed = 0;
  double order = 2;
  std::vector<bool> flags;
  Inner inner;
  std::int8_t small = 0;
  static constexpr auto fields() {
    return std::tuple{
        field("axis", &Attributes::axis, "Axis to reduce."),
        field("keepdim", &Attributes::keepdim),
        field("eps", &Attributes::eps),
        field("mode", &Attributes::mode),
        field("name", &Attributes::name),
        field("sizes", &Attributes::sizes),
        field("labels", &Attributes::labels),
        field("limit", &Attributes::limit),
        field("seed", &Attributes::seed, "Random seed.", FieldKind::Value),
        field("order", &Attributes::order, "", FieldKind::Structural),
        field("flags", &Attributes::flags),
        field("inner", &Attributes::inner),
        field("small", &Attributes::small),
    };
  }
};

struct Empty {
  static constexpr auto fields() { return std::tuple{}; }
};

std::string error_of(std::string_view text) {
  try {
    parse_fields<Attributes>(text);
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("fields print in the order of declaration") {
  const Attributes a;
  CHECK(print_fields(a) ==
        "axis=-1, keepdim=false, eps=0x1.4f8b588e368f1p-17, mode=sum, name=\"x\", sizes=[], labels=[], limit=none, seed=0, "
        "order=0x1p+1, flags=[], inner={axis=-1, scale=0x1p+0}, small=0");
  CHECK(print_fields(Empty{}).empty());
}

TEST_CASE("printed fields parse back to an equal value") {
  Attributes a;
  a.axis = std::numeric_limits<i64>::min();
  a.keepdim = true;
  a.eps = -0.0;
  a.mode = Mode::Mean;
  a.name = "quote \" comma, slash \\ bracket ] newline \n null \0 utf ü";
  a.name += '\0';
  a.sizes = {1, 2, 3, 4, 5};
  a.labels = {"a, b", "", "]"};
  a.limit = std::nan("");
  a.seed = std::numeric_limits<std::uint64_t>::max();
  a.order = -std::numeric_limits<double>::infinity();
  a.flags = {true, false};
  a.inner.axis = 7;
  a.small = -128;
  const Attributes b = parse_fields<Attributes>(print_fields(a));
  CHECK(fields_equal(a, b));
  CHECK(fields_hash(a) == fields_hash(b));
  CHECK(print_fields(a) == print_fields(b));
  CHECK(std::signbit(b.eps));
}

TEST_CASE("fields that are not mentioned keep their defaults and order does not matter") {
  const Attributes a = parse_fields<Attributes>(" mode = mean ,axis=3 ");
  CHECK(a.axis == 3);
  CHECK(a.mode == Mode::Mean);
  CHECK(a.name == "x");
  CHECK(fields_equal(parse_fields<Attributes>(""), Attributes{}));
  parse_fields<Empty>("");
}

TEST_CASE("malformed fields are refused by name with the known ones listed") {
  CHECK(error_of("axs=1") ==
        "parse_fields: unknown field: \"axs\"; the fields are axis, keepdim, eps, mode, name, sizes, labels, limit, seed, order, flags, "
        "inner, small");
  CHECK(error_of("axis=one").find("field axis is malformed: \"one\"") != std::string::npos);
  CHECK(error_of("axis=one").find("the fields are axis, keepdim") != std::string::npos);
  for (const char* text :
       {"axis", "axis=1, axis=2", "keepdim=yes", "mode=max", "name=x", "name=\"a\"b\"", "sizes=1", "sizes=[1,]", "sizes=[1", "limit=no",
        "seed=-1", "small=128", "inner={axis=x}", "inner={other=1}", "axis=1,,keepdim=true", "name=\"\\q\"", "="}) {
    CAPTURE(text);
    CHECK(error_of(text) != "no error");
  }
}

TEST_CASE("every field takes part in equality and hash") {
  const char* const texts[] = {"",           "axis=2",        "keepdim=true",   "eps=1.0",      "mode=mean",
                               "name=\"y\"", "sizes=[0]",     "labels=[\"\"]",  "limit=0x0p+0", "seed=1",
                               "order=3",    "flags=[false]", "inner={axis=1}", "small=1",      "sizes=[0, 0]"};
  std::set<std::uint64_t> hashes;
  for (const char* a : texts) {
    hashes.insert(fields_hash(parse_fields<Attributes>(a)));
    for (const char* b : texts) {
      CAPTURE(a);
      CAPTURE(b);
      CHECK(fields_equal(parse_fields<Attributes>(a), parse_fields<Attributes>(b)) == (a == b));
    }
  }
  CHECK(hashes.size() == std::size(texts));
}

TEST_CASE("value fields stay out of structural keys unless the field says otherwise") {
  const Attributes base;
  const auto same_key = [&](std::string_view text) {
    const Attributes other = parse_fields<Attributes>(text);
    const bool equal = fields_equal_structural(base, other);
    CHECK(equal == (fields_hash_structural(base) == fields_hash_structural(other)));
    return equal;
  };
  CHECK(same_key("eps=0.5, limit=2.0, seed=9"));
  CHECK_FALSE(same_key("axis=0"));
  CHECK_FALSE(same_key("order=3"));
  CHECK_FALSE(same_key("mode=mean"));
  CHECK_FALSE(same_key("sizes=[1]"));
  CHECK(field_kind<std::vector<double>>() == FieldKind::Value);
  CHECK(field_kind<std::optional<i64>>() == FieldKind::Structural);
}

TEST_CASE("a visitor sees names, documentation and members") {
  Inner inner;
  std::string seen;
  for_each_field(inner, [&](const auto& field, auto& member) {
    seen += field.name;
    member = 3;
  });
  CHECK(seen == "axisscale");
  CHECK(inner.axis == 3);
  CHECK(inner.scale == 3.0);
  CHECK(std::get<0>(Attributes::fields()).doc == "Axis to reduce.");
}

TEST_CASE("enums print and parse by name") {
  CHECK(enum_name(Mode::Mean) == "mean");
  CHECK(enum_parse<Mode>("sum") == Mode::Sum);
  CHECK_THROWS_WITH_AS(enum_parse<Mode>("max"), "parse_fields: unknown name: \"max\"; the names are sum, mean", ArgumentError);
  CHECK_THROWS_AS(enum_name(static_cast<Mode>(2)), InternalError);
}

}  // namespace
}  // namespace resilin
