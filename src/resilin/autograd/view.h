// src/resilin/autograd/view.h -- Internal: histories of aliases, and of tensors that are written through one.
#pragma once

#include "resilin/autograd/tape.h"
#include "resilin/ir/op.h"

namespace resilin::tape {

/// One View op between a base and its alias; `before` are those nearer to the base.
struct ViewLink {
  ~ViewLink();
  std::shared_ptr<const ViewLink> before;
  const ir::OpDef* op = nullptr;
  ir::Attrs attrs;
  GradType input;
  GradType output;
};

/// What an alias is of. The base is never a view itself.
struct ViewOf {
  ViewOf(Tensor of, std::shared_ptr<const ViewLink> by, i64 after) : base(std::move(of)), links(std::move(by)), rebases(after) {}
  Tensor base;
  std::shared_ptr<const ViewLink> links;
  i64 rebases;       // of the base, when the alias got its history
  std::mutex mutex;  // of the alias's history
};

/// Notes that `alias` is View op `op` of `x`.
void note_view(const Tensor& alias, const Tensor& x, const ir::OpDef& op, ir::AttrsRef attrs);
/// Gives the alias the history of its base, if the base was written since.
void refresh_view(GradState& state);
/// The alias was overwritten by what `written` makes: the base is now its old self with that in place of the alias, and the alias a view of this.
void rebase(const Tensor& alias, Edge written);

}  // namespace resilin::tape
