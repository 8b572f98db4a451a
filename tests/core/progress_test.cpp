// SPDX-License-Identifier: Apache-2.0
// What a bar says, and when it says nothing: without a terminal, when switched off, and for short work.
#include "weft/core/progress.h"

#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "support/terminal.h"

namespace weft {
namespace {

TEST(Progress, Durations) {
  EXPECT_EQ(duration_text(0.4), "0s");
  EXPECT_EQ(duration_text(59.6), "1m00s");
  EXPECT_EQ(duration_text(72), "1m12s");
  EXPECT_EQ(duration_text(3 * 3600 + 5 * 60 + 59), "3h05m");
  EXPECT_EQ(duration_text(2 * 86400 + 4 * 3600), "2d04h");
  EXPECT_EQ(duration_text(-5), "0s");
  EXPECT_EQ(duration_text(1e300), "long");
  EXPECT_EQ(duration_text(std::strtod("nan", nullptr)), "long");
}

TEST(Progress, LineShowsShareNoteAndTimeLeft) {
  const std::string line = progress_line({"train", 100, 0, 25, 30, "loss 2.31"}, 80);
  EXPECT_EQ(line, "train  25% [=======                       ] loss 2.31  1m30s left");
}

TEST(Progress, EarlierSessionsDoNotCountForSpeed) {
  // 10 of the 30 steps since the start at 60 took 10 s, so the last 30 take 30 s.
  EXPECT_NE(progress_line({"train", 100, 60, 70, 10, ""}, 80).find("30s left"), std::string::npos);
  EXPECT_EQ(progress_line({"train", 100, 60, 60, 10, ""}, 80).find("left"), std::string::npos);
}

TEST(Progress, UnknownTotalShowsElapsedTime) {
  EXPECT_EQ(progress_line({"read", 0, 0, 7, 65, "7 files"}, 80), "read  7 files  1m05s");
}

TEST(Progress, NarrowTerminalsGetAShorterLine) {
  for (int width : {0, 1, 5, 20, 40, 200}) {
    const std::string line = progress_line({"train", 10, 0, 12, 3, "loss 2.31  12.3k tok/s"}, width);
    EXPECT_LE(static_cast<int>(line.size()), std::max(0, width - 1));
  }
}

TEST(Progress, SilentWithoutATerminal) {
  ::testing::internal::CaptureStderr();
  {
    ProgressBar bar("work", 10);
    EXPECT_FALSE(bar.enabled());
    bar.update(5, "note");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

class WithRate {
 public:
  explicit WithRate(const char* seconds) { ::setenv("WEFT_PROGRESS_SECONDS", seconds, 1); }
  ~WithRate() { ::unsetenv("WEFT_PROGRESS_SECONDS"); }
  WithRate(const WithRate&) = delete;
  WithRate& operator=(const WithRate&) = delete;
};

TEST(Progress, WithoutATerminalEveryUpdateIsALineAtARateOfZero) {
  const WithRate rate("0");
  ::testing::internal::CaptureStderr();
  {
    ProgressBar bar("training", 100, 50);
    bar.update(50, "step 50");
    bar.update(75, "step 75");
  }
  const std::string lines = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(lines.starts_with("weft: training 50%  step 50  ")) << lines;
  EXPECT_NE(lines.find("\nweft: training 75%  step 75  "), std::string::npos) << lines;
  EXPECT_EQ(lines.find_first_of("\r\x1b["), std::string::npos) << "nothing that only a terminal understands: " << lines;
}

TEST(Progress, WorkThatSaysNothingOfItselfIsShownToo) {
  const WithRate rate("0");
  ::testing::internal::CaptureStderr();
  {
    ProgressBar bar("learning", 0);
    bar.keep_showing();
  }
  EXPECT_TRUE(::testing::internal::GetCapturedStderr().starts_with("weft: learning  0s\n"));
}

TEST(Progress, WorkThatIsCountedInSecondsGoesOnBetweenUpdates) {
  const WithRate rate("0.01");
  ::testing::internal::CaptureStderr();
  {
    ProgressBar bar("training", 0.05);
    bar.follow_clock(true);
    bar.keep_showing();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // a tick is 200 ms
    bar.follow_clock(false);
    bar.update(0.04, "step 1");
  }
  const std::string lines = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(lines.find("weft: training 100%"), std::string::npos) << lines;
  EXPECT_NE(lines.find("weft: training 80%  step 1"), std::string::npos) << lines;
}

TEST(Progress, ALogIsNotToldOfShortWork) {
  ::testing::internal::CaptureStderr();
  {
    ProgressBar bar("learning", 2);
    bar.update(1);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Progress, EventsAreLinesUnlessBarsAreSwitchedOff) {
  ::testing::internal::CaptureStderr();
  report_progress("evaluation after step 5");
  ::setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1", 1);
  report_progress("evaluation after step 6");
  ::unsetenv("HF_HUB_DISABLE_PROGRESS_BARS");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "weft: evaluation after step 5\n");
}

TEST(Progress, ARateThatIsNoNumberIsNamed) {
  const WithRate rate("often");
  ::testing::internal::CaptureStderr();
  const ProgressBar bar("work", 10);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("WEFT_PROGRESS_SECONDS must be a number of seconds"),
            std::string::npos);
}

TEST(Progress, DrawsOnATerminalAfterTwoSecondsAndCleansUp) {
  const test::Terminal terminal;
  if (!terminal.ready()) {
    GTEST_SKIP() << "no pseudo-terminal here";
  }
  {
    ProgressBar bar("work", 10);
    EXPECT_TRUE(bar.enabled());
    bar.update(5);
    EXPECT_EQ(terminal.read(), "");
    std::this_thread::sleep_for(std::chrono::milliseconds(2050));
    bar.update(6, "fine");
    EXPECT_NE(terminal.read().find("work  60%"), std::string::npos);
    bar.update(7);  // sooner than a tenth of a second later
    EXPECT_EQ(terminal.read(), "");
  }
  EXPECT_EQ(terminal.read(), "\r\x1b[K");
}

TEST(Progress, SwitchedOffByTheEnvironment) {
  const test::Terminal terminal;
  if (!terminal.ready()) {
    GTEST_SKIP() << "no pseudo-terminal here";
  }
  ::setenv("HF_HUB_DISABLE_PROGRESS_BARS", "YES", 1);
  const ProgressBar bar("work", 10);
  ::unsetenv("HF_HUB_DISABLE_PROGRESS_BARS");
  EXPECT_FALSE(bar.enabled());
}

}  // namespace
}  // namespace weft
