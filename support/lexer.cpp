#include "espalier/support/lexer.h"

#include <limits>

#include "espalier/support/number.h"

namespace espalier {
namespace {

// Locale-independent, unlike <cctype>.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::string_view kLongPunctuation[] = {
    "...", "->", "==", "!=", "<=", ">=", "&&", "||", "::"};
constexpr std::string_view kPunctuation = "+-*/%<>=!&|^~?:;,.()[]{}@$";

// How an error names what stands there instead.
std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::End: return "the end of the text";
    case TokenKind::Newline: return "the end of the line";
    case TokenKind::String: return "string " + std::string(token.text.substr(0, 60));
    default: return "'" + std::string(token.text.substr(0, 60)) + "'";
  }
}

}  // namespace

std::string_view to_string(TokenKind kind) {
  switch (kind) {
    case TokenKind::Identifier: return "a name";
    case TokenKind::Integer: return "an integer";
    case TokenKind::Float: return "a number";
    case TokenKind::String: return "a string";
    case TokenKind::Punctuation: return "punctuation";
    case TokenKind::Newline: return "the end of the line";
    case TokenKind::End: return "the end of the text";
  }
  ESP_UNREACHABLE("token kind ", static_cast<int>(kind));
}

Error Lexer::error_at(const Token& token, std::string_view message) {
  return make_error(ErrorCode::Parse, "line ", token.line, ", column ", token.column, ": ",
                    message);
}

Error Lexer::fail(std::string_view message) const {
  return error_at(start(TokenKind::End), message);
}

Error Lexer::error_here(std::string_view message) {
  Result<Token> token = peek();
  return token.ok() ? error_at(*token, message) : token.error();
}

Token Lexer::start(TokenKind kind) const {
  Token token;
  token.kind = kind;
  token.line = line_;
  token.column = static_cast<int>(at_ - line_start_) + 1;
  return token;
}

Token Lexer::finish(Token token, size_t length) {
  token.text = text_.substr(at_, length);
  at_ += length;
  return token;
}

// Returns whether a line end was passed.
bool Lexer::skip_blanks() {
  bool passed_line = false;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      passed_line = true;
      ++at_;
      ++line_;
      line_start_ = at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else {
      break;
    }
  }
  return passed_line;
}

Result<Token> Lexer::scan() {
  // A Newline token is placed where the line ends, which is before the blanks are skipped.
  const Token line_end = start(TokenKind::Newline);
  const size_t before = at_;
  if (skip_blanks() && newlines_ && at_ < text_.size()) {
    Token token = line_end;
    token.text = text_.substr(before, 0);
    return token;
  }
  if (at_ == text_.size()) return finish(start(TokenKind::End), 0);

  const char c = text_[at_];
  if (is_letter(c)) {
    size_t length = 1;
    while (at_ + length < text_.size() &&
           (is_letter(text_[at_ + length]) || is_digit(text_[at_ + length]) ||
            text_[at_ + length] == '.')) {
      ++length;
    }
    while (text_[at_ + length - 1] == '.') --length;
    Token token = finish(start(TokenKind::Identifier), length);
    if (token.text == "inf" || token.text == "nan") {
      token.kind = TokenKind::Float;
      token.number = token.text == "inf" ? std::numeric_limits<double>::infinity()
                                         : std::numeric_limits<double>::quiet_NaN();
    }
    return token;
  }
  if (is_digit(c)) return scan_number();
  if (c == '"') return scan_string();
  for (std::string_view punctuation : kLongPunctuation) {
    if (text_.substr(at_).starts_with(punctuation)) {
      return finish(start(TokenKind::Punctuation), punctuation.size());
    }
  }
  if (kPunctuation.find(c) != std::string_view::npos) {
    return finish(start(TokenKind::Punctuation), 1);
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte > 32 && byte < 127) return fail("unexpected character '" + std::string(1, c) + "'");
  return fail("unexpected byte " + std::to_string(byte));
}

Result<Token> Lexer::scan_number() {
  size_t end = at_;
  auto digits = [&] {
    const size_t first = end;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    return end > first;
  };
  bool is_float = false;
  digits();
  if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1])) {
    ++end;
    digits();
    is_float = true;
  }
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    ++end;
    if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
    if (!digits()) return fail("a number's exponent has no digits");
    is_float = true;
  }
  size_t suffix_end = end;
  while (suffixes_ && suffix_end < text_.size() &&
         (is_letter(text_[suffix_end]) || is_digit(text_[suffix_end]))) {
    ++suffix_end;
  }
  // "3x" is one malformed number, not a number and a name.
  if (suffix_end == end && end < text_.size() && is_letter(text_[end])) {
    return fail("'" + std::string(text_.substr(at_, end - at_ + 1)) + "…' is not a number");
  }
  const std::string_view text = text_.substr(at_, end - at_);
  Token token = start(is_float ? TokenKind::Float : TokenKind::Integer);
  if (is_float) {
    Result<double> value = parse_double(text);
    if (!value.ok()) return fail(value.error().message);
    token.number = *value;
  } else {
    // The magnitude of the least integer is one more than the greatest; integer() puts the sign
    // back.
    Result<uint64_t> value = parse_uint64(text);
    if (!value.ok() || (!suffixes_ && *value > uint64_t{1} << 63)) {
      return fail("'" + std::string(text) + "' does not fit a 64-bit integer");
    }
    token.integer = static_cast<int64_t>(*value);
    token.number = static_cast<double>(*value);
  }
  token.suffix = text_.substr(end, suffix_end - end);
  token = finish(std::move(token), text.size());
  at_ = suffix_end;
  return token;
}

