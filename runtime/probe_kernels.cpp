#include "espalier/runtime/probe_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace espalier {
namespace {

// Makes the compiler believe that a value is looked at, or that memory was changed.
template <class T>
inline void keep(T& value) {
#if defined(__x86_64__)
  __asm__ volatile("" : "+x"(value));
#else
  __asm__ volatile("" : "+w"(value));
#endif
}
inline void forget_memory() { __asm__ volatile("" ::: "memory"); }

// Multipliers for which a chain of x*m + a neither grows nor becomes subnormal.
constexpr float kMultiplier = 0.5f, kAddend = 1.0f;

// Any machine: 128-bit vectors of the compiler's.
namespace generic {

using V = float __attribute__((vector_size(16)));

void fma_throughput(int64_t rounds) {
  V m = {kMultiplier, kMultiplier, kMultiplier, kMultiplier};
  V a = {kAddend, kAddend, kAddend, kAddend};
  V acc[16];
  for (V& v : acc) v = a;
  keep(m);
  for (int64_t i = 0; i < rounds; ++i) {
    for (V& v : acc) v = v * m + a;
  }
  for (V& v : acc) keep(v);
}

void fma_latency(int64_t rounds) {
  V m = {kMultiplier, kMultiplier, kMultiplier, kMultiplier};
  const V a = {kAddend, kAddend, kAddend, kAddend};
  V v = a;
  keep(m);
  for (int64_t i = 0; i < rounds; ++i) {
    v = v * m + a;
    keep(v);
  }
}

void read(const std::byte* data, int64_t bytes, int64_t rounds) {
  using I = int64_t __attribute__((vector_size(16)));
  I acc[8] = {};
  for (int64_t i = 0; i < rounds; ++i) {
    for (int64_t at = 0; at < bytes; at += 8 * 16) {
      const I* from = reinterpret_cast<const I*>(data + at);
      for (int k = 0; k < 8; ++k) acc[k] |= from[k];
    }
    forget_memory();
  }
  for (I& v : acc) keep(v);
}

void write(std::byte* data, int64_t bytes, int64_t rounds) {
  const V a = {kAddend, kAddend, kAddend, kAddend};
  for (int64_t i = 0; i < rounds; ++i) {
    for (int64_t at = 0; at < bytes; at += 8 * 16) {
      V* to = reinterpret_cast<V*>(data + at);
      for (int k = 0; k < 8; ++k) to[k] = a;
      forget_memory();
    }
  }
}

constexpr ProbeKernels kKernels{16, fma_throughput, 16, fma_latency, read, write};

}  // namespace generic

#if defined(__x86_64__)

namespace avx2 {

#define ESP_AVX2 __attribute__((target("avx2,fma")))

ESP_AVX2 void fma_throughput(int64_t rounds) {
  const __m256 m = _mm256_set1_ps(kMultiplier), a = _mm256_set1_ps(kAddend);
  __m256 acc[12];
  for (__m256& v : acc) v = a;
  for (int64_t i = 0; i < rounds; ++i) {
    for (__m256& v : acc) v = _mm256_fmadd_ps(v, m, a);
  }
  for (__m256& v : acc) __asm__ volatile("" : "+x"(v));
}

ESP_AVX2 void fma_latency(int64_t rounds) {
  const __m256 m = _mm256_set1_ps(kMultiplier), a = _mm256_set1_ps(kAddend);
  __m256 v = a;
  for (int64_t i = 0; i < rounds; ++i) {
    v = _mm256_fmadd_ps(v, m, a);
    __asm__ volatile("" : "+x"(v));
  }
}

ESP_AVX2 void read(const std::byte* data, int64_t bytes, int64_t rounds) {
  __m256i acc[8];
  for (__m256i& v : acc) v = _mm256_setzero_si256();
  for (int64_t i = 0; i < rounds; ++i) {
    for (int64_t at = 0; at < bytes; at += 8 * 32) {
      const auto* from = reinterpret_cast<const __m256i*>(data + at);
      for (int k = 0; k < 8; ++k) acc[k] = _mm256_or_si256(acc[k], _mm256_load_si256(from + k));
    }
    forget_memory();
  }
  for (__m256i& v : acc) __asm__ volatile("" : "+x"(v));
}

ESP_AVX2 void write(std::byte* data, int64_t bytes, int64_t rounds) {
  const __m256 a = _mm256_set1_ps(kAddend);
  for (int64_t i = 0; i < rounds; ++i) {
    for (int64_t at = 0; at < bytes; at += 8 * 32) {
      auto* to = reinterpret_cast<float*>(data + at);
      for (int k = 0; k < 8; ++k) _mm256_store_ps(to + 8 * k, a);
      forget_memory();
    }
  }
}

constexpr ProbeKernels kKernels{32, fma_throughput, 12, fma_latency, read, write};

#undef ESP_AVX2

}  // namespace avx2

namespace avx512 {

#define ESP_AVX512 __attribute__((target("avx512f")))

ESP_AVX512 void fma_throughput(int64_t rounds) {
  const __m512 m = _mm512_set1_ps(kMultiplier), a = _mm512_set1_ps(kAddend);
  __m512 acc[24];
  for (__m512& v : acc) v = a;
  for (int64_t i = 0; i < rounds; ++i) {
    for (__m512& v : acc) v = _mm512_fmadd_ps(v, m, a);
  }
  for (__m512& v : acc) __asm__ volatile("" : "+v"(v));
}

ESP_AVX512 void fma_latency(int64_t rounds) {
  const __m512 m = _mm512_set1_ps(kMultiplier), a = _mm512_set1_ps(kAddend);
  __m512 v = a;
  for (int64_t i = 0; i < rounds; ++i) {
    v = _mm512_fmadd_ps(v, m, a);
    __asm__ volatile("" : "+v"(v));
  }
}

ESP_AVX512 void read(const std::byte* data, int64_t bytes, int64_t rounds) {
  __m512i acc[8];
  for (__m512i& v : acc) v = _mm512_setzero_si512();
  for (int64_t i = 0; i < rounds; ++i) {
    for (int64_t at = 0; at < bytes; at += 8 * 64) {
      for (int k = 0; k < 8; ++k) {
        acc[k] = _mm512_or_si512(acc[k], _mm512_load_si512(data + at + 64 * k));
      }
    }
    forget_memory();
  }
  for (__m512i& v : acc) __asm__ volatile("" : "+v"(v));
}

ESP_AVX512 void write(std::byte* data, int64_t bytes, int64_t rounds) {
  const __m512 a = _mm512_set1_ps(kAddend);
  for (int64_t i = 0; i < rounds; ++i) {
    for (int64_t at = 0; at < bytes; at += 8 * 64) {
      auto* to = reinterpret_cast<float*>(data + at);
      for (int k = 0; k < 8; ++k) _mm512_store_ps(to + 16 * k, a);
      forget_memory();
    }
  }
}

constexpr ProbeKernels kKernels{64, fma_throughput, 24, fma_latency, read, write};

#undef ESP_AVX512

}  // namespace avx512

#endif

}  // namespace

