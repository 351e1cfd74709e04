#include "exec/plan/language/paths.h"

#include <gmock/gmock.h>

namespace plan {
namespace {

using testing::HasSubstr;

const json::object kSchema = base::parse_json(R"({"type":"object","additionalProperties":false,
    "properties":{"path":{"type":"string"},"maybe":{"type":["string","null"]},
        "open":{"type":"object"},
        "files":{"type":"array","items":{"type":"object","additionalProperties":false,
            "properties":{"name":{"type":"string"}}}},
        "named":{"type":"object","additionalProperties":{"type":"string"}}}})")
                                 ->get_object();

std::string nowhere(const std::vector<std::string>& path) {
    const auto why = leads_nowhere(kSchema, path, "a");
    return why ? why->message + " " + why->hint : "";
}

TEST(Paths, LeadWhereASchemaHasSomething) {
    EXPECT_EQ(nowhere({}), "");
    EXPECT_EQ(nowhere({"path"}), "");
    EXPECT_EQ(nowhere({"files", "3", "name"}), "");
    EXPECT_EQ(nowhere({"named", "any"}), "");
    EXPECT_EQ(nowhere({"open", "whatever", "deep"}), "") << "an open object may have anything";
}

TEST(Paths, LeadNowhereInClosedSchemas) {
    EXPECT_THAT(nowhere({"pat"}), HasSubstr("a has no 'pat' Did you mean path?"));
    EXPECT_THAT(nowhere({"path", "x"}), HasSubstr("a.path is no object and has no 'x'"));
    EXPECT_THAT(nowhere({"maybe", "x"}), HasSubstr("no object"));
    EXPECT_THAT(nowhere({"0", "path"}), HasSubstr("a has no '0'"));
    EXPECT_THAT(nowhere({"files", "name"}), HasSubstr("a.files is a list"));
    EXPECT_THAT(nowhere({"files", "0", "nam"}), HasSubstr("Did you mean name?"));
    EXPECT_THAT(nowhere({"named", "any", "x"}), HasSubstr("no object"));
}

}  // namespace
}  // namespace plan
