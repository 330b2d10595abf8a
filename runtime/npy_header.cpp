#include "espalier/runtime/npy_header.h"

#include <algorithm>
#include <optional>

#include "espalier/support/number.h"

namespace espalier {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 64;  // NumPy's own limit

template <class... Parts>
Error malformed(const Parts&... parts) {
  return make_error(ErrorCode::Parse, parts...);
}

// Reads the subset of Python that NumPy writes: {'key': 'string' | True | False | (1, 2)}.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) {
      ++at_;
    }
  }
  bool at(char c) {
    skip_blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  bool accept(char c) {
    if (!at(c)) return false;
    ++at_;
    return true;
  }
  Result<void> expect(char c) {
    if (accept(c)) return {};
    return malformed("its header has no '", c, "' at position ", at_);
  }

  Result<std::string> string() {
    skip_blanks();
    if (!at('\'') && !at('"')) return malformed("its header has no string at position ", at_);
    const char quote = text_[at_];
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return malformed("its header has a string without an end");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  Result<bool> boolean() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true},
                                      std::pair<std::string_view, bool>{"False", false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    return malformed("its header has neither True nor False at position ", at_);
  }

  Result<int64_t> integer() {
    skip_blanks();
    const size_t start = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    const std::string_view digits = text_.substr(start, at_ - start);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
    auto value = parse_int64(digits);
    if (!value.ok()) return malformed("its shape has '", digits, "' where an extent is expected");
    return value;
  }

  Result<std::vector<int64_t>> tuple() {
    ESP_TRY_VOID(expect('('));
    std::vector<int64_t> values;
    while (!accept(')')) {
      ESP_TRY(const int64_t value, integer());
      if (value < 0) return malformed("its shape has the negative extent ", value);
      if (values.size() == kMaxRank) return malformed("its shape has over ", kMaxRank, " extents");
      values.push_back(value);
      if (at(')')) continue;
      ESP_TRY_VOID(expect(','));
    }
    return values;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

Result<void> parse_literal(std::string_view text, NpyHeader& header) {
  Literal in(text);
  bool has_descr = false, has_order = false, has_shape = false;
  ESP_TRY_VOID(in.expect('{'));
  while (!in.accept('}')) {
    ESP_TRY(const std::string key, in.string());
    ESP_TRY_VOID(in.expect(':'));
    bool* seen = key == "descr"           ? &has_descr
                 : key == "fortran_order" ? &has_order
                 : key == "shape"         ? &has_shape
                                          : nullptr;
    if (seen == nullptr) return malformed("its header has the unknown key '", key, "'");
    if (std::exchange(*seen, true)) return malformed("its header has '", key, "' twice");
    if (key == "descr") {
      if (in.at('[')) {
        return make_error(ErrorCode::Unsupported,
                          "it holds records with named fields; save one field as a plain array");
      }
      ESP_TRY(header.descr, in.string());
    } else if (key == "fortran_order") {
      ESP_TRY(header.fortran_order, in.boolean());
    } else {
      ESP_TRY(header.shape, in.tuple());
    }
    if (in.at('}')) continue;
    ESP_TRY_VOID(in.expect(','));
  }
  if (!in.at_end()) return malformed("its header goes on after its closing brace");
  if (!has_descr) return malformed("its header lacks 'descr'");
  if (!has_order) return malformed("its header lacks 'fortran_order'");
  if (!has_shape) return malformed("its header lacks 'shape'");
  return {};
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic)) {
    return malformed("it does not start with the magic number of a .npy file");
  }
  if (text.size() < kMagic.size() + 2) return malformed("it ends before its version");
  const int major = static_cast<unsigned char>(text[kMagic.size()]);
  if (major < 1 || major > 3) {
    return make_error(ErrorCode::Unsupported, "it is of .npy version ", major,
                      "; versions 1 to 3 are read");
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t start = kMagic.size() + 2 + length_bytes;
  if (text.size() < start) return malformed("it ends before the length of its header");
  size_t length = 0;
  for (size_t i = length_bytes; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(text[kMagic.size() + 2 + i]);
  }
  if (length > text.size() - start) {
    return malformed("it ends within its header: ", length, " bytes are announced and ",
                     text.size() - start, " are there");
  }
  NpyHeader header;
  header.data_offset = start + length;
  ESP_TRY_VOID(parse_literal(text.substr(start, length), header));
  return header;
}

}  // namespace espalier
