// src/resilin/dist/launch/rendezvous.cpp -- numbers of hosts through keys of the store.
#include "resilin/dist/launch/rendezvous.h"

#include <algorithm>
#include <vector>

#include "resilin/base/error.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

std::string node_key(const RunOptions& run, i64 node) { return cat("rendezvous/", run.rdzv_id, "/node/", node); }
std::string closed_key(const RunOptions& run) { return cat("rendezvous/", run.rdzv_id, "/closed"); }

/// The key exists within the time.
bool comes(Store& store, const std::string& key, nanoseconds time) {
  if (time <= nanoseconds(0)) return store.check({key});
  try {
    store.wait({key}, std::max(std::chrono::duration_cast<milliseconds>(time), milliseconds(1)));
    return true;
  } catch (const TimeoutError&) {
    return false;
  }
}

i64 take_static_number(Store& store, const RunOptions& run) {
  const i64 node = *run.node_rank;
  if (node >= run.max_nodes) {
    throw ArgumentError(cat("run: --node-rank is ", node, ", --nnodes ", run.max_nodes, "; numbers begin at 0"));
  }
  const std::string ranks = cat(run.ranks_per_node);
  const Reply reply = store.txn({{.key = node_key(run, node)}}, {{.key = node_key(run, node), .bytes = ranks}});
  if (reply.status != StoreStatus::Ok) throw ArgumentError(cat("run: --node-rank ", node, " is taken; each host needs its own"));
  return node;
}

i64 take_next_number(Store& store, const RunOptions& run) {
  const i64 node = store.add(cat("rendezvous/", run.rdzv_id, "/arrived"), 1) - 1;
  store.set(node_key(run, node), cat(run.ranks_per_node));
  return node;
}

/// How many hosts the job has. The first to find enough of them closes the door.
i64 close_door(Store& store, const RunOptions& run, Clock& clock) {
  const nanoseconds deadline = clock.now() + run.join_timeout;
  for (i64 node = 0; node < run.min_nodes; ++node) {
    if (comes(store, node_key(run, node), deadline - clock.now())) continue;
    throw TimeoutError(cat("run: the job lacks hosts: host ", node, " did not come in ", run.join_timeout.count(), " ms; at least ",
                           run.min_nodes, " must"));
  }
  const nanoseconds last_call = clock.now() + run.last_call_timeout;
  i64 count = run.min_nodes;
  while (count < run.max_nodes && !store.check({closed_key(run)}) && comes(store, node_key(run, count), last_call - clock.now())) ++count;
  store.compare_set(closed_key(run), "", cat(count));
  return parse_integer(store.get(closed_key(run)));
}

}  // namespace

NodePlace meet(Store& store, const RunOptions& run, Clock& clock) {
  NodePlace place;
  place.node = run.node_rank ? take_static_number(store, run) : take_next_number(store, run);
  place.nodes = close_door(store, run, clock);
  if (place.node >= place.nodes) {
    throw ArgumentError(cat("run: the job has begun with ", place.nodes, " hosts; this one came too late"));
  }
  place.world_size = 0;
  for (i64 node = 0; node < place.nodes; ++node) {
    const i64 ranks = parse_integer(store.get(node_key(run, node), run.join_timeout));
    if (node < place.node) place.first_rank += ranks;
    place.world_size += ranks;
  }
  return place;
}

std::string agree_on_master(Store& store, const RunOptions& run, const NodePlace& place, const std::string& of_node_0) {
  const std::string key = cat("rendezvous/", run.rdzv_id, "/master");
  if (place.node == 0) store.set(key, of_node_0);
  return store.get(key, run.join_timeout);
}

}  // namespace resilin::dist
