#include <algorithm>
#include <cmath>

#include "espalier/ir/ops/op_def.h"
#include "espalier/support/number.h"

namespace espalier::ops {
namespace {

// Large enough for any tensor that fits, small enough that sums of a few do not overflow.
constexpr int64_t kMaxInteger = int64_t{1} << 40;
constexpr size_t kMaxRank = 16;
constexpr size_t kMaxChain = 64;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& p : parts) text += (text.empty() ? "" : std::string(separator)) + p;
  return text;
}

void collect_names(const KeyDef& key, std::vector<std::string>& names) {
  names.push_back(key.name);
  for (const KeyDef& part : key.parts) collect_names(part, names);
}

const std::string* value_of(const KeyValues& given, std::string_view key) {
  for (const auto& [k, v] : given) {
    if (k == key) return &v;
  }
  return nullptr;
}

// A key of `key`'s parts, at any depth, that is given.
const std::string* given_part(const KeyDef& key, const KeyValues& given) {
  for (const KeyDef& part : key.parts) {
    if (value_of(given, part.name) != nullptr) return &part.name;
    if (const std::string* found = given_part(part, given)) return found;
  }
  return nullptr;
}

}  // namespace

KeyDef required_int(std::string name, int64_t min) {
  KeyDef key;
  key.name = std::move(name);
  key.min = min;
  key.required = true;
  return key;
}
KeyDef optional_int(std::string name, int64_t min, std::string fallback) {
  KeyDef key = required_int(std::move(name), min);
  key.required = false;
  key.fallback = std::move(fallback);
  return key;
}
KeyDef flag(std::string name) {
  KeyDef key = optional_int(std::move(name), 0, "0");
  key.kind = ValueKind::Flag;
  return key;
}
KeyDef word(std::string name, std::vector<std::string> words) {
  KeyDef key;
  key.name = std::move(name);
  key.kind = ValueKind::Word;
  key.fallback = words.front();
  key.words = std::move(words);
  return key;
}
KeyDef list(std::string name, bool required) {
  KeyDef key = required_int(std::move(name));
  key.kind = ValueKind::List;
  key.required = required;
  return key;
}
KeyDef with_parts(KeyDef key, std::vector<std::pair<std::string, std::vector<std::string>>> parts) {
  const KeyDef plain = key;
  for (auto& [name, inner] : parts) {
    KeyDef part = plain;
    part.name = name;
    for (std::string& n : inner) {
      KeyDef leaf = plain;
      leaf.name = std::move(n);
      part.parts.push_back(std::move(leaf));
    }
    key.parts.push_back(std::move(part));
  }
  return key;
}

Result<Args> Args::resolve(const OpDef& op, const KeyValues& given) {
  Args args;
  args.op_ = &op;
  std::vector<std::string> names;
  for (const KeyDef& key : op.keys) collect_names(key, names);
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string& key = given[i].first;
    if (std::find(names.begin(), names.end(), key) == names.end()) {
      return args.error("it has no key '", key, "'; its keys are ", join(names, " "));
    }
    for (size_t j = 0; j < i; ++j) {
      if (given[j].first == key) return args.error("the key '", key, "' is given twice");
    }
  }
  for (const KeyDef& key : op.keys) {
    ESP_TRY_VOID(args.resolve_key(key, given, nullptr, {}, key.required, key.fallback));
  }
  return args;
}

Result<void> Args::resolve_key(const KeyDef& key, const KeyValues& given,
                               const std::string* inherited, const std::string& inherited_from,
                               bool required, const std::optional<std::string>& fallback) {
  const std::string* own = value_of(given, key.name);
  const std::string* value = own != nullptr ? own : inherited;
  const std::string& from = own != nullptr ? key.name : inherited_from;
  if (own != nullptr) {
    if (const std::string* part = given_part(key, given)) {
      return error("'", key.name, "' and '", *part, "' are both given; '", key.name,
                   "' already sets '", *part, "'");
    }
  }
  if (!key.parts.empty()) {
    for (const KeyDef& part : key.parts) {
      ESP_TRY_VOID(resolve_key(part, given, value, from, required, fallback));
    }
    return {};
  }
  if (value == nullptr) {
    if (fallback) {
      value = &*fallback;
    } else if (required) {
      std::vector<std::string> names;
      for (const KeyDef& k : op_->keys) {
        if (k.required) names.push_back(k.name);
      }
      return error("the key '", key.name, "' is missing; it needs ", join(names, " "));
    } else {
      return {};
    }
  }
  KeyDef named = key;
  if (!from.empty()) named.name = from;  // messages name what the user wrote
  ESP_TRY(Value parsed, parse(named, *value));
  values_.emplace_back(key.name, std::move(parsed));
  return {};
}

