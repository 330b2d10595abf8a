// Floating-point remainder by integer arithmetic on the representation, as generated code must not
// depend on a C library's choice.
#include <string.h>

#include "espalier/runtime/rt/espalier_rt.h"

static uint64_t bits_of_double(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static double double_of_bits(uint64_t u) {
  double x;
  memcpy(&x, &u, sizeof x);
  return x;
}

static const uint64_t kInfinity = 0x7ffull << 52;
static const uint64_t kHidden = 1ull << 52;

// Splits a finite non-zero magnitude into mantissa * 2^(exponent - 1075) with the hidden bit set
// (subnormals get an exponent below 1).
static uint64_t normalise(uint64_t magnitude, int* exponent) {
  int e = (int)(magnitude >> 52);
  uint64_t m = magnitude & (kHidden - 1);
  if (e != 0) {
    m |= kHidden;
  } else {
    e = 1;
    while (!(m & kHidden)) {
      m <<= 1;
      e--;
    }
  }
  *exponent = e;
  return m;
}

double espalier_fmod(double x, double y) {
  const uint64_t sign = bits_of_double(x) & (1ull << 63);
  const uint64_t ax = bits_of_double(x) & ~(1ull << 63);
  const uint64_t ay = bits_of_double(y) & ~(1ull << 63);
  if (ax >= kInfinity || ay > kInfinity || ay == 0) return double_of_bits(0x7ff8ull << 48);
  if (ax < ay) return x;
  int ex, ey;
  uint64_t mx = normalise(ax, &ex);
  const uint64_t my = normalise(ay, &ey);
  // Long division, ten quotient bits a step: mx < 2^53 leaves room for a shift by ten.
  mx %= my;
  while (ex > ey && mx != 0) {
    const int shift = ex - ey < 10 ? ex - ey : 10;
    mx = (mx << shift) % my;
    ex -= shift;
  }
  if (mx == 0) return double_of_bits(sign);
  ex = ey;
  while (!(mx & kHidden)) {
    mx <<= 1;
    ex--;
  }
  if (ex > 0) return double_of_bits(sign | (mx - kHidden) | (uint64_t)ex << 52);
  return double_of_bits(sign | mx >> (1 - ex));
}
