#include "espalier/search/record.h"

#include <array>
#include <limits>
#include <optional>

#include "espalier/support/hash.h"
#include "espalier/support/json.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

constexpr std::array kProvenances = {
    Provenance::Default, Provenance::Sampled,   Provenance::Enumerated, Provenance::Mutated,
    Provenance::Crossed, Provenance::Descended, Provenance::Drafted,    Provenance::Transferred};
constexpr std::array kStatuses = {MeasureStatus::Ok, MeasureStatus::CompileError,
                                  MeasureStatus::RunError, MeasureStatus::Timeout,
                                  MeasureStatus::Wrong};

template <class Enum, size_t N>
std::optional<Enum> from_name(const std::array<Enum, N>& all, std::string_view name) {
  for (Enum e : all) {
    if (name_of(e) == name) return e;
  }
  return std::nullopt;
}

// A trace reads best in JSON as one string a step.
Json lines_of(std::string_view text) {
  Json lines = Json::array();
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

// Seeds use all 64 bits, JSON integers only 63 and a sign.
Json seed_to_json(uint64_t seed) {
  if (seed <= uint64_t{std::numeric_limits<int64_t>::max()}) return Json(seed);
  return Json(std::to_string(seed));
}

Result<uint64_t> seed_from_json(const Json& json) {
  if (json.is_string()) return parse_uint64(json.as_string().value());
  ESP_TRY(const int64_t value, json.as_int());
  return static_cast<uint64_t>(value);
}

Result<uint64_t> hash_from_json(const Json& object, std::string_view key) {
  ESP_TRY(const std::string text, object.get_string(key));
  uint64_t hash = 0;
  bool good = text.size() == 16;
  for (char c : text) {
    const bool digit = c >= '0' && c <= '9';
    good = good && (digit || (c >= 'a' && c <= 'f'));
    hash = hash << 4 | static_cast<uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  if (!good) {
    return make_error(ErrorCode::Parse, "'", key, "': expected 16 hexadecimal digits, got '", text,
                      "'");
  }
  return hash;
}

Result<RunKey> run_from_json(const Json& json) {
  RunKey run;
  ESP_TRY(run.workload, json.get_string("workload"));
  ESP_TRY(run.dag_hash, hash_from_json(json, "hash"));
  ESP_TRY(run.target, json.get_string("target"));
  ESP_TRY(const int64_t threads, json.get_int("threads"));
  if (threads < 1 || threads > 1 << 20) {
    return make_error(ErrorCode::Parse, "'threads': expected a count of at least 1, got ", threads);
  }
  run.threads = static_cast<int>(threads);
  ESP_TRY(run.policy, json.get_string("policy"));
  ESP_TRY(const Json seed, json.get("seed"));
  ESP_TRY(run.seed, seed_from_json(seed));
  ESP_TRY(run.compiler, json.get_string("compiler"));
  ESP_TRY(run.llvm, json.get_string("llvm"));
  run.flush_cache = json.bool_or("flush_cache", false);
  return run;
}

Result<MeasureResult> result_from_json(const Json& json) {
  MeasureResult result;
  ESP_TRY(const std::string status, json.get_string("status"));
  const std::optional<MeasureStatus> known = from_name(kStatuses, status);
  if (!known) {
    return make_error(ErrorCode::Parse,
                      "'status': expected ok, compile, run, timeout or wrong, got '", status, "'");
  }
  result.status = *known;
  ESP_TRY(result.time_us, json.get_double("time_us"));
  ESP_TRY(result.times_us, json.get_doubles("times_us"));
  if (result.ok() && !(result.time_us > 0)) {
    return make_error(ErrorCode::Parse, "'time_us': expected a positive time, got ",
                      format_double(result.time_us));
  }
  result.abandoned = json.bool_or("abandoned", false);
  result.compile_ms = json.double_or("compile_ms", 0);
  result.check_ms = json.double_or("check_ms", 0);
  // Written as null when it is not finite.
  result.max_error = json.double_or("max_error", std::numeric_limits<double>::infinity());
  result.error = json.string_or("error", "");
  return result;
}

Result<TuningRecord> record_from_json(const Json& json) {
  TuningRecord record;
  ESP_TRY(record.run, run_from_json(json));
  record.device = json.string_or("device", "");
  ESP_TRY(const int64_t trial, json.get_int("trial"));
  if (trial < 0 || trial > std::numeric_limits<int>::max()) {
    return make_error(ErrorCode::Parse, "'trial': expected a number of at least 0, got ", trial);
  }
  record.trial = static_cast<int>(trial);
  ESP_TRY(const std::string provenance, json.get_string("provenance"));
  const std::optional<Provenance> known = from_name(kProvenances, provenance);
  if (!known) {
    return make_error(ErrorCode::Parse, "'provenance': unknown kind '", provenance, "'");
  }
  record.provenance = *known;
  record.final = json.bool_or("final", false);
  if (json.contains("parent")) {
    ESP_TRY(record.parent, hash_from_json(json, "parent"));
  }
  ESP_TRY(record.candidate, hash_from_json(json, "candidate"));
  ESP_TRY(const std::vector<std::string> lines, json.get_strings("trace"));
  for (const std::string& line : lines) record.trace += line + "\n";
  ESP_TRY(const std::vector<int64_t> decisions, json.get_ints("decisions"));
  for (int64_t d : decisions) {
    if (d < std::numeric_limits<int32_t>::min() || d > std::numeric_limits<int32_t>::max()) {
      return make_error(ErrorCode::Parse, "'decisions': ", d, " is out of range");
    }
    record.decisions.push_back(static_cast<int32_t>(d));
  }
  ESP_TRY(record.result, result_from_json(json));
  record.verified = json.bool_or("verified", false);
  return record;
}

}  // namespace

std::string_view name_of(Provenance p) {
  switch (p) {
    case Provenance::Default: return "default";
    case Provenance::Sampled: return "sampled";
    case Provenance::Enumerated: return "enumerated";
    case Provenance::Mutated: return "mutated";
    case Provenance::Crossed: return "crossed";
    case Provenance::Descended: return "descended";
    case Provenance::Drafted: return "drafted";
    case Provenance::Transferred: return "transferred";
  }
  ESP_UNREACHABLE();
}

std::string to_json_line(const TuningRecord& record) {
  const RunKey& run = record.run;
  const MeasureResult& result = record.result;
  Json json = Json::object({{"v", kRecordVersion},
                            {"workload", run.workload},
                            {"hash", hash_to_hex(run.dag_hash)},
                            {"target", run.target},
                            {"device", record.device},
                            {"threads", run.threads},
                            {"policy", run.policy},
                            {"seed", seed_to_json(run.seed)},
                            {"compiler", run.compiler},
                            {"llvm", run.llvm},
                            {"flush_cache", run.flush_cache},
                            {"trial", record.trial},
                            {"provenance", name_of(record.provenance)}});
  if (record.parent != 0) json.set("parent", hash_to_hex(record.parent));
  json.set("candidate", hash_to_hex(record.candidate))
      .set("trace", lines_of(record.trace))
      .set("decisions", record.decisions)
      .set("status", name_of(result.status))
      .set("time_us", result.time_us)
      .set("times_us", result.times_us);
  if (record.final) json.set("final", true);
  if (result.abandoned) json.set("abandoned", true);
  json.set("verified", record.verified)
      .set("max_error", result.max_error)
      .set("compile_ms", result.compile_ms)
      .set("check_ms", result.check_ms);
  if (!result.error.empty()) json.set("error", result.error);
  return json.dump();
}

Result<TuningRecord> parse_record(std::string_view line) {
  ESP_TRY(const Json json, parse_json(line));
  const Json* version = json.find("v");
  if (version == nullptr) {
    return make_error(ErrorCode::Parse,
                      "not a tuning record: expected an object with a member 'v'");
  }
  if (version->is_string() && json.contains("i") && json.contains("r")) {
    return make_error(ErrorCode::Parse,
                      "a measure record of TVM's auto-scheduler, which cannot be read as ours");
  }
  const Result<int64_t> number = version->as_int();
  if (!number) {
    return make_error(ErrorCode::Parse, "not a tuning record: its version is ", version->dump());
  }
  if (*number != kRecordVersion) {
    return make_error(ErrorCode::Unsupported, "record of version ", *number,
                      ", this program reads version ", kRecordVersion,
                      ": use the program that wrote it, or another file");
  }
  return record_from_json(json);
}

bool is_preferred(const TuningRecord& a, const TuningRecord& b) {
  if (a.final != b.final) return a.final;
  return a.result.time_us < b.result.time_us;
}

}  // namespace espalier
