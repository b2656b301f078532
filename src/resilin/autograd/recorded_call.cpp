// src/resilin/autograd/recorded_call.cpp -- Internal: what recorded calls of the same op, attributes and types share.
#include "resilin/autograd/recorded_call.h"

#include <algorithm>
#include <array>
#include <bit>

#include "resilin/autograd/reads.h"
#include "resilin/autograd/vjp.h"
#include "resilin/dispatch/trace.h"

namespace resilin::tape {
namespace {

constexpr std::size_t kNear = 256;
thread_local std::array<Ref<const RecordedCall>, kNear> near_calls;  // direct-mapped

std::uint64_t step(std::uint64_t hash, std::uint64_t word) { return (std::rotl(hash, 5) ^ word) * 0x9e3779b97f4a7c15ull; }

std::size_t place_of(const OpCall& call, std::uint64_t wanted) {
  std::uint64_t hash = step(reinterpret_cast<std::uintptr_t>(&call.op), wanted);
  if (call.op.attrs != nullptr) hash = step(hash, call.attrs.info->hash_structural(call.attrs.data));
  for (const Input& input : call.inputs) {
    if (!input.is_tensor()) continue;
    for (const Dim size : input.tensor().shape()) hash = step(hash, static_cast<std::uint64_t>(size.value()));
  }
  return hash >> 32 & (kNear - 1);
}

bool is_of_type(const Tensor& x, const GradType& type) { return x.dtype() == type.dtype && x.shape() == type.shape; }

bool is_like(const Input& input, const RecordedInput& known) {
  if (input.is_tensor()) return known.type && is_of_type(input.tensor(), *known.type);
  return !known.type && known.number_kind == input.number_kind();
}

bool is_of(const RecordedCall& known, const OpCall& call, std::uint64_t wanted, std::span<const Tensor> outputs) {
  return known.op == &call.op && known.wanted == wanted &&
         std::equal(call.inputs.begin(), call.inputs.end(), known.inputs.begin(), known.inputs.end(), is_like) &&
         std::equal(outputs.begin(), outputs.end(), known.outputs.begin(), known.outputs.end(), is_of_type) &&
         (call.op.attrs == nullptr || call.attrs.info->equal(known.attrs.data(), call.attrs.data));
}

Ref<const RecordedCall> make(const OpCall& call, std::uint64_t wanted, std::span<const Tensor> outputs) {
  static const Reads kNothing{.inputs = 0, .outputs = 0};
  const Ref<RecordedCall> made = make_ref<RecordedCall>();
  made->op = &call.op;
  if (call.op.attrs != nullptr) made->attrs = ir::Attrs(call.attrs);
  for (const Input& input : call.inputs) {
    RecordedInput& to = made->inputs.emplace_back();
    if (input.is_tensor()) to.type.emplace(input.tensor().dtype(), input.tensor().shape());
    if (input.is_number()) to.number_kind = input.number_kind();
  }
  for (const Tensor& y : outputs) made->outputs.emplace_back(y.dtype(), y.shape());
  made->wanted = wanted;
  made->reads = has_vjp(call.op) ? &reads_of(*made) : &kNothing;
  return made;
}

}  // namespace

Ref<const RecordedCall> recorded_call(const OpCall& call, std::uint64_t wanted, std::span<const Tensor> outputs) {
  if (active_tracer() != nullptr) return make(call, wanted, outputs);  // sizes may be symbols, which mean something in their graph alone
  Ref<const RecordedCall>& near = near_calls[place_of(call, wanted)];
  if (near == nullptr || !is_of(*near, call, wanted, outputs)) near = make(call, wanted, outputs);
  return near;
}

}  // namespace resilin::tape
