// The light payload: what it writes, and the rules of what is malformed.
#include <array>
#include <utility>

#include <gtest/gtest.h>

#include "plugin_host.hpp"

namespace gristmill::test {
namespace {

constexpr const char *path = GRISTMILL_PLUGIN_DIR "/light.so";

/// An event whose fields print in the usual order; a field with the value "" is left out.
struct Event {
    std::array<std::pair<std::string, std::string>, 7> fields{{{"eid", "\"evt_1\""},
                                                               {"uid", "7"},
                                                               {"iid", "3"},
                                                               {"ts", "1700000060"},
                                                               {"et", "\"click\""},
                                                               {"dev", "\"web\""},
                                                               {"dur", "120"}}};

    Event with(const std::string &key, const std::string &value) const {
        Event changed = *this;
        for (auto &field : changed.fields) {
            if (field.first == key)
                field.second = value;
        }
        return changed;
    }

    /// The record; `more` follows the last field.
    std::string json(const std::string &more = "") const {
        std::string text;
        for (const auto &[key, value] : fields) {
            if (!value.empty())
                text += (text.empty() ? "{\"" : ",\"") + key + "\":" + value;
        }
        return text + more + "}";
    }
};

const std::string usual_output = R"({"e":"evt_1","u":7,"i":3,"t":60,"v":1,"d":2})";

/// One record through both paths, which must agree; "malformed", "filtered", or the output.
std::string light(const std::string &record) {
    static PluginHost host(path);
    static PluginHost strict(path, "strict");
    const Outcome outcome = host.run({record}, Framing::u32());
    EXPECT_EQ(outcome, strict.run({record}, Framing::u32())) << record;
    EXPECT_TRUE(outcome.complaints.empty()) << record;
    EXPECT_EQ(outcome.status, GM_OK);
    const std::string output = Framing::u32().split(outcome.output).at(0);
    if (outcome.emitted == 1)
        return output;
    EXPECT_EQ(output, "") << record;
    return outcome.failed == 1 ? "malformed" : "filtered";
}

TEST(Light, PicksAndRenames) {
    EXPECT_EQ(light(Event().json()), usual_output);
    EXPECT_EQ(
        light(
            R"({"eid":"evt_0123456789ab","uid":1000000,"iid":50000,"ts":1731536000,"et":"purchase","dev":"android","dur":120000})"),
        R"({"e":"evt_0123456789ab","u":1000000,"i":50000,"t":31536000,"v":4,"d":1})");
}

TEST(Light, GivesEachWordItsCode) {
    const std::vector<std::string> events{"view", "click", "scroll", "hover", "purchase", "skip"};
    const std::vector<std::string> devices{"ios", "android", "web", "desktop", "tablet"};
    for (std::size_t i = 0; i < events.size(); ++i) {
        EXPECT_NE(light(Event().with("et", '"' + events[i] + '"').json())
                      .find("\"v\":" + std::to_string(i) + ","),
                  std::string::npos);
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
        EXPECT_NE(light(Event().with("dev", '"' + devices[i] + '"').json())
                      .find("\"d\":" + std::to_string(i) + "}"),
                  std::string::npos);
    }
    for (const char *other : {"\"\"", "\"View\"", "\"vie\"", "\"views\"", "\"purchases\"",
                              "\"purchasing\"", R"("view\u0000")", "\"vi\xc3\xa9w\""}) {
        EXPECT_NE(light(Event().with("et", other).json()).find("\"v\":-1,"), std::string::npos)
            << other;
        EXPECT_NE(light(Event().with("dev", other).json()).find("\"d\":-1}"), std::string::npos)
            << other;
    }
    EXPECT_EQ(light(Event().with("et", R"("cl\u0069ck")").json()), usual_output);
}

// Texts of every size, with something to escape at every place.
TEST(Light, EscapesWhatIsNotPlainWhereverItStands) {
    const std::vector<std::pair<std::string, std::string>> escapes{
        {"", ""},
        {R"(\u0061)", "a"},
        {R"(\")", R"(\")"},
        {R"(\\)", R"(\\)"},
        {R"(\u001f)", R"(\u001f)"},
        {R"(\t)", R"(\t)"},
        {"\x7f", R"(\u007f)"},
        {"\xc3\xa9", R"(\u00e9)"},
        {"\xf0\x9f\x98\x80", R"(\ud83d\ude00)"}};
    for (std::size_t size = 0; size <= 33; ++size) {
        const std::string plain =
            std::string("0123456789 !#$%&'()*+,-./:;<=>?@[]~").substr(0, size);
        for (std::size_t at = 0; at <= size; ++at) {
            for (const auto &[given, printed] : escapes) {
                const std::string id = std::string(plain).insert(at, given);
                EXPECT_EQ(light(Event().with("eid", '"' + id + '"').json()),
                          R"({"e":")" + std::string(plain).insert(at, printed) +
                              R"(","u":7,"i":3,"t":60,"v":1,"d":2})");
            }
        }
    }
}

