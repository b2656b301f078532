// src/resilin/runtime/launch.cpp -- Internal: one launch of a kernel over the thread pool, and the errors that kernels report.
#include "resilin/runtime/launch.h"

#include <algorithm>

#include "resilin/base/thread_pool.h"
#include "resilin/tensor/allocator.h"

namespace resilin {
namespace {

// Cost (loop::Phase::cost units, about a third of a nanosecond each) below which a range is not worth a second thread.
constexpr i64 kGrainCost = 60000;
constexpr i64 kVectorGrain = 64;  // ranges of vector phases start at multiples of this

class RowMemory {
 public:
  explicit RowMemory(i64 size_bytes) : data_(size_bytes > 0 ? allocate(size_bytes) : nullptr) {}
  RowMemory(const RowMemory&) = delete;
  RowMemory& operator=(const RowMemory&) = delete;
  ~RowMemory() {
    if (data_ != nullptr) deallocate(data_);
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_;
};

// Where kernels count elements from; not looked at when the tensor is empty.
void* first_element(const Tensor& x) {
  const TensorBody& body = x.body();
  return static_cast<std::byte*>(body.storage.data()) + body.offset * size_bytes(body.dtype);
}

std::string input_name(const LaunchStep::CheckSite& site) {
  const std::size_t last = site.op->inputs.size() - 1;
  return std::string(site.op->inputs[std::min(static_cast<std::size_t>(site.input), last)].name);
}

[[noreturn]] void throw_index_error(const LaunchStep::CheckSite& site, std::span<const i64> integers, i64 element, i64 value) {
  throw IndexError(cat(site.op->name, ": index out of range: '", input_name(site), "' holds ", value, " at element ", element,
                       "; it must be in [", integers[static_cast<std::size_t>(site.low)], ", ",
                       integers[static_cast<std::size_t>(site.high)], ")"));
}

void throw_if_failed(const LaunchStep& step, const Status& status, std::span<const i64> integers) {
  const i64 element = status.element.load(std::memory_order_acquire);
  if (element == INT64_MAX) return;
  const LaunchStep::CheckSite& site = step.check_sites[static_cast<std::size_t>(status.operand)];
  switch (status.code) {
    case StatusCode::IndexOutOfRange: throw_index_error(site, integers, element, status.value);
    case StatusCode::DivisionByZero:
      throw NumericError(
          cat(site.op->name, ": integer division by zero: '", input_name(site), "' holds 0 at element ", element, "; it must not be 0"));
    case StatusCode::NegativeExponent:
      throw ArgumentError(cat(site.op->name, ": integers to negative integer powers are not allowed: '", input_name(site), "' holds ",
                              status.value, " at element ", element, "; it must be at least 0"));
    default: throw InternalError(cat(step.name, ": kernel reports unknown status ", static_cast<i64>(status.code)));
  }
}

void run_phase(const LaunchStep& step, PhaseFunction phase, bool is_vector, const Launch& launch, std::span<const i64> integers, i64 extent,
               i64 cost) {
  const i64 row_bytes = integers[static_cast<std::size_t>(step.row_bytes)];
  i64 whole = 0;
  if (!__builtin_mul_overflow(extent, std::max<i64>(cost, 1), &whole) && whole <= kGrainCost) {
    const RowMemory row(row_bytes);
    phase(&launch, 0, extent, row.data());
    return;
  }
  const i64 unit = is_vector ? kVectorGrain : 1;
  const i64 grain = (std::max<i64>(1, kGrainCost / std::max<i64>(cost, 1)) + unit - 1) / unit * unit;
  parallel_for(0, extent, grain, [&](i64 begin, i64 end, int) {
    const RowMemory row(row_bytes);
    phase(&launch, begin, end, row.data());
  });
}

}  // namespace

void launch(const LaunchStep& step, const Code& code, std::span<const i64> integers, std::span<const Tensor* const> slots,
            std::span<const Number> numbers) {
  const auto at = [&](int index) { return integers[static_cast<std::size_t>(index)]; };
  for (const LaunchStep::NonEmpty& check : step.non_empty) {
    const LaunchStep::CheckSite& site = step.check_sites[static_cast<std::size_t>(check.site)];
    if (at(check.count) > 0 && at(site.high) <= at(site.low)) {
      throw IndexError(cat(site.op->name, ": index out of range: '", input_name(site), "' selects from an axis of size 0"));
    }
  }
  SmallVector<Storage, 2> partials;
  for (const IntegerRange& bytes : step.partials) partials.push_back(Storage::allocate(at(bytes.first)));
  SmallVector<void*, 8> pointers;
  for (const int slot : step.pointers) {
    void* pointer = nullptr;
    if (slot >= 0) pointer = first_element(*slots[static_cast<std::size_t>(slot)]);
    if (slot <= -2) pointer = partials[static_cast<std::size_t>(-2 - slot)].data();
    pointers.push_back(pointer);
  }
  SmallVector<std::uint64_t, 4> values;
  for (const Number& number : step.arguments) {
    const Number& value = number.is_argument() ? numbers[static_cast<std::size_t>(number.argument_index())] : number;
    values.push_back(static_cast<std::uint64_t>(value.bits()));
  }
  SmallVector<i64, 8> table;
  for (const LaunchStep::TableRow& row : step.table) {
    table.push_back(static_cast<i64>(reinterpret_cast<std::uintptr_t>(first_element(*slots[static_cast<std::size_t>(row.slot)]))));
    for (int c = 0; c < row.columns.count; ++c) table.push_back(at(row.columns.first + c));
  }
  Status status;
  const Launch arguments{&kAbi,         pointers.data(), integers.data() + step.integers.first,
                         values.data(), table.data(),    static_cast<i64>(step.table.size()),
                         &status};
  for (int p = 0; p < step.extents.count; ++p) {
    const i64 extent = at(step.extents.first + p);
    const bool is_vector = step.nest->phases[static_cast<std::size_t>(p)].vector;
    if (extent > 0) run_phase(step, code.phase(p), is_vector, arguments, integers, extent, at(step.costs.first + p));
  }
  throw_if_failed(step, status, integers);
}

}  // namespace resilin
