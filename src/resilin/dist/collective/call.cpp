// src/resilin/dist/collective/call.cpp -- checking and packing the tensors of a collective.
#include "resilin/dist/collective/call.h"

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/collective/combine.h"
#include "resilin/dist/collective/overlap.h"
#include "resilin/tensor/layout.h"
#include "resilin/tensor/row_major.h"

namespace resilin::dist {
namespace {

std::uint64_t elements_of(const Tensor& x) { return static_cast<std::uint64_t>(x.numel().value()); }
std::uint64_t bytes_of_elements(const Tensor& x) { return elements_of(x) * static_cast<std::uint64_t>(size_bytes(x.dtype())); }

/// The checks of one collective, whose name begins every message.
class Checker {
 public:
  Checker(const Collective& collective, int rank, int size)
      : name_(enum_name(collective.kind)), collective_(collective), rank_(rank), size_(size) {}

  void check() const {
    const CollectiveKind kind = collective_.kind;
    switch (kind) {
      case CollectiveKind::AllReduce: count(1, 1); break;
      case CollectiveKind::AllReduceCoalesced:
        count(collective_.inputs.size(), collective_.inputs.size());
        if (collective_.inputs.empty()) throw ArgumentError(cat(name_, ": no tensors; at least one is needed"));
        break;
      case CollectiveKind::Broadcast: count(0, 1); break;
      case CollectiveKind::AllGatherSingle:
      case CollectiveKind::ReduceScatterSingle: count(1, 1); break;
      case CollectiveKind::Barrier: count(0, 0); break;
      case CollectiveKind::Send: count(1, 0); break;
      case CollectiveKind::Recv: count(0, 1); break;
      default:
        throw UnsupportedError(cat(name_,
                                   ": not written yet; groups have all_reduce, all_reduce_coalesced, broadcast, all_gather_single, "
                                   "reduce_scatter_single, barrier, send and recv"));
    }
    for (const Tensor& input : collective_.inputs) usable(input, "input");
    for (const Tensor& output : collective_.outputs) usable(output, "output");
    one_dtype();
    check_op();
    check_sizes();
    check_ranks();
    check_memory();
    if (collective_.timeout <= std::chrono::milliseconds(0)) {
      throw ArgumentError(cat(name_, ": timeout is ", collective_.timeout.count(), " ms; it must be above 0"));
    }
  }

 private:
  void count(std::size_t inputs, std::size_t outputs) const {
    if (collective_.inputs.size() == inputs && collective_.outputs.size() == outputs) return;
    throw ArgumentError(cat(name_, ": ", collective_.inputs.size(), " inputs and ", collective_.outputs.size(), " outputs; it takes ",
                            inputs, " and ", outputs));
  }
  void usable(const Tensor& x, const char* what) const {
    if (!x.defined()) throw ArgumentError(cat(name_, ": an ", what, " is an undefined tensor"));
    if (x.is_traced()) throw UnsupportedError(cat(name_, ": an ", what, " is being traced; collectives in graphs are not written yet"));
  }
  void one_dtype() const {
    const DType dtype = first().dtype();
    for (const std::vector<Tensor>* list : {&collective_.inputs, &collective_.outputs}) {
      for (const Tensor& x : *list) {
        if (x.dtype() != dtype) throw DtypeError(cat(name_, ": dtypes differ: ", dtype, " and ", x.dtype(), "; they must be equal"));
      }
    }
  }
  const Tensor& first() const {
    static const Tensor kNone = Tensor::allocate(Shape{0}, DType::U8);
    return !collective_.inputs.empty() ? collective_.inputs[0] : !collective_.outputs.empty() ? collective_.outputs[0] : kNone;
  }
  void check_op() const {
    const CollectiveKind kind = collective_.kind;
    const bool reduces =
        kind == CollectiveKind::AllReduce || kind == CollectiveKind::AllReduceCoalesced || kind == CollectiveKind::ReduceScatterSingle;
    if (reduces == (collective_.op == ReduceOp::None)) {
      throw ArgumentError(
          cat(name_, ": op is ", enum_name(collective_.op), "; ", reduces ? "it must say how" : "there is nothing to reduce"));
    }
    if (reduces) check_combine(collective_.op, first().dtype());
  }
  void check_sizes() const {
    const std::vector<Tensor>&inputs = collective_.inputs, &outputs = collective_.outputs;
    const std::uint64_t ranks = static_cast<std::uint64_t>(size_);
    for (std::size_t i = 0; i < inputs.size() && i < outputs.size(); ++i) {
      const std::uint64_t in = elements_of(inputs[i]), out = elements_of(outputs[i]);
      const bool gathers = collective_.kind == CollectiveKind::AllGatherSingle,
                 scatters = collective_.kind == CollectiveKind::ReduceScatterSingle;
      if (gathers ? out == in * ranks : scatters ? in == out * ranks : in == out) continue;
      throw ShapeError(cat(name_, ": input ", i, " has ", in, " elements, output ", i, " has ", out, "; ",
                           gathers    ? cat("the output must have ", ranks, " times those of the input")
                           : scatters ? cat("the input must have ", ranks, " times those of the output")
                                      : "they must be equal"));
    }
  }
  /// What is written must be apart from what else is written or read, but for results that take the place of what they are made of.
  void check_memory() const {
    const std::vector<Tensor>&inputs = collective_.inputs, &outputs = collective_.outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (is_non_overlapping(outputs[i].shape(), outputs[i].strides())) continue;
      throw ArgumentError(cat(name_, ": elements of output ", i, " share memory: shape ", outputs[i].shape(), ", strides ",
                              outputs[i].strides(), "; each needs its own"));
    }
    if (const std::optional<std::pair<std::size_t, std::size_t>> two = find_overlap(outputs)) {
      throw ArgumentError(cat(name_, ": outputs ", two->first, " and ", two->second,
                              " overlap: ", print_ranges(outputs[two->first], outputs[two->second]), "; they must be apart"));
    }
    for (std::size_t i = 0; i < inputs.size() && i < outputs.size(); ++i) {
      if (is_in_place(inputs[i], outputs[i]) || !shares_elements(inputs[i], outputs[i])) continue;
      throw ArgumentError(cat(name_, ": input ", i, " and output ", i, " overlap: ", print_ranges(inputs[i], outputs[i]), "; they must be ",
                              collective_.kind == CollectiveKind::AllGatherSingle ? "apart, or the input this rank's part of the output"
                              : collective_.kind == CollectiveKind::ReduceScatterSingle
                                  ? "apart, or the output this rank's part of the input"
                                  : "the same elements or apart"));
    }
  }
  bool is_in_place(const Tensor& input, const Tensor& output) const {
    if (is_same_view(input, output)) return true;
    if (!input.is_contiguous() || !output.is_contiguous()) return false;
    const std::byte *from = static_cast<const std::byte*>(input.data()), *to = static_cast<const std::byte*>(output.data());
    const std::uint64_t rank = static_cast<std::uint64_t>(rank_);
    if (collective_.kind == CollectiveKind::AllGatherSingle) return from == to + rank * bytes_of_elements(input);
    if (collective_.kind == CollectiveKind::ReduceScatterSingle) return to == from + rank * bytes_of_elements(output);
    return from == to;
  }
  void check_ranks() const {
    const CollectiveKind kind = collective_.kind;
    if (kind == CollectiveKind::Broadcast && (collective_.root < 0 || collective_.root >= size_)) {
      throw ArgumentError(cat(name_, ": root is ", collective_.root, "; ranks are 0 to ", size_ - 1));
    }
    if (!is_point_to_point(kind)) return;
    if (collective_.peer < 0 || collective_.peer >= size_) {
      throw ArgumentError(cat(name_, ": peer is ", collective_.peer, "; ranks are 0 to ", size_ - 1));
    }
    if (collective_.peer == rank_) throw ArgumentError(cat(name_, ": peer is ", rank_, ", which is this rank itself; another is needed"));
  }

