// Elementwise chains and transposes.
#include "onednn/work.h"

namespace espalier::bench {

Result<Entry> enter_elementwise(const Contest& contest) {
  const auto library = std::make_shared<Library>();
  const ArrayView &a = contest.array("A"), &y = contest.array("Y");
  const size_t rank = y.shape.size();
  if (a.shape != y.shape) {
    return make_error(ErrorCode::Unsupported, "oneDNN broadcasts the second operand only");
  }
  const memory::desc desc = dense(y.shape);
  std::vector<ChainStep> steps = contest.epilogue();
  // B is the first step's operand, of a shape that may have fewer dimensions.
  if (contest.has_array("B")) {
    steps = contest.epilogue(/*skip=*/1);
    steps.insert(steps.begin(), {contest.keys().chain("op")[0], &contest.array("B")});
  }
  ESP_TRY(const std::vector<Post> posts,
          posts_of(contest, *library, steps, desc, along(rank, rank - 1, y.shape.back())));
  const memory from = library->of(desc, a), to = library->of(desc, y);
  const std::vector<Post> rest(posts.begin() + 1, posts.end());
  const Post& first = posts[0];
  if (first.operand) {
    return entry_with<dnnl::binary>(
        library, rest, to,
        [&](const dnnl::primitive_attr& attributes) {
          return dnnl::binary::primitive_desc(
              {first.algorithm, desc, first.operand->get_desc(), desc}, attributes,
              library->engine);
        },
        [&](const auto&, Arguments& arguments) {
          arguments.emplace(DNNL_ARG_SRC_0, from);
          arguments.emplace(DNNL_ARG_SRC_1, *first.operand);
          arguments.emplace(DNNL_ARG_DST, to);
        });
  }
  return entry_with<dnnl::eltwise_forward>(
      library, rest, to,
      [&](const dnnl::primitive_attr& attributes) {
        return dnnl::eltwise_forward::primitive_desc(
            {kInference, first.algorithm, desc, first.alpha, first.beta}, attributes,
            library->engine);
      },
      [&](const auto&, Arguments& arguments) {
        arguments.emplace(DNNL_ARG_SRC, from);
        arguments.emplace(DNNL_ARG_DST, to);
      });
}

Result<Entry> enter_transpose(const Contest& contest) {
  const auto library = std::make_shared<Library>();
  const ArrayView &x = contest.array("X"), &y = contest.array("Y");
  const memory::dims strides = dense_strides_of(x.shape);
  memory::dims seen_from_y;
  for (int64_t p : contest.keys().list("perm")) {
    seen_from_y.push_back(strides[static_cast<size_t>(p)]);
  }
  const memory::desc x_desc(y.shape, kF32, seen_from_y), y_desc = dense(y.shape);
  const size_t rank = y.shape.size();
  ESP_TRY(const std::vector<Post> posts, posts_of(contest, *library, contest.epilogue(), y_desc,
                                                  along(rank, rank - 1, y.shape.back())));
  const memory from = library->of(x_desc, x), to = library->of(y_desc, y);
  return entry_with<dnnl::reorder>(
      library, posts, to,
      [&](const dnnl::primitive_attr& attributes) {
        return dnnl::reorder::primitive_desc(library->engine, x_desc, library->engine, y_desc,
                                             attributes);
      },
      [&](const auto&, Arguments& arguments) {
        arguments.emplace(DNNL_ARG_FROM, from);
        arguments.emplace(DNNL_ARG_TO, to);
      });
}

}  // namespace espalier::bench
