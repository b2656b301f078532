// src/resilin/dist/group/work.cpp -- handles of collectives under way.
#include "resilin/dist/group/work.h"

#include <utility>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/group/callbacks.h"
#include "resilin/dist/group/mesh.h"
#include "resilin/dist/group/work_body.h"

namespace resilin::dist {
namespace {

DistPlace place_of(const WorkBody& work) {
  return {.group = work.mesh->group(), .generation = work.generation, .sequence = work.sequence, .ranks = {}};
}

void throw_unless_success(const WorkBody& work) {
  if (work.state.load(std::memory_order_acquire) != WorkState::Success) throw_failure(work.failure, work.describe(), place_of(work));
}

}  // namespace

std::string WorkBody::describe() const {
  std::string text = print_signature(signature);
  if (is_point_to_point(collective.kind)) {
    text = cat(enum_name(collective.kind), collective.kind == CollectiveKind::Send ? " to rank " : " from rank ", collective.peer, " (",
               signature.dtype, ", ", signature.elements, " elements, tag ", collective.tag, ")");
  }
  return cat(text, ", number ", sequence, " of generation ", generation, " of group ", mesh->group());
}

WorkState Work::state() const { return body_ == nullptr ? WorkState::Success : body_->state.load(std::memory_order_acquire); }

std::exception_ptr Work::exception() const {
  if (body_ == nullptr || !body_->is_done()) return nullptr;
  try {
    throw_unless_success(*body_);
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

std::uint64_t Work::sequence() const { return body_ == nullptr ? 0 : body_->sequence; }
std::uint64_t Work::generation() const { return body_ == nullptr ? 0 : body_->generation; }

const std::vector<Tensor>& Work::result() const {
  static const std::vector<Tensor> kNone;
  return body_ == nullptr ? kNone : body_->collective.outputs;
}

void Work::wait(std::optional<std::chrono::milliseconds> patience) const {
  if (body_ == nullptr) return;
  if (!body_->is_done() && in_callback()) {
    throw WouldBlockError(cat(body_->describe(), ": a callback waits for it; it may end only after the callback"), place_of(*body_));
  }
  if (!body_->mesh->wait(*body_, patience)) {
    throw TimeoutError(cat(body_->describe(), ": not done after ", patience->count(), " ms; it goes on"), place_of(*body_));
  }
  throw_unless_success(*body_);
}

void Work::then(std::function<void(const Work&)> callback) const {
  if (body_ != nullptr) return body_->mesh->call_back(body_, std::move(callback));
  callback(*this);
}

}  // namespace resilin::dist
