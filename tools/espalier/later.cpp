// Verbs of the contract that this version does not have. They take any options and say so.
#include "verb.h"

namespace espalier::cli {
namespace {

class LaterVerb final : public Verb {
 public:
  LaterVerb(std::string_view name, std::string_view summary, std::string_view instead)
      : name_(name), summary_(summary), instead_(instead) {}
  std::string_view name() const override { return name_; }
  std::string_view summary() const override { return summary_; }

  void declare(Options& options) override { options.accept_anything(); }

  Result<ExitCode> run(Console&) override {
    return usage_error("'", name_, "' is not in this version; ", instead_);
  }

 private:
  std::string_view name_, summary_, instead_;
};

}  // namespace

std::unique_ptr<Verb> make_transfer_verb() {
  return std::make_unique<LaterVerb>("transfer",
                                     "(not in this version) carry records over to another workload",
                                     "'espalier tune' searches without earlier records");
}

}  // namespace espalier::cli
