#include "espalier/codegen/asm_instruction.h"

#include <algorithm>
#include <array>
#include <optional>

namespace espalier {
namespace {

std::string_view trimmed(std::string_view s) {
  const size_t first = s.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t") - first + 1);
}

template <size_t N>
bool starts_with_any(std::string_view s, const std::array<std::string_view, N>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view p) { return s.starts_with(p); });
}

template <size_t N>
bool is_any(std::string_view s, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), s) != names.end();
}

// --- x86 ---

bool is_x86_memory(std::string_view operand) {
  // A name alone, as of a function that is called, is no memory operand here.
  return operand.find('(') != std::string_view::npos;
}

// Bytes of a register by its name without '%' and mask; 0: not one.
int64_t x86_register_bytes(std::string_view name) {
  if (name.starts_with("zmm")) return 64;
  if (name.starts_with("ymm")) return 32;
  if (name.starts_with("xmm")) return 16;
  constexpr std::array<std::string_view, 8> kBytes = {"al",  "bl",  "cl",  "dl",
                                                      "sil", "dil", "bpl", "spl"};
  constexpr std::array<std::string_view, 8> kWords = {"ax", "bx", "cx", "dx",
                                                      "si", "di", "bp", "sp"};
  if (is_any(name, kBytes)) return 1;
  if (is_any(name, kWords)) return 2;
  if (name.empty() || (name[0] != 'r' && name[0] != 'e')) return 0;
  if (name[0] == 'e') return 4;
  if (name.size() > 1 && name[1] >= '0' && name[1] <= '9') {
    if (name.ends_with('d')) return 4;
    if (name.ends_with('w')) return 2;
    if (name.ends_with('b')) return 1;
  }
  return 8;
}

// Bytes of the widest register among the operands.
int64_t x86_widest_register(const AsmInstruction& i) {
  int64_t widest = 0;
  for (std::string_view operand : i.operands) {
    if (!operand.starts_with('%')) continue;
    const std::string_view name = operand.substr(1, operand.find_first_of(" {") - 1);
    widest = std::max(widest, x86_register_bytes(name));
  }
  return widest;
}

// Of the element in the middle of a name such as vpmovzxbd: source and destination.
std::optional<int64_t> x86_letter_bytes(char c) {
  switch (c) {
    case 'b': return 1;
    case 'w': return 2;
    case 'd':
    case 'l': return 4;
    case 'q': return 8;
    default: return std::nullopt;
  }
}

bool is_x86_broadcast(std::string_view m) {
  return m.starts_with("vbroadcast") || m.starts_with("vpbroadcast") || m.starts_with("vmovddup");
}

int64_t x86_broadcast_bytes(std::string_view m) {
  constexpr std::array<std::string_view, 4> kHalves = {"vbroadcastf32x8", "vbroadcasti32x8",
                                                       "vbroadcastf64x4", "vbroadcasti64x4"};
  if (starts_with_any(m, kHalves)) return 32;
  if (m.ends_with("32x2")) return 8;
  if (m.starts_with("vbroadcastf") || m.starts_with("vbroadcasti")) return 16;
  if (m.ends_with("ss")) return 4;
  if (m.ends_with("sd") || m == "vmovddup") return 8;
  return x86_letter_bytes(m.back()).value_or(4);
}

// Bytes that a memory operand stands for.
int64_t x86_access_bytes(const AsmInstruction& i, std::string_view operand) {
  const std::string_view m = i.mnemonic;
  const int64_t width = x86_widest_register(i);
  if (const size_t at = operand.find("{1to"); at != std::string_view::npos) {
    int64_t lanes = 0;
    for (size_t k = at + 4; k < operand.size() && operand[k] >= '0' && operand[k] <= '9'; ++k) {
      lanes = lanes * 10 + (operand[k] - '0');
    }
    return lanes > 0 ? width / lanes : width;
  }
  if (is_x86_broadcast(m)) return x86_broadcast_bytes(m);
  if (m.starts_with("vpmovsx") || m.starts_with("vpmovzx") || m.starts_with("pmovsx") ||
      m.starts_with("pmovzx")) {
    const auto from = x86_letter_bytes(m[m.size() - 2]), to = x86_letter_bytes(m.back());
    return from && to ? width * *from / *to : width;
  }
  if (m == "vcvtph2ps" || m == "vcvtps2pd" || m == "vcvtdq2pd" || m == "vcvtudq2pd") {
    return width / 2;
  }
  constexpr std::array<std::string_view, 4> kEights = {"vmovhp", "vmovlp", "movhp", "movlp"};
  if (starts_with_any(m, kEights)) return 8;
  if (width >= 16) {
    if (m == "vmovd" || m == "movd" || m == "vinsertps" || m == "insertps") return 4;
    if (m == "vmovq" || m == "movq") return 8;
    if (m.starts_with("vpinsr") || m.starts_with("pinsr")) {
      return x86_letter_bytes(m.back()).value_or(width);
    }
    if (m.starts_with("vinsert")) return m.ends_with("4") || m.ends_with("8") ? 32 : 16;
    if (m.ends_with("ss")) return 4;
    if (m.ends_with("sd")) return 8;
    if (m.ends_with("sh")) return 2;
    return width;
  }
  if (m.starts_with("movz") || m.starts_with("movs")) {
    return x86_letter_bytes(m[m.size() - 2]).value_or(4);
  }
  if (width > 0) return width;
  return x86_letter_bytes(m.back()).value_or(8);
}

