#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace espalier {

/// Base of immutable nodes that many handles share. The count is atomic, so handles may be copied
/// and dropped on any thread; the node itself must not change once shared. Copying a node starts a
/// new count, since the copy is a new object that nobody holds yet.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) {}
  RefCounted& operator=(const RefCounted&) { return *this; }

  /// For caches that may reuse a node nobody else holds; true says that the calling handle is the
  /// only one.
  bool unique() const { return count_.load(std::memory_order_acquire) == 1; }

 private:
  template <class T>
  friend class Ref;

  mutable std::atomic<uint32_t> count_{0};
};

/// Intrusive shared pointer to a RefCounted T, one word wide. T may be const. The last handle
/// destroys the node through `static void T::destroy(const T*)` if T has one, which lets a
/// hierarchy do without a virtual destructor (the function switches on the kind); otherwise with
/// delete.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  /// Shares ownership of a node made with new, or already held elsewhere.
  explicit Ref(T* node) : node_(node) { retain(); }
  Ref(const Ref& other) : node_(other.node_) { retain(); }
  Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  template <class U>
    requires(std::is_convertible_v<U*, T*> && !std::is_same_v<U, T>)
  Ref(const Ref<U>& other) : node_(other.node_) {
    retain();
  }
  template <class U>
    requires(std::is_convertible_v<U*, T*> && !std::is_same_v<U, T>)
  Ref(Ref<U>&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Ref() { release(); }

  T* get() const { return node_; }
  T& operator*() const { return *node_; }
  T* operator->() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }

  template <class U>
  friend bool operator==(const Ref& a, const Ref<U>& b) {
    return a.get() == b.get();
  }
  friend bool operator==(const Ref& a, std::nullptr_t) { return a.node_ == nullptr; }

 private:
  template <class U>
  friend class Ref;

  void retain() const {
    if (node_ != nullptr) {
      static_cast<const RefCounted*>(node_)->count_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void release() const {
    // Acquire-release, so that the thread which destroys the node sees all uses by the others as
    // done.
    if (node_ == nullptr || static_cast<const RefCounted*>(node_)->count_.fetch_sub(
                                1, std::memory_order_acq_rel) != 1) {
      return;
    }
    if constexpr (requires { T::destroy(node_); }) {
      T::destroy(node_);
    } else {
      delete node_;
    }
  }

  T* node_ = nullptr;
};

/// A new T in its first handle.
template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace espalier

/// Hashes by identity, as == compares.
template <class T>
struct std::hash<espalier::Ref<T>> {
  size_t operator()(const espalier::Ref<T>& ref) const noexcept {
    return std::hash<const void*>{}(ref.get());
  }
};
