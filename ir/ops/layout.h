// Where the channels stand in activations and weights: last (nhwc, hwio) or before the places
// (nchw, oihw).
#pragma once

#include <vector>

#include "espalier/ir/ops/op_def.h"

namespace espalier::ops {

inline KeyDef layout_key() { return word("layout", {"nhwc", "nchw"}); }

class Layout {
 public:
  explicit Layout(const Args& args) : first_(args.word("layout") == "nchw") {}

  // [n, places..., channel, rest...] or [n, channel, places..., rest...].
  template <class T>
  std::vector<T> activation(T n, std::vector<T> places, T channel, std::vector<T> rest = {}) const {
    std::vector<T> all = {std::move(n)};
    if (first_) all.push_back(channel);
    all.insert(all.end(), places.begin(), places.end());
    if (!first_) all.push_back(channel);
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }
  // [taps..., in, out, rest...] or [out, in, taps..., rest...].
  template <class T>
  std::vector<T> weight(std::vector<T> taps, T in, T out, std::vector<T> rest = {}) const {
    std::vector<T> all;
    if (first_) all = {out, in};
    all.insert(all.end(), taps.begin(), taps.end());
    if (!first_) all.insert(all.end(), {in, out});
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }
  bool channels_first() const { return first_; }
  // Positions in an activation with so many places.
  size_t place_axis(size_t place) const { return place + (first_ ? 2 : 1); }
  int channel_axis(size_t places) const { return first_ ? 1 : static_cast<int>(places) + 1; }

 private:
  const bool first_;
};

}  // namespace espalier::ops
