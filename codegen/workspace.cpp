#include "espalier/codegen/workspace.h"

#include <algorithm>

#include "espalier/support/check.h"

namespace espalier {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kPage = 4096;
constexpr int64_t kStagger = 4 * kAlignment;

int64_t padded(int64_t bytes) {
  const int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  // The next buffer would start at the same place in a page: accesses to both would meet in the
  // same cache sets, and loads would wait for stores that only look as if they wrote there.
  return rounded > 0 && rounded % kPage == 0 ? rounded + kStagger : rounded;
}

}  // namespace

int64_t workspace_size(const Buffer& buffer) { return padded(buffer->bytes()); }

int64_t workspace_slice(const Stmt& body) { return padded(workspace_size(body, 1)); }

int64_t workspace_size(const Stmt& s, int slots) {
  if (!s) return 0;
  switch (s.kind()) {
    case StmtKind::For: {
      const auto* n = s.as<ForNode>();
      if (slots > 1 && n->for_kind == ForKind::Parallel) return slots * workspace_slice(n->body);
      return workspace_size(n->body, slots);
    }
    case StmtKind::If: {
      const auto* n = s.as<IfNode>();
      return std::max(workspace_size(n->then_case, slots), workspace_size(n->else_case, slots));
    }
    case StmtKind::Let: return workspace_size(s.as<LetNode>()->body, slots);
    case StmtKind::Block: {
      int64_t most = 0;
      for (const Stmt& part : s.as<BlockNode>()->stmts) {
        most = std::max(most, workspace_size(part, slots));
      }
      return most;
    }
    case StmtKind::Allocate: {
      const auto* n = s.as<AllocateNode>();
      const int64_t own =
          n->buffer->scope == BufferScope::Workspace ? workspace_size(n->buffer) : 0;
      return own + workspace_size(n->body, slots);
    }
    case StmtKind::Store:
    case StmtKind::Prefetch: return 0;
  }
  ESP_UNREACHABLE("statement kind");
}

}  // namespace espalier