  const std::string_view name_;
  const Collective& collective_;
  const int rank_;
  const int size_;
};

/// All tensors one after the other, row-major.
Tensor pack(const std::vector<Tensor>& tensors, bool with_elements) {
  std::uint64_t elements = 0;
  for (const Tensor& x : tensors) elements += elements_of(x);
  const Tensor packed = Tensor::allocate(Shape{static_cast<i64>(elements)}, tensors[0].dtype());
  if (!with_elements) return packed;
  std::byte* to = static_cast<std::byte*>(packed.data());
  for (const Tensor& x : tensors) {
    const std::string_view bytes = bytes_of(row_major(x));
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size();
  }
  return packed;
}

bool needs_packing(const std::vector<Tensor>& tensors) { return tensors.size() > 1 || !tensors[0].is_contiguous(); }

}  // namespace

std::span<const std::byte> CollectiveCall::input_bytes() const {
  if (!input.defined()) return output_bytes();
  return {static_cast<const std::byte*>(input.data()), bytes_of_elements(input)};
}
std::span<std::byte> CollectiveCall::output_bytes() const {
  if (!output.defined()) return {};
  return {static_cast<std::byte*>(output.data()), bytes_of_elements(output)};
}

void CollectiveCall::finish() {
  if (unpacked.empty()) {
    if (output.defined() && output.storage().defined()) output.storage().bump_version();
    return;
  }
  std::string_view rest = bytes_of(output);
  for (const Tensor& x : unpacked) {
    const std::size_t bytes = bytes_of_elements(x);
    assign_row_major(x, rest.substr(0, bytes));
    rest.remove_prefix(bytes);
    if (x.storage().defined()) x.storage().bump_version();
  }
}

CollectiveCall make_call(const Collective& collective, int rank, int size) {
  Checker(collective, rank, size).check();
  CollectiveCall call{.kind = collective.kind, .op = collective.op};
  const std::vector<Tensor>&inputs = collective.inputs, &outputs = collective.outputs;
  if (!inputs.empty()) call.input = needs_packing(inputs) ? pack(inputs, true) : inputs[0];
  if (!outputs.empty() && !needs_packing(outputs)) {
    call.output = outputs[0];
  } else if (!outputs.empty()) {
    const bool is_source = collective.kind == CollectiveKind::Broadcast && collective.root == rank;
    call.output = pack(outputs, is_source);
    call.unpacked = outputs;
  }
  const Tensor& counted = collective.kind == CollectiveKind::ReduceScatterSingle || inputs.empty() ? call.output : call.input;
  if (counted.defined()) {
    call.dtype = counted.dtype();
    call.elements = elements_of(counted);
  }
  return call;
}

}  // namespace resilin::dist
