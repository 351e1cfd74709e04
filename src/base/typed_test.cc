#include "base/typed.h"

#include <gmock/gmock.h>

namespace base {
namespace typed_test {

using NoteId = Id<struct NoteTag>;

enum class Mood { Calm, VeryBusy };
BOOST_DESCRIBE_ENUM(Mood, Calm, VeryBusy)

struct Point {
    std::int32_t x{0};
    std::optional<std::int32_t> y{};
    friend bool operator==(const Point&, const Point&) = default;
};
BOOST_DESCRIBE_STRUCT(Point, (), (x, y))

struct Everything {
    bool flag{false};
    std::int64_t number{0};
    double ratio{0};
    std::string text;
    NoteId id;
    Time at{};
    json::value any;
    json::object object;
    Mood mood{Mood::Calm};
    Point point{};
    std::optional<std::string> maybe{};
    std::vector<std::vector<Point>> grid{};
    std::map<std::string, Point> named{};
    friend bool operator==(const Everything&, const Everything&) = default;
};
BOOST_DESCRIBE_STRUCT(Everything, (),
                      (flag, number, ratio, text, id, at, any, object, mood, point, maybe, grid,
                       named))

struct Ranges {
    std::int8_t tiny{0};
    std::uint16_t small{0};
    std::int64_t large{0};
    std::uint64_t huge{0};
    friend bool operator==(const Ranges&, const Ranges&) = default;
};
BOOST_DESCRIBE_STRUCT(Ranges, (), (tiny, small, large, huge))

struct Documented {
    std::int64_t times{3};
    std::optional<std::string> default_{};
    std::optional<Mood> mood{};
    friend bool operator==(const Documented&, const Documented&) = default;
};
BOOST_DESCRIBE_STRUCT(Documented, (), (times, default_, mood))
constexpr auto describe_fields(const Documented*) {
    return std::to_array<FieldDoc>(
        {{.field = "times", .keywords = R"("default":3,"minimum":1)", .has_default = true},
         {.field = "default_", .text = "What else.", .null_when_absent = true}});
}

struct Circle {
    static constexpr std::string_view kTagKey = "shape", kTag = "circle";
    double radius{0};
    friend bool operator==(const Circle&, const Circle&) = default;
};
BOOST_DESCRIBE_STRUCT(Circle, (), (radius))
struct Empty {
    static constexpr std::string_view kTagKey = "shape", kTag = "empty";
    friend bool operator==(const Empty&, const Empty&) = default;
};
BOOST_DESCRIBE_STRUCT(Empty, (), ())
using Shape = std::variant<Circle, Empty>;

struct Drawing {
    std::vector<Shape> shapes{};
    friend bool operator==(const Drawing&, const Drawing&) = default;
};
BOOST_DESCRIBE_STRUCT(Drawing, (), (shapes))

}  // namespace typed_test

namespace {

using namespace typed_test;

template <class T>
Result<T> read(std::string_view text, Unknown unknown = Unknown::Ignore) {
    return from_json<T>(parse_json(text).value(), unknown);
}
// The faults of `text` as one line.
template <class T>
std::string faults(std::string_view text, Unknown unknown = Unknown::Ignore) {
    const auto result = read<T>(text, unknown);
    return result ? "none" : result.error().message;
}

Everything everything() {
    return {.flag = true,
            .number = -5,
            .ratio = 0.5,
            .text = "ä\"\n",
            .id = {"note-1"},
            .at = from_micros(1'500'000),
            .any = json::array{1, nullptr},
            .object = {{"k", "v"}},
            .mood = Mood::VeryBusy,
            .point = {.x = 1, .y = 2},
            .maybe = "yes",
            .grid = {{{.x = 3}}, {}},
            .named = {{"b", {.x = 4}}, {"a/b", {.x = 5}}}};
}

TEST(Typed, WritesEveryKindOfField) {
    EXPECT_EQ(json_text(to_json(everything())),
              R"({"flag":true,"number":-5,"ratio":0.5,"text":"ä\"\n","id":"note-1",)"
              R"("at":"1970-01-01T00:00:01.500000Z","any":[1,null],"object":{"k":"v"},)"
              R"("mood":"very_busy","point":{"x":1,"y":2},"maybe":"yes",)"
              R"("grid":[[{"x":3}],[]],"named":{"a/b":{"x":5},"b":{"x":4}}})");
}

TEST(Typed, ReadsBackWhatItWrote) {
    EXPECT_EQ(read<Everything>(json_text(to_json(everything()))), everything());
    EXPECT_EQ(from_json<Everything>(to_json(Everything{}), Unknown::Reject), Everything{});
}

template <class T>
std::string written(const T& value) {
    std::string text;
    typed::write(typed::type_of<T>(), &value, text);
    return text;
}

TEST(Typed, WritesTheTextOfTheValueWithoutMakingIt) {
    for (const auto& one : {everything(), Everything{}})
        EXPECT_EQ(written(one), json_text(to_json(one)));
    const Ranges ends{.tiny = -128, .small = 65535, .large = INT64_MIN, .huge = UINT64_MAX};
    EXPECT_EQ(written(ends), json_text(to_json(ends)));
    for (const Documented& one : {Documented{}, Documented{.default_ = "x", .mood = Mood::Calm}})
        EXPECT_EQ(written(one), json_text(to_json(one)));
    const Drawing drawing{{Circle{.radius = 2}, Empty{}}};
    EXPECT_EQ(written(drawing), json_text(to_json(drawing)));
    EXPECT_EQ(written(Drawing{}), R"({"shapes":[]})");
}

TEST(Typed, DescribesEveryKindOfField) {
    EXPECT_EQ(
        json_text(schema_of<Everything>()),
        R"({"type":"object","properties":{"flag":{"type":"boolean"},"number":{"type":"integer"},)"
        R"("ratio":{"type":"number"},"text":{"type":"string"},"id":{"type":"string"},)"
        R"("at":{"type":"string","format":"date-time"},"any":{},"object":{"type":"object"},)"
        R"("mood":{"type":"string","enum":["calm","very_busy"]},)"
        R"("point":{"type":"object","properties":{"x":{"type":"integer"},)"
        R"("y":{"type":"integer"}},"required":["x"],"additionalProperties":false},)"
        R"("maybe":{"type":"string"},)"
        R"("grid":{"type":"array","items":{"type":"array","items":{"type":"object",)"
        R"("properties":{"x":{"type":"integer"},"y":{"type":"integer"}},"required":["x"],)"
        R"("additionalProperties":false}}},)"
        R"("named":{"type":"object","additionalProperties":{"type":"object",)"
        R"("properties":{"x":{"type":"integer"},"y":{"type":"integer"}},"required":["x"],)"
        R"("additionalProperties":false}}},)"
        R"("required":["flag","number","ratio","text","id","at","any","object","mood","point",)"
        R"("grid","named"],"additionalProperties":false})");
}

TEST(Typed, NamesEveryFaultByItsPointer) {
    json::object wrong = to_json(everything()).as_object();
    const std::vector<std::tuple<std::string, std::string, std::string>> cases{
        {"flag", "1", "/flag: expected boolean, got 1"},
        {"number", R"("5")", R"(/number: expected integer, got "5")"},
        {"ratio", "true", "/ratio: expected number, got true"},
        {"text", "null", "/text: expected string, got null"},
        {"id", "7", "/id: expected string, got 7"},
        {"at", R"("noon")", R"(/at: expected RFC 3339 time, got "noon")"},
        {"object", "[]", "/object: expected object, got []"},
        {"mood", R"("busy")", R"(/mood: expected one of calm, very_busy, got "busy")"},
        {"mood", "0", "/mood: expected one of calm, very_busy, got 0"},
        {"point", "3", "/point: expected object, got 3"},
        {"point", R"({"y":"1"})", R"(/point/x: is missing; /point/y: expected integer, got "1")"},
        {"maybe", "[]", "/maybe: expected string, got []"},
        {"grid", R"([[{"x":1}],[{"x":1},{"x":"2"}],3])",
         R"(/grid/1/1/x: expected integer, got "2"; /grid/2: expected array, got 3)"},
        {"named", R"({"a/b~c":{"x":null}})", "/named/a~1b~0c/x: expected integer, got null"}};
    for (const auto& [field, value, expected] : cases) {
        json::object input = wrong;
        input[field] = parse_json(value).value();
        EXPECT_EQ(faults<Everything>(json_text(input)), expected);
    }
    EXPECT_EQ(faults<Everything>("[]"), "expected object, got []");
}

TEST(Typed, ReportsAllFaultsAtOnce) {
    EXPECT_EQ(faults<Point>(R"({"x":"a","y":"b"})"),
              R"(/x: expected integer, got "a"; /y: expected integer, got "b")");
}

TEST(Typed, RepeatsOnlyTheBeginningOfAWrongValue) {
    const auto text = faults<Point>(R"({"x":")" + std::string(10'000, 'v') + "\"}");
    EXPECT_LT(text.size(), 100u);
    EXPECT_EQ(faults<Point>("{\"x\":\"\\u001b\"}"), R"(/x: expected integer, got "\u001b")");
}

