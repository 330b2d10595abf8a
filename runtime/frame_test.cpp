#include "espalier/runtime/frame.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <thread>

#include "espalier/support/fd.h"
#include "espalier/support/rng.h"

namespace espalier {
namespace {

struct Pipe {
  UniqueFd in, out;  // read from `in` what was written to `out`
  Pipe() {
    int fds[2];
    EXPECT_EQ(pipe(fds), 0);
    in = UniqueFd(fds[0]);
    out = UniqueFd(fds[1]);
  }
};

TEST(Frame, CrossesAPipeInPieces) {
  Pipe pipe;
  const std::string payload(100000, 'x');  // more than a pipe holds
  std::thread writer([&] {
    const std::string bytes = encode_frame(7, payload);
    EXPECT_TRUE(write_all(pipe.out.get(), bytes.substr(0, 3), "pipe").ok());
    EXPECT_TRUE(write_all(pipe.out.get(), bytes.substr(3), "pipe").ok());
    pipe.out.reset();
  });
  const Frame frame = read_frame(pipe.in.get()).value().value();
  EXPECT_EQ(frame.kind, 7);
  EXPECT_EQ(frame.payload, payload);
  EXPECT_EQ(read_frame(pipe.in.get()).value(), std::nullopt);
  writer.join();
}

TEST(Frame, AnEndWithinAFrameIsAnError) {
  const std::string bytes = encode_frame(1, "abc");
  for (size_t length = 1; length < bytes.size(); ++length) {
    Pipe pipe;
    ASSERT_TRUE(write_all(pipe.out.get(), bytes.substr(0, length), "pipe").ok());
    pipe.out.reset();
    EXPECT_FALSE(read_frame(pipe.in.get()).ok()) << length;
  }
}

TEST(Frame, AnImpossibleLengthIsAnErrorAndNotAnAllocation) {
  Pipe pipe;
  ASSERT_TRUE(write_all(pipe.out.get(), "\xff\xff\xff\xff\x01", "pipe").ok());
  EXPECT_EQ(read_frame(pipe.in.get()).error().code, ErrorCode::Parse);
  FrameBuffer buffer;
  buffer.append("\xff\xff\xff\xff\x01");
  EXPECT_EQ(buffer.next().error().code, ErrorCode::Parse);
}

TEST(FrameBuffer, GivesFramesOnceTheyAreWhole) {
  FrameBuffer buffer;
  const std::string bytes = encode_frame(1, "abc") + encode_frame(2, "");
  for (size_t i = 0; i < bytes.size(); ++i) {
    buffer.append(bytes.substr(i, 1));
    const std::optional<Frame> frame = buffer.next().value();
    EXPECT_EQ(frame.has_value(), i == 7 || i == 12) << i;
    if (i == 7) EXPECT_EQ(frame->payload, "abc");
    if (i == 12) EXPECT_EQ(frame->kind, 2);
  }
}

TEST(Encoder, ValuesComeBack) {
  const std::string bytes = Encoder()
                                .u64(UINT64_MAX)
                                .i64(-5)
                                .f64(-0.0)
                                .f64(std::nan(""))
                                .boolean(true)
                                .string(std::string("x\0y", 3))
                                .string("")
                                .f64s({1.5, INFINITY})
                                .take();
  Decoder in(bytes);
  EXPECT_EQ(in.u64(), UINT64_MAX);
  EXPECT_EQ(in.i64(), -5);
  EXPECT_TRUE(std::signbit(in.f64()));
  EXPECT_TRUE(std::isnan(in.f64()));
  EXPECT_TRUE(in.boolean());
  EXPECT_EQ(in.string(), std::string("x\0y", 3));
  EXPECT_EQ(in.string(), "");
  EXPECT_EQ(in.f64s(), (std::vector<double>{1.5, INFINITY}));
  EXPECT_TRUE(in.finish().ok());
}

TEST(Decoder, WhatIsMissingReadsAsZeroAndIsAnError) {
  Decoder in("abc");
  EXPECT_EQ(in.u64(), 0u);
  EXPECT_EQ(in.string(), "");
  EXPECT_TRUE(in.f64s().empty());
  EXPECT_FALSE(in.finish().ok());
}

TEST(Decoder, WhatIsLeftOverIsAnError) {
  const std::string bytes = Encoder().u64(1).u64(2).take();
  Decoder in(bytes);
  in.u64();
  EXPECT_FALSE(in.finish().ok());
}

TEST(Decoder, LengthsBeyondTheMessageAllocateNothing) {
  Rng rng(5);
  for (int round = 0; round < 1000; ++round) {
    const std::string bytes = Encoder().u64(rng.next()).u64(0).take();
    EXPECT_LE(Decoder(bytes).string().size(), 8u);
    EXPECT_LE(Decoder(bytes).f64s().size(), 1u);
  }
}

}  // namespace
}  // namespace espalier
