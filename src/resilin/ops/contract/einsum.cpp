// src/resilin/ops/contract/einsum.cpp -- sums of products over labelled axes.
#include "resilin/ops/contract/einsum.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "resilin/dispatch/cast.h"
#include "resilin/ops/contract/matmul.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/range.h"
#include "resilin/ops/view/shape.h"

namespace resilin {
namespace {

// A letter's code, or -1 for the last axis of the ellipsis, -2 for the one before it, ...
using Label = int;
using Labels = std::vector<Label>;

constexpr Label kEllipsis = 0;  // in a parsed term, before the number of its axes is known

bool contains(const Labels& labels, Label label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
std::size_t position_of(const Labels& labels, Label label) {
  return static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}
std::string text_of(Label label) { return label < 0 ? "..." : std::string(1, static_cast<char>(label)); }

// --- the equation -------------------------------------------------------------------------------------------------------------------
Labels parse_term(std::string_view equation, std::size_t begin, std::size_t end) {
  Labels labels;
  for (std::size_t i = begin; i < end; ++i) {
    const char c = equation[i];
    if (c == ' ') continue;
    if (c == '.') {
      if (equation.substr(i, 3) != "..." || i + 3 > end) throw ArgumentError("einsum: found '.' that is not part of any ellipsis ('...')");
      if (contains(labels, kEllipsis)) throw ArgumentError("einsum: found '.' for which an ellipsis was already found");
      labels.push_back(kEllipsis);
      i += 2;
      continue;
    }
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
      throw ArgumentError(cat("einsum: invalid subscript given at index ", i,
                              " in the equation string, subscripts must be in [a-zA-Z]: equation is '", equation, "'"));
    }
    labels.push_back(static_cast<Label>(c));
  }
  return labels;
}

struct Equation {
  std::vector<Labels> operands;
  Labels output;
  bool has_output = false;
};
Equation parse(std::string_view equation) {
  Equation result;
  const std::size_t arrow = equation.find("->");
  const std::size_t inputs_end = std::min(arrow, equation.size());
  for (std::size_t begin = 0; begin <= inputs_end;) {
    const std::size_t end = std::min(equation.find(',', begin), inputs_end);
    result.operands.push_back(parse_term(equation, begin, end));
    begin = end + 1;
  }
  if (arrow != std::string_view::npos) {
    result.output = parse_term(equation, arrow + 2, equation.size());
    result.has_output = true;
  }
  return result;
}

// --- one operand --------------------------------------------------------------------------------------------------------------------
struct Term {
  Tensor x;
  Labels labels;  // one for each axis
};

// The ellipsis replaced by as many labels as there are axes for it.
Labels expanded(const Labels& labels, i64 axes_of_ellipsis) {
  Labels out;
  for (const Label label : labels) {
    if (label != kEllipsis) out.push_back(label);
    for (i64 a = axes_of_ellipsis; label == kEllipsis && a > 0; --a) out.push_back(static_cast<Label>(-a));
  }
  return out;
}

Labels labels_of(const Tensor& x, const Labels& parsed, std::size_t operand) {
  const bool has_ellipsis = contains(parsed, kEllipsis);
  const i64 letters = static_cast<i64>(parsed.size()) - (has_ellipsis ? 1 : 0);
  if (has_ellipsis ? letters > x.ndim() : letters != x.ndim()) {
    throw ArgumentError(cat("einsum: the number of subscripts in the equation (", letters, ") ",
                            has_ellipsis ? "is more than the number of dimensions (" : "does not match the number of dimensions (",
                            x.ndim(), ") for operand ", operand, has_ellipsis ? "" : " and no ellipsis was given"));
  }
  return expanded(parsed, x.ndim() - letters);
}

SmallVector<i64, 5> order_of(const Labels& from, const Labels& to) {
  SmallVector<i64, 5> axes;
  for (const Label label : to) axes.push_back(static_cast<i64>(position_of(from, label)));
  return axes;
}
Tensor ordered(const Term& term, const Labels& labels) {
  return term.labels == labels ? term.x : permute(term.x, order_of(term.labels, labels));
}

// The elements with equal indices on two axes of one label: every (n + 1)-th of the two axes joined.
void take_diagonal(Term& term, std::size_t first, std::size_t second, std::size_t operand) {
  const Dim n = term.x.shape()[first];
  if (!n.is_constant() || !term.x.shape()[second].is_constant())
    throw UnsupportedError(cat("einsum: the diagonal of a tensor whose sizes are symbols: operand ", operand, " is ", term.x.shape()));
  if (!(n == term.x.shape()[second])) {
    throw ShapeError(cat("einsum: subscript ", text_of(term.labels[first]), " is repeated for operand ", operand,
                         " but the sizes don't match, ", term.x.shape()[second], " != ", n));
  }
  SmallVector<i64, 5> axes;
  Labels labels;
  for (std::size_t a = 0; a < term.labels.size(); ++a) {
    if (a == first || a == second) continue;
    axes.push_back(static_cast<i64>(a));
    labels.push_back(term.labels[a]);
  }
  labels.push_back(term.labels[first]);
  axes.push_back(static_cast<i64>(first));
  axes.push_back(static_cast<i64>(second));
  term.x = slice(flatten(permute(term.x, axes), -2, -1), -1, 0, n.value() * n.value(), n.value() + 1);
  term.labels = std::move(labels);
}

Term term_of(const Tensor& x, const Labels& parsed, std::size_t operand) {
  Term term{x, labels_of(x, parsed, operand)};
  for (std::size_t a = 0; a < term.labels.size();) {
    const std::size_t again =
        a + 1 + position_of(Labels(term.labels.begin() + static_cast<std::ptrdiff_t>(a) + 1, term.labels.end()), term.labels[a]);
    if (again >= term.labels.size()) {
      ++a;
      continue;
    }
    take_diagonal(term, a, again, operand);
    a = 0;
  }
  return term;
}

// Sums over every axis whose label is not among the wanted ones.
void sum_others(Term& term, const Labels& wanted) {
  SmallVector<i64, 5> axes;
  Labels rest;
  for (std::size_t a = 0; a < term.labels.size(); ++a) {
    if (contains(wanted, term.labels[a])) {
      rest.push_back(term.labels[a]);
    } else {
      axes.push_back(static_cast<i64>(a));
    }
  }
  if (axes.empty()) return;
  const DType dtype = term.x.dtype();
  term.x = sum(term.x, {axes, false});
  if (!is_floating(dtype)) term.x = cast(term.x, dtype);  // a product of integers wraps in their own dtype
  term.labels = std::move(rest);
}

// --- two operands -------------------------------------------------------------------------------------------------------------------
// Axes of size 1 are dropped where the other operand's axis of that label is longer: they broadcast.
void drop_broadcast(Term& term, const Term& other) {
  for (std::size_t a = term.labels.size(); a-- > 0;) {
    const std::size_t at = position_of(other.labels, term.labels[a]);
    if (at == other.labels.size() || !(term.x.shape()[a] == 1) || other.x.shape()[at] == 1) continue;
    term.x = squeeze(term.x, static_cast<i64>(a));
    term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(a));
  }
}

// `operand` is the number of b, a the product of those before it.
void require_sizes(const Term& a, const Term& b, std::size_t operand) {
  for (std::size_t i = 0; i < a.labels.size(); ++i) {
    const std::size_t at = position_of(b.labels, a.labels[i]);
    if (at == b.labels.size()) continue;
    const Dim of_a = a.x.shape()[i];
    const Dim of_b = b.x.shape()[at];
    if (may_be_equal(of_a, of_b)) continue;
    throw ShapeError(cat("einsum: subscript ", text_of(a.labels[i]), " has size ", of_b, " for operand ", operand,
                         " which does not broadcast with previously seen size ", of_a));
  }
}

// Which labels of two operands are in both and stay, are in both and are summed over, or are in one of them.
struct Classes {
  Labels batch, summed, only_a, only_b;
};
Classes classes_of(const Term& a, const Term& b, const Labels& wanted) {
  Classes out;
  for (const Label label : a.labels)
    (!contains(b.labels, label) ? out.only_a : contains(wanted, label) ? out.batch : out.summed).push_back(label);
  for (const Label label : b.labels) {
    if (!contains(a.labels, label)) out.only_b.push_back(label);
  }
  return out;
}

Labels joined(const Labels& a, const Labels& b, const Labels& c) {
  Labels out = a;
  out.insert(out.end(), b.begin(), b.end());
  out.insert(out.end(), c.begin(), c.end());
  return out;
}

// x with axes [batch..., rows..., columns...] as [batch..., rows, columns].
Tensor as_matrices(const Tensor& x, std::size_t batch, std::size_t rows) {
  const std::span<const Dim> sizes = x.shape();
  Shape shape(sizes.first(batch));
  shape.push_back(product(sizes.subspan(batch, rows)));
  shape.push_back(product(sizes.subspan(batch + rows)));
  return shape.size() == sizes.size() && rows == 1 ? x : reshape(x, shape);
}

// Elementwise: axes of the one operand that the other lacks become 1 there.
Tensor multiplied(const Term& a, const Term& b, const Classes& c) {
  const Tensor left = ordered(a, joined(c.batch, c.only_a, {}));
  const Tensor right = ordered(b, joined(c.batch, c.only_b, {}));
  Shape shape(std::span<const Dim>(left.shape()));
  for (std::size_t i = 0; i < c.only_b.size(); ++i) shape.push_back(1);
  Shape other(std::span<const Dim>(right.shape()).first(c.batch.size()));
  for (std::size_t i = 0; i < c.only_a.size(); ++i) other.push_back(1);
  for (const Dim size : std::span<const Dim>(right.shape()).subspan(c.batch.size())) other.push_back(size);
  return mul(c.only_b.empty() ? left : reshape(left, shape), c.only_a.empty() ? right : reshape(right, other));
}

Term contracted(Term a, Term b, const Labels& wanted, std::size_t operand) {
  drop_broadcast(a, b);
  drop_broadcast(b, a);
  require_sizes(a, b, operand);
  sum_others(a, joined(wanted, b.labels, {}));
  sum_others(b, joined(wanted, a.labels, {}));
  const Classes c = classes_of(a, b, wanted);
  const Labels labels = joined(c.batch, c.only_a, c.only_b);
  if (c.summed.empty()) return {multiplied(a, b, c), labels};
  const Tensor left = ordered(a, joined(c.batch, c.only_a, c.summed));
  const Tensor right = ordered(b, joined(c.batch, c.summed, c.only_b));
  const Tensor product = matmul(as_matrices(left, c.batch.size(), c.only_a.size()), as_matrices(right, c.batch.size(), c.summed.size()));
  if (c.only_a.size() == 1 && c.only_b.size() == 1) return {product, labels};
  Shape shape(std::span<const Dim>(left.shape()).first(c.batch.size() + c.only_a.size()));
  for (const Dim size : std::span<const Dim>(right.shape()).subspan(c.batch.size() + c.summed.size())) shape.push_back(size);
  return {reshape(product, shape), labels};
}

// --- the result ---------------------------------------------------------------------------------------------------------------------
Labels output_labels(const Equation& equation, const std::vector<Term>& terms, i64 axes_of_ellipsis) {
  std::map<Label, int> count;  // in ascending order: the ellipsis, then capitals, then small letters
  for (const Labels& labels : equation.operands) {
    for (const Label label : labels) count[label] += label == kEllipsis ? 0 : 1;
  }
  Labels output = equation.output;
  if (!equation.has_output) {
    output = {kEllipsis};
    for (const std::pair<const Label, int>& one : count) {
      if (one.second == 1) output.push_back(one.first);
    }
  }
  for (std::size_t i = 0; i < output.size(); ++i) {
    if (output[i] == kEllipsis) continue;
    if (std::count(output.begin(), output.end(), output[i]) > 1)
      throw ArgumentError(cat("einsum: output subscript ", text_of(output[i]), " appears more than once in the output"));
    const bool is_known = std::any_of(terms.begin(), terms.end(), [&](const Term& term) { return contains(term.labels, output[i]); });
    if (!is_known)
      throw ArgumentError(cat("einsum: output subscript ", text_of(output[i]), " does not appear in the equation for any input operand"));
  }
  return expanded(output, axes_of_ellipsis);
}

Labels wanted_after(const std::vector<Term>& terms, std::size_t operand, const Labels& output) {
  Labels wanted = output;
  for (std::size_t i = operand + 1; i < terms.size(); ++i) wanted.insert(wanted.end(), terms[i].labels.begin(), terms[i].labels.end());
  return wanted;
}

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> operands) {
  if (operands.empty()) throw ArgumentError("einsum: must provide at least one operand");
  const Equation parsed = parse(equation);
  if (parsed.operands.size() != operands.size()) {
    throw ArgumentError(cat("einsum: ", operands.size() < parsed.operands.size() ? "fewer" : "more",
                            " operands were provided than specified in the equation: ", operands.size(), " for '", equation, "'"));
  }
  std::vector<Term> terms;
  i64 axes_of_ellipsis = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    terms.push_back(term_of(operands[i], parsed.operands[i], i));
    for (const Label label : terms.back().labels) axes_of_ellipsis = std::max(axes_of_ellipsis, static_cast<i64>(-label));
  }
  const Labels output = output_labels(parsed, terms, axes_of_ellipsis);
  Term result = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) result = contracted(result, terms[i], wanted_after(terms, i, output), i);
  sum_others(result, output);
  return ordered(result, output);
}
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands) {
  return einsum(equation, std::span<const Tensor>(operands.begin(), operands.size()));
}

}  // namespace resilin