TEST(Typed, KeepsIntegersWithinTheirTypes) {
    const std::string_view ends = R"({"tiny":-128,"small":65535,"large":-9223372036854775808,)"
                                  R"("huge":18446744073709551615})";
    const Ranges expected{.tiny = -128, .small = 65535, .large = INT64_MIN, .huge = UINT64_MAX};
    EXPECT_EQ(read<Ranges>(ends), expected);
    EXPECT_EQ(json_text(to_json(expected)), ends);
    EXPECT_EQ(
        faults<Ranges>(R"({"tiny":128,"small":-1,"large":9223372036854775808,"huge":-1})"),
        "/tiny: expected integer in range, got 128; /small: expected integer in range, got -1; "
        "/large: expected integer in range, got 9223372036854775808; "
        "/huge: expected integer in range, got -1");
    EXPECT_EQ(faults<Point>(R"({"x":1.5})"), "/x: expected integer in range, got 1.5");
    EXPECT_EQ(schema_of<Ranges>().at("properties").at("small"),
              (json::value{{"type", "integer"}, {"minimum", 0}}));
}

TEST(Typed, IgnoresOrRejectsUnknownFields) {
    EXPECT_EQ(read<Point>(R"({"x":1,"z":2})"), (Point{.x = 1}));
    EXPECT_EQ(faults<Point>(R"({"x":1,"qqq":2})", Unknown::Reject), "/qqq: is not a known field");
    EXPECT_EQ(faults<Documented>(R"({"time":1})", Unknown::Reject),
              "/time: is not a known field; did you mean 'times'?");
    EXPECT_EQ(faults<Everything>(R"({"point":{"x":1,"xx":2}})").find("xx"), std::string::npos);
    const auto long_name =
        faults<Point>(R"({"x":1,")" + std::string(10'000, 'k') + "\":2}", Unknown::Reject);
    EXPECT_LT(long_name.size(), 100u);
}