TEST(Light, FiltersBlankAndShort) {
    for (const char *blank : {"", " ", "\t", "\r", " \t\r \r"})
        EXPECT_EQ(light(blank), "filtered");
    EXPECT_EQ(light(Event().with("dur", "49").json()), "filtered");
    EXPECT_EQ(light(Event().with("dur", "-50").json()), "filtered");
    EXPECT_EQ(light(Event().with("dur", "50").json()), usual_output);
    EXPECT_EQ(light(Event().with("dur", "49").with("uid", "null").json()), "malformed");
}

TEST(Light, StripsSpaceTabAndReturnAround) {
    EXPECT_EQ(light(" \t" + Event().json() + "\r"), usual_output);
    EXPECT_EQ(light(Event().json() + "\x0b"), "malformed");
    EXPECT_EQ(light("\x0c"), "malformed");
    EXPECT_EQ(light("\xa0"), "malformed");
}

TEST(Light, KeepsIntegersWithinTheirRange) {
    EXPECT_EQ(light(Event().with("uid", "-9223372036854775808").json()),
              R"({"e":"evt_1","u":-9223372036854775808,"i":3,"t":60,"v":1,"d":2})");
    EXPECT_EQ(light(Event().with("iid", "9223372036854775807").json()),
              R"({"e":"evt_1","u":7,"i":9223372036854775807,"t":60,"v":1,"d":2})");
    EXPECT_EQ(light(Event().with("uid", "-0").with("iid", "0").json()),
              R"({"e":"evt_1","u":0,"i":0,"t":60,"v":1,"d":2})");
    EXPECT_EQ(light(Event().with("ts", "-9007199254740992").json()),
              R"({"e":"evt_1","u":7,"i":3,"t":-9007200954740992,"v":1,"d":2})");
    EXPECT_EQ(light(Event().with("ts", "0").json()),
              R"({"e":"evt_1","u":7,"i":3,"t":-1700000000,"v":1,"d":2})");
    EXPECT_EQ(light(Event().with("dur", "9007199254740992").json()), usual_output);
    for (const char *key : {"uid", "iid"}) {
        EXPECT_EQ(light(Event().with(key, "9223372036854775808").json()), "malformed");
        EXPECT_EQ(light(Event().with(key, "-9223372036854775809").json()), "malformed");
    }
    for (const char *key : {"ts", "dur"}) {
        EXPECT_EQ(light(Event().with(key, "9007199254740993").json()), "malformed");
        EXPECT_EQ(light(Event().with(key, "-9007199254740993").json()), "malformed");
    }
}

TEST(Light, RefusesAbsentFieldsAndOtherTypes) {
    for (const auto &[key, value] : Event().fields) {
        EXPECT_EQ(light(Event().with(key, "").json()), "malformed") << key;
        const bool is_text = value[0] == '"';
        for (const char *other : {"null", "true", "false", "[]", "{}", "1.0", "1e3", "-0.0", "60.5",
                                  "18446744073709551615"}) {
            EXPECT_EQ(light(Event().with(key, other).json()), "malformed") << key << other;
        }
        EXPECT_EQ(light(Event().with(key, is_text ? "120" : "\"120\"").json()), "malformed") << key;
    }
}

