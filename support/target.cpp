#include "espalier/support/target.h"

#include <algorithm>
#include <array>
#include <limits>

#include "espalier/support/number.h"

namespace espalier {
namespace {

// Features that code generation may make use of, in the order in which targets list them.
constexpr std::string_view kX86Features[] = {"sse4.2",
                                             "popcnt",
                                             "avx",
                                             "f16c",
                                             "fma",
                                             "bmi",
                                             "bmi2",
                                             "lzcnt",
                                             "avx2",
                                             "avxvnni",
                                             "avx512f",
                                             "avx512cd",
                                             "avx512bw",
                                             "avx512dq",
                                             "avx512vl",
                                             "avx512ifma",
                                             "avx512vbmi",
                                             "avx512vbmi2",
                                             "avx512vnni",
                                             "avx512bitalg",
                                             "avx512bf16",
                                             "avx512fp16",
                                             "avx512vpopcntdq"};
constexpr std::string_view kArmFeatures[] = {"neon", "fullfp16", "dotprod", "bf16", "i8mm"};

std::vector<std::string_view> known_features(std::string_view arch) {
  if (arch == "aarch64") return {std::begin(kArmFeatures), std::end(kArmFeatures)};
  return {std::begin(kX86Features), std::end(kX86Features)};
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = text.find_first_of(separators);
    if (end != 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

std::string join(const std::vector<std::string_view>& parts, std::string_view separator) {
  std::string joined;
  for (std::string_view part : parts) {
    if (!joined.empty()) joined += separator;
    joined += part;
  }
  return joined;
}

// Vector width and register count that follow from the features.
void set_vectors(Target& target) {
  const bool avx512 = target.has("avx512f") && target.has("avx512vl");
  const bool avx2 = target.has("avx2");
  const bool arm = target.arch == "aarch64";
  target.vector_bits = avx512 ? 512 : avx2 ? 256 : 128;
  target.vector_registers = avx512 || arm ? 32 : 16;
}

// "+avx2,+fma", in any order, signs optional. A minus is refused: leaving a feature out does the
// same.
Result<std::vector<std::string>> parse_features(std::string_view arch, std::string_view text) {
  const std::vector<std::string_view> known = known_features(arch);
  std::vector<bool> present(known.size());
  for (std::string_view name : split(text, ",")) {
    if (name.starts_with('+')) name.remove_prefix(1);
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end()) {
      return make_error(ErrorCode::InvalidArgument, "target: unknown feature '", name, "' of ",
                        arch, "; known are ", join(known, ", "));
    }
    present[static_cast<size_t>(at - known.begin())] = true;
  }
  std::vector<std::string> features;
  for (size_t i = 0; i < known.size(); ++i) {
    if (present[i]) features.emplace_back(known[i]);
  }
  return features;
}

struct IntegerField {
  std::string_view key;
  int64_t min, max;
  int64_t (*get)(const Target&);
  void (*set)(Target&, int64_t);
};

// Every integer of the text form, in the order in which it is printed.
template <auto member>
constexpr IntegerField integer_field(std::string_view key, int64_t min, int64_t max) {
  using Value = std::remove_cvref_t<decltype(std::declval<Target>().*member)>;
  return {key, min, max, [](const Target& t) -> int64_t { return t.*member; },
          [](Target& t, int64_t value) { t.*member = static_cast<Value>(value); }};
}
constexpr std::array kIntegerFields = {
    integer_field<&Target::vector_bits>("bits", 32, 2048),
    integer_field<&Target::vector_registers>("regs", 1, 1024),
    integer_field<&Target::l1_bytes>("l1", 1024, int64_t{1} << 40),
    integer_field<&Target::l2_bytes>("l2", 0, int64_t{1} << 40),
    integer_field<&Target::l3_bytes>("l3", 0, int64_t{1} << 40),
    integer_field<&Target::line_bytes>("line", 1, 4096),
    integer_field<&Target::cores>("cores", 1, 1 << 16),
};

bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

Result<void> set_integer(Target& target, std::string_view key, std::string_view value) {
  const auto* field = std::find_if(kIntegerFields.begin(), kIntegerFields.end(),
                                   [&](const IntegerField& f) { return f.key == key; });
  if (field == kIntegerFields.end()) {
    return make_error(ErrorCode::InvalidArgument, "target: unknown key '", key,
                      "'; known are cpu, features, bits, regs, l1, l2, l3, line, cores");
  }
  Result<int64_t> number = parse_int64(value);
  if (!number.ok() || *number < field->min || *number > field->max) {
    return make_error(ErrorCode::InvalidArgument, "target: ", key, " must be an integer from ",
                      field->min, " to ", field->max, ", got '", value, "'");
  }
  if ((key == "bits" || key == "line") && !is_power_of_two(*number)) {
    return make_error(ErrorCode::InvalidArgument, "target: ", key, " must be a power of two, got ",
                      *number);
  }
  field->set(target, *number);
  return {};
}

Result<Target> parse_base(std::string_view word) {
  if (word == "host") return host_target();
  if (word == "avx2") {
    Target target = restrict_to_avx2(host_target());
    if (target.has("avx2")) return target;
    return make_error(ErrorCode::Unsupported,
                      "target: this machine has no AVX2; name a target "
                      "in full, such as 'x86_64 features=+avx2,+fma'");
  }
  if (word != "x86_64" && word != "aarch64") {
    return make_error(ErrorCode::InvalidArgument, "target: expected x86_64, aarch64, host or avx2",
                      " first, got '", word, "'");
  }
  Target target;
  target.arch = word;
  if (word == "aarch64") target.features = {"neon"};
  set_vectors(target);
  return target;
}

}  // namespace

bool Target::has(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

std::string Target::llvm_features() const {
  std::string text;
  for (std::string_view feature : known_features(arch)) {
    if (!text.empty()) text += ',';
    text += has(feature) ? '+' : '-';
    text += feature;
  }
  return text;
}

bool Target::runs_on(const Target& machine) const {
  return arch == machine.arch &&
         std::all_of(features.begin(), features.end(),
                     [&](const std::string& feature) { return machine.has(feature); });
}

std::string to_string(const Target& target) {
  std::string text = target.arch;
  if (!target.cpu.empty()) text += " cpu=" + target.cpu;
  text += " features=";
  for (size_t i = 0; i < target.features.size(); ++i) {
    text += (i == 0 ? "+" : ",+") + target.features[i];
  }
  for (const IntegerField& field : kIntegerFields) {
    text += ' ';
    text += field.key;
    text += '=' + std::to_string(field.get(target));
  }
  return text;
}

Result<Target> parse_target(std::string_view text) {
  const std::vector<std::string_view> words = split(text, " \t\r\n");
  if (words.empty()) return make_error(ErrorCode::InvalidArgument, "target: the text is empty");
  ESP_TRY(Target target, parse_base(words[0]));

  // Features come first, whatever their place: width and registers follow from them unless given.
  for (size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with("features=")) continue;
    ESP_TRY(target.features, parse_features(target.arch, words[i].substr(9)));
    set_vectors(target);
  }
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals == std::string_view::npos) {
      return make_error(ErrorCode::InvalidArgument, "target: expected key=value, got '", words[i],
                        "'");
    }
    const std::string_view key = words[i].substr(0, equals), value = words[i].substr(equals + 1);
    for (size_t j = 1; j < i; ++j) {
      if (words[j].substr(0, equals + 1) == words[i].substr(0, equals + 1)) {
        return make_error(ErrorCode::InvalidArgument, "target: ", key, " is given twice");
      }
    }
    if (key == "cpu") {
      target.cpu = value;
    } else if (key != "features") {
      ESP_TRY_VOID(set_integer(target, key, value));
    }
  }
  return target;
}

Target restrict_to_avx2(Target target) {
  std::erase_if(target.features, [](const std::string& f) { return f.starts_with("avx512"); });
  // A model whose own features fit, so that scheduling model and features agree.
  if (target.cpu == "znver4" || target.cpu == "znver5") {
    target.cpu = "znver3";
  } else if (target.cpu == "x86-64-v4") {
    target.cpu = "x86-64-v3";
  } else if (target.cpu == "sapphirerapids" || target.cpu == "skylake-avx512" ||
             target.cpu == "cascadelake" || target.cpu == "icelake-server") {
    target.cpu = "skylake";
  }
  set_vectors(target);
  return target;
}

}  // namespace espalier
