// SPDX-License-Identifier: Apache-2.0
// The report's page in a browser: no error on its console, and the slow rank is to be seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "tests/apps/train_program.h"
#include "tests/support/png.h"
#include "tests/support/tmp_dir.h"

namespace convoy::apps {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kHeatWidth = 1000, kHeatHeight = 512;
constexpr int kRanks = 256, kSlowRank = 77;
// Of the way between the colours of nothing and of the scale's end, in the sum over channels.
constexpr int kMarked = 120;

support::ProgramResult shell(const std::string& line) {
  return support::run_program({.arguments = {"bash", "-c", line}});
}

std::string found_browser() {
  const support::ProgramResult found = shell(
      "for name in chromium-headless-shell chromium chromium-browser google-chrome; do command -v $name && exit; done");
  return found.out.substr(0, found.out.find('\n'));
}

// Debian's, which is installed if we may.
std::string browser() {
  std::string found = found_browser();
  if (!found.empty() || ::geteuid() != 0) return found;
  const std::string install =
      "DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium-headless-shell";
  shell(install + " || { apt-get update -q && " + install + "; }");
  return found_browser();
}

class ReportPage : public testing::Test {
 protected:
  void SetUp() override {
    browser_ = browser();
    if (browser_.empty())
      GTEST_SKIP() << "no browser: install chromium-headless-shell (as root this test does so itself)";
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void make_page(const std::vector<std::string>& synth) {
    std::vector<std::string> arguments = {"synth", "--out", path("run")};
    arguments.insert(arguments.end(), synth.begin(), synth.end());
    const support::ProgramResult made = call("convoy-profile", arguments);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const support::ProgramResult report = call("convoy-profile", {"report", path("run"), "--html", path("page.html")});
    ASSERT_EQ(report.exit_code, 0) << report.err;
  }

  // The page with more in its <head>.
  void add_to_head(const std::string& more) {
    std::string page = support::content_of(path("page.html"));
    page.insert(page.find("</head>"), more);
    std::ofstream(path("page.html"), std::ios::binary) << page;
  }

  // Draws the page; what the browser said goes into console_.
  support::Picture screenshot(int width, int height) {
    const std::string size = std::to_string(width) + "," + std::to_string(height);
    const support::ProgramResult shot = support::run_program(
        {.arguments = {"timeout", "--kill-after=5", "90", browser_, "--headless", "--no-sandbox", "--disable-gpu",
                       "--hide-scrollbars", "--force-device-scale-factor=1", "--enable-logging=stderr",
                       "--user-data-dir=" + path("profile"), "--window-size=" + size,
                       "--screenshot=" + path("shot.png"), "file://" + path("page.html")},
         .environment = {"HOME=" + folder_.path().string()}});
    EXPECT_EQ(shot.exit_code, 0) << shot.err;
    console_ = shot.err;
    return support::read_png(path("shot.png"));
  }

  support::TmpDir folder_;
  std::string browser_, console_;
};

// Every difference of a rank's row from another, over the columns of [from, to).
int difference(const support::Picture& picture, int row, int other, int from, int to) {
  const auto y = [](int rank) { return (2 * rank + 1) * kHeatHeight / (2 * kRanks); };
  long sum = 0;
  for (int x = from; x < to; ++x) {
    const support::Pixel &a = picture.at(x, y(row)), &b = picture.at(x, y(other));
    sum += std::abs(a.red - b.red) + std::abs(a.green - b.green) + std::abs(a.blue - b.blue);
  }
  return static_cast<int>(sum / (to - from));
}

TEST_F(ReportPage, ShowsTheSlowRankAmong256) {
  ASSERT_NO_FATAL_FAILURE(make_page({"--ranks", "256", "--layout", "tp=8,pp=4,dp=8", "--steps", "200", "--fault",
                                     "slow:rank=77,factor=1.25,phase=backward,steps=51-200"}));
  EXPECT_LT(std::filesystem::file_size(path("page.html")), 2'000'000u);
  add_to_head(
      "<style>#heat { position: fixed; z-index: 9; left: 0; top: 0; border: 0; width: 1000px !important; "
      "height: 512px !important; }</style>");
  const support::Picture picture = screenshot(kHeatWidth, kHeatHeight);
  EXPECT_THAT(console_, Not(HasSubstr("CONSOLE:")));
  ASSERT_EQ(picture.width, kHeatWidth);
  ASSERT_EQ(picture.height, kHeatHeight);
  // Slow from a quarter of the steps on; columns away from that edge.
  for (const int other : {kSlowRank - 1, kSlowRank + 1, kSlowRank - 40, kSlowRank + 40}) {
    EXPECT_GT(difference(picture, kSlowRank, other, 260, 990), kMarked) << "rank " << other;
    EXPECT_LT(difference(picture, kSlowRank, other, 10, 240), kMarked / 3) << "rank " << other;
  }
  EXPECT_LT(difference(picture, kSlowRank - 1, kSlowRank + 1, 260, 990), kMarked / 3);
}

TEST_F(ReportPage, ChangesItsColoursAndSortsWithoutAnError) {
  ASSERT_NO_FATAL_FAILURE(make_page({"--ranks", "8", "--steps", "40"}));
  // Presses everything there is to press; the console tells what broke.
  add_to_head(
      "<script>window.addEventListener('load', () => {"
      "  document.querySelectorAll('button').forEach((button) => { button.click(); button.click(); });"
      "  document.getElementById('theme').click();"
      "  document.querySelectorAll('canvas, svg').forEach((e) => {"
      "    const box = e.getBoundingClientRect();"
      "    const at = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };"
      "    e.dispatchEvent(new PointerEvent('pointermove', at)); });"
      "  if (document.getElementById('heat-readout').textContent.indexOf('rank ') !== 0) throw 'no readout';"
      "  if (document.querySelectorAll('[aria-sort]').length !== 1) throw 'not sorted';"
      "});</script>");
  const support::Picture dark = screenshot(1000, 600);
  EXPECT_THAT(console_, Not(HasSubstr("CONSOLE:")));
  const support::Pixel corner = dark.at(2, 2);
  EXPECT_LT(corner.red + corner.green + corner.blue, 150) << "one press of the button after the load: dark";
}

// The console is where a broken page would be heard.
TEST_F(ReportPage, WouldTellAnErrorOnItsConsole) {
  ASSERT_NO_FATAL_FAILURE(make_page({"--ranks", "2", "--steps", "12"}));
  add_to_head("<script>throw new Error('on purpose')</script>");
  screenshot(400, 300);
  EXPECT_THAT(console_, HasSubstr("CONSOLE:"));
}

}  // namespace
}  // namespace convoy::apps
