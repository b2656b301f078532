// src/resilin/loop/rewrite.cpp -- Internal: visits and replaces the index expressions inside statements.
#include "resilin/loop/rewrite.h"

#include <unordered_map>
#include <unordered_set>

namespace resilin::loop {
namespace {

// One walk over a block that hands every Dim and Scalar to two callables by reference; a const walk casts only its own copies away.
template <class OnDim, class OnScalar>
struct Walk {
  OnDim on_dim;
  OnScalar on_scalar;

  void scalars(std::vector<Scalar>& list) {
    for (Scalar& s : list) on_scalar(s);
  }
  void combiner(Combiner& c) {
    scalars(c.init);
    scalars(c.element);
    scalars(c.combine);
  }
  void operator()(Loop& s) {
    on_dim(s.extent);
    block(s.body);
  }
  void operator()(Let& s) { on_scalar(s.value); }
  void operator()(Store& s) {
    on_dim(s.offset);
    on_scalar(s.value);
    if (s.mask.defined()) on_scalar(s.mask);
  }
  void operator()(Check& s) {
    on_scalar(s.ok);
    on_dim(s.element);
    on_scalar(s.value);
  }
  void operator()(Reduce& s) {
    for (Dim& extent : s.extents) on_dim(extent);
    block(s.body);
    combiner(s.combiner);
  }
  void operator()(Scan& s) {
    on_dim(s.extent);
    block(s.body);
    combiner(s.combiner);
    block(s.after);
  }
  void operator()(TableLoop& s) { block(s.body); }
  void block(Block& statements) {
    for (Statement& s : statements) std::visit(*this, s.value);
  }
};
template <class OnDim, class OnScalar>
Walk(OnDim, OnScalar) -> Walk<OnDim, OnScalar>;

void visit_scalar_dims(const Scalar& s, const std::function<void(Dim)>& visit, std::unordered_set<const void*>& seen) {
  if (!seen.insert(s.identity()).second) return;
  if (s.code() == Code::Load || s.code() == Code::Integer) visit(s.offset());
  for (const Scalar& arg : s.args()) visit_scalar_dims(arg, visit, seen);
}

Scalar map_scalar(const Scalar& s, const std::function<Dim(Dim)>& map, std::unordered_map<const void*, Scalar>& done) {
  const std::unordered_map<const void*, Scalar>::const_iterator found = done.find(s.identity());
  if (found != done.end()) return found->second;
  Scalar result = s;
  if (s.code() == Code::Load) {
    result = Scalar::load(s.dtype(), s.index(), map(s.offset()));
  } else if (s.code() == Code::Integer) {
    result = Scalar::integer(map(s.offset()));
  } else if (!s.args().empty()) {
    SmallVector<Scalar, 3> args;
    bool changed = false;
    for (const Scalar& arg : s.args()) {
      args.push_back(map_scalar(arg, map, done));
      changed = changed || args.back().identity() != arg.identity();
    }
    if (changed && args.size() == 1) result = Scalar::make(s.code(), s.dtype(), {args[0]});
    if (changed && args.size() == 2) result = Scalar::make(s.code(), s.dtype(), {args[0], args[1]});
    if (changed && args.size() == 3) result = Scalar::make(s.code(), s.dtype(), {args[0], args[1], args[2]});
  }
  done.emplace(s.identity(), result);
  return result;
}

}  // namespace

void visit_dims(const Block& block, const std::function<void(Dim)>& visit) {
  std::unordered_set<const void*> seen;
  Walk walk{[&](Dim& d) { visit(d); }, [&](Scalar& s) { visit_scalar_dims(s, visit, seen); }};
  walk.block(const_cast<Block&>(block));  // neither callable writes
}

void map_dims(Block& block, const std::function<Dim(Dim)>& map) {
  std::unordered_map<const void*, Scalar> done;
  std::vector<Scalar> kept;  // keeps replaced nodes alive: `done` is keyed by their addresses
  Walk walk{[&](Dim& d) { d = map(d); },
            [&](Scalar& s) {
              kept.push_back(s);
              s = map_scalar(s, map, done);
            }};
  walk.block(block);
}

void visit_scalars(const Block& block, const std::function<void(const Scalar&)>& visit) {
  Walk walk{[](Dim&) {}, [&](Scalar& s) { visit(s); }};
  walk.block(const_cast<Block&>(block));
}

}  // namespace resilin::loop
