// src/resilin/dist/collective/combine.cpp -- which kernel combines, and what a dtype does not have.
#include "resilin/dist/collective/combine.h"

#include <cstring>

#include <cpuid.h>

#include "resilin/base/error.h"
#include "resilin/dist/collective/combine_kernel.h"

namespace resilin::dist {
namespace {

bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool has_avx2() { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c(); }

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

const CombineIsa& best_isa() {
  int i = 0;
  while (!kCombineIsa[i].runs_here()) ++i;
  return kCombineIsa[i];
}

std::string_view name_of(ReduceOp op) { return enum_names(&op)[static_cast<std::size_t>(op)]; }

[[noreturn]] void refuse(ReduceOp op, DType dtype, std::string_view needed) {
  throw UnsupportedError(cat("reduction: ", name_of(op), " of ", dtype, " is not supported; ", needed));
}

/// How a kernel sees the elements.
struct KernelView {
  ReduceOp op;
  DType dtype;
  i64 numbers = 1;  // in an element
};

KernelView view_of_bool(ReduceOp op) {
  const bool is_or = op == ReduceOp::Sum || op == ReduceOp::Max || op == ReduceOp::Bor;
  return {.op = op == ReduceOp::Bxor ? op : is_or ? ReduceOp::Bor : ReduceOp::Band, .dtype = DType::U8};
}

KernelView view_of(ReduceOp op, DType dtype) {
  if (dtype == DType::Bool) return view_of_bool(op);
  const ReduceOp kernel_op = op == ReduceOp::Avg ? ReduceOp::Sum : op;
  if (dtype == DType::C64) return {.op = kernel_op, .dtype = DType::F32, .numbers = 2};
  if (dtype == DType::C128) return {.op = kernel_op, .dtype = DType::F64, .numbers = 2};
  return {.op = kernel_op, .dtype = dtype};
}

/// Toward zero.
void divide_integers(DType dtype, std::byte* into, i64 count, i64 divisor) {
  visit_dtype(dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      for (i64 i = 0; i < count; ++i) {
        std::byte* const at = into + i * static_cast<i64>(sizeof(T));
        T item{};
        std::memcpy(&item, at, sizeof item);
        item = static_cast<T>(static_cast<i64>(item) / divisor);
        std::memcpy(at, &item, sizeof item);
      }
    }
  });
}

}  // namespace

const CombineIsa kCombineIsa[kCombineIsas] = {
    {"avx512", has_avx512, find_combine_avx512},
    {"avx2", has_avx2, find_combine_avx2},
    {"portable", [] { return true; }, find_combine_portable},
};

void check_combine(ReduceOp op, DType dtype) {
  if (op == ReduceOp::None) refuse(op, dtype, "a reduction needs an op");
  if (op == ReduceOp::PremulSum) refuse(op, dtype, "multiply first, then use sum");
  const bool is_bitwise = op == ReduceOp::Band || op == ReduceOp::Bor || op == ReduceOp::Bxor;
  if (is_bitwise && !is_integral(dtype) && dtype != DType::Bool) refuse(op, dtype, "the dtype must be an integer or bool");
  if (op == ReduceOp::Avg && dtype == DType::Bool)
    refuse(op, dtype, "the dtype must be a number; max or min tell whether any or all are true");
  if (is_complex(dtype) && op != ReduceOp::Sum && op != ReduceOp::Avg) refuse(op, dtype, "complex numbers have sum and avg");
}

void combine(ReduceOp op, DType dtype, std::byte* into, std::span<const std::byte* const> from, i64 count, i64 average_over) {
  check_combine(op, dtype);
  RESILIN_ASSERT(!from.empty() && count >= 0 && average_over >= 0 && average_over <= (i64{1} << 24),
                 cat("combine: ", from.size(), " sources, ", count, " elements, average over ", average_over));
  if (count == 0) return;
  const i64 divisor = op == ReduceOp::Avg && average_over > 0 ? average_over : 1;
  if (from.size() == 1 && divisor == 1) {
    if (into != from[0]) std::memcpy(into, from[0], static_cast<std::size_t>(count * size_bytes(dtype)));
    return;
  }
  static const CombineIsa& isa = best_isa();
  const KernelView view = view_of(op, dtype);
  const CombineKernel kernel = isa.find(view.op, view.dtype);
  RESILIN_ASSERT(kernel != nullptr, cat("combine: ", name_of(op), " of ", dtype, " has no kernel"));
  kernel({.into = into, .from = from.data(), .sources = static_cast<int>(from.size()), .count = count * view.numbers, .divisor = divisor});
  if (divisor != 1 && is_integral(dtype)) divide_integers(dtype, into, count, divisor);
}

}  // namespace resilin::dist
