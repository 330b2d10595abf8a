// espalier compile: object, header, LLVM IR or assembly of a schedule.
#include <algorithm>

#include "c_header.h"
#include "espalier/codegen/emit.h"
#include "espalier/schedule/lower.h"
#include "espalier/support/fd.h"
#include "espalier/support/json.h"
#include "schedule_options.h"
#include "task_options.h"
#include "verb.h"

namespace espalier::cli {
namespace {

struct Form {
  std::string_view name, suffix;
};
constexpr Form kForms[] = {{"object", ".o"}, {"header", ".h"}, {"ir", ".ll"}, {"asm", ".s"}};

bool is_c_identifier(const std::string& text) {
  auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  });
}

// The header is read by compilers of both languages.
bool is_keyword(std::string_view text) {
  constexpr std::string_view kKeywords[] = {
      "alignas",      "alignof",      "and",           "and_eq",
      "asm",          "auto",         "bitand",        "bitor",
      "bool",         "break",        "case",          "catch",
      "char",         "char16_t",     "char32_t",      "char8_t",
      "class",        "co_await",     "co_return",     "co_yield",
      "compl",        "concept",      "const",         "const_cast",
      "consteval",    "constexpr",    "constinit",     "continue",
      "decltype",     "default",      "delete",        "do",
      "double",       "dynamic_cast", "else",          "enum",
      "explicit",     "export",       "extern",        "false",
      "float",        "for",          "friend",        "goto",
      "if",           "inline",       "int",           "long",
      "mutable",      "namespace",    "new",           "noexcept",
      "not",          "not_eq",       "nullptr",       "operator",
      "or",           "or_eq",        "private",       "protected",
      "public",       "register",     "requires",      "reinterpret_cast",
      "restrict",     "return",       "short",         "signed",
      "sizeof",       "static",       "static_assert", "static_cast",
      "struct",       "switch",       "template",      "this",
      "thread_local", "throw",        "true",          "try",
      "typedef",      "typeid",       "typename",      "typeof",
      "union",        "unsigned",     "using",         "virtual",
      "void",         "volatile",     "wchar_t",       "while",
      "xor",          "xor_eq"};
  return std::find(std::begin(kKeywords), std::end(kKeywords), text) != std::end(kKeywords);
}

class CompileVerb final : public Verb {
 public:
  std::string_view name() const override { return "compile"; }
  std::string_view summary() const override {
    return "write a kernel as an object file with a C header, as LLVM IR or as assembly";
  }

  void declare(Options& options) override {
    task_.declare(options);
    schedule_.declare(options);
    options.text("--emit", emit_, "LIST", "of object, header, ir, asm (object,header)");
    options.text("--symbol", symbol_, "NAME", "of the function (kernel)");
    options.text("-o,--out", out_, "PREFIX", "files are PREFIX.o .h .ll .s (the symbol's name)");
    options.flag("--json", json_, "one JSON object on standard output");
    options.flag("--quiet", quiet_, "no remarks on standard error");
    options.footer("An object needs only libespalier_rt.a; its header says what to call it with.");
  }

  Result<ExitCode> run(Console& console) override {
    console.quiet = quiet_;
    ESP_TRY(const std::vector<Form> forms, parse_forms());
    if (!is_c_identifier(symbol_)) {
      return usage_error("--symbol: expected a C identifier, got '", symbol_, "'");
    }
    if (is_keyword(symbol_)) {
      return usage_error("--symbol: '", symbol_, "' is a keyword of C or C++; choose another name");
    }
    ESP_TRY(const Task task, task_.make_task());
    ESP_TRY(const ChosenSchedule chosen, schedule_.choose(task, console));
    console.note(describe(chosen));
    ESP_TRY(LoweredKernel lowered, lower(chosen.state));
    lowered.main.name = symbol_;
    lowered.pack.name = symbol_ + "_pack";

    const std::string prefix = out_.empty() ? symbol_ : out_;
    Json files = Json::array();
    for (const Form& form : forms) {
      const std::string path = prefix + std::string(form.suffix);
      ESP_TRY(const std::string contents, emit(form.name, lowered, task));
      ESP_TRY_VOID(write_file(path, contents));
      files.push(path);
      if (!json_) console.print(path + "\n");
    }
    if (json_) {
      console.print(Json::object({{"workload", task_.workload()},
                                  {"target", to_string(task.target)},
                                  {"threads", task.threads},
                                  {"lookup", chosen.lookup},
                                  {"symbol", symbol_},
                                  {"files", std::move(files)}})
                        .dump() +
                    "\n");
    }
    return kGood;
  }

 private:
  Result<std::vector<Form>> parse_forms() const {
    std::vector<Form> forms;
    std::string_view rest = emit_;
    for (;;) {
      const size_t comma = rest.find(',');
      const std::string_view word = rest.substr(0, comma);
      const auto* form = std::find_if(std::begin(kForms), std::end(kForms),
                                      [&](const Form& f) { return f.name == word; });
      if (form == std::end(kForms)) {
        return usage_error("--emit: expected a list of object, header, ir, asm, got '", word, "'");
      }
      forms.push_back(*form);
      if (comma == std::string_view::npos) return forms;
      rest.remove_prefix(comma + 1);
    }
  }

  Result<std::string> emit(std::string_view form, const LoweredKernel& lowered,
                           const Task& task) const {
    if (form == "object") return emit_object(lowered, task.target);
    if (form == "header") return c_header(lowered, task, symbol_);
    return form == "ir" ? emit_llvm_ir(lowered, task.target) : emit_assembly(lowered, task.target);
  }

  TaskOptions task_;
  ScheduleOptions schedule_;
  std::string emit_ = "object,header", symbol_ = "kernel", out_;
  bool json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_compile_verb() { return std::make_unique<CompileVerb>(); }

}  // namespace espalier::cli