TEST(Typed, RequiresListsAndMapsOnlyInTypedInput) {
    EXPECT_EQ(read<Drawing>("{}"), Drawing{});
    EXPECT_EQ(faults<Drawing>("{}", Unknown::Reject), "/shapes: is required");
}

TEST(Typed, TakesNullAndAbsenceForAnEmptyOptional) {
    EXPECT_EQ(read<Point>(R"({"x":1,"y":null})"), (Point{.x = 1}));
    EXPECT_EQ(read<Point>(R"({"x":1})", Unknown::Reject), (Point{.x = 1}));
}

TEST(Typed, AppliesWhatIsDocumentedOfAField) {
    EXPECT_EQ(read<Documented>("{}", Unknown::Reject), (Documented{.times = 3}));
    EXPECT_EQ(json_text(to_json(Documented{})), R"({"times":3,"default":null})");
    EXPECT_EQ(read<Documented>(R"({"default":"x","mood":"calm"})"),
              (Documented{.default_ = "x", .mood = Mood::Calm}));
    EXPECT_EQ(
        json_text(schema_of<Documented>()),
        R"({"type":"object","properties":{)"
        R"("times":{"type":"integer","default":3,"minimum":1},)"
        R"("default":{"anyOf":[{"type":"string"},{"type":"null"}],"description":"What else."},)"
        R"("mood":{"type":"string","enum":["calm","very_busy"]}},)"
        R"("additionalProperties":false})");
}

TEST(Typed, DistinguishesVariantsByTheirTag) {
    const Drawing drawing{{Circle{.radius = 2}, Empty{}}};
    const std::string_view text =
        R"({"shapes":[{"shape":"circle","radius":2.0},{"shape":"empty"}]})";
    EXPECT_EQ(json_text(to_json(drawing)), text);
    EXPECT_EQ(read<Drawing>(text, Unknown::Reject), drawing);
    EXPECT_EQ(faults<Drawing>(R"({"shapes":[{"shape":"square"},{},7,{"shape":"circle"}]})"),
              "/shapes/0/shape: expected one of circle, empty; "
              "/shapes/1/shape: expected one of circle, empty; "
              "/shapes/2/shape: expected one of circle, empty; /shapes/3/radius: is missing");
    EXPECT_EQ(faults<Drawing>(R"({"shapes":[{"shape":"empty","radius":1}]})", Unknown::Reject),
              "/shapes/0/radius: is not a known field");
    EXPECT_EQ(json_text(schema_of<Drawing>().at("properties").at("shapes").at("items")),
              R"({"anyOf":[{"type":"object","properties":{"radius":{"type":"number"},)"
              R"("shape":{"const":"circle"}},"required":["radius","shape"],)"
              R"("additionalProperties":false},{"type":"object",)"
              R"("properties":{"shape":{"const":"empty"}},"additionalProperties":false,)"
              R"("required":["shape"]}]})");
}

TEST(Typed, NamesEnumeratorsInSnakeCase) {
    EXPECT_EQ(enum_name(Mood::VeryBusy), "very_busy");
    EXPECT_EQ(enum_from<Mood>("very_busy"), Mood::VeryBusy);
    EXPECT_EQ(enum_from<Mood>("VeryBusy"), std::nullopt);
    EXPECT_EQ(enum_from<Mood>(""), std::nullopt);
}

}  // namespace
}  // namespace base
