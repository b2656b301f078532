// src/resilin/base/hook_list.cpp -- handles that take hooks out of their lists.
#include "resilin/base/hook_list.h"

namespace resilin {

void HookHandle::remove() {
  if (const std::shared_ptr<HookTable> table = table_.lock()) table->remove(id_);
}

}  // namespace resilin