Result<Token> Lexer::scan_string() {
  Token token = start(TokenKind::String);
  size_t end = at_ + 1;
  auto peek_at = [&](size_t i) { return i < text_.size() ? text_[i] : '\n'; };
  for (;; ++end) {
    const char c = peek_at(end);
    if (c == '"') break;
    if (c == '\n') return fail("a string is not closed on its line");
    if (c != '\\') {
      token.string += c;
      continue;
    }
    switch (peek_at(++end)) {
      case 'n': token.string += '\n'; break;
      case 't': token.string += '\t'; break;
      case 'r': token.string += '\r'; break;
      case '"': token.string += '"'; break;
      case '\\': token.string += '\\'; break;
      case 'x': {
        const int high = hex_value(peek_at(end + 1)), low = hex_value(peek_at(end + 2));
        if (high < 0 || low < 0) return fail("\\x in a string needs two hexadecimal digits");
        token.string += static_cast<char>(high * 16 + low);
        end += 2;
        break;
      }
      default: return fail("a string has an unknown escape; known are \\n \\t \\r \\\" \\\\ \\xHH");
    }
  }
  return finish(std::move(token), end + 1 - at_);
}

Result<Token> Lexer::peek() {
  if (!peeked_) peeked_ = scan();
  return *peeked_;
}

Result<Token> Lexer::next() {
  if (!peeked_) peeked_ = scan();
  if (!peeked_->ok()) return *peeked_;
  Result<Token> token = std::move(*peeked_);
  peeked_.reset();
  return token;
}

bool Lexer::at(std::string_view text) {
  if (!peeked_) peeked_ = scan();
  return peeked_->ok() && (*peeked_)->text == text &&
         ((*peeked_)->kind == TokenKind::Identifier || (*peeked_)->kind == TokenKind::Punctuation);
}

bool Lexer::at(TokenKind kind) {
  if (!peeked_) peeked_ = scan();
  return peeked_->ok() && (*peeked_)->kind == kind;
}

bool Lexer::accept(std::string_view text) {
  if (!at(text)) return false;
  peeked_.reset();
  return true;
}

bool Lexer::accept(TokenKind kind) {
  if (!at(kind)) return false;
  peeked_.reset();
  return true;
}

Result<Token> Lexer::expect(TokenKind kind) {
  ESP_TRY(Token token, peek());
  if (token.kind != kind) {
    return error_at(token, "expected " + std::string(to_string(kind)) + ", got " + describe(token));
  }
  peeked_.reset();
  return token;
}

Result<Token> Lexer::expect(std::string_view text) {
  ESP_TRY(Token token, peek());
  if (!at(text)) {
    return error_at(token, "expected '" + std::string(text) + "', got " + describe(token));
  }
  peeked_.reset();
  return token;
}

Result<std::string> Lexer::identifier() {
  ESP_TRY(Token token, expect(TokenKind::Identifier));
  return std::string(token.text);
}

Result<int64_t> Lexer::integer() {
  const bool negative = accept("-");
  if (!negative) accept("+");
  ESP_TRY(Token token, expect(TokenKind::Integer));
  if (token.integer >= 0) return negative ? -token.integer : token.integer;
  if (negative)
    return token.integer;  // 2^63 wrapped to the least integer, which it is with its sign
  return error_at(token, "'" + std::string(token.text) + "' does not fit a 64-bit integer");
}

Result<double> Lexer::number() {
  const bool negative = accept("-");
  if (!negative) accept("+");
  ESP_TRY(Token token, peek());
  if (token.kind != TokenKind::Integer && token.kind != TokenKind::Float) {
    return error_at(token, "expected a number, got " + describe(token));
  }
  peeked_.reset();
  return negative ? -token.number : token.number;
}

Result<std::string> Lexer::string() {
  ESP_TRY(Token token, expect(TokenKind::String));
  return std::move(token.string);
}

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (c == '\r') {
      quoted += "\\r";
    } else if (byte < 32 || byte == 127) {
      quoted += {'\\', 'x', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace espalier
