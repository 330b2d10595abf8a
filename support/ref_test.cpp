#include "espalier/support/ref.h"

#include <thread>
#include <unordered_set>
#include <vector>

#include "gtest/gtest.h"

namespace espalier {
namespace {

struct Node : RefCounted {
  explicit Node(int* alive, int value = 0) : alive(alive), value(value) { ++*alive; }
  Node(const Node& other) : RefCounted(other), alive(other.alive), value(other.value) { ++*alive; }
  ~Node() { --*alive; }
  int* alive;
  int value;
};

struct Derived : Node {
  using Node::Node;
};

// A hierarchy without virtual destructor, destroyed by kind.
struct Kinded : RefCounted {
  int kind = 0;
  static void destroy(const Kinded* node);
};
struct Big : Kinded {
  explicit Big(bool* destroyed) : destroyed(destroyed) { kind = 1; }
  ~Big() { *destroyed = true; }
  bool* destroyed;
};
void Kinded::destroy(const Kinded* node) {
  if (node->kind == 1) {
    delete static_cast<const Big*>(node);
  } else {
    delete node;
  }
}

TEST(Ref, LastHandleDestroys) {
  int alive = 0;
  {
    Ref<Node> a = make_ref<Node>(&alive);
    Ref<Node> b = a;
    a = nullptr;
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Ref, MoveEmptiesTheSource) {
  int alive = 0;
  Ref<Node> a = make_ref<Node>(&alive);
  Ref<Node> b = std::move(a);
  EXPECT_TRUE(a == nullptr);
  EXPECT_TRUE(b->alive == &alive);
}

TEST(Ref, SelfAssignmentKeepsTheNode) {
  int alive = 0;
  Ref<Node> a = make_ref<Node>(&alive);
  Ref<Node>& alias = a;
  a = alias;
  EXPECT_EQ(alive, 1);
  EXPECT_TRUE(a->unique());
}

TEST(Ref, ConvertsToBaseAndConst) {
  int alive = 0;
  Ref<Derived> derived = make_ref<Derived>(&alive, 3);
  Ref<const Node> base = derived;
  EXPECT_TRUE(base == derived);
  EXPECT_EQ(base->value, 3);
}

TEST(Ref, CopyOfANodeStartsItsOwnCount) {
  int alive = 0;
  Ref<Node> a = make_ref<Node>(&alive, 4);
  Ref<Node> also_a = a;
  Ref<Node> copy = make_ref<Node>(*a);
  EXPECT_TRUE(copy->unique());
  EXPECT_FALSE(a->unique());
}

TEST(Ref, DestroysThroughTheTypesOwnFunction) {
  bool destroyed = false;
  {
    Ref<const Kinded> node = make_ref<Big>(&destroyed);
  }
  EXPECT_TRUE(destroyed);
}

TEST(Ref, HashesByIdentity) {
  int alive = 0;
  Ref<Node> a = make_ref<Node>(&alive), b = make_ref<Node>(&alive);
  std::unordered_set<Ref<Node>> set{a, b, a};
  EXPECT_EQ(set.size(), 2u);
}

TEST(Ref, CountsAcrossThreads) {
  int alive = 0;
  {
    Ref<Node> shared = make_ref<Node>(&alive);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([shared] {
        for (int i = 0; i < 10000; ++i) Ref<Node> copy = shared;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(shared->unique());
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace espalier
