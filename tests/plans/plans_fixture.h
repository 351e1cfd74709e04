// A vault, a process and short ways to have plans run, for tests of what operators do with runs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "base/os/files.h"
#include "exec/plan/record/chain.h"
#include "exec/plan/record/folder.h"
#include "tests/plans/world.h"

namespace plans_test {

inline json::object plan_of(json::array steps, std::string_view risk = "writes") {
    return {{"version", "1.0"}, {"goal", "Tidy"}, {"riskLevel", risk}, {"steps", std::move(steps)}};
}

inline json::object step(std::string_view id, std::string_view tool, json::object args) {
    return {{"id", id}, {"tool", tool}, {"args", std::move(args)}};
}

inline json::object write_step(std::string_view id, std::string_view path,
                               std::string_view content) {
    return step(id, "test.write", {{"path", path}, {"content", content}});
}

class PlansTest : public testing::Test {
protected:
    std::string create(const json::object& plan) {
        const auto created = life.plans().create({.text = base::json_text(plan)}).value();
        CHECK(created.run.has_value(), "the plan is good");
        return created.run->run_id.value;
    }
    domain::PlanRun execute(const std::string& run) {
        const auto ended = life.plans().execute(run);
        CHECK(ended.has_value(), ended ? "" : ended.error().message.c_str());
        return *ended;
    }
    // Created, approved and executed to its end.
    std::string run(const json::object& plan) {
        const std::string id = create(plan);
        CHECK(life.plans().approve(id, "ada", std::chrono::hours(1)).has_value(), "approved");
        execute(id);
        return id;
    }
    std::string run_read_only(const json::object& plan) {
        const std::string id = create(plan);
        execute(id);
        return id;
    }
    std::filesystem::path file(const std::string& run, const char* name) const {
        return world.home() / "plans" / run / name;
    }
    std::string read(const std::filesystem::path& path) const {
        return base::read_file(path, 1 << 24).value();
    }
    void write(const std::filesystem::path& path, std::string_view text) const {
        CHECK(base::write_file_atomic(path, text, 0600).has_value(), "it is written");
    }
    void replace(const std::filesystem::path& path, std::string_view from, std::string_view to) {
        std::string text = read(path);
        const auto at = text.find(from);
        CHECK(at != std::string::npos, "there is something to replace");
        write(path, text.replace(at, from.size(), to));
    }
    std::string first_fault(const std::string& run) {
        const auto verdict = life.plans().verify(run).value();
        EXPECT_EQ(verdict.ok, verdict.faults.empty());
        return verdict.faults.empty() ? "" : verdict.faults.front();
    }
    // A copy of the run's folder as somebody would leave it who changes its lines and then computes
    // the chain anew.
    struct Line {
        domain::PlanRecordKind kind;
        json::object body;
    };
    std::string forge(const std::string& run, const std::function<void(std::vector<Line>&)>& edit) {
        auto files = plan::read_folder(world.home() / "plans" / run).value();
        std::vector<Line> lines;
        for (const auto& record : files.records) {
            auto body = base::parse_json(record.line)->get_object();
            body.erase("seq");
            body.erase("hash");
            lines.push_back({record.kind, std::move(body)});
        }
        edit(lines);
        files.run.last_seq = 0;
        files.run.last_hash =
            plan::first_link(files.run.run_id, files.run.plan_hash, files.run.policy_hash);
        std::vector<domain::PlanRecord> records;
        for (auto& line : lines)
            records.push_back(plan::seal(files.run.last_seq, files.run.last_hash, line.kind,
                                         std::move(line.body)));
        const auto folder = world.home() / fmt::format("forged-{}", ++forged);
        CHECK(plan::RunFolder::open(folder, files.run, files.document, records).has_value(),
              "it is written");
        return folder.string();
    }
    static Line& call_of(std::vector<Line>& lines, std::string_view step) {
        return *std::ranges::find_if(lines, [&](const Line& line) {
            return line.kind == domain::PlanRecordKind::Call &&
                   line.body.at("stepId") == json::value(step);
        });
    }
    static auto confirmed(std::vector<Line>& lines) {
        return std::ranges::find_if(lines, [](const Line& line) {
            return base::string_at(line.body, "type") == "run.confirmed";
        });
    }
    void pass(std::chrono::hours time) {
        life.loop().after(time, [] {});
        life.loop().run();
    }

    World world;
    Life life{world};
    int forged{0};
};

}  // namespace plans_test
