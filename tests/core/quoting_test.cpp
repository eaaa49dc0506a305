#include "core/quoting.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace rodeo {
namespace {

TEST(CoreQuoting, PrintableEscapesWhatATerminalActsOn) {
  EXPECT_EQ(printable("\x1b]0;title\x07 a\nb\r\tc\x7f"), "\\x1b]0;title\\x07 a\\nb\\r\\tc\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u{9b}31m");
  EXPECT_EQ(printable("abc\xe2\x80\xae"
                      "fdp.exe"),
            "abc\\u{202e}fdp.exe");
  EXPECT_EQ(printable("Z\xc3\xbcrich \\ \xe2\x82\xac \xf0\x9f\x90\x8e"),
            "Z\xc3\xbcrich \\ \xe2\x82\xac \xf0\x9f\x90\x8e");
  EXPECT_EQ(printable("\xff \xc3( \xc0\x80 \xed\xa0\x80 \xe2\x82"),
            "\\xff \\xc3( \\xc0\\x80 \\xed\\xa0\\x80 \\xe2\\x82");
}

TEST(CoreQuoting, EachFormatHasItsOwnQuotes) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,\"b\"\nc"), "\"a,\"\"b\"\"\\nc\"");
  EXPECT_EQ(csv_field(" a"), "\" a\"");
  EXPECT_EQ(json_string("a\"\\\n\xff\xc3\xbc"), "\"a\\\"\\\\\\u000a\\ufffd\xc3\xbc\"");
  EXPECT_EQ(json_string("\xf3\xa0\x80\x81"), "\"\\udb40\\udc01\"");
  EXPECT_EQ(json_printable("{\n  \"a\": \"\x7f\xc2\x9b\"\n}"), "{\n  \"a\": \"\\u007f\\u009b\"\n}");
  EXPECT_EQ(html_text("<a b=\"c\">&'\n\x1b"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;\n\\x1b");
}

/// Random text, rich in bytes that begin escape sequences, UTF-8 characters and quotes.
std::string hostile_text(std::mt19937& random) {
  static const std::string kPieces[] = {"\x1b[31m",
                                        "\x1b]8;;http://x\x07",
                                        "\n",
                                        "\r",
                                        "\xc2\x9b",
                                        "\xe2\x80\xae",
                                        "\xe2\x80\xa8",
                                        "\xff",
                                        "\xf4\x90\x80\x80",
                                        "\xed\xbf\xbf",
                                        "\xc0\xaf",
                                        "\"",
                                        "'",
                                        ",",
                                        "<script>",
                                        "</pre>",
                                        "&lt;",
                                        "\\",
                                        "|",
                                        "\xc3\xa4",
                                        "a",
                                        " ",
                                        std::string(1, '\0')};
  std::string text;
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (std::size_t n = below(12); n > 0; --n)
    text +=
        below(2) == 0 ? kPieces[below(std::size(kPieces))] : std::string(1, static_cast<char>(below(256)));
  return text;
}

void expect_harmless(const std::string& text, bool line_breaks = false) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    ASSERT_TRUE(byte >= 0x20 || (line_breaks && c == '\n')) << testing::PrintToString(text);
    ASSERT_NE(byte, 0x7f);
  }
  ASSERT_NO_THROW(static_cast<void>(nlohmann::json(text).dump()))
      << "not UTF-8: " << testing::PrintToString(text);
  for (const char* deceptive : {"\xc2\x9b", "\xe2\x80\xae", "\xe2\x80\xa8"})
    ASSERT_EQ(text.find(deceptive), std::string::npos) << testing::PrintToString(text);
}

TEST(CoreQuoting, NoHostileTextGetsThrough) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::string text = hostile_text(random), line = printable(text);
    expect_harmless(line);
    ASSERT_EQ(printable(line), line);
    const std::string field = csv_field(text);
    expect_harmless(field);
    if (field.starts_with('"')) {  // as a reader of CSV takes it apart
      std::string read;
      for (std::size_t at = 1; at + 1 < field.size(); ++at) {
        if (field[at] == '"') {
          ASSERT_EQ(field[++at], '"') << field;
        }
        read += field[at];
      }
      ASSERT_EQ(read, line);
    } else {
      ASSERT_EQ(field.find_first_of(",\""), std::string::npos);
    }
    const std::string json = json_string(text);
    expect_harmless(json);
    using Json = nlohmann::json;
    const std::string dumped = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
    ASSERT_TRUE(Json::accept(json)) << json;
    expect_harmless(json_printable(dumped));
    ASSERT_EQ(Json::parse(json_printable(dumped)), Json::parse(dumped));
    const std::string html = html_text(text);
    expect_harmless(html, /*line_breaks=*/true);
    ASSERT_EQ(html.find_first_of("<>\"'"), std::string::npos) << html;
  }
}

}  // namespace
}  // namespace rodeo