bool is_x86_shuffle(std::string_view m) {
  constexpr std::array<std::string_view, 20> kShuffles = {
      "vperm",  "vpperm",  "vshuf",   "vpshuf",   "vunpck",     "vpunpck", "vextract",
      "vpextr", "vinsert", "vpinsr",  "vpalignr", "valign",     "vpack",   "vmovddup",
      "vmovs",  "vpslldq", "vpsrldq", "vpexpand", "vpcompress", "vexpand"};
  constexpr std::array<std::string_view, 8> kSse = {"shuf",    "unpck",    "pshuf", "punpck",
                                                    "palignr", "insertps", "pack",  "movhlps"};
  if (m == "vmovsd" || m == "vmovss") return false;
  if (m == "vmovhlps" || m == "vmovlhps" || m == "movlhps") return true;
  return starts_with_any(m, kShuffles) || starts_with_any(m, kSse);
}

AsmKind classify_x86(const AsmInstruction& i, bool frame_pointer) {
  AsmKind kind;
  std::string_view m = i.mnemonic;
  constexpr std::array<std::string_view, 6> kFma = {"vfmadd",  "vfmsub",   "vfnmadd",
                                                    "vfnmsub", "vpdpbusd", "vpdpwssd"};
  kind.fma = starts_with_any(m, kFma) || m.starts_with("vdpbf16");
  constexpr std::array<std::string_view, 6> kNoAccess = {"lea",  "prefetch", "nop",
                                                         "call", "jmp",      "clflush"};
  size_t memory = i.operands.size();
  if (!starts_with_any(m, kNoAccess)) {
    for (size_t k = 0; k < i.operands.size(); ++k) {
      if (is_x86_memory(i.operands[k])) memory = k;
    }
  }
  if (memory == i.operands.size()) {
    kind.shuffle = is_x86_shuffle(m) || is_x86_broadcast(m);
    return kind;
  }
  const std::string_view operand = i.operands[memory];
  const bool is_stack = operand.find("(%rsp") != std::string_view::npos ||
                        (frame_pointer && operand.find("(%rbp") != std::string_view::npos);
  constexpr std::array<std::string_view, 5> kReadOnly = {"cmp", "test", "vucomi", "vcomi", "bt"};
  // The last operand is the destination. Whatever is not a move to memory changes it in place.
  const bool writes = memory + 1 == i.operands.size() && !starts_with_any(m, kReadOnly) &&
                      !(i.operands.size() == 1 && (m.starts_with("push") || m.starts_with("div") ||
                                                   m.starts_with("idiv") || m.starts_with("mul")));
  constexpr std::array<std::string_view, 12> kMoves = {
      "mov",       "vmov",     "vpmov", "vextract", "vpextr",    "vcvtps2ph",
      "vpmaskmov", "vmaskmov", "set",   "vscatter", "vpscatter", "vpcompress"};
  const bool reads = !writes || !starts_with_any(m, kMoves);
  if (writes) (is_stack ? kind.spill_store : kind.store) = true;
  if (!reads) return kind;
  kind.loaded_bytes = x86_access_bytes(i, operand);
  const bool repeats = is_x86_broadcast(m) || operand.find("{1to") != std::string_view::npos;
  if (is_stack) {
    kind.spill_reload = true;
  } else {
    (repeats ? kind.broadcast : kind.load) = true;
  }
  kind.shuffle = is_x86_shuffle(m);
  return kind;
}

// --- AArch64 ---

