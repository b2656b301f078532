// src/resilin/loop/verify.cpp -- verify(): the rules of a nest, checked in one walk that knows what is in scope.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "resilin/loop/nest.h"

namespace resilin::loop {
namespace {

constexpr int kMostLanes = 64;
constexpr int kMostLanesInVector = 8;  // each lane is then a vector of its own

std::string text(Symbol s) { return cat(s.space, s.index); }

class Verifier {
 public:
  explicit Verifier(const Nest& nest) : nest_(nest) {}

  void run() {
    RESILIN_ASSERT(!nest_.phases.empty(), "verify: the nest has no phase");
    for (const Buffer& buffer : nest_.buffers) {
      if (buffer.role == Buffer::Role::Partial || buffer.role == Buffer::Role::Row) check_dim(buffer.elements);
    }
    for (const Phase& phase : nest_.phases) {
      check_dim(phase.extent);
      check_dim(phase.cost);
      const Scope scope(*this);
      bind(phase.variable, 'i');
      in_vector_ = phase.vector;
      block(phase.body);
    }
  }

  void operator()(const Loop& s) {
    check_dim(s.extent);
    const Scope scope(*this);
    bind(s.variable, 'i');
    if (s.kind == LoopKind::Vector) enter_vector(cat("loop ", text(s.variable)));
    block(s.body);
  }

  void operator()(const Let& s) {
    check_scalar(s.value);
    if (s.symbol) {
      RESILIN_ASSERT(s.value.dtype() == DType::I64,
                     cat("verify: ", text(*s.symbol), " names a value of ", s.value.dtype(), "; must be i64"));
      bind(*s.symbol, 't');
    }
    define(s.index, s.value.dtype());
  }

  void operator()(const Store& s) {
    const Buffer& target = buffer(s.buffer);
    RESILIN_ASSERT(target.role != Buffer::Role::Input, cat("verify: store to b", s.buffer, ", which is an input"));
    check_dim(s.offset);
    check_scalar(s.value);
    RESILIN_ASSERT(s.value.dtype() == target.dtype,
                   cat("verify: store of ", s.value.dtype(), " to b", s.buffer, ", which holds ", target.dtype));
    if (s.mask.defined()) check_condition(s.mask, "mask of a store");
  }

  void operator()(const Check& s) {
    check_condition(s.ok, "condition of a check");
    check_scalar(s.value);
    RESILIN_ASSERT(s.value.dtype() == DType::I64, cat("verify: check reports a value of ", s.value.dtype(), "; must be i64"));
    check_dim(s.element);
  }

  void operator()(const Reduce& s) {
    RESILIN_ASSERT(
        !s.variables.empty() && s.variables.size() == s.extents.size(),
        cat("verify: reduce has ", s.variables.size(), " variables and ", s.extents.size(), " extents; must be as many, at least 1"));
    check_lanes("reduce", s.lanes, in_vector_ ? kMostLanesInVector : kMostLanes);
    for (const Dim extent : s.extents) check_dim(extent);
    check_states(s.combiner, s.results);
    {
      const Scope scope(*this);
      for (const Symbol variable : s.variables) bind(variable, 'i');
      simple_block(s.body, "reduce");
      check_elements(s.combiner);
    }
    define_results(s.combiner, s.results);
  }

  void operator()(const Scan& s) {
    check_lanes("scan", s.lanes, in_vector_ ? 1 : kMostLanes);
    check_dim(s.extent);
    check_states(s.combiner, s.results);
    const Scope scope(*this);
    bind(s.variable, 'i');
    {
      const Scope body(*this);
      simple_block(s.body, "scan");
      check_elements(s.combiner);
    }
    define_results(s.combiner, s.results);
    simple_block(s.after, "scan");
  }

  void operator()(const TableLoop& s) {
    RESILIN_ASSERT(!in_table_, "verify: a table loop inside a table loop");
    RESILIN_ASSERT(!in_vector_, "verify: a table loop inside a vector loop");
    const Scope scope(*this);
    in_table_ = true;
    bind(s.variable, 'i');
    for (const Symbol column : s.columns) bind(column, 't');
    block(s.body);
  }

