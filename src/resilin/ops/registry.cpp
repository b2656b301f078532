// src/resilin/ops/registry.cpp -- all ops: an array of family tables, and the look-up by name.
#include "resilin/ops/registry.h"

#include <unordered_map>

#include "resilin/dispatch/cast.h"
#include "resilin/ops/activation/gelu.h"
#include "resilin/ops/activation/softmax.h"
#include "resilin/ops/contract/attention.h"
#include "resilin/ops/contract/linear.h"
#include "resilin/ops/contract/matmul.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/index/embedding.h"
#include "resilin/ops/index/gather.h"
#include "resilin/ops/index/index_add.h"
#include "resilin/ops/index/nonzero.h"
#include "resilin/ops/join/cat.h"
#include "resilin/ops/loss/cross_entropy.h"
#include "resilin/ops/norm/layer_norm.h"
#include "resilin/ops/norm/rms_norm.h"
#include "resilin/ops/optimizer/update.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/clamp.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/pointwise/power.h"
#include "resilin/ops/pointwise/select.h"
#include "resilin/ops/pointwise/unary.h"
#include "resilin/ops/random/discrete.h"
#include "resilin/ops/random/dropout.h"
#include "resilin/ops/random/normal.h"
#include "resilin/ops/random/uniform.h"
#include "resilin/ops/reduce/extreme.h"
#include "resilin/ops/reduce/norm.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/reduce/variance.h"
#include "resilin/ops/scan/cumsum.h"
#include "resilin/ops/sort/sort.h"
#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/range.h"
#include "resilin/ops/view/shape.h"
#include "resilin/ops/view/triangle.h"

namespace resilin {
namespace {

constexpr const ir::OpDef* kDispatchTable[] = {&cast_op, &assign_op};

}  // namespace

std::span<const OpTable> op_families() {
  static const OpTable kFamilies[] = {
      kDispatchTable, kArithmeticOps, kElementaryOps, kCompareOps,      kSelectOps,    kGeluOps,     kSoftmaxOps, kReduceOps,
      kCumsumOps,     kShapeOps,      kRangeOps,      kAxesOps,         kFillOps,      kUniformOps,  kGatherOps,  kIndexAddOps,
      kNonzeroOps,    kCatOps,        kMatmulOps,     kLayerNormOps,    kSortOps,      kUnaryOps,    kPowerOps,   kClampOps,
      kTriangleOps,   kExtremeOps,    kVarianceOps,   kNormOps,         kNormalOps,    kDiscreteOps, kRmsNormOps, kEmbeddingOps,
      kLinearOps,     kAttentionOps,  kDropoutOps,    kCrossEntropyOps, kOptimizerOps,
  };
  return kFamilies;
}

const ir::OpDef* find_op(std::string_view name) {
  static const std::unordered_map<std::string_view, const ir::OpDef*> kByName = [] {
    std::unordered_map<std::string_view, const ir::OpDef*> map;
    for (const OpTable& family : op_families()) {
      for (const ir::OpDef* op : family) map.emplace(op->name, op);
    }
    return map;
  }();
  const std::unordered_map<std::string_view, const ir::OpDef*>::const_iterator found = kByName.find(name);
  return found == kByName.end() ? nullptr : found->second;
}

}  // namespace resilin
