#include "format/json_text.h"

#include "check.h"

using namespace kinetograph::format;

namespace {

std::string unescaped(std::string_view text) {
    std::string out;
    append_unescaped(out, text);
    return out;
}

}  // namespace

TEST(plain_text_is_found_whatever_its_length) {
    const std::string text(40, 'x');
    for (size_t length = 0; length <= text.size(); ++length)
        CHECK(plain_length(text.data(), length) == length);
    for (size_t at = 0; at < text.size(); ++at) {
        for (const char special : {'"', '\\', '\n', '\0', '\x1f', '\x80', '\xff'}) {
            std::string marked = text;
            marked[at] = special;
            CHECK(plain_length(marked.data(), marked.size()) == at);
        }
    }
    CHECK(plain_length("\x20\x21\x23\x5b\x5d\x7f", 6) == 6);
}

TEST(quotes_controls_and_nul_are_escaped) {
    CHECK(quoted(std::string_view("a\"b\\c\nd\0e\x1f", 10)) == R"("a\"b\\c\nd\u0000e\u001f")");
}

TEST(utf8_passes_and_what_is_none_becomes_the_replacement) {
    CHECK(quoted("h\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80") == "\"h\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"");
    const std::string bad = "\xEF\xBF\xBD";
    CHECK(quoted("\xFF") == "\"" + bad + "\"");
    CHECK(quoted("\xC0\xAF") == "\"" + bad + bad + "\"");            // overlong
    CHECK(quoted("\xED\xA0\x80") == "\"" + bad + bad + bad + "\"");  // a surrogate
    CHECK(quoted("\xE2\x82") == "\"" + bad + bad + "\"");            // cut
    CHECK(quoted("\xF4\x90\x80\x80") == "\"" + bad + bad + bad + bad + "\"");
}

TEST(escapes_mean_what_json_says) {
    CHECK(unescaped(R"(a\"\\\/\b\f\n\r\t)") == "a\"\\/\b\f\n\r\t");
    CHECK(unescaped(R"(\u0041\u00e9\u20ac\ud83d\ude00)") == "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    CHECK(unescaped(R"(\u0000)") == std::string(1, '\0'));
}

TEST(half_a_surrogate_pair_is_replaced) {
    CHECK(unescaped(R"(\ud800)") == "\xEF\xBF\xBD");
    CHECK(unescaped(R"(\udc00x)") == "\xEF\xBF\xBDx");
    CHECK(unescaped(R"(\ud800\u0041)") ==
          "\xEF\xBF\xBD"
          "A");
    CHECK(unescaped(R"(\ud800\ud800)") == "\xEF\xBF\xBD\xEF\xBF\xBD");
}

CHECK_MAIN
