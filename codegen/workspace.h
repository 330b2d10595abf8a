// Where the buffers of workspace scope lie in a call's scratch block.
//
// Buffers outside parallel loops lie in the block once; a parallel loop that is run by the pool has
// one slice a slot, which holds the buffers inside it. Allocations nest like a stack, so those with
// disjoint lives share memory. Every offset is a multiple of 64 bytes, and buffers that are alive
// together do not all start at the same place modulo a page.
#pragma once

#include "espalier/ir/stmt.h"

namespace espalier {

// Bytes that a buffer takes up in the block.
int64_t workspace_size(const Buffer& buffer);

// Bytes for all workspace buffers of a statement when `slots` threads run its outermost parallel
// loops (1: parallel loops are serial).
int64_t workspace_size(const Stmt& s, int slots);

// Bytes of one slot's slice of a parallel loop with this body.
int64_t workspace_slice(const Stmt& body);

}  // namespace espalier
