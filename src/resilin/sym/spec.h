// src/resilin/sym/spec.h -- which axis sizes and scalars of a captured function's inputs are declared to change between calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "resilin/sym/dim.h"
#include "resilin/sym/facts.h"

namespace resilin {

/// A size that changes: never taken to be 0 or 1 unless its range says so. The same name in several places is the same size.
struct ShapeVar {
  std::string name;
  i64 min = 0;
  i64 max = Range::kHighest;
  i64 multiple = 1;
  friend bool operator==(const ShapeVar&, const ShapeVar&) = default;
};

/// An integer argument that changes; any integer unless its range says so.
struct IntVar {
  std::string name;
  i64 min = Range::kLowest;
  i64 max = Range::kHighest;
  i64 multiple = 1;
  friend bool operator==(const IntVar&, const IntVar&) = default;
};

/// A number that changes and takes no part in shapes, such as a learning rate.
struct ScalarVar {
  std::string name;
  friend bool operator==(const ScalarVar&, const ScalarVar&) = default;
};

/// The size of the example is the size of every call.
struct Static {
  friend bool operator==(Static, Static) = default;
};

/// An axis: as in the example, pinned to a number, or changing.
using AxisSpec = std::variant<Static, i64, ShapeVar>;

/// An input by its parameter's name: the axes of a tensor, or a scalar. Inputs that are not listed are static.
struct InputSpec {
  std::string name;
  std::variant<std::vector<AxisSpec>, IntVar, ScalarVar> form;
  friend bool operator==(const InputSpec&, const InputSpec&) = default;
};

/// A spec with its variables allotted to symbols s0, s1, ... in order of first appearance.
struct SpecSymbols {
  Facts facts;
  std::vector<std::string> names;                      // of s0, s1, ... for messages
  std::vector<std::vector<std::optional<Dim>>> sizes;  // per input and axis, one for an IntVar, none for a ScalarVar; nothing where static
};

struct DynamicSpec {
  std::vector<InputSpec> inputs;

  SpecSymbols to_facts() const;
  /// "x: [batch in [1, 4096] multiple 8, static, 128]; n: int count in [0, inf]; lr: scalar rate", read back by `parse`.
  std::string print() const;
  static DynamicSpec parse(std::string_view text);
  friend bool operator==(const DynamicSpec&, const DynamicSpec&) = default;
};

/// Checks names and ranges: an input comes once, a name means one range wherever it comes; throws ArgumentError otherwise.
DynamicSpec dynamic_spec(std::vector<InputSpec> inputs);

}  // namespace resilin
