// src/resilin/plan/group.cpp -- Internal: partitions the nodes of a graph into regions by the form of their lowering.
//
// A loop group has one iteration space: the shape of its full values and, once it holds a reduction, the reduced axes. Two groups become one when their
// spaces agree, or when the producer's values are needed inside the consumer only and can be computed there element by element.
#include "resilin/plan/group.h"

#include <algorithm>
#include <set>
#include <utility>

namespace resilin {
namespace {

constexpr std::ptrdiff_t kMostSiblings = 4;  // reductions that do not need each other in one group
constexpr std::size_t kCheapNodes = 4;  // a group of at most so many nodes may be computed again for every element that broadcasting shows

template <class Form>
const Form* form_of(const ir::Node& node) {
  return std::get_if<Form>(&node.op->lower);
}

struct Space {
  Shape shape;
  SmallVector<i64, 5> axes;  // reduced ones
  bool reduces = false;
  bool ends = false;  // holds a Scan or an Update: nothing may follow
};

class Grouping {
 public:
  explicit Grouping(const ir::Graph& graph) : graph_(graph) {
    group_of_.assign(graph.nodes().size(), -1);
    users_.resize(static_cast<std::size_t>(graph.value_count()));
    is_output_.assign(static_cast<std::size_t>(graph.value_count()), false);
    for (int v = 0; v < graph.value_count(); ++v) types_.push_back(graph.type({v}));
    for (const ir::ValueId id : graph.outputs()) is_output_[static_cast<std::size_t>(id.index)] = true;
    for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
      for (const ir::ValueId id : inputs_of(static_cast<int>(n))) users_[static_cast<std::size_t>(id.index)].push_back(static_cast<int>(n));
    }
  }

  std::vector<Group> run() {
    for (int n = 0; n < static_cast<int>(graph_.nodes().size()); ++n) add_node(n);
    join_siblings();
    return with_aliases(in_order());
  }

 private:
  const ir::Node& node(int n) const { return graph_.nodes()[static_cast<std::size_t>(n)]; }
  std::vector<ir::ValueId> inputs_of(int n) const {
    std::vector<ir::ValueId> ids;
    for (const ir::Operand& operand : node(n).inputs) {
      if (const ir::ValueId* id = std::get_if<ir::ValueId>(&operand)) ids.push_back(*id);
    }
    if (node(n).destination.defined()) ids.push_back(node(n).destination);
    return ids;
  }
  int producer_group(ir::ValueId id) const {
    const ir::Node* producer = graph_.producer(id);
    return producer == nullptr ? -1 : group_of_[static_cast<std::size_t>(producer - graph_.nodes().data())];
  }

  void add_node(int n) {
    const int g = static_cast<int>(groups_.size());
    group_of_[static_cast<std::size_t>(n)] = g;
    groups_.push_back({kind_of(n), {n}});
    spaces_.push_back(space_of(n));
    if (groups_.back().kind != GroupKind::Loops) return;
    while (joins_a_producer(n)) {  // one that joins may have been the other user of one that did not
    }
  }

  bool joins_a_producer(int n) {
    bool joined = false;
    for (const ir::ValueId id : inputs_of(n)) {
      const int producer = producer_group(id);
      const int consumer = group_of_[static_cast<std::size_t>(n)];
      if (producer < 0 || producer == consumer || !can_join(producer, consumer)) continue;
      join(producer, consumer);
      joined = true;
    }
    return joined;
  }

  GroupKind kind_of(int n) {
    if (form_of<ir::Contract>(node(n)) != nullptr) return GroupKind::Contract;
    if (form_of<ir::Extern>(node(n)) != nullptr) return GroupKind::Extern;
    if (form_of<ir::View>(node(n)) != nullptr) {
      // A view of something that has memory anyway costs nothing as an alias.
      const ir::ValueId input = std::get<ir::ValueId>(node(n).inputs[0]);
      const int producer = producer_group(input);
      const bool in_memory = producer < 0 || groups_[static_cast<std::size_t>(producer)].kind != GroupKind::Loops;
      const std::optional<Alias> alias =
          in_memory ? view_as_alias(graph_, node(n), types_[static_cast<std::size_t>(input.index)]) : std::nullopt;
      if (alias) {
        types_[static_cast<std::size_t>(node(n).outputs[0].index)].strides = alias->strides;
        return GroupKind::Alias;
      }
    }
    return GroupKind::Loops;
  }

  Space space_of(int n) const {
    Space space;
    space.shape = graph_.type(node(n).outputs[0]).shape;
    if (const ir::Reduce* reduce = form_of<ir::Reduce>(node(n))) {
      space.shape = graph_.type(std::get<ir::ValueId>(node(n).inputs[0])).shape;
      space.axes = reduce->axes(node(n).attrs.ref(), static_cast<i64>(space.shape.size()));
      space.reduces = true;
    }
    space.ends = form_of<ir::Scan>(node(n)) != nullptr || form_of<ir::Update>(node(n)) != nullptr;
    return space;
  }

