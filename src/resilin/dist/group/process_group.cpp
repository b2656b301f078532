// src/resilin/dist/group/process_group.cpp -- the public face of a group.
#include "resilin/dist/group/process_group.h"

#include <utility>

#include "resilin/base/error.h"
#include "resilin/dist/agent/heartbeat.h"
#include "resilin/dist/agent/rank_record.h"
#include "resilin/dist/group/group_body.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {
namespace {

Collective reduction(CollectiveKind kind, std::vector<Tensor> inputs, std::vector<Tensor> outputs, ReduceOp op,
                     std::chrono::milliseconds timeout) {
  return {.kind = kind, .inputs = std::move(inputs), .outputs = std::move(outputs), .op = op, .timeout = timeout};
}

}  // namespace

ProcessGroup::ProcessGroup(GroupOptions options) : body_(std::make_shared<Body>(std::move(options))) {}

ProcessGroup::Body& ProcessGroup::body() const {
  if (body_ == nullptr) throw ArgumentError("process group: it is of nothing; init_process_group makes one");
  return *body_;
}

int ProcessGroup::rank() const {
  const std::shared_ptr<Mesh> mesh = body().mesh();
  return mesh == nullptr ? 0 : mesh->rank();
}
int ProcessGroup::size() const {
  const std::shared_ptr<Mesh> mesh = body().mesh();
  return mesh == nullptr ? 1 : mesh->size();
}
std::uint64_t ProcessGroup::generation() const {
  const std::shared_ptr<Mesh> mesh = body().mesh();
  return mesh == nullptr ? 0 : mesh->generation();
}
GenerationInfo ProcessGroup::info() const { return body().info(); }
const std::string& ProcessGroup::name() const { return body().options().name; }
const std::shared_ptr<Store>& ProcessGroup::store() const { return body().options().store; }
std::string ProcessGroup::lanes(int peer) const {
  const std::shared_ptr<Mesh> mesh = body().mesh();
  if (mesh == nullptr || peer < 0 || peer >= mesh->size()) {
    throw ArgumentError(cat("lanes: no rank ", peer, " in a group of ", size(), " in generation ", generation()));
  }
  return mesh->lanes(peer);
}

std::string ProcessGroup::reconfigure_handle() const { return body().handle(); }
GenerationInfo ProcessGroup::reconfigure(const ReconfigureOptions& options) { return body().reconfigure(options); }
GenerationInfo ProcessGroup::await_generation(std::uint64_t after, std::chrono::milliseconds timeout) {
  return body().await_generation(after, timeout);
}
void ProcessGroup::set_blob(std::string blob) { body().set_blob(std::move(blob)); }
std::optional<std::uint64_t> ProcessGroup::held_change() const { return body().held_change(); }
bool ProcessGroup::admit_change(std::uint64_t change) { return body().admit_change(change); }
void ProcessGroup::evict(int rank, const std::string& reason) {
  const GenerationInfo now = info();
  if (rank < 0 || rank >= static_cast<int>(now.handles.size()))
    throw ArgumentError(cat("evict: no rank ", rank, " in a group of ", now.handles.size(), " in generation ", now.generation));
  const std::size_t index = static_cast<std::size_t>(rank);
  const EvictOrder order{parse_handle(now.handles[index]).instance, reason};
  store()->set(evict_key(now.launch_ranks[index]), encode(order));
}
void ProcessGroup::report_step(i64 step) const {
  if (const std::shared_ptr<Heartbeat>& heartbeat = body().options().heartbeat) heartbeat->report(step);
}
void ProcessGroup::abort(const std::string& reason) { body().abort(reason); }
bool ProcessGroup::is_aborted() const {
  const std::shared_ptr<Mesh> mesh = body().mesh();
  return mesh != nullptr && mesh->failure().kind != FailureKind::None;
}
void ProcessGroup::destroy() { body().destroy(); }

Work ProcessGroup::start(Collective collective) { return body().start(std::move(collective)); }
Work ProcessGroup::all_reduce(const Tensor& x, ReduceOp op, std::chrono::milliseconds timeout) {
  return start(reduction(CollectiveKind::AllReduce, {x}, {x}, op, timeout));
}
Work ProcessGroup::all_reduce_coalesced(const std::vector<Tensor>& x, ReduceOp op, std::chrono::milliseconds timeout) {
  return start(reduction(CollectiveKind::AllReduceCoalesced, x, x, op, timeout));
}
Work ProcessGroup::broadcast(const Tensor& x, int root, std::chrono::milliseconds timeout) {
  return start({.kind = CollectiveKind::Broadcast, .outputs = {x}, .root = root, .timeout = timeout});
}
Work ProcessGroup::all_gather_single(const Tensor& output, const Tensor& input, std::chrono::milliseconds timeout) {
  return start({.kind = CollectiveKind::AllGatherSingle, .inputs = {input}, .outputs = {output}, .timeout = timeout});
}
Work ProcessGroup::reduce_scatter_single(const Tensor& output, const Tensor& input, ReduceOp op, std::chrono::milliseconds timeout) {
  return start(reduction(CollectiveKind::ReduceScatterSingle, {input}, {output}, op, timeout));
}
Work ProcessGroup::barrier(std::chrono::milliseconds timeout) { return start({.kind = CollectiveKind::Barrier, .timeout = timeout}); }
Work ProcessGroup::send(const Tensor& x, int peer, std::uint32_t tag, std::chrono::milliseconds timeout) {
  return start({.kind = CollectiveKind::Send, .inputs = {x}, .peer = peer, .tag = tag, .timeout = timeout});
}
Work ProcessGroup::recv(const Tensor& x, int peer, std::uint32_t tag, std::chrono::milliseconds timeout) {
  return start({.kind = CollectiveKind::Recv, .outputs = {x}, .peer = peer, .tag = tag, .timeout = timeout});
}

HookHandle ProcessGroup::register_pre_hook(CollectiveHook hook) {
  return SharedHooks<CollectiveEvent>::add(body().pre_hooks, std::move(hook));
}
HookHandle ProcessGroup::register_post_hook(CollectiveHook hook) {
  return SharedHooks<CollectiveEvent>::add(body().post_hooks, std::move(hook));
}
HookHandle ProcessGroup::register_completion_hook(CollectiveHook hook) {
  return SharedHooks<CollectiveEvent>::add(body().completion_hooks, std::move(hook));
}
HookHandle ProcessGroup::register_abort_hook(AbortHook hook) { return SharedHooks<AbortEvent>::add(body().abort_hooks, std::move(hook)); }
HookHandle ProcessGroup::register_membership_hook(MembershipHook hook) {
  return SharedHooks<MembershipChange>::add(body().membership_hooks, std::move(hook));
}

}  // namespace resilin::dist
