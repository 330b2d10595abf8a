// Sliding windows of convolutions and pools along one dimension.
#pragma once

#include "espalier/ir/ops/op_def.h"

namespace espalier::ops {

struct Window {
  int64_t in = 0;  // extent of the input
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t before = 0, after = 0;  // padding
  int64_t out = 0;                // number of windows

  // The input cell that tap `tap` of window `o` falls on; it may lie in the padding.
  Expr cell(const Expr& o, const Expr& tap) const;
  // True when that cell exists; empty if it always does.
  Expr exists(const Expr& o, const Expr& tap) const;
  // How many cells of window `o` exist; a constant where that is the same for all. Padding counts
  // as existing cells when `count_padding`. Dilation 1.
  Expr count(const Expr& o, bool count_padding) const;
};

// The keys of one dimension: its input extent ("h"), the suffix in kh, sh and dh, and the padding
// before and after.
struct WindowKeys {
  std::string extent, suffix, before, after;
};

// Windows hang over the end when `ceil`, but none starts past the input and the padding before it.
// An error when not even one fits.
Result<Window> make_window(const Args& args, const WindowKeys& keys, bool ceil = false);

// Keys of kernel, stride, padding and dilation for windows over h and w.
KeyDef kernel_2d();
KeyDef stride_2d();
KeyDef padding_2d();
const std::vector<WindowKeys>& window_keys_2d();

// a && b, where either may be empty.
Expr both(const Expr& a, const Expr& b);

}  // namespace espalier::ops