 private:
  /// What is in scope is as before when a Scope ends.
  class Scope {
   public:
    explicit Scope(Verifier& v)
        : v_(v), symbols_(v.symbols_.size()), locals_(v.locals_.size()), in_vector_(v.in_vector_), in_table_(v.in_table_) {}
    Scope(const Scope&) = delete;
    ~Scope() {
      v_.symbols_.resize(symbols_);
      v_.locals_.resize(locals_);
      v_.in_vector_ = in_vector_;
      v_.in_table_ = in_table_;
    }

   private:
    Verifier& v_;
    std::size_t symbols_, locals_;
    bool in_vector_, in_table_;
  };

  void block(const Block& statements) {
    const Scope scope(*this);
    for (const Statement& s : statements) std::visit(*this, s.value);
  }

  // What runs for each element of a Reduce or Scan; stays in the scope of the caller, because the elements see its Lets.
  void simple_block(const Block& statements, const char* owner) {
    for (const Statement& s : statements) {
      const bool simple =
          std::holds_alternative<Let>(s.value) || std::holds_alternative<Store>(s.value) || std::holds_alternative<Check>(s.value);
      RESILIN_ASSERT(simple, cat("verify: a loop inside the body of a ", owner, "; only let, store and check may be there"));
      std::visit(*this, s.value);
    }
  }

  void enter_vector(const std::string& who) {
    RESILIN_ASSERT(!in_vector_, cat("verify: vector ", who, " lies inside a vector loop; only one may be"));
    in_vector_ = true;
  }

  const Buffer& buffer(int index) const {
    RESILIN_ASSERT(index >= 0 && index < static_cast<int>(nest_.buffers.size()),
                   cat("verify: no buffer b", index, "; there are ", nest_.buffers.size()));
    const Buffer& found = nest_.buffers[static_cast<std::size_t>(index)];
    RESILIN_ASSERT(found.role != Buffer::Role::Entry || in_table_,
                   cat("verify: b", index, " is an entry of a table; used outside a table loop"));
    return found;
  }

  bool in_scope(Symbol s) const {
    if (s.space == 's') return s.index >= 0 && s.index < nest_.integer_count;
    return std::find(symbols_.begin(), symbols_.end(), s) != symbols_.end();
  }

  void bind(Symbol s, char space) {
    RESILIN_ASSERT(s.space == space, cat("verify: ", text(s), " is bound here; must be of space ", space));
    RESILIN_ASSERT(!in_scope(s), cat("verify: ", text(s), " is bound again inside its own scope"));
    symbols_.push_back(s);
  }

  const std::pair<int, DType>* find_local(int index) const {
    for (const std::pair<int, DType>& local : locals_) {
      if (local.first == index) return &local;
    }
    return nullptr;
  }

  void define(int index, DType dtype) {
    RESILIN_ASSERT(find_local(index) == nullptr, cat("verify: local ", index, " is defined again inside its own scope"));
    locals_.emplace_back(index, dtype);
  }

  void check_dim(Dim e) {
    if (e.is_constant()) return;
    used_.clear();
    collect_symbols(e, used_);
    for (const Symbol s : used_) RESILIN_ASSERT(in_scope(s), cat("verify: ", text(s), " is not in scope in ", e));
  }

  void check_leaf(const Scalar& leaf) {
    switch (leaf.code()) {
      case Code::Load:
        RESILIN_ASSERT(buffer(leaf.index()).dtype == leaf.dtype(),
                       cat("verify: load of ", leaf.dtype(), " from b", leaf.index(), ", which holds ", buffer(leaf.index()).dtype));
        check_dim(leaf.offset());
        break;
      case Code::Integer: check_dim(leaf.offset()); break;
      case Code::Argument: {
        const bool known = leaf.index() >= 0 && leaf.index() < static_cast<int>(nest_.argument_dtypes.size());
        RESILIN_ASSERT(known && nest_.argument_dtypes[static_cast<std::size_t>(leaf.index())] == leaf.dtype(),
                       cat("verify: no argument ", leaf.index(), " of ", leaf.dtype(), "; they are ", nest_.argument_dtypes));
        break;
      }
      case Code::Local: {
        const std::pair<int, DType>* local = find_local(leaf.index());
        RESILIN_ASSERT(local != nullptr, cat("verify: local ", leaf.index(), " is not defined here"));
        RESILIN_ASSERT(local->second == leaf.dtype(),
                       cat("verify: local ", leaf.index(), " is ", local->second, ", read as ", leaf.dtype()));
        break;
      }
      case Code::Input: check_input(leaf); break;
      default: break;
    }
  }

