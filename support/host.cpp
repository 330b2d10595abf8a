// Reads this machine: CPUID, the register state that the operating system saves, caches.

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "espalier/support/fd.h"
#include "espalier/support/number.h"
#include "espalier/support/target.h"

namespace espalier {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

#if defined(__x86_64__)

struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

bool bit(uint32_t word, int i) { return (word >> i & 1) != 0; }

// Register state that the operating system saves on a switch; without it a feature cannot be used.
uint64_t enabled_state() {
  if (!bit(cpuid(1).ecx, 27)) return 0;  // OSXSAVE
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

struct Signature {
  std::string vendor;
  int family = 0, model = 0, stepping = 0;
};

Signature signature() {
  Signature s;
  const Registers vendor = cpuid(0);
  for (uint32_t word : {vendor.ebx, vendor.edx, vendor.ecx}) {
    s.vendor.append(reinterpret_cast<const char*>(&word), 4);
  }
  const uint32_t eax = cpuid(1).eax;
  s.family = eax >> 8 & 15;
  s.model = static_cast<int>(eax >> 4 & 15);
  s.stepping = eax & 15;
  if (s.family == 6 || s.family == 15) s.model += static_cast<int>(eax >> 16 & 15) << 4;
  if (s.family == 15) s.family += static_cast<int>(eax >> 20 & 255);
  return s;
}

std::vector<std::string> host_features() {
  const Registers one = cpuid(1), seven = cpuid(7), seven_one = cpuid(7, 1);
  const Registers extended = cpuid(0x80000001);
  const uint64_t state = enabled_state();
  const bool avx_state = (state & 0x6) == 0x6;
  // AVX-512 counts only as a whole (F, CD, BW, DQ, VL), which every machine with 512-bit FMA in use
  // has.
  const uint32_t avx512_base = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
  const bool avx512 = (state & 0xe6) == 0xe6 && (seven.ebx & avx512_base) == avx512_base;

  std::vector<std::string> features;
  auto add = [&](bool present, const char* name) {
    if (present) features.emplace_back(name);
  };
  add(bit(one.ecx, 20), "sse4.2");
  add(bit(one.ecx, 23), "popcnt");
  add(avx_state && bit(one.ecx, 28), "avx");
  add(avx_state && bit(one.ecx, 29), "f16c");
  add(avx_state && bit(one.ecx, 12), "fma");
  add(bit(seven.ebx, 3), "bmi");
  add(bit(seven.ebx, 8), "bmi2");
  add(bit(extended.ecx, 5), "lzcnt");
  add(avx_state && bit(seven.ebx, 5), "avx2");
  add(avx_state && bit(seven_one.eax, 4), "avxvnni");
  for (const char* name : {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}) {
    add(avx512, name);
  }
  add(avx512 && bit(seven.ebx, 21), "avx512ifma");
  add(avx512 && bit(seven.ecx, 1), "avx512vbmi");
  add(avx512 && bit(seven.ecx, 6), "avx512vbmi2");
  add(avx512 && bit(seven.ecx, 11), "avx512vnni");
  add(avx512 && bit(seven.ecx, 12), "avx512bitalg");
  add(avx512 && bit(seven_one.eax, 5), "avx512bf16");
  add(avx512 && bit(seven.edx, 23), "avx512fp16");
  add(avx512 && bit(seven.ecx, 14), "avx512vpopcntdq");
  return features;
}

std::string amd_cpu(const Signature& s) {
  const int model = s.model;
  switch (s.family) {
    case 0x17: return model < 0x30 ? "znver1" : "znver2";
    case 0x19:
      return (model >= 0x10 && model < 0x20) || (model >= 0x60 && model < 0xb0) ? "znver4"
                                                                                : "znver3";
    case 0x1a: return "znver5";
    default: return "";
  }
}

std::string intel_cpu(const Signature& s) {
  if (s.family != 6) return "";
  switch (s.model) {
    case 0x3c:
    case 0x3f:
    case 0x45:
    case 0x46: return "haswell";
    case 0x3d:
    case 0x47:
    case 0x4f:
    case 0x56: return "broadwell";
    case 0x4e:
    case 0x5e:
    case 0x8e:
    case 0x9e:
    case 0xa5:
    case 0xa6: return "skylake";
    case 0x55: return s.stepping >= 5 ? "cascadelake" : "skylake-avx512";
    case 0x6a:
    case 0x6c: return "icelake-server";
    case 0x8f:
    case 0xcf: return "sapphirerapids";
    default: return "";
  }
}

std::string host_cpu(const Target& target) {
  const Signature s = signature();
  std::string cpu;
  if (s.vendor == "AuthenticAMD") cpu = amd_cpu(s);
  if (s.vendor == "GenuineIntel") cpu = intel_cpu(s);
  if (!cpu.empty()) return cpu;
  if (target.has("avx512f")) return "x86-64-v4";
  return target.has("avx2") && target.has("fma") && target.has("bmi2") ? "x86-64-v3" : "";
}

std::string brand() {
  if (cpuid(0x80000000).eax < 0x80000004) return signature().vendor;
  std::string text;
  for (uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    const Registers r = cpuid(leaf);
    for (uint32_t word : {r.eax, r.ebx, r.ecx, r.edx}) {
      text.append(reinterpret_cast<const char*>(&word), 4);
    }
  }
  return std::string(trim(text.c_str()));
}

constexpr const char* kHostArch = "x86_64";

#elif defined(__aarch64__)

// Bits of AT_HWCAP and AT_HWCAP2, named here because older headers lack some.
std::vector<std::string> host_features() {
  const unsigned long caps = getauxval(AT_HWCAP), caps2 = getauxval(AT_HWCAP2);
  std::vector<std::string> features;
  if ((caps >> 1 & 1) != 0) features.emplace_back("neon");  // ASIMD
  if ((caps >> 10 & 1) != 0) features.emplace_back("fullfp16");
  if ((caps >> 20 & 1) != 0) features.emplace_back("dotprod");
  if ((caps2 >> 14 & 1) != 0) features.emplace_back("bf16");
  if ((caps2 >> 13 & 1) != 0) features.emplace_back("i8mm");
  return features;
}

std::string host_cpu(const Target&) { return ""; }

constexpr const char* kHostArch = "aarch64";

#else
#error "Espalier runs on x86-64 and AArch64"
#endif

// "32K", "1024K", "32M" as sysfs writes them; 0 if it is something else.
int64_t parse_size(std::string_view text) {
  text = trim(text);
  int64_t unit = 1;
  if (!text.empty() && text.back() == 'K') unit = 1 << 10;
  if (!text.empty() && text.back() == 'M') unit = 1 << 20;
  if (unit != 1) text.remove_suffix(1);
  return parse_int64(text).value_or(0) * unit;
}

void read_caches(Target& target) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    auto field = [&](const char* name) { return read_file(folder + name).value_or(""); };
    const std::string level = field("level");
    if (level.empty() || trim(field("type")) == "Instruction") continue;
    const int64_t bytes = parse_size(field("size"));
    if (bytes <= 0) continue;
    if (trim(level) == "1") target.l1_bytes = bytes;
    if (trim(level) == "2") target.l2_bytes = bytes;
    if (trim(level) == "3") target.l3_bytes = bytes;
    const int64_t line = parse_size(field("coherency_line_size"));
    if (line > 0 && (line & (line - 1)) == 0) target.line_bytes = static_cast<int>(line);
  }
}

}  // namespace

std::string host_cpu_fingerprint() {
#if defined(__x86_64__)
  const Signature s = signature();
  return detail::concat(brand(), " family ", s.family, " model ", s.model, " stepping ",
                        s.stepping);
#else
  const std::string midr =
      read_file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1").value_or("");
  return detail::concat("aarch64 ", trim(midr));
#endif
}

Target host_target() {
  Target target;
  target.arch = kHostArch;
  target.features = host_features();
  target.cpu = host_cpu(target);
  const bool wide = target.has("avx512f");
  target.vector_bits = wide ? 512 : target.has("avx2") ? 256 : 128;
  target.vector_registers = wide || target.arch == "aarch64" ? 32 : 16;
  read_caches(target);
  target.cores = usable_cores();
  return target;
}

}  // namespace espalier
