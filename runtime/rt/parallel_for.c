#include "espalier/runtime/rt/espalier_rt.h"

int32_t espalier_parallel_for(espalier_context* ctx, int64_t begin, int64_t end, int64_t grain,
                              espalier_body fn, void* data) {
  if (begin >= end) return ESPALIER_OK;
  if (ctx && ctx->parallel_for && ctx->slots > 1) {
    return ctx->parallel_for(ctx, begin, end, grain, fn, data);
  }
  for (int64_t i = begin; i < end; i++) fn(data, i, 0);
  return ESPALIER_OK;
}