  void check_input(const Scalar& leaf) {
    RESILIN_ASSERT(combiner_ != nullptr, cat("verify: input ", leaf.index(), " outside a combine"));
    const std::size_t count = combiner_->init.size();
    RESILIN_ASSERT(leaf.index() >= 0 && leaf.index() < static_cast<int>(2 * count),
                   cat("verify: combine reads input ", leaf.index(), "; there are ", 2 * count));
    const DType expected = combiner_->init[static_cast<std::size_t>(leaf.index()) % count].dtype();
    RESILIN_ASSERT(leaf.dtype() == expected, cat("verify: combine reads input ", leaf.index(), " as ", leaf.dtype(), "; it is ", expected));
  }

  void check_node(const Scalar& a) {
    if (!seen_.insert(a.identity()).second) return;
    if (a.args().empty()) check_leaf(a);
    for (const Scalar& arg : a.args()) check_node(arg);
  }
  void check_scalar(const Scalar& a) {
    RESILIN_ASSERT(a.defined(), "verify: a statement holds an undefined Scalar");
    seen_.clear();
    check_node(a);
  }
  void check_condition(const Scalar& a, const char* what) {
    check_scalar(a);
    RESILIN_ASSERT(a.dtype() == DType::Bool, cat("verify: the ", what, " is ", a.dtype(), "; must be bool"));
  }

  void check_lanes(const char* who, int lanes, int most) {
    RESILIN_ASSERT(
        lanes >= 1 && lanes <= most && (lanes & (lanes - 1)) == 0,
        cat("verify: ", who, " with ", lanes, " lanes; must be a power of two, at most ", most, in_vector_ ? " inside a vector loop" : ""));
  }

  // init and combine stand outside the loop of a Reduce or Scan.
  void check_states(const Combiner& c, const std::vector<int>& results) {
    const std::size_t count = c.init.size();
    RESILIN_ASSERT(count > 0 && c.element.size() == count && c.combine.size() == count && results.size() == count,
                   cat("verify: a combiner of ", count, " inits, ", c.element.size(), " elements, ", c.combine.size(), " combines, ",
                       results.size(), " results; must be as many, at least 1"));
    for (std::size_t i = 0; i < count; ++i) {
      check_scalar(c.init[i]);
      combiner_ = &c;
      check_scalar(c.combine[i]);
      combiner_ = nullptr;
      RESILIN_ASSERT(c.combine[i].dtype() == c.init[i].dtype(),
                     cat("verify: component ", i, " starts as ", c.init[i].dtype(), " and combines to ", c.combine[i].dtype()));
    }
  }
  void check_elements(const Combiner& c) {
    for (std::size_t i = 0; i < c.element.size(); ++i) {
      check_scalar(c.element[i]);
      RESILIN_ASSERT(c.element[i].dtype() == c.init[i].dtype(),
                     cat("verify: component ", i, " starts as ", c.init[i].dtype(), " and has elements of ", c.element[i].dtype()));
    }
  }
  void define_results(const Combiner& c, const std::vector<int>& results) {
    for (std::size_t i = 0; i < results.size(); ++i) define(results[i], c.init[i].dtype());
  }

  const Nest& nest_;
  std::vector<Symbol> symbols_;
  std::vector<std::pair<int, DType>> locals_;
  bool in_vector_ = false;
  bool in_table_ = false;
  const Combiner* combiner_ = nullptr;  // set while a combine is checked
  std::unordered_set<const void*> seen_;
  std::vector<Symbol> used_;
};

}  // namespace

void verify(const Nest& nest) { Verifier(nest).run(); }

}  // namespace resilin::loop
