// Traces from text: each line is read with the names that the steps before it made.
#include <limits>

#include "espalier/schedule/explain.h"
#include "espalier/schedule/internal/step_form.h"
#include "espalier/schedule/names.h"
#include "espalier/schedule/text.h"
#include "espalier/support/lexer.h"

namespace espalier {
namespace {

constexpr int64_t kMaxIndex = std::numeric_limits<int16_t>::max();  // reads and dimensions

// Reads one line. The first error stays; everything after it does nothing.
class Reader {
 public:
  Reader(Lexer& lexer, const State& state) : lexer_(lexer), state_(state) {}

  Result<Step> line() {
    Step step = head();
    if (!error_) std::visit([&](auto& s) { form(*this, s); }, step);
    if (!error_ && !lexer_.at(TokenKind::Newline) && !lexer_.at_end()) {
      if (auto token = take(lexer_.next())) fail(*token, "unexpected text after the step");
    }
    if (error_) return std::move(*error_);
    return step;
  }

  // Checks the names behind the arrow against those of what the step made.
  Result<void> check_made(const std::vector<std::string>& made) const {
    if (arrow_.empty()) return {};
    const Token& first = arrow_.front();
    if (arrow_.size() != made.size()) {
      return Lexer::error_at(first, detail::concat(arrow_.size(),
                                                   " names behind '->', but the step "
                                                   "makes ",
                                                   made.size(), ": ", join_names(made)));
    }
    for (size_t i = 0; i < made.size(); ++i) {
      if (arrow_[i].text == made[i]) continue;
      return Lexer::error_at(arrow_[i], detail::concat("'", arrow_[i].text,
                                                       "' behind '->', but the "
                                                       "step makes ",
                                                       join_names(made)));
    }
    return {};
  }

  void word(std::string_view w) {
    if (!error_) take(lexer_.expect(w));
  }
  bool has(std::string_view w, bool /*present*/) { return !error_ && lexer_.accept(w); }
  void stage(StageId& s) {
    if (auto token = identifier("a stage")) {
      s = state_.find_stage(token->text);
      if (s < 0) unknown(*token, "stage", stage_names(state_));
    }
  }
  void loop(StageId of, LoopId& l) {
    if (auto token = identifier("a loop")) {
      l = state_.find_loop(of, token->text);
      if (l < 0) unknown(*token, "loop of " + state_.stage_name(of), leaves(of));
    }
  }
  void loops(StageId of, std::vector<LoopId>& ls) {
    do loop(of, ls.emplace_back(kNoLoop));
    while (!error_ && lexer_.at(TokenKind::Identifier));
  }
  void num(Num& n, int64_t low, int64_t high) { integer(n.value, low, high); }
  void nums(std::vector<Num>& ns, int64_t low, int64_t high) {
    do num(ns.emplace_back(), low, high);
    while (!error_ && (lexer_.at(TokenKind::Integer) || lexer_.at(TokenKind::Identifier)));
  }
  void index(int16_t& i) {
    int64_t value = 0;
    integer(value, 0, kMaxIndex);
    i = static_cast<int16_t>(value);
  }
  void layout(StageId of, std::vector<LayoutEntry>& entries) {
    word("layout");
    word("[");
    if (error_ || lexer_.accept("]")) return;
    do layout_entry(of, entries.emplace_back());
    while (!error_ && lexer_.accept(","));
    word("]");
  }
  void made() {
    if (error_ || !lexer_.accept("->")) return;
    do {
      if (auto token = identifier("a name")) arrow_.push_back(std::move(*token));
    } while (!error_ && lexer_.at(TokenKind::Identifier) && !lexer_.at("by"));
  }

 private:
  // "STAGE: VERB"
  Step head() {
    StageId s = kNoStage;
    stage(s);
    word(":");
    auto verb = identifier("a step");
    if (!verb) return {};
    for (Annotation a : kAnnotations) {
      if (verb->text == name_of(a)) return AnnotateStep{.stage = s, .annotation = a};
    }
    Step step;
    if (verb->text == AnnotateStep::kName || !make<Step>(verb->text, step)) {
      unknown(*verb, "step", verbs());
    }
    std::visit([&](auto& made) { made.stage = s; }, step);
    return step;
  }
  template <class Variant, size_t... I>
  static bool make(std::string_view verb, Step& step, std::index_sequence<I...>) {
    return ((std::variant_alternative_t<I, Variant>::kName == verb && (step.emplace<I>(), true)) ||
            ...);
  }
  template <class Variant>
  static bool make(std::string_view verb, Step& step) {
    return make<Variant>(verb, step, std::make_index_sequence<std::variant_size_v<Variant>>());
  }
  template <size_t... I>
  static void add_verbs(std::vector<std::string>& verbs, std::index_sequence<I...>) {
    (verbs.emplace_back(std::variant_alternative_t<I, Step>::kName), ...);
  }
  static std::vector<std::string> verbs() {
    std::vector<std::string> verbs;
    add_verbs(verbs, std::make_index_sequence<std::variant_size_v<Step>>());
    std::erase(verbs, AnnotateStep::kName);
    for (Annotation a : kAnnotations) verbs.emplace_back(name_of(a));
    return verbs;
  }

