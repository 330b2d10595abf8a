#pragma once

#include <cstddef>
#include <type_traits>

namespace espalier {

namespace detail {
void parallel_for(int threads, size_t n, void* context, void (*body)(void*, size_t, int));
}

/// Calls fn(i) or fn(i, slot) once for each i in [0, n), on up to `threads` threads of which the
/// caller is one, and returns when all calls have. Slots are in [0, threads), and no two calls with
/// the same slot overlap. Which thread takes which index is not determined: for results that do not
/// depend on the thread count, write to places chosen by i, draw from Rng::fork(i), and combine in
/// order afterwards.
///
/// For work beside kernels (scoring, features, compiling), not inside them: threads are started for
/// each call. If the system refuses a thread, fewer do the work.
template <class Fn>
void parallel_for(int threads, size_t n, Fn&& fn) {
  using Body = std::remove_reference_t<Fn>;
  detail::parallel_for(threads, n, const_cast<void*>(static_cast<const void*>(&fn)),
                       [](void* context, size_t i, [[maybe_unused]] int slot) {
                         Body& body = *static_cast<Body*>(context);
                         if constexpr (std::is_invocable_v<Body&, size_t, int>) {
                           body(i, slot);
                         } else {
                           body(i);
                         }
                       });
}

}  // namespace espalier
