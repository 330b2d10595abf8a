// How an operator of the library is declared: its keys and the function that builds it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/ir/tensor.h"
#include "espalier/support/result.h"

namespace espalier::ops {

enum class ValueKind : uint8_t {
  Integer,  // >= min
  Flag,     // 0 or 1
  Word,     // one of a list
  Number,   // finite
  List,     // integers >= 0 joined by 'x': 2x3x4; empty for none
  Chain,    // words joined by '+'; the words are checked by who applies them
  Type,     // a data type's name
};

// One key. A key with parts is a shorthand: `k` sets `kh` and `kw`; the parts may have parts.
struct KeyDef {
  std::string name;
  ValueKind kind = ValueKind::Integer;
  int64_t min = 0;
  bool required = false;
  std::optional<std::string> fallback;  // its value when it is not given
  std::vector<std::string> words;
  std::vector<KeyDef> parts;
};
KeyDef required_int(std::string name, int64_t min = 0);
KeyDef optional_int(std::string name, int64_t min, std::string fallback);
KeyDef flag(std::string name);  // 0 unless given
// The first word is the default.
KeyDef word(std::string name, std::vector<std::string> words);
KeyDef list(std::string name, bool required);
// The same kind of key for each part; `key.parts` with a part's own parts in front of it:
// with_parts(k, {{"kh", {}}, {"kw", {}}}).
KeyDef with_parts(KeyDef key, std::vector<std::pair<std::string, std::vector<std::string>>> parts);

class Args;

// An operator's result before the epilogue. `tensor` may hold it in a wider type than Y has: the
// last stage narrows it, so that all of an epilogue is rounded once.
struct OpResult {
  Tensor tensor;
  DType type;        // of Y, unless the epilogue casts
  int channel = -1;  // the axis that vectors (bias, cscale) go along; -1: the last
  OpResult(Tensor t) : OpResult(t, t->dtype) {}
  OpResult(Tensor t, DType y, int axis = -1) : tensor(std::move(t)), type(y), channel(axis) {}
};

struct OpDef {
  std::string name;
  std::vector<KeyDef> keys;
  Result<OpResult> (*build)(const Args&) = nullptr;
};

using KeyValues = std::vector<std::pair<std::string, std::string>>;

// The values of all keys that have one, checked one by one.
class Args {
 public:
  // Errors name the key, its value and what was expected.
  static Result<Args> resolve(const OpDef& op, const KeyValues& given);

  // Reading a key of another kind, or one that has no value, is a failed check.
  int64_t integer(std::string_view key) const;
  bool flag(std::string_view key) const { return integer(key) != 0; }
  const std::string& word(std::string_view key) const;  // also the text of any other kind
  double number(std::string_view key) const;
  const std::vector<int64_t>& list(std::string_view key) const;
  const std::vector<std::string>& chain(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  DType dtype() const;

  // In the order of the keys' declaration, without defaults, shorthands where they suffice.
  KeyValues canonical() const;

  // "conv2d: ..."
  template <class... Parts>
  Error error(const Parts&... parts) const {
    return make_error(ErrorCode::InvalidArgument, op_->name, ": ", parts...);
  }
  template <class... Parts>
  Error unsupported(const Parts&... parts) const {
    return make_error(ErrorCode::Unsupported, op_->name, ": ", parts...);
  }

 private:
  struct Value {
    std::string text;  // canonical
    int64_t integer = 0;
    double number = 0;
    std::vector<int64_t> list;
    std::vector<std::string> chain;
  };
  const Value* find(std::string_view key) const;
  const Value& at(std::string_view key) const;
  Result<Value> parse(const KeyDef& key, const std::string& text) const;
  Result<void> resolve_key(const KeyDef& key, const KeyValues& given, const std::string* inherited,
                           const std::string& inherited_from, bool required,
                           const std::optional<std::string>& fallback);
  const std::string* uniform(const KeyDef& key) const;
  void compact(const KeyDef& key, const std::optional<std::string>& fallback, KeyValues& out) const;

  const OpDef* op_ = nullptr;
  std::vector<std::pair<std::string, Value>> values_;  // of keys without parts
};

// Every operator of the library, by name.
const std::vector<OpDef>& all_ops();
const OpDef* find_op(std::string_view name);

// One function a family (see the files of the same names).
std::vector<OpDef> matmul_ops();
std::vector<OpDef> attention_ops();
std::vector<OpDef> convolution_ops();
std::vector<OpDef> transposed_convolution_ops();
std::vector<OpDef> pool_ops();
std::vector<OpDef> reduce_ops();
std::vector<OpDef> softmax_ops();
std::vector<OpDef> norm_ops();
std::vector<OpDef> elementwise_ops();
std::vector<OpDef> transpose_ops();
std::vector<OpDef> embedding_ops();

}  // namespace espalier::ops
