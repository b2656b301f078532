// src/resilin/ir/attrs.cpp -- the attributes of ops that have none, and the check of a struct's type.
#include "resilin/ir/attrs.h"

#include "resilin/base/error.h"
#include "resilin/ir/attrs_info.h"

namespace resilin::ir {
namespace {

constexpr NoAttrs kNoAttrs{};

}  // namespace

// The pointer owns nothing: the constant lives as long as the process.
Attrs::Attrs() : data_(std::shared_ptr<const void>(), &kNoAttrs), info_(&kAttrsInfo<NoAttrs>) {}

void Attrs::check_type(const std::type_info& wanted) const {
  RESILIN_ASSERT(*info_->type == wanted, cat("the attributes are a ", info_->type->name(), ", not a ", wanted.name()));
}

}  // namespace resilin::ir
