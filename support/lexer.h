#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "espalier/support/result.h"

namespace espalier {

// The tokenizer of every text form of the project (DAGs, traces, targets, workloads), so that all
// of them spell numbers, strings and comments alike and report errors with line and column.

enum class TokenKind { Identifier, Integer, Float, String, Punctuation, Newline, End };

/// "identifier", "integer", …
std::string_view to_string(TokenKind kind);

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;  // as written; views the lexed text
  int line = 1;           // from 1
  int column = 1;         // from 1, in bytes
  int64_t integer = 0;    // Integer
  double number = 0;      // Float, and Integer converted
  std::string string;     // String, escapes resolved
  // Integer and Float, with suffixes(true): the letters and digits right behind the number. `text`
  // ends before them.
  std::string_view suffix;
};

/// Splits text into tokens, one at a time, without copying it: the text must outlive the lexer and
/// its tokens.
///
/// Identifiers are [A-Za-z_][A-Za-z0-9_.]*, without a dot at the end. Numbers are unsigned, since a
/// minus may be an operator; number() and integer() below read a sign in front. A number with a
/// point or exponent is a Float, as are the words inf and nan. Integers that do not fit 64 bits are
/// an error. Strings stand in double quotes with \n \t \r
/// \" \\ and \xHH. Punctuation is one character, or one of -> == != <= >= && || :: ... '#' starts a
/// comment that ends with the line. Newlines are blanks unless newlines(true); then each run of
/// them is one Newline token.
///
/// After a malformed token the lexer stands still: every call returns the same error.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  /// Makes line ends tokens, or blanks again, from the next token that has not been peeked at.
  Lexer& newlines(bool significant) {
    newlines_ = significant;
    return *this;
  }

  /// Lets names stand right behind numbers, as in 1.5f32 (see Token::suffix); an integer may then
  /// be as large as 2^64-1, which `integer` holds as its bits. Without, that is an error.
  Lexer& suffixes(bool allowed) {
    suffixes_ = allowed;
    return *this;
  }

  /// The next token without taking it; End at the end of the text, again and again.
  Result<Token> peek();
  Result<Token> next();

  /// Takes the next token if it is this punctuation or identifier (as written). False at a
  /// malformed token, which the next call that returns a Result reports.
  bool accept(std::string_view text);
  bool accept(TokenKind kind);
  /// True if the next token is this punctuation or identifier, without taking it.
  bool at(std::string_view text);
  bool at(TokenKind kind);
  bool at_end() { return at(TokenKind::End); }

  /// The next token if it is of this kind (or is this text), else a Parse error: "line 3, column 7:
  /// expected ',' before 'foo'".
  Result<Token> expect(TokenKind kind);
  Result<Token> expect(std::string_view text);

  /// An identifier's text; an integer with optional sign; an integer or float with optional sign; a
  /// string's value.
  Result<std::string> identifier();
  Result<int64_t> integer();
  Result<double> number();
  Result<std::string> string();

  /// A Parse error at the next token: "line 3, column 7: …".
  Error error_here(std::string_view message);
  /// The same at a token already taken.
  static Error error_at(const Token& token, std::string_view message);

 private:
  Result<Token> scan();
  bool skip_blanks();
  Token start(TokenKind kind) const;
  Token finish(Token token, size_t length);
  Result<Token> scan_number();
  Result<Token> scan_string();
  Error fail(std::string_view message) const;

  std::string_view text_;
  size_t at_ = 0;
  size_t line_start_ = 0;
  int line_ = 1;
  bool newlines_ = false;
  bool suffixes_ = false;
  std::optional<Result<Token>> peeked_;
};

/// The text in double quotes with the escapes that the lexer reads, so that it reads back the same.
std::string quote(std::string_view text);

}  // namespace espalier
