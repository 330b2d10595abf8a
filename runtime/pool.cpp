#include "espalier/runtime/pool.h"

namespace espalier {

Result<Pool> Pool::make(int threads) {
  if (threads < 1) {
    return make_error(ErrorCode::InvalidArgument, "a pool of ", threads,
                      " threads; it needs at least 1");
  }
  Pool pool(espalier_pool_create(threads));
  if (pool.pool_ == nullptr || pool.threads() != threads) {
    return make_error(ErrorCode::Resource, "cannot start ", threads, " threads; ask for fewer");
  }
  return pool;
}

espalier_context Pool::context(int threads) const {
  espalier_context context = espalier_pool_context(pool_);
  if (threads > 0 && threads < context.slots) context.slots = threads;
  return context;
}

}  // namespace espalier