TEST(Light, TakesTheLastOfDuplicateKeys) {
    EXPECT_EQ(light(Event().json(R"(,"uid":8)")),
              R"({"e":"evt_1","u":8,"i":3,"t":60,"v":1,"d":2})");
    EXPECT_EQ(light(Event().json(R"(,"ui\u0064":9)")),
              R"({"e":"evt_1","u":9,"i":3,"t":60,"v":1,"d":2})");
    EXPECT_EQ(light(Event().with("dur", "null").json(R"(,"dur":50)")), usual_output);
    EXPECT_EQ(light(Event().json(R"(,"dur":null)")), "malformed");
    EXPECT_EQ(light(Event().json(R"(,"x":{"uid":"inner"})")), usual_output);
}

TEST(Light, PrintsStringsAsPythonDoes) {
    const auto id_of = [](const std::string &eid) {
        const std::string output = light(Event().with("eid", '"' + eid + '"').json());
        return output == "malformed" ? output : output.substr(6, output.find("\",\"u\":") - 6);
    };
    EXPECT_EQ(id_of(""), "");
    EXPECT_EQ(id_of(R"(\"\\\/\b\f\n\r\t)"), R"(\"\\/\b\f\n\r\t)");
    EXPECT_EQ(id_of(R"(\u0000\u001f\u007f\u0041)"), R"(\u0000\u001f\u007fA)");
    EXPECT_EQ(id_of("~\x7f"), R"(~\u007f)");
    EXPECT_EQ(id_of("\xc2\x80\xc3\xa9\xe2\x82\xac\xef\xbf\xbf"), R"(\u0080\u00e9\u20ac\uffff)");
    EXPECT_EQ(id_of("\xf0\x90\x80\x80\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"),
              R"(\ud800\udc00\ud83d\ude00\udbff\udfff)");
    EXPECT_EQ(id_of(R"(\uD83D\uDE00)"), R"(\ud83d\ude00)");
    EXPECT_EQ(id_of(std::string(5000, '\x7f')).size(), 30000u);
}

/// JSON texts that no field may hold, in a field that nobody reads.
TEST(Light, ValidatesEveryByte) {
    using namespace std::string_literals;
    const std::vector<std::string> malformed{
        // words and structure
        "nul", "tru", "truee", "nulll", "NaN", "Infinity", "-Infinity", "nan", "'a'", "[1 2]",
        "[1,]", "[,1]", "{,}", "{\"a\"}", "{\"a\":1,}", "{a:1}", "{1:1}", "[", "]", "{", "[}",
        "1 2", "1/**/", "", ",", "\"a\"b\"",
        // numbers
        "01", "-01", "00", "-", "+1", ".5", "1.", "1.e3", "1e", "1e+", "0x10", "1_0", "1e999",
        "-1e999", "1.7976931348623159e308", "18446744073709551616", "-9223372036854775809",
        "99999999999999999999", "5\0"s,
        // strings
        R"("\ud800")", R"("\udc00")", R"("\ude00\ud83d")", R"("\ud83d\ud83d\ude00")",
        R"("\ud83dx")", R"("\ud83d\\ude00")", R"("\ud83d\u0041")", R"("\\\ud83d")", R"("\u12")",
        R"("\u12G4")", R"("\v")", R"("\x41")", R"("\")", "\"\t\"", "\"\x1f\"", "\"\0\""s, "\"\n\"",
        "\"",
        // UTF-8
        "\"\xff\"", "\"\x80\"", "\"\xc0\x80\"", "\"\xc3\"", "\"\xe0\x80\x80\"", "\"\xed\xa0\x80\"",
        "\"\xed\xbf\xbf\"", "\"\xf0\x80\x80\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xf5\x80\x80\x80\"",
        "\xc2\xa0"
        "1",
        "1\x0b",
        "\xef\xbb\xbf"
        "1"};
    for (const std::string &text : malformed) {
        EXPECT_EQ(light(Event().json(",\"x\":" + text)), "malformed") << text;
        EXPECT_EQ(light(Event().json(",\"x\":[" + text + ",1]")), "malformed") << text;
    }
}