  void layout_entry(StageId of, LayoutEntry& e) {
    if (!lexer_.accept("dim")) return loop(of, e.index);
    e.kind = LayoutEntry::Kind::Dim;
    index(e.index);
    if (has("outer", false))
      e.kind = LayoutEntry::Kind::DimOuter;
    else if (has("inner", false))
      e.kind = LayoutEntry::Kind::DimInner;
    if (e.is_block()) num(e.block, 1, kMaxFactor);
  }

  void integer(int64_t& value, int64_t low, int64_t high) {
    if (error_) return;
    auto token = take(lexer_.peek());
    if (!token) return;
    if (token->kind == TokenKind::Identifier && is_slot(token->text)) {
      fail(*token, detail::concat("'", token->text,
                                  "' is a decision that a sketch leaves open; a trace "
                                  "has numbers in its place"));
      return;
    }
    auto read = take(lexer_.integer());
    if (!read) return;
    value = *read;
    if (value < low || value > high) {
      fail(*token, detail::concat(value, " is out of range; it must be from ", low, " to ", high),
           ErrorCode::OutOfRange);
    }
  }
  static bool is_slot(std::string_view text) {
    return text.size() > 1 && text[0] == 'd' &&
           text.find_first_not_of("0123456789", 1) == std::string_view::npos;
  }

  std::optional<Token> identifier(std::string_view what) {
    if (error_) return {};
    if (!lexer_.at(TokenKind::Identifier)) {
      if (auto token = take(lexer_.peek())) {
        const bool end = token->kind == TokenKind::Newline || token->kind == TokenKind::End;
        fail(*token, end ? detail::concat("expected ", what, ", got the line's end")
                         : detail::concat("expected ", what, ", got '", token->text, "'"));
      }
      return {};
    }
    return take(lexer_.next());
  }
  std::vector<std::string> leaves(StageId of) const {
    const std::vector<std::string> all = loop_names(state_, of);
    std::vector<std::string> names;
    for (LoopId l : state_.stage(of).order) names.push_back(all[static_cast<size_t>(l)]);
    return names;
  }
  void unknown(const Token& token, std::string_view what, const std::vector<std::string>& there) {
    fail(token,
         detail::concat("no ", what, " named '", token.text, "'; there are: ", join_names(there)),
         ErrorCode::NotFound);
  }
  void fail(const Token& token, std::string_view message, ErrorCode code = ErrorCode::Parse) {
    error_ = Lexer::error_at(token, message);
    error_->code = code;
  }
  template <class T>
  std::optional<T> take(Result<T> result) {
    if (result.ok()) return std::move(result).value();
    error_ = std::move(result).error();
    return {};
  }

  Lexer& lexer_;
  const State& state_;
  std::optional<Error> error_;
  std::vector<Token> arrow_;
};

}  // namespace

Result<Step> parse_step(std::string_view line, const State& state) {
  Lexer lexer(line);
  lexer.newlines(true);
  ESP_TRY(Step step, Reader(lexer, state).line());
  if (!lexer.at_end()) return lexer.error_here("unexpected text after the step");
  return step;
}

Result<Trace> parse_trace(std::string_view text, const Task& task) {
  Lexer lexer(text);
  lexer.newlines(true);
  State state = State::initial(task);
  while (true) {
    while (lexer.accept(TokenKind::Newline)) {
    }
    if (lexer.at_end()) return state.trace();
    ESP_TRY(const Token start, lexer.peek());
    Reader reader(lexer, state);
    ESP_TRY(const Step step, reader.line());
    const State before = state;
    if (const auto rejection = state.apply(step)) {
      Error error = Lexer::error_at(start, reason(*rejection, state, step));
      error.code = ErrorCode::InvalidArgument;
      return error;
    }
    ESP_TRY_VOID(reader.check_made(made_by(step, before, state)));
  }
}

}  // namespace espalier