  bool same_shape(const Shape& a, const Shape& b) const {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!graph_.facts().proves_equal(a[i], b[i])) return false;
    }
    return true;
  }
  // The shape of rows of a reducing space: reduced axes become 1, or are dropped.
  static Shape row_shape(const Space& space, bool keep_axes) {
    Shape shape;
    for (std::size_t a = 0; a < space.shape.size(); ++a) {
      const bool reduced = std::find(space.axes.begin(), space.axes.end(), static_cast<i64>(a)) != space.axes.end();
      if (!reduced) shape.push_back(space.shape[a]);
      if (reduced && keep_axes) shape.push_back(1);
    }
    return shape;
  }
  static bool leading_axes(const Space& space) {
    return space.axes.empty() || space.axes.back() + 1 == static_cast<i64>(space.axes.size());
  }

  bool used_only_in(int producer, int consumer) const {
    for (const int n : groups_[static_cast<std::size_t>(producer)].nodes) {
      for (const ir::ValueId id : node(n).outputs) {
        if (is_output_[static_cast<std::size_t>(id.index)] || node(n).destination.defined()) return false;
        for (const int user : users_[static_cast<std::size_t>(id.index)]) {
          const int g = group_of_[static_cast<std::size_t>(user)];
          if (g != producer && g != consumer) return false;
        }
      }
    }
    return true;
  }

  bool has_views(int g) const {
    return std::any_of(groups_[static_cast<std::size_t>(g)].nodes.begin(), groups_[static_cast<std::size_t>(g)].nodes.end(),
                       [&](int n) { return form_of<ir::View>(node(n)) != nullptr; });
  }
  // Is anything in `consumer` reached from `producer` through a third group?
  bool path_around(int producer, int consumer) const {
    std::vector<int> open = groups_feeding(consumer);
    std::set<int> seen;
    while (!open.empty()) {
      const int g = open.back();
      open.pop_back();
      if (g == producer || !seen.insert(g).second) continue;
      for (const int before : groups_feeding(g)) {
        if (before == producer) return true;
        open.push_back(before);
      }
    }
    return false;
  }
  std::vector<int> groups_feeding(int g) const {
    std::vector<int> feeding;
    for (const int n : groups_[static_cast<std::size_t>(g)].nodes) {
      for (const ir::ValueId id : inputs_of(n)) {
        const int producer = producer_group(id);
        if (producer >= 0 && producer != g) feeding.push_back(producer);
      }
    }
    return feeding;
  }

  bool can_join(int producer, int consumer) const {
    const Group& from = groups_[static_cast<std::size_t>(producer)];
    const Space& p = spaces_[static_cast<std::size_t>(producer)];
    const Space& c = spaces_[static_cast<std::size_t>(consumer)];
    if (from.kind != GroupKind::Loops || p.ends || path_around(producer, consumer)) return false;
    if (reads_list(consumer)) return false;
    if (writes_destination(consumer) && has_views(producer)) return false;  // memory is read where it is written
    if (writes_destination(producer)) return writes_beside(producer, consumer);
    if (c.ends) return !p.reduces && used_only_in(producer, consumer);
    if (p.reduces) return joins_rows(producer, consumer);
    if (same_shape(p.shape, c.shape)) return true;
    if (c.reduces && same_shape(p.shape, row_shape(c, true))) return true;  // once per row, kept for others too
    return used_only_in(producer, consumer) && (has_views(consumer) || from.nodes.size() <= kCheapNodes);
  }
  // Several stores in place, each element's values read before: neither group reads another place than it writes.
  bool writes_beside(int producer, int consumer) const {
    const Space& p = spaces_[static_cast<std::size_t>(producer)];
    const Space& c = spaces_[static_cast<std::size_t>(consumer)];
    return !p.reduces && !c.reduces && !c.ends && !has_views(producer) && !has_views(consumer) && same_shape(p.shape, c.shape);
  }
  bool writes_destination(int g) const {
    return std::any_of(groups_[static_cast<std::size_t>(g)].nodes.begin(), groups_[static_cast<std::size_t>(g)].nodes.end(),
                       [&](int n) { return node(n).destination.defined(); });
  }
  bool reads_list(int g) const {
    const ir::Update* update = form_of<ir::Update>(node(groups_[static_cast<std::size_t>(g)].nodes.back()));
    return update != nullptr && update->list_axis != nullptr;
  }

  // A reducing producer and a consumer over the same rows.
  bool joins_rows(int producer, int consumer) const {
    const Space& p = spaces_[static_cast<std::size_t>(producer)];
    const Space& c = spaces_[static_cast<std::size_t>(consumer)];
    if (has_views(consumer)) return false;
    const Shape kept = row_shape(p, true);
    const Shape dropped = row_shape(p, false);
    if (c.reduces && !(same_shape(p.shape, c.shape) && p.axes == c.axes)) return false;
    if (!c.reduces && !same_shape(c.shape, p.shape) && !same_shape(c.shape, kept) && !same_shape(c.shape, dropped)) return false;
    for (const int n : groups_[static_cast<std::size_t>(consumer)].nodes) {
      const Shape& out = graph_.type(node(n).outputs[0]).shape;
      for (const ir::ValueId id : inputs_of(n)) {
        if (producer_group(id) != producer) continue;
        const Shape& in = graph_.type(id).shape;
        const bool rows_without_axes = in.size() < p.shape.size() && !p.axes.empty();
        if (form_of<ir::Reduce>(node(n)) != nullptr && !same_shape(in, p.shape)) return false;
        if (rows_without_axes && !same_shape(out, dropped) && !leading_axes(p)) return false;
      }
    }
    return true;
  }

  void join(int producer, int consumer) {
    Group& from = groups_[static_cast<std::size_t>(producer)];
    Group& to = groups_[static_cast<std::size_t>(consumer)];
    const Space& p = spaces_[static_cast<std::size_t>(producer)];
    Space& c = spaces_[static_cast<std::size_t>(consumer)];
    if (p.reduces) {
      c.shape = p.shape;
      c.axes = p.axes;
      c.reduces = true;
    }
    for (const int n : from.nodes) group_of_[static_cast<std::size_t>(n)] = consumer;
    to.nodes.insert(to.nodes.end(), from.nodes.begin(), from.nodes.end());
    std::sort(to.nodes.begin(), to.nodes.end());
    from.nodes.clear();
  }

  // --- afterwards ----------------------------------------------------------------------------------------------------------------
  // A few reductions over the same axes of one shape: one pass, one launch.
  void join_siblings() {
    for (int a = 0; a < static_cast<int>(groups_.size()); ++a) {
      for (int b = a + 1; b < static_cast<int>(groups_.size()); ++b) {
        if (are_siblings(a, b)) join(a, b);
      }
    }
  }
  bool are_siblings(int a, int b) const {
    for (const int g : {a, b}) {
      const std::size_t at = static_cast<std::size_t>(g);
      if (groups_[at].nodes.empty() || groups_[at].kind != GroupKind::Loops) return false;
      if (!spaces_[at].reduces || spaces_[at].ends || has_views(g) || writes_destination(g)) return false;
    }
    const Space& p = spaces_[static_cast<std::size_t>(a)];
    const Space& c = spaces_[static_cast<std::size_t>(b)];
    return same_shape(p.shape, c.shape) && p.axes == c.axes && reductions(a) + reductions(b) <= kMostSiblings && !reaches(a, b) &&
           !reaches(b, a);
  }
  std::ptrdiff_t reductions(int g) const {
    const std::vector<int>& nodes = groups_[static_cast<std::size_t>(g)].nodes;
    return std::count_if(nodes.begin(), nodes.end(), [&](int n) { return form_of<ir::Reduce>(node(n)) != nullptr; });
  }
  bool reaches(int from, int to) const {
    const std::vector<int> feeding = groups_feeding(to);
    return std::find(feeding.begin(), feeding.end(), from) != feeding.end() || path_around(from, to);
  }

  // A view that stayed alone and whose input has come to memory is an alias after all.
  std::vector<Group> with_aliases(std::vector<Group> groups) {
    for (Group& group : groups) {
      const ir::Node& only = node(group.nodes[0]);
      if (group.kind != GroupKind::Loops || group.nodes.size() != 1 || form_of<ir::View>(only) == nullptr || only.destination.defined())
        continue;
      const ir::ValueId input = std::get<ir::ValueId>(only.inputs[0]);
      const std::optional<Alias> alias = view_as_alias(graph_, only, types_[static_cast<std::size_t>(input.index)]);
      if (!alias) continue;
      types_[static_cast<std::size_t>(only.outputs[0].index)].strides = alias->strides;
      group.kind = GroupKind::Alias;
    }
    return groups;
  }

  // Topological order of the groups; ties by first node.
  std::vector<Group> in_order() const {
    std::vector<Group> out;
    std::vector<bool> done(groups_.size(), false);
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        if (done[g] || groups_[g].nodes.empty()) continue;
        const std::vector<int> before = groups_feeding(static_cast<int>(g));
        if (!std::all_of(before.begin(), before.end(), [&](int b) { return done[static_cast<std::size_t>(b)]; })) continue;
        out.push_back(groups_[g]);
        done[g] = true;
        progress = true;
      }
    }
    for (std::size_t g = 0; g < groups_.size(); ++g)
      RESILIN_ASSERT(done[g] || groups_[g].nodes.empty(), "regions depend on each other in a cycle");
    return out;
  }

  const ir::Graph& graph_;
  std::vector<Group> groups_;  // joined groups stay, empty
  std::vector<Space> spaces_;
  std::vector<int> group_of_;            // per node
  std::vector<std::vector<int>> users_;  // per value: nodes
  std::vector<bool> is_output_;          // per value
  std::vector<ir::Type> types_;          // per value; aliases with their strides
};

}  // namespace

std::vector<Group> group_nodes(const ir::Graph& graph) { return Grouping(graph).run(); }

}  // namespace resilin
