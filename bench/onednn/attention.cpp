// Attention scores: the product of all heads at once, then softmax over the keys in place.
#include "onednn/work.h"

namespace espalier::bench {

Result<Entry> enter_attention_scores(const Contest& contest) {
  const auto library = std::make_shared<Library>();
  const ops::Args& keys = contest.keys();
  const int64_t seq = keys.integer("seq"), heads = keys.integer("heads"), dim = keys.integer("dim");
  if (!contest.epilogue().empty()) {
    return make_error(ErrorCode::Unsupported, "an epilogue after attention scores");
  }
  // As they are stored, [seq, heads, dim], seen as [heads, seq, dim] and [heads, dim, seq].
  const memory::desc q_desc({heads, seq, dim}, kF32, {dim, heads * dim, 1});
  const memory::desc k_desc({heads, dim, seq}, kF32, {dim, 1, heads * dim});
  const memory::desc y_desc = dense({heads, seq, seq});
  memory q = library->of(q_desc, contest.array("Q")), k = library->of(k_desc, contest.array("K"));
  const memory y = library->of(y_desc, contest.array("Y"));
  dnnl::matmul::primitive_desc product({q_desc, k_desc, y_desc}, library->engine);
  Calls calls;
  if (is_plain(product)) {
    // Not from these strides: they are transposed first, as we do.
    const memory::desc rows = dense({heads, seq, dim}), columns = dense({heads, dim, seq});
    product = {{rows, columns, y_desc}, library->engine};
    for (const auto& [from, desc] :
         {std::pair<memory&, const memory::desc&>(q, rows), {k, columns}}) {
      const memory to(desc, library->engine);
      calls.emplace_back(dnnl::reorder(from, to),
                         Arguments{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
      from = to;
    }
  }
  calls.emplace_back(dnnl::matmul(product),
                     Arguments{{DNNL_ARG_SRC, q}, {DNNL_ARG_WEIGHTS, k}, {DNNL_ARG_DST, y}});
  const dnnl::softmax_forward::primitive_desc softmax({kInference, y_desc, 2}, library->engine);
  calls.emplace_back(dnnl::softmax_forward(softmax),
                     Arguments{{DNNL_ARG_SRC, y}, {DNNL_ARG_DST, y}});
  const std::string detail = std::string(product.impl_info_str()) + "+" + softmax.impl_info_str();
  return entry_of(library, std::move(calls), detail);
}

}  // namespace espalier::bench
