// src/resilin/base/function_ref.h -- Internal: a reference to something callable, for arguments that are only called during the call.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace resilin {

template <class Signature>
class FunctionRef;

template <class F, class Ref, class R, class... Args>
concept CallableBeside = !std::is_same_v<std::remove_cvref_t<F>, Ref> && std::is_invocable_r_v<R, F&, Args...>;

/// Two words, no allocation; the callable must outlive it.
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <CallableBeside<FunctionRef, R, Args...> F>
  FunctionRef(F&& function) {
    using Target = std::remove_reference_t<F>;
    if constexpr (std::is_function_v<Target>) {
      object_ = reinterpret_cast<void*>(&function);
      call_ = [](void* object, Args... args) -> R { return reinterpret_cast<Target*>(object)(std::forward<Args>(args)...); };
    } else {
      object_ = const_cast<void*>(static_cast<const void*>(std::addressof(function)));
      call_ = [](void* object, Args... args) -> R { return (*static_cast<Target*>(object))(std::forward<Args>(args)...); };
    }
  }

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace resilin