TEST(Light, AcceptsAllOfJson) {
    for (const char *text : {"null", "true", "[]", "{}", "[1,[2,{\"a\":[]}]]", "-0", "0e0", "1E+2",
                             "1e-999", "18446744073709551615", "-9223372036854775808",
                             "1.7976931348623157e308", R"("\ud83d\ude00\\ud83d")", R"("\\ude00")",
                             "\"\xef\xbb\xbf\"", " \t\r\n1 ", "100000000000000000000.0"}) {
        EXPECT_EQ(light(Event().json(std::string(",\"x\":") + text)), usual_output) << text;
    }
}

TEST(Light, WantsOneObject) {
    const std::string event = Event().json();
    for (const std::string &text :
         {std::string("null"), std::string("5"), std::string("\"a\""), std::string("[]"),
          "[" + event + "]", event + event, event + ",", event + "}", event + "x",
          event + std::string(1, '\0'), "\xef\xbb\xbf" + event, " \xef\xbb\xbf" + event,
          event.substr(0, event.size() - 1)}) {
        EXPECT_EQ(light(text), "malformed") << text;
    }
    EXPECT_EQ(light("{}"), "malformed");
    EXPECT_EQ(light("{ }"), "malformed");
}

TEST(Light, NestsAThousandDeep) {
    const auto nested = [](std::size_t depth, const char *open, const char *innermost,
                           const char *close) {
        std::string text = ",\"x\":";
        for (std::size_t i = 1; i < depth; ++i)
            text += open;
        text += innermost;
        for (std::size_t i = 1; i < depth; ++i)
            text += close;
        return Event().json(text);
    };
    for (const auto &[depth, expected] : {std::pair(999, usual_output),
                                          {1000, "malformed"},
                                          {1023, "malformed"},
                                          {5000, "malformed"}}) {
        const auto levels = static_cast<std::size_t>(depth); // and the event itself around them
        EXPECT_EQ(light(nested(levels, "[", "[]", "]")), expected) << depth;
        EXPECT_EQ(light(nested(levels, "[", "[1]", "]")), expected) << depth;
        EXPECT_EQ(light(nested(levels, "{\"\\\"]\":", "{}", "}")), expected) << depth;
    }
    EXPECT_EQ(light(Event().json(",\"x\":\"" + std::string(3000, '[') + "\"")), usual_output);
}

TEST(Light, OneBadRecordCostsNoOther) {
    PluginHost host(path);
    const std::string good = Event().json();
    const Outcome outcome =
        host.run({good, "{", "", good, "", Event().with("uid", "\"7\"").json(), good});
    EXPECT_EQ(outcome.output,
              usual_output + "\n\n\n" + usual_output + "\n\n\n" + usual_output + "\n");
    EXPECT_EQ(outcome.emitted, 3u);
    EXPECT_EQ(outcome.filtered, 2u);
    EXPECT_EQ(outcome.failures, (std::vector<Failure>{{1, "malformed JSON", 45},
                                                      {5, "uid is not a 64-bit integer", 93}}));
    EXPECT_TRUE(outcome.complaints.empty());
}

TEST(Light, WorksUnderEveryFraming) {
    PluginHost host(path);
    const std::string good = Event().json();
    for (const Framing &framing :
         {Framing::by("\r\n"), Framing::by("dur"), Framing::by("}"), Framing::u32()}) {
        const bool inside = framing.kind == GM_FRAMING_DELIMITER &&
                            good.find(framing.delimiter) != std::string::npos;
        const Outcome outcome =
            inside ? host.run_bytes(good + framing.delimiter,
                                    1 + (framing.delimiter == "dur" || framing.delimiter == "}"), 0,
                                    framing)
                   : host.run({good, good}, framing);
        EXPECT_EQ(outcome.output,
                  inside ? framing.join({"", ""}) : framing.join({usual_output, usual_output}));
        EXPECT_TRUE(outcome.complaints.empty());
    }
    EXPECT_EQ(host.run({good, good + "", good}, Framing::fixed()).output,
              usual_output + usual_output + usual_output);
}

TEST(Light, RefusesAnUnknownConfiguration) {
    PluginHost host(path, "fast");
    EXPECT_FALSE(host.ok());
    EXPECT_NE(host.explanation().find("strict"), std::string::npos);
}

} // namespace
} // namespace gristmill::test
