// A tool that does what a test says, and what a test needs to call it.
#pragma once

#include "exec/tools/dispatcher.h"

namespace tools {

struct EchoArgs {
    std::string text;
    std::optional<std::int64_t> times{};
};
BOOST_DESCRIBE_STRUCT(EchoArgs, (), (text, times))

struct EchoOutput final : results::Output {
    explicit EchoOutput(std::string text) : text(std::move(text)) {}
    std::string text;
    base::Result<results::Canonical> project(results::ArtifactSink&,
                                             const results::OutputPolicy&) const override {
        return results::Canonical{"Echoed " + text, {{"text", text}}};
    }
};

inline std::string render_echo(const results::Envelope& envelope) {
    return "Echo: " + base::string_at(envelope.result(), "text");
}

// Keeps each call's `done` until the test calls it.
class FakeTool final : public Tool {
public:
    explicit FakeTool(std::string name, Family family = Family::CoreAgent) {
        spec_ = {.name = std::move(name),
                 .description = "Say it again.",
                 .family = family,
                 .risk = domain::RiskLevel::Writes,
                 .category = "echo",
                 .input_schema = base::schema_of<EchoArgs>(),
                 .render = render_echo};
    }
    ToolSpec& spec_to_change() { return spec_; }
    const ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<Running> start(const domain::ToolCall& call, const ExecutionContext&,
                                   results::ArtifactSink& sink, Done done) override {
        calls.push_back(call);
        artifact = sink.reserve("stdout");
        dones.push_back(std::move(done));
        return std::make_shared<Nothing>(prints_to);
    }

    std::optional<domain::ToolError> check(const json::value& args) const override {
        if (base::string_at(args, "text") != "forbidden") return std::nullopt;
        return invalid_input(spec_.name, "text", "text must not be forbidden", "Say another word.");
    }

    std::vector<domain::ToolCall> calls;
    std::vector<Done> dones;
    std::filesystem::path artifact;
    std::filesystem::path prints_to;  // What a call prints, for those who watch.

private:
    struct Nothing final : Running {
        explicit Nothing(std::filesystem::path file) : file(std::move(file)) {}
        std::filesystem::path live_output() const override { return file; }
        std::filesystem::path file;
        void cancel() override {}
    };
    ToolSpec spec_;
};

// Ticks one millisecond and a half each time it is read.
class TickingClock final : public base::Clock {
public:
    base::Time now() override {
        const base::Time read = next;
        next += std::chrono::microseconds(1500);
        return read;
    }
    base::Time next{base::from_micros(0)};
};

}  // namespace tools
