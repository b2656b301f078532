// src/resilin/base/reflect.h -- one list of a struct's fields as the source of its equality, hash, text and documentation.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "resilin/base/field_traits.h"

namespace resilin {

/// One member of a struct: its name in every text form, where it is, what it means and its part in keys.
template <class S, class T>
struct Field {
  using Type = T;
  std::string_view name;
  T S::*member;
  std::string_view doc;
  FieldKind kind;

  /// Part of kernel keys, after the member type's default is applied.
  static constexpr FieldKind resolve(FieldKind kind) { return kind == FieldKind::Auto ? field_kind<T>() : kind; }
  constexpr bool structural() const { return resolve(kind) == FieldKind::Structural; }
};

/// An entry of `fields()`:
///
///   struct Softmax {
///     i64 axis = -1;
///     static constexpr auto fields() { return std::tuple{field("axis", &Softmax::axis, "Axis to normalise over.")}; }
///   };
template <class S, class T>
constexpr Field<S, T> field(std::string_view name, T S::*member, std::string_view doc = "", FieldKind kind = FieldKind::Auto) {
  return {name, member, doc, kind};
}

/// Calls `visit(field, member)` for each field in the order of declaration.
template <class S, class Visit>
constexpr void for_each_field(S& object, Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field, object.*field.member), ...); }, std::remove_const_t<S>::fields());
}

/// All fields are equal; floats compare by bits, so NaN equals NaN and 0 differs from -0.
template <Reflected S>
bool fields_equal(const S& a, const S& b) {
  return std::apply([&](const auto&... field) { return (detail::member_equal(a.*field.member, b.*field.member) && ...); }, S::fields());
}

/// The structural fields are equal: both may share one kernel.
template <Reflected S>
bool fields_equal_structural(const S& a, const S& b) {
  return std::apply(
      [&](const auto&... field) { return ((!field.structural() || detail::member_equal(a.*field.member, b.*field.member)) && ...); },
      S::fields());
}

/// Agrees with `fields_equal`.
template <Reflected S>
std::uint64_t fields_hash(const S& a, std::uint64_t seed = 0) {
  for_each_field(a, [&]<class T>(const auto&, const T& member) { seed = FieldTraits<T>::hash(seed, member); });
  return seed;
}

/// Agrees with `fields_equal_structural`.
template <Reflected S>
std::uint64_t fields_hash_structural(const S& a, std::uint64_t seed = 0) {
  for_each_field(a, [&]<class T>(const auto& field, const T& member) {
    if (field.structural()) seed = FieldTraits<T>::hash(seed, member);
  });
  return seed;
}

/// "axis=-1, keepdim=true" in the order of declaration; doubles are hex floats, so that the text reads back bit for bit.
template <Reflected S>
std::string print_fields(const S& a) {
  std::string out;
  for_each_field(a, [&]<class T>(const auto& field, const T& member) {
    if (!out.empty()) out += ", ";
    out += field.name;
    out += '=';
    FieldTraits<T>::print(out, member);
  });
  return out;
}

/// Reads what `print_fields` wrote, in any order; fields that are not mentioned keep their defaults.
/// Throws ArgumentError on a name that is unknown or given twice, and on a value that does not parse.
template <Reflected S>
S parse_fields(std::string_view text) {
  S result;
  std::vector<std::string_view> known;
  for_each_field(result, [&](const auto& field, const auto&) { known.push_back(field.name); });
  const std::vector<detail::FieldText> given = detail::split_fields(text, known);
  for_each_field(result, [&]<class T>(const auto& field, T& member) {
    for (const detail::FieldText& entry : given) {
      if (entry.name == field.name) member = detail::parse_field<T>(entry, known);
    }
  });
  return result;
}

/// A struct inside a struct: "{axis=-1, keepdim=true}".
template <Reflected T>
struct FieldTraits<T> {
  static constexpr FieldKind kKind = FieldKind::Structural;
  static bool equal(const T& a, const T& b) { return fields_equal(a, b); }
  static std::uint64_t hash(std::uint64_t seed, const T& value) { return fields_hash(value, seed); }
  static void print(std::string& out, const T& value) {
    out += '{';
    out += print_fields(value);
    out += '}';
  }
  static T parse(std::string_view text) { return parse_fields<T>(detail::strip_brackets(text, '{', '}')); }
};

}  // namespace resilin
