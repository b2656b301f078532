// src/resilin/ir/attrs.h -- Attrs: an op's parameter struct behind one type, with everything derived from its fields().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <typeinfo>
#include <utility>

#include "resilin/base/reflect.h"
#include "resilin/sym/dim.h"
#include "resilin/sym/number.h"

namespace resilin::ir {

/// The operations of one attribute struct, all made from its fields() list by `kAttrsInfo<T>` of ir/attrs_info.h.
///
/// Value fields are Dim, Number, lists and optionals of them; every other field is structural. The *length* of a list of values, the presence of an
/// optional and the *kind* of a Number are structural too.
struct AttrsInfo {
  const std::type_info* type;
  std::shared_ptr<const void> (*copy)(const void* attrs);
  bool (*equal)(const void* a, const void* b);
  bool (*equal_structural)(const void* a, const void* b);
  std::uint64_t (*hash_structural)(const void* attrs);
  void (*print)(std::string& out, const void* attrs);  // "axis=-1, start=s2"; only fields that differ from their default
  std::shared_ptr<const void> (*parse)(std::string_view text);
  /// Calls back for every Dim and every Number of the value fields, in field order.
  void (*visit_dims)(const void* attrs, const std::function<void(Dim)>& visit);
  void (*visit_numbers)(const void* attrs, const std::function<void(Number)>& visit);
  /// A copy with every Dim and Number replaced, in the same order.
  std::shared_ptr<const void> (*map_values)(const void* attrs, const std::function<Dim(Dim)>& dim,
                                            const std::function<Number(Number)>& number);
  /// Writes the values of all Dims (constants; DataDependentError otherwise) and the bits of all Numbers; gives back how many. Fast: eager's hit path.
  int (*read_dims)(const void* attrs, i64* out, int capacity);
  int (*read_numbers)(const void* attrs, Number* out, int capacity);
};

/// The attributes of ops that have none.
struct NoAttrs {
  static constexpr auto fields() { return std::tuple<>{}; }
};

/// A borrowed attribute struct: what apply takes.
struct AttrsRef {
  const void* data;
  const AttrsInfo* info;
};

/// An owned, immutable, shared attribute struct.
class Attrs {
 public:
  Attrs();  // NoAttrs
  Attrs(std::shared_ptr<const void> data, const AttrsInfo* info) : data_(std::move(data)), info_(info) {}
  explicit Attrs(AttrsRef ref) : data_(ref.info->copy(ref.data)), info_(ref.info) {}
  /// InternalError when the struct is another one.
  template <class T>
  const T& as() const {
    check_type(typeid(T));
    return *static_cast<const T*>(data_.get());
  }
  const AttrsInfo& info() const { return *info_; }
  const void* data() const { return data_.get(); }
  AttrsRef ref() const { return {data_.get(), info_}; }
  friend bool operator==(const Attrs& a, const Attrs& b) { return a.info_ == b.info_ && a.info_->equal(a.data_.get(), b.data_.get()); }

 private:
  void check_type(const std::type_info& wanted) const;
  std::shared_ptr<const void> data_;
  const AttrsInfo* info_;
};

}  // namespace resilin::ir
