// src/resilin/loop/print.cpp -- print(): the canonical text of a nest.
//
// Expressions are numbered by structure, so the text does not depend on which nodes are shared; what a statement uses twice is printed once, as %k before it.
// Loop variables, bound symbols and locals get numbers in the order in which the text defines them. Floats are hex floats, NaNs their bits.
#include <bit>
#include <cmath>
#include <unordered_map>

#include "resilin/loop/expression.h"
#include "resilin/loop/nest.h"

namespace resilin::loop {
namespace {

std::string_view role_name(Buffer::Role role) {
  constexpr std::string_view kNames[] = {"input", "output", "partial", "row", "entry"};
  return kNames[static_cast<std::size_t>(role)];
}

std::string hex_digits(std::uint64_t bits) {
  std::string digits;
  for (; bits != 0; bits >>= 4) digits.insert(digits.begin(), "0123456789abcdef"[bits & 15]);
  return digits;
}

void append_constant(std::string& out, DType dtype, std::uint64_t bits) {
  if (dtype == DType::Bool) return append_text(out, bits != 0);
  append_text(out, dtype);
  out += ':';
  if (is_integral(dtype)) return append_text(out, static_cast<i64>(bits));
  const std::uint64_t operand[] = {bits};
  const double value = std::bit_cast<double>(evaluate_primitive(Code::Cast, DType::F64, dtype, operand));
  out += std::isnan(value) ? "nan#" + hex_digits(bits) : hex_float(value);
}

class Printer {
 public:
  explicit Printer(const Nest& nest) : nest_(nest) {}

  std::string run() {
    line(cat("nest integers ", nest_.integer_count, " arguments ", nest_.argument_dtypes, nest_.streaming ? " streaming" : ""));
    for (std::size_t b = 0; b < nest_.buffers.size(); ++b) {
      const Buffer& buffer = nest_.buffers[b];
      const bool sized = buffer.role == Buffer::Role::Partial || buffer.role == Buffer::Role::Row;
      line(cat('b', b, ": ", role_name(buffer.role), ' ', buffer.dtype, sized ? cat(" [", buffer.elements, ']') : std::string()));
    }
    for (const Phase& phase : nest_.phases) {
      const std::string extent = dim(phase.extent);
      bind(phase.variable);
      line(cat("phase ", symbol(phase.variable), " < ", extent, phase.vector ? " vector" : ""));
      block(phase.body);
    }
    return std::move(out_);
  }

  void operator()(const Loop& s) {
    const std::string extent = dim(s.extent);
    bind(s.variable);
    line(cat("for ", symbol(s.variable), " < ", extent, s.kind == LoopKind::Vector ? " vector" : ""));
    block(s.body);
  }

  void operator()(const Let& s) {
    const std::string value = expressions({s.value})[0];
    define(s.index);
    std::string name;
    if (s.symbol) {
      bind(*s.symbol);
      name = cat(' ', symbol(*s.symbol));
    }
    line(cat("let v", locals_.at(s.index), name, " = ", value));
  }

  void operator()(const Store& s) {
    std::vector<Scalar> roots = {s.value};
    if (s.mask.defined()) roots.push_back(s.mask);
    const std::vector<std::string> texts = expressions(roots);
    line(cat("store b", s.buffer, '[', dim(s.offset), "] = ", texts[0], s.mask.defined() ? cat(" where ", texts[1]) : std::string()));
  }

  void operator()(const Check& s) {
    const std::vector<std::string> texts = expressions({s.ok, s.value});
    line(cat("check ", texts[0], " code ", s.code, " operand ", s.operand, " element ", dim(s.element), " value ", texts[1]));
  }

  void operator()(const Reduce& s) {
    std::vector<std::string> extents;
    for (const Dim extent : s.extents) extents.push_back(dim(extent));
    std::string head = cat("reduce lanes ", s.lanes, ':');
    for (std::size_t a = 0; a < extents.size(); ++a) {
      bind(s.variables[a]);
      head += cat(' ', symbol(s.variables[a]), " < ", extents[a]);
    }
    line(head);
    block(s.body);
    ++depth_;
    combiner(s.combiner);
    results(s.results);
    --depth_;
  }

  void operator()(const Scan& s) {
    const std::string extent = dim(s.extent);
    bind(s.variable);
    line(cat("scan lanes ", s.lanes, ": ", symbol(s.variable), " < ", extent));
    block(s.body);
    ++depth_;
    combiner(s.combiner);
    results(s.results);
    line("after");
    block(s.after);
    --depth_;
  }

  void operator()(const TableLoop& s) {
    bind(s.variable);
    std::string head = cat("for entry ", symbol(s.variable));
    for (const Symbol column : s.columns) {
      bind(column);
      head += cat(' ', symbol(column));
    }
    line(head);
    block(s.body);
  }

 private:
  void begin_line() { out_.append(static_cast<std::size_t>(2 * depth_), ' '); }
  void line(const std::string& text) {
    begin_line();
    out_ += text;
    out_ += '\n';
  }

  void block(const Block& statements) {
    ++depth_;
    for (const Statement& s : statements) std::visit(*this, s.value);
    --depth_;
  }

