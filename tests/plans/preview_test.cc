// Random plans over a small vault: the preview shows what the run then does.
#include <cstdlib>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plans/world.h"

namespace plans_test {
namespace {

namespace fs = std::filesystem;

class Author {
public:
    explicit Author(std::uint64_t seed) : random_(seed) {}

    std::map<std::string, std::string> vault() {
        std::map<std::string, std::string> files;
        for (int i = 0; i < 4; ++i) files[path()] = text();
        return files;
    }

    // Steps in a row, so that their order is no accident.
    json::object plan() {
        lists_.clear();
        json::array steps;
        const std::size_t count = 3 + pick(6);
        for (std::size_t i = 0; i < count; ++i) {
            json::object one = step(i);
            if (i > 0 && !one.contains("dependsOn"))
                one["dependsOn"] = json::array{fmt::format("s{}", i - 1)};
            if (pick(2) == 0) one["onError"] = "skip";
            steps.push_back(std::move(one));
        }
        return {{"version", "1.0"},
                {"goal", "Random"},
                {"riskLevel", "writes"},
                {"steps", std::move(steps)}};
    }

private:
    std::size_t pick(std::size_t count) { return random_() % count; }
    std::string path() {
        static constexpr const char* kPaths[] = {"A.md",    "B.md",     "In/A.md",    "In/B.md",
                                                 "In/C.md", "Out/A.md", "Deep/x/y.md"};
        return kPaths[pick(std::size(kPaths))];
    }
    std::string folder() { return pick(2) == 0 ? "In" : "Out"; }
    std::string text() {
        static constexpr const char* kTexts[] = {"- one\n- two\n", "[[A]] and [[In/B]]\n",
                                                 "[b](B.md)\n", "plain\n", ""};
        return kTexts[pick(std::size(kTexts))];
    }
    json::object step(std::size_t number) {
        const std::string id = fmt::format("s{}", number);
        const auto made = [&](std::string_view tool, json::object args) {
            return json::object{{"id", id}, {"tool", tool}, {"args", std::move(args)}};
        };
        switch (pick(10)) {
            case 0:
                return made("vault.createFile",
                            {{"path", path()},
                             {"content", text()},
                             {"onCollision", pick(2) == 0 ? "unique" : "error"}});
            case 1:
                return made("vault.createFile", {{"path", path()}, {"content", text()}});
            case 2:
                return made("vault.writeFile",
                            {{"path", path()}, {"content", text()}, {"create", pick(2) == 0}});
            case 3:
                return made("vault.writeFile",
                            {{"path", path()}, {"content", text()}, {"mode", "append"}});
            case 4:
                return made("vault.rename", {{"from", path()}, {"to", path()}});
            case 5:
                return made("vault.rename", {{"from", folder()}, {"to", folder() + "/moved"}});
            case 6:
                return made("vault.readFile", {{"path", path()}});
            case 7:
                return made("vault.ensureFolder", {{"path", pick(2) == 0 ? folder() : path()}});
            case 8: {
                if (lists_.empty()) {
                    lists_ = id;
                    return made("vault.listFiles", json::object());
                }
                auto loop = made("vault.createFile",
                                 {{"path", "Each/{f.name}"}, {"content", "of {f.path}"}});
                loop["foreach"] = {{"from", fmt::format("$steps.{}.files", lists_)},
                                   {"itemName", "f"}};
                return loop;
            }
            default:
                return made("vault.searchText", {{"query", "one"}});
        }
    }

    std::mt19937_64 random_;
    std::string lists_;  // The step that lists the files.
};

std::vector<std::string> texts(const json::value* list) {
    std::vector<std::string> out;
    if (!list || !list->is_array()) return out;
    for (const auto& one : list->get_array())
        out.push_back(one.is_string() ? std::string(std::string_view(one.get_string()))
                      : base::find(one, "to") != nullptr
                          ? base::string_at(one, "from") + ">" + base::string_at(one, "to")
                          : base::string_at(one, "path"));
    std::ranges::sort(out);
    return out;
}

// "step[index]: what it does", of a step of a preview.
std::string described(const json::value& step) {
    std::string line = base::string_at(step, "stepId");
    if (const auto* fails = base::find(step, "fails"))
        return line + " fails " + base::string_at(*fails, "code");
    if (base::find(step, "skipped")) return line + " skipped";
    for (const char* list : {"creates", "modifies", "renames", "deletes"}) {
        const auto* changes = base::find(step, "changes");
        line += fmt::format(" {} [{}]", list,
                            fmt::join(texts(changes ? base::find(*changes, list) : nullptr), ","));
    }
    return line;
}

std::string done(const json::value& result) {
    std::string line = base::string_at(result, "stepId");
    if (base::string_at(result, "status") == "skipped") return line + " skipped";
    if (const auto* error = base::find(result, "error"))
        return line + " fails " + base::string_at(*error, "code");
    const auto& effects = result.at("effects");
    for (const auto& [list, name] :
         {std::pair("creates", "created"), std::pair("modifies", "modified"),
          std::pair("renames", "renamed"), std::pair("deletes", "deleted")})
        line += fmt::format(" {} [{}]", list, fmt::join(texts(base::find(effects, name)), ","));
    return line;
}

constexpr int kPlansDefault = 160;
constexpr int kParts = 4;

int plans_wanted() {
    const char* text = std::getenv("HOLON_PREVIEW_PLANS");
    return text ? std::atoi(text) : kPlansDefault;
}

class PlanPreviewPart : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Of4, PlanPreviewPart, testing::Range(0, kParts));

TEST_P(PlanPreviewPart, OfARandomPlanIsWhatItsRunDoes) {
    World world;
    Life life(world);
    std::size_t all = 0, unknown = 0;
    for (int seed = GetParam(); seed < plans_wanted(); seed += kParts) {
        SCOPED_TRACE(seed);
        Author author(static_cast<std::uint64_t>(seed));
        for (const auto& entry : fs::directory_iterator(world.vault())) fs::remove_all(entry);
        for (const auto& [path, text] : author.vault()) world.put(path, text);
        const auto before = world.files();
        const std::string plan = base::json_text(author.plan());
        domain::PlanRequest request{.text = plan};
        request.policy = {{"confirmationsRequired", false},
                          {"limits", json::object{{"maxConcurrency", 1}}}};
        const auto preview = life.plans().preview(request).value();
        EXPECT_EQ(world.files(), before) << "a preview changes nothing";
        std::vector<std::string> foreseen, happened;
        for (const auto& step : preview.at("steps").get_array()) {
            ++all;
            if (base::find(step, "unknown")) ++unknown;
            if (!base::find(step, "notReached")) foreseen.push_back(described(step));
        }
        const auto created = life.plans().create(request).value();
        ASSERT_TRUE(created.run) << base::json_text(preview);
        const std::string run = created.run->run_id.value;
        ASSERT_TRUE(life.plans().execute(run));
        for (const auto& result : of_kind(life.plans().records(run, 0, 1'000'000).value(),
                                          domain::PlanRecordKind::Result))
            happened.push_back(done(result));
        ASSERT_EQ(foreseen, happened) << plan;
    }
    EXPECT_LE(unknown * 20, all);
}

}  // namespace
}  // namespace plans_test
