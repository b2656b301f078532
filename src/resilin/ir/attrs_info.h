// src/resilin/ir/attrs_info.h -- Internal: kAttrsInfo<T>, the operations of an attribute struct made from its fields().
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "resilin/base/error.h"
#include "resilin/base/hash.h"
#include "resilin/base/small_vector.h"
#include "resilin/ir/attrs.h"

namespace resilin::ir {
namespace detail {

/// Dim, Number, and lists and optionals of them.
template <class T>
inline constexpr bool kHoldsValues = std::same_as<T, Dim> || std::same_as<T, Number>;
template <class T>
inline constexpr bool kHoldsValues<std::vector<T>> = kHoldsValues<T>;
template <class T, std::size_t N>
inline constexpr bool kHoldsValues<SmallVector<T, N>> = kHoldsValues<T>;
template <class T>
inline constexpr bool kHoldsValues<std::optional<T>> = kHoldsValues<T>;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

/// Calls `visit` for every Dim and Number inside a member.
template <class T, class Visit>
void for_each_value(T& member, Visit& visit) {
  using Member = std::remove_const_t<T>;
  if constexpr (std::same_as<Member, Dim> || std::same_as<Member, Number>) {
    visit(member);
  } else if constexpr (kHoldsValues<Member> && kIsOptional<Member>) {
    if (member) for_each_value(*member, visit);
  } else if constexpr (kHoldsValues<Member>) {
    for (auto& item : member) for_each_value(item, visit);
  }
}

template <class T>
std::uint64_t hash_part(std::uint64_t seed, const T& member) {
  if constexpr (std::same_as<T, Dim>) {
    return seed;
  } else if constexpr (std::same_as<T, Number>) {
    return hash_mix(seed, static_cast<std::uint64_t>(member.kind()));
  } else if constexpr (kHoldsValues<T> && kIsOptional<T>) {
    seed = hash_mix(seed, member.has_value() ? 1 : 0);
    return member ? hash_part(seed, *member) : seed;
  } else if constexpr (kHoldsValues<T>) {
    seed = hash_mix(seed, member.size());
    for (const auto& item : member) seed = hash_part(seed, item);
    return seed;
  } else {
    return FieldTraits<T>::hash(seed, member);
  }
}

/// Equal but for the values; agrees with `hash_part`.
template <class T>
bool part_equal(const T& a, const T& b) {
  if constexpr (std::same_as<T, Dim>) {
    return true;
  } else if constexpr (std::same_as<T, Number>) {
    return a.kind() == b.kind();
  } else if constexpr (kHoldsValues<T> && kIsOptional<T>) {
    return a.has_value() == b.has_value() && (!a || part_equal(*a, *b));
  } else if constexpr (kHoldsValues<T>) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!part_equal(a[i], b[i])) return false;
    }
    return true;
  } else {
    return FieldTraits<T>::equal(a, b);
  }
}

/// No field is a value that the reader of values would miss, or a structural one that passes could not rename.
template <class S, class T>
constexpr bool is_keyed(const Field<S, T>& field) {
  return kHoldsValues<T> ? field.kind != FieldKind::Structural : field.structural();
}

template <class T>
struct AttrsOperations {
  static_assert(
      std::apply([](const auto&... field) { return (is_keyed(field) && ...); }, T::fields()),
      "a field is a value (Dim, Number, lists and optionals of them) or structural: a double is a Number or says FieldKind::Structural");

  static const T& cast(const void* attrs) { return *static_cast<const T*>(attrs); }
  static std::shared_ptr<const void> copy(const void* attrs) { return std::make_shared<const T>(cast(attrs)); }
  static bool equal(const void* a, const void* b) { return fields_equal(cast(a), cast(b)); }
  static bool equal_structural(const void* a, const void* b) {
    return std::apply([&](const auto&... field) { return (part_equal(cast(a).*field.member, cast(b).*field.member) && ...); }, T::fields());
  }
  static std::uint64_t hash_structural(const void* attrs) {
    std::uint64_t seed = 0;
    for_each_field(cast(attrs), [&](const auto&, const auto& member) { seed = hash_part(seed, member); });
    return seed;
  }
  static void print(std::string& out, const void* attrs) {
    const T defaults{};
    bool first = true;
    for_each_field(cast(attrs), [&]<class M>(const auto& field, const M& member) {
      if (FieldTraits<M>::equal(member, defaults.*field.member)) return;
      if (!first) out += ", ";
      first = false;
      out += field.name;
      out += '=';
      FieldTraits<M>::print(out, member);
    });
  }
  static std::shared_ptr<const void> parse(std::string_view text) { return std::make_shared<const T>(parse_fields<T>(text)); }

  /// Calls `visit` for each value of kind V (Dim or Number) in field order.
  template <class V, class S, class Visit>
  static void for_each(S& attrs, Visit&& visit) {
    const auto visit_kind = [&]<class Value>(Value& value) {
      if constexpr (std::same_as<std::remove_const_t<Value>, V>) visit(value);
    };
    for_each_field(attrs, [&](const auto&, auto& member) { for_each_value(member, visit_kind); });
  }
  static void visit_dims(const void* attrs, const std::function<void(Dim)>& visit) { for_each<Dim>(cast(attrs), visit); }
  static void visit_numbers(const void* attrs, const std::function<void(Number)>& visit) { for_each<Number>(cast(attrs), visit); }
  static std::shared_ptr<const void> map_values(const void* attrs, const std::function<Dim(Dim)>& dim,
                                                const std::function<Number(Number)>& number) {
    const std::shared_ptr<T> result = std::make_shared<T>(cast(attrs));
    for_each<Dim>(*result, [&](Dim& value) { value = dim(value); });
    for_each<Number>(*result, [&](Number& value) { value = number(value); });
    return result;
  }
  static int read_dims(const void* attrs, i64* out, int capacity) {
    int count = 0;
    for_each<Dim>(cast(attrs), [&](Dim value) {
      RESILIN_ASSERT(count < capacity, cat("room for ", capacity, " dims is too little"));
      out[count++] = value.value();
    });
    return count;
  }
  static int read_numbers(const void* attrs, Number* out, int capacity) {
    int count = 0;
    for_each<Number>(cast(attrs), [&](const Number& value) {
      RESILIN_ASSERT(count < capacity, cat("room for ", capacity, " numbers is too little"));
      out[count++] = value;
    });
    return count;
  }
};

}  // namespace detail

template <class T>
inline constexpr AttrsInfo kAttrsInfo = {
    .type = &typeid(T),
    .copy = detail::AttrsOperations<T>::copy,
    .equal = detail::AttrsOperations<T>::equal,
    .equal_structural = detail::AttrsOperations<T>::equal_structural,
    .hash_structural = detail::AttrsOperations<T>::hash_structural,
    .print = detail::AttrsOperations<T>::print,
    .parse = detail::AttrsOperations<T>::parse,
    .visit_dims = detail::AttrsOperations<T>::visit_dims,
    .visit_numbers = detail::AttrsOperations<T>::visit_numbers,
    .map_values = detail::AttrsOperations<T>::map_values,
    .read_dims = detail::AttrsOperations<T>::read_dims,
    .read_numbers = detail::AttrsOperations<T>::read_numbers,
};

/// An owned copy of an attribute struct.
template <class T>
Attrs attrs_of(const T& value) {
  return Attrs(AttrsRef{&value, &kAttrsInfo<T>});
}

}  // namespace resilin::ir
