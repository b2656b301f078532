// src/resilin/loop/vectorize_guard.cpp -- guards are found by one walk from the roots of a statement to its leaves.
#include "resilin/loop/vectorize_guard.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "resilin/base/error.h"

namespace resilin::loop {

namespace {

void mark_stores(const Block& block, std::vector<bool>& written);

struct StoreMarker {
  std::vector<bool>& written;
  void operator()(const Loop& s) const { mark_stores(s.body, written); }
  void operator()(const Let&) const {}
  void operator()(const Store& s) const { written[static_cast<std::size_t>(s.buffer)] = true; }
  void operator()(const Check&) const {}
  void operator()(const Reduce& s) const { mark_stores(s.body, written); }
  void operator()(const Scan& s) const {
    mark_stores(s.body, written);
    mark_stores(s.after, written);
  }
  void operator()(const TableLoop& s) const { mark_stores(s.body, written); }
};

void mark_stores(const Block& block, std::vector<bool>& written) {
  for (const Statement& statement : block) std::visit(StoreMarker{written}, statement.value);
}

bool is_always(const Guard& guard) {
  return std::any_of(guard.begin(), guard.end(), [](const Conjunction& c) { return c.empty(); });
}

bool includes(const Conjunction& all, const Conjunction& some) {
  return std::all_of(some.begin(), some.end(), [&](const Literal& l) { return std::find(all.begin(), all.end(), l) != all.end(); });
}

/// a and b differ only in the sign of one literal: what they share.
std::optional<Conjunction> merge_complements(const Conjunction& a, const Conjunction& b) {
  if (a.size() != b.size()) return std::nullopt;
  for (const Literal& literal : a) {
    const Literal opposite = {literal.condition, !literal.negated};
    if (std::find(b.begin(), b.end(), opposite) == b.end()) continue;
    Conjunction shared = a;
    std::erase(shared, literal);
    return includes(b, shared) ? std::optional(shared) : std::nullopt;
  }
  return std::nullopt;
}

void add_conjunction(Guard& guard, Conjunction added) {
  for (std::size_t k = 0; k < guard.size(); ++k) {
    if (includes(added, guard[k])) return;
    if (std::optional<Conjunction> merged = merge_complements(guard[k], added)) {
      guard.erase(guard.begin() + static_cast<std::ptrdiff_t>(k));
      return add_conjunction(guard, std::move(*merged));
    }
  }
  std::erase_if(guard, [&](const Conjunction& c) { return includes(c, added); });
  guard.push_back(std::move(added));
}

/// A guard with many conjunctions becomes one computed condition, so that guards stay short.
Guard compress(const Guard& guard) {
  Scalar any;
  for (const Conjunction& conjunction : guard) {
    Scalar all;
    for (const Literal& literal : conjunction) {
      const Scalar condition = literal.negated ? !literal.condition : literal.condition;
      all = all.defined() ? all & condition : condition;
    }
    any = any.defined() ? any | all : all;
  }
  return {{Literal{any, false}}};
}

class Walk {
 public:
  explicit Walk(MemoryFacts& memory) : memory_(memory) {}

  void collect(const Scalar& s) {
    if (!memory_.has_load(s) || !seen_.insert(s.identity()).second) return;
    for (const Scalar& arg : s.args()) collect(arg);
    order_.push_back(s);  // operands first
  }
  void require(const Scalar& s, const Guard& guard) {
    if (!memory_.has_load(s)) return;
    Guard& known = guards_[s.identity()];
    for (const Conjunction& conjunction : guard) add_conjunction(known, conjunction);
    if (known.size() > kLongest) known = compress(known);
  }
  std::unordered_map<const void*, Guard> spread() {
    for (std::size_t k = order_.size(); k-- > 0;) spread_from(order_[k]);
    std::erase_if(guards_, [](const auto& item) { return is_always(item.second); });
    return std::move(guards_);
  }

 private:
  static constexpr std::size_t kLongest = 8;

  void spread_from(const Scalar& s) {
    const Guard guard = guards_.at(s.identity());
    if (s.code() != Code::Select) {
      for (const Scalar& arg : s.args()) require(arg, guard);
      return;
    }
    const Scalar& condition = s.args()[0];
    require(condition, guard);
    for (const bool negated : {false, true}) {
      Guard side;
      for (const Conjunction& conjunction : guard) {
        if (std::find(conjunction.begin(), conjunction.end(), Literal{condition, !negated}) != conjunction.end()) continue;
        Conjunction longer = conjunction;
        if (!includes(longer, {Literal{condition, negated}})) longer.push_back({condition, negated});
        side.push_back(std::move(longer));
      }
      require(s.args()[negated ? 2 : 1], side);
    }
  }

  MemoryFacts& memory_;
  std::unordered_set<const void*> seen_;
  std::vector<Scalar> order_;
  std::unordered_map<const void*, Guard> guards_;
};

/// Whether emitting the mask of a load may come back to that load.
class CycleFinder {
 public:
  CycleFinder(const std::unordered_map<const void*, Guard>& guards, MemoryFacts& memory) : guards_(guards), memory_(memory) {}

  bool find() {
    for (const auto& [node, guard] : guards_) {
      if (follow_guard(node)) return true;
    }
    return false;
  }

 private:
  enum class State { Open, Done };

  bool follow_guard(const void* node) {
    const auto guard = guards_.find(node);
    if (guard == guards_.end()) return false;
    for (const Conjunction& conjunction : guard->second) {
      for (const Literal& literal : conjunction) {
        if (follow(literal.condition)) return true;
      }
    }
    return false;
  }
  bool follow(const Scalar& s) {
    if (!memory_.has_load(s)) return false;
    const auto [entry, is_new] = states_.emplace(s.identity(), State::Open);
    if (!is_new) return entry->second == State::Open;
    bool found = s.code() == Code::Load && follow_guard(s.identity());
    for (const Scalar& arg : s.args()) found = found || follow(arg);
    states_[s.identity()] = State::Done;
    return found;
  }

  const std::unordered_map<const void*, Guard>& guards_;
  MemoryFacts& memory_;
  std::unordered_map<const void*, State> states_;
};

}  // namespace

MemoryFacts::MemoryFacts(const Nest& nest) : written_(nest.buffers.size()) {
  for (const Phase& phase : nest.phases) mark_stores(phase.body, written_);
}

std::uint8_t MemoryFacts::flags_of(const Scalar& s) {
  if (s.code() == Code::Load) return is_written(s.index()) ? kLoads | kLoadsWritten : kLoads;
  if (s.args().empty()) return 0;
  const auto found = flags_.find(s.identity());
  if (found != flags_.end()) return found->second.flags;
  std::uint8_t flags = 0;
  for (const Scalar& arg : s.args()) flags |= flags_of(arg);
  flags_[s.identity()] = {s, flags};
  return flags;
}

GuardedStatement find_guards(std::span<const GuardedRoot> roots, MemoryFacts& memory) {
  Walk walk(memory);
  for (const GuardedRoot& root : roots) {
    walk.collect(root.value);
    if (root.mask.defined()) walk.collect(root.mask);
  }
  for (const GuardedRoot& root : roots) {
    const Conjunction always;
    if (root.mask.defined()) walk.require(root.mask, {always});
    walk.require(root.value, {root.mask.defined() ? Conjunction{{root.mask, false}} : always});
  }
  GuardedStatement statement;
  statement.guards = walk.spread();
  statement.by_path = CycleFinder(statement.guards, memory).find();
  return statement;
}

}  // namespace resilin::loop