ProbeKernels probe_kernels(const Target& target) {
#if defined(__x86_64__)
  const Target host = host_target();
  const auto usable = [&](const char* feature) { return target.has(feature) && host.has(feature); };
  if (target.vector_bits >= 512 && usable("avx512f")) return avx512::kKernels;
  if (target.vector_bits >= 256 && usable("avx2") && usable("fma")) return avx2::kKernels;
#endif
  static_cast<void>(target);
  return generic::kKernels;
}

void run_cycles(int64_t rounds) {
  using V = float __attribute__((vector_size(16)));
  V m = {kMultiplier, kMultiplier, kMultiplier, kMultiplier};
  V acc[8];
  for (V& v : acc) v = m;
  uint64_t x = static_cast<uint64_t>(rounds) | 1;
  for (int64_t i = 0; i < rounds; ++i) {
    for (V& v : acc) v = v * m + m;
#if defined(__x86_64__)
    // Eight products, three cycles each on every x86-64 core of the last fifteen years.
    __asm__ volatile(
        "imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0\n\t"
        "imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0"
        : "+r"(x));
#else
    for (int k = 0; k < 24; ++k) __asm__ volatile("eor %0, %0, %0, ror #7" : "+r"(x));
#endif
  }
  for (V& v : acc) keep(v);
}

}  // namespace espalier