  void combiner(const Combiner& c) {
    list("element", c.element);
    list("init", c.init);
    list("combine", c.combine);
  }
  void list(const char* what, const std::vector<Scalar>& roots) {
    const std::vector<std::string> texts = expressions(roots);
    std::string text = what;
    for (const std::string& t : texts) text += cat(' ', t);
    line(text);
  }
  void results(const std::vector<int>& indices) {
    std::string text = "let";
    for (const int index : indices) {
      define(index);
      text += cat(" v", locals_.at(index));
    }
    line(text);
  }

  // --- names ---------------------------------------------------------------------------------------------------------------------
  static int key(Symbol s) { return s.index * 256 + s.space; }
  void bind(Symbol s) {
    int& count = s.space == 'i' ? variable_count_ : bound_count_;
    symbols_[key(s)] = Dim::symbol(s.space, count++);
    renamed_.clear();
  }
  void define(int local) { locals_[local] = local_count_++; }
  Dim rename(Symbol s) const {
    const std::unordered_map<int, Dim>::const_iterator found = symbols_.find(key(s));
    return found == symbols_.end() ? Dim::symbol(s) : found->second;
  }
  Dim rename(Dim e) {
    if (e.is_constant()) return e;
    const std::pair<std::unordered_map<std::uintptr_t, Dim>::iterator, bool> entry = renamed_.try_emplace(e.word(), 0);
    if (entry.second) entry.first->second = substitute(e, [this](Symbol s) { return rename(s); });
    return entry.first->second;
  }
  std::string dim(Dim e) { return cat(rename(e)); }
  std::string symbol(Symbol s) const { return cat(rename(s)); }

  // --- expressions ---------------------------------------------------------------------------------------------------------------
  ExpressionTable::Leaf rename_leaf(const Scalar& leaf) {
    if (leaf.code() != Code::Local) return {leaf.index(), rename(leaf.offset())};
    const std::unordered_map<int, int>::const_iterator found = locals_.find(leaf.index());
    RESILIN_ASSERT(found != locals_.end(), cat("print: local ", leaf.index(), " is not defined here"));
    return {found->second, Dim()};
  }

  /// The texts of expressions that are computed together. Lines that define what they share come first.
  std::vector<std::string> expressions(std::span<const Scalar> roots) {
    ExpressionTable table([this](const Scalar& leaf) { return rename_leaf(leaf); });
    std::vector<int> ids;
    for (const Scalar& root : roots) ids.push_back(table.id(root));
    std::vector<int> uses(static_cast<std::size_t>(table.size()), 0);
    for (const int id : ids) ++uses[static_cast<std::size_t>(id)];
    for (int id = 0; id < table.size(); ++id) {
      for (int a = 0; a < table[id].argument_count; ++a) ++uses[static_cast<std::size_t>(table[id].argument[a])];
    }
    names_.assign(uses.size(), -1);
    int shared = 0;
    for (int id = 0; id < table.size(); ++id) {
      const bool worth_a_name = table[id].argument_count > 0 || table[id].code == Code::Load;
      if (!worth_a_name || uses[static_cast<std::size_t>(id)] < 2) continue;
      begin_line();
      out_ += cat('%', shared, " = ");
      append(out_, table, id);
      out_ += '\n';
      names_[static_cast<std::size_t>(id)] = shared++;
    }
    std::vector<std::string> result(ids.size());
    for (std::size_t k = 0; k < ids.size(); ++k) append(result[k], table, ids[k]);
    return result;
  }
  std::vector<std::string> expressions(std::initializer_list<Scalar> roots) {
    return expressions(std::span<const Scalar>(roots.begin(), roots.size()));
  }

  void append(std::string& out, const ExpressionTable& table, int id) const {
    const Expression& e = table[id];
    if (const int shared = names_[static_cast<std::size_t>(id)]; shared >= 0) {
      out += '%';
      append_text(out, shared);
    } else if (e.argument_count == 0) {
      append_leaf(out, e);
    } else {
      out += name(e.code);
      if (e.code == Code::Cast || e.code == Code::Bitcast) {
        out += '_';
        append_text(out, e.dtype);
      }
      for (int a = 0; a < e.argument_count; ++a) {
        out += a == 0 ? "(" : ", ";
        append(out, table, e.argument[a]);
      }
      out += ')';
    }
  }

  static void append_leaf(std::string& out, const Expression& e) {
    switch (e.code) {
      case Code::Constant: return append_constant(out, e.dtype, e.bits);
      case Code::Load: out += cat('b', e.index, '[', e.offset, ']'); return;
      case Code::Integer: out += cat('{', e.offset, '}'); return;
      default: break;
    }
    out += e.code == Code::Input ? 'x' : e.code == Code::Argument ? 'a' : 'v';
    append_text(out, e.index);
  }

  const Nest& nest_;
  std::string out_;
  int depth_ = 0;
  int variable_count_ = 0, bound_count_ = 0, local_count_ = 0;
  std::unordered_map<int, Dim> symbols_;
  std::unordered_map<int, int> locals_;
  std::unordered_map<std::uintptr_t, Dim> renamed_;  // under the present `symbols_`
  std::vector<int> names_;                           // per expression of the statement: k of %k, or -1
};

}  // namespace

std::string print(const Nest& nest) { return Printer(nest).run(); }

}  // namespace resilin::loop