int64_t arm_register_bytes(std::string_view name) {
  switch (name.empty() ? ' ' : name[0]) {
    case 'q': return 16;
    case 'd':
    case 'x': return 8;
    case 's':
    case 'w': return 4;
    case 'h': return 2;
    case 'b': return 1;
    case 'v':
      return name.find(".8b") != std::string_view::npos ||
                     name.find(".4h") != std::string_view::npos ||
                     name.find(".2s") != std::string_view::npos
                 ? 8
                 : 16;
    default: return 0;
  }
}

int64_t arm_element_bytes(std::string_view operand) {
  const size_t dot = operand.find('.');
  if (dot == std::string_view::npos) return 4;
  for (char c : operand.substr(dot)) {
    switch (c) {
      case 'b': return 1;
      case 'h': return 2;
      case 's': return 4;
      case 'd': return 8;
      default: break;
    }
  }
  return 4;
}

AsmKind classify_arm(const AsmInstruction& i) {
  AsmKind kind;
  const std::string_view m = i.mnemonic;
  constexpr std::array<std::string_view, 10> kFma = {"fmla",   "fmls", "fmadd", "fmsub", "fnmadd",
                                                     "fnmsub", "sdot", "udot",  "bfdot", "mla"};
  kind.fma = is_any(m, kFma);
  constexpr std::array<std::string_view, 10> kShuffles = {"zip1", "zip2", "uzp1", "uzp2", "trn1",
                                                          "trn2", "ext",  "tbl",  "dup",  "ins"};
  kind.shuffle = is_any(m, kShuffles) || m.starts_with("rev64");
  std::string_view address;
  for (std::string_view operand : i.operands) {
    if (operand.starts_with('[')) address = operand;
  }
  if (address.empty()) return kind;
  const bool is_stack = address.starts_with("[sp") || address.starts_with("[x29");
  if (m.starts_with("st")) {
    (is_stack ? kind.spill_store : kind.store) = true;
  } else if (m.starts_with("ld")) {
    const bool repeats = m.starts_with("ld1r");
    for (std::string_view operand : i.operands) {
      if (operand.starts_with('[')) break;
      if (operand.starts_with('{')) {
        std::string_view first = trimmed(operand.substr(1));
        const bool lane = operand.find("}[") != std::string_view::npos;
        const auto registers = 1 + std::count(operand.begin(), operand.end(), ',');
        kind.loaded_bytes +=
            registers * (repeats || lane ? arm_element_bytes(first) : arm_register_bytes(first));
      } else if (m.ends_with("b") || m.ends_with("h") || m.ends_with("sw")) {
        kind.loaded_bytes += m.ends_with("b") ? 1 : m.ends_with("h") ? 2 : 4;
      } else {
        kind.loaded_bytes += arm_register_bytes(operand);
      }
    }
    if (is_stack) {
      kind.spill_reload = true;
    } else {
      (repeats ? kind.broadcast : kind.load) = true;
    }
  }
  return kind;
}

}  // namespace

AsmSyntax asm_syntax(const Target& target) {
  return target.arch == "x86_64" ? AsmSyntax::X86 : AsmSyntax::AArch64;
}

AsmInstruction parse_instruction(std::string_view line) {
  line = trimmed(line);
  AsmInstruction result;
  const size_t space = line.find_first_of(" \t");
  result.mnemonic = line.substr(0, space);
  if (space == std::string_view::npos) return result;
  std::string_view rest = trimmed(line.substr(space));
  // "rep movsb", "lock addl": the prefix is no instruction.
  if (result.mnemonic == "rep" || result.mnemonic == "lock" || result.mnemonic == "notrack") {
    return parse_instruction(rest);
  }
  int depth = 0;
  size_t start = 0;
  for (size_t k = 0; k <= rest.size(); ++k) {
    if (k == rest.size() || (rest[k] == ',' && depth == 0)) {
      result.operands.push_back(trimmed(rest.substr(start, k - start)));
      start = k + 1;
    } else if (rest[k] == '(' || rest[k] == '[' || rest[k] == '{') {
      ++depth;
    } else if (rest[k] == ')' || rest[k] == ']' || rest[k] == '}') {
      --depth;
    }
  }
  return result;
}

AsmKind classify(const AsmInstruction& instruction, AsmSyntax syntax, bool frame_pointer) {
  return syntax == AsmSyntax::X86 ? classify_x86(instruction, frame_pointer)
                                  : classify_arm(instruction);
}

}  // namespace espalier
