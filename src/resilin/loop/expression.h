// src/resilin/loop/expression.h -- Internal: numbers expressions by structure, so that equal ones get one number whatever the sharing of nodes.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "resilin/loop/scalar.h"

namespace resilin::loop {

/// One distinct expression; arguments are ids of earlier entries.
struct Expression {
  Code code;
  DType dtype;
  int index;
  std::uint64_t bits;
  Dim offset;
  int argument[3];
  int argument_count;
  friend bool operator==(const Expression&, const Expression&) = default;
};

/// Expressions in the order in which they were first met, operands before their users.
class ExpressionTable {
 public:
  /// How a leaf is known: the same for leaves that mean the same.
  struct Leaf {
    int index;
    Dim offset;
  };
  using Rename = std::function<Leaf(const Scalar&)>;
  /// `rename` is asked once per leaf node; without it leaves are known by their own index and offset.
  explicit ExpressionTable(Rename rename = nullptr)
      : rename_(std::move(rename)), by_node_(64, NodePlace{nullptr, -1}), by_structure_(64, -1) {}

  int id(const Scalar& a);
  const Expression& operator[](int id) const { return entries_[static_cast<std::size_t>(id)]; }
  int size() const { return static_cast<int>(entries_.size()); }

 private:
  // Tables with open addressing: a place holds an id, or -1. At most half of the places are taken.
  struct NodePlace {
    const void* node;
    int id;
  };
  std::size_t find_node(const void* node) const;
  std::size_t find_structure(const Expression& e) const;
  Expression describe(const Scalar& a);
  int insert(const Expression& e);
  void remember(const void* node, int id);

  Rename rename_;
  std::vector<Expression> entries_;
  std::vector<NodePlace> by_node_;
  std::vector<int> by_structure_;
  std::size_t node_count_ = 0;
};

}  // namespace resilin::loop