Result<Args::Value> Args::parse(const KeyDef& key, const std::string& text) const {
  Value v;
  v.text = text;
  auto wrong = [&](const auto&... expected) {
    return error("'", key.name, "=", text, "': ", expected...);
  };
  switch (key.kind) {
    case ValueKind::Integer:
    case ValueKind::Flag: {
      const int64_t max = key.kind == ValueKind::Flag ? 1 : kMaxInteger;
      Result<int64_t> value = parse_int64(text);
      if (!value.ok() && value.error().code != ErrorCode::OutOfRange) {
        return wrong("an integer was expected");
      }
      if (!value.ok() || *value < key.min || *value > max) {
        if (key.kind == ValueKind::Flag) return wrong("0 or 1 was expected");
        return wrong("an integer from ", key.min, " to ", max, " was expected");
      }
      v.integer = *value;
      v.text = std::to_string(*value);
      return v;
    }
    case ValueKind::Word:
      if (std::find(key.words.begin(), key.words.end(), text) == key.words.end()) {
        return wrong("one of ", join(key.words, " "), " was expected");
      }
      return v;
    case ValueKind::Number: {
      Result<double> value = parse_double(text);
      if (!value.ok() || !std::isfinite(*value)) return wrong("a finite number was expected");
      v.number = *value;
      v.text = format_double(*value);
      return v;
    }
    case ValueKind::List: {
      const std::vector<std::string> parts = split(text, 'x');
      if (parts.size() > kMaxRank) return wrong("at most ", kMaxRank, " numbers are allowed");
      std::vector<std::string> canonical;
      for (const std::string& part : parts) {
        Result<int64_t> value = parse_int64(part);
        if (!value.ok() || *value < 0 || *value > kMaxInteger) {
          return wrong("integers from 0 to ", kMaxInteger, ", joined by x as in 2x3x4, were ",
                       "expected, not '", part, "'");
        }
        v.list.push_back(*value);
        canonical.push_back(std::to_string(*value));
      }
      v.text = join(canonical, "x");
      return v;
    }
    case ValueKind::Chain:
      v.chain = split(text, '+');
      if (v.chain.size() > kMaxChain) return wrong("at most ", kMaxChain, " steps are allowed");
      return v;
    case ValueKind::Type:
      if (!dtype_from_name(text)) {
        return wrong("a type was expected: f64 f32 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool");
      }
      return v;
  }
  ESP_UNREACHABLE("value kind");
}

const Args::Value* Args::find(std::string_view key) const {
  for (const auto& [name, value] : values_) {
    if (name == key) return &value;
  }
  return nullptr;
}
const Args::Value& Args::at(std::string_view key) const {
  const Value* value = find(key);
  ESP_CHECK(value != nullptr, op_->name, " has no value for ", key);
  return *value;
}
int64_t Args::integer(std::string_view key) const { return at(key).integer; }
const std::string& Args::word(std::string_view key) const { return at(key).text; }
double Args::number(std::string_view key) const { return at(key).number; }
const std::vector<int64_t>& Args::list(std::string_view key) const { return at(key).list; }
const std::vector<std::string>& Args::chain(std::string_view key) const { return at(key).chain; }
DType Args::dtype() const { return *dtype_from_name(word("dtype")); }

const std::string* Args::uniform(const KeyDef& key) const {
  if (key.parts.empty()) {
    const Value* value = find(key.name);
    return value == nullptr ? nullptr : &value->text;
  }
  const std::string* common = uniform(key.parts.front());
  for (const KeyDef& part : key.parts) {
    const std::string* value = uniform(part);
    if (value == nullptr || common == nullptr || *value != *common) return nullptr;
  }
  return common;
}

void Args::compact(const KeyDef& key, const std::optional<std::string>& fallback,
                   KeyValues& out) const {
  if (const std::string* value = uniform(key)) {
    if (!fallback || *value != *fallback) out.emplace_back(key.name, *value);
    return;
  }
  for (const KeyDef& part : key.parts) compact(part, fallback, out);
}

KeyValues Args::canonical() const {
  KeyValues out;
  for (const KeyDef& key : op_->keys) compact(key, key.fallback, out);
  return out;
}

}  // namespace espalier::ops
