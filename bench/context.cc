// What a long conversation costs, and what is left of it: a turn of 500 rounds in a window of
// 64,000 tokens, and a hundred facts of 300 rounds that are asked for at the end. The built program
// against a scripted model on a loopback port. Usage: bench_context HOLON [turn|facts].
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "base/json.h"
#include "bench/support/child.h"
#include "bench/support/figures.h"
#include "bench/support/loopback_model.h"
#include "bench/support/prompt_log.h"

namespace {

using bench::at_least;
using bench::at_most;
using bench::figure;
using bench::note;

constexpr int kWindow = 64'000;
constexpr int kRounds = 500;
constexpr int kResultBytes = 4'096;
constexpr double kCommonPercentMin = 93;
constexpr double kExtendingPercentMin = 94;

// The second baseline: at 90 % of the window it asks for a summary, as one more message behind the
// conversation, and continues with that alone. Summaries of that much usually have 2,000 to 5,000
// tokens, so the baseline is cheap; what the model is paid for writing one is not counted.
constexpr double kSummariseAt = 0.9 * kWindow;
constexpr double kSummaryTokens = 2'000;
constexpr double kInstructionTokens = 200;

constexpr int kFactsPerKind = 25;
constexpr int kFactRounds = 300;
constexpr int kFactTurns = 10;
constexpr std::size_t kSearchesPerRound = 10;
constexpr double kOperatorPercentMin = 100;
constexpr double kOthersPercentMin = 95;

class TempFolder {
public:
    TempFolder() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "holon-context-XXXXXX").string();
        CHECK(::mkdtemp(pattern.data()) != nullptr, "a temporary folder can be made");
        path_ = pattern;
    }
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

struct Call {
    std::string tool;
    json::object arguments;
};

// What the model answers to one request.
struct Answer {
    std::string text;
    std::vector<Call> calls{};
};

// One agent with a model that answers what `answers` says.
class Agent {
public:
    using Answers = std::function<Answer(const json::value& request)>;

    Agent(std::string program, Answers answers)
        : program_(std::move(program)), answers_(std::move(answers)) {
        std::filesystem::create_directories(folder_.path() / "project");
        std::filesystem::create_directories(home());
        std::ofstream(home() / "config.json") << base::json_text(
            {{"models", {{"catalog", {{"vllm/bench", {{"context_window_tokens", kWindow}}}}}}}});
        model_.answer_with([this](std::string_view body) { return answer(body); });
    }

    void say(const std::string& text) {
        const auto end = bench::run(
            {.argv = {program_, "run", "--agent", "main", "--create-agent", text},
             .environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home().string(),
                             "HOLON_HOME=" + home().string(), "HOLON_MODEL=vllm/bench",
                             "HOLON_VLLM_BASE_URL=" + model_.base_url()},
             .cwd = (folder_.path() / "project").string(),
             .is_quiet = true});
        CHECK(end.succeeded, "the turn completes");
    }

    void write(const std::string& file, const std::string& text) {
        std::ofstream(folder_.path() / "project" / file) << text;
    }

    // While no turn is open.
    const bench::PromptLog& log() const { return log_; }

private:
    std::filesystem::path home() const { return folder_.path() / "home"; }

    std::string answer(std::string_view body) {
        const std::lock_guard lock(mutex_);
        const auto request = base::parse_json(body).value();
        const auto tokens = static_cast<int>(log_.add(body).tokens);
        const auto answer = answers_(request);
        json::object message{{"role", "assistant"}, {"content", answer.text}};
        json::array calls;
        for (const auto& call : answer.calls) {
            json::object made{{"id", fmt::format("call_{}", ++calls_made_)}, {"type", "function"}};
            made["function"] = {{"name", call.tool},
                                {"arguments", base::json_text(call.arguments)}};
            calls.push_back(std::move(made));
        }
        const bool has_calls = !calls.empty();
        if (has_calls) message["tool_calls"] = std::move(calls);
        json::object choice{{"index", 0}, {"finish_reason", has_calls ? "tool_calls" : "stop"}};
        choice["message"] = std::move(message);
        return base::json_text({{"id", "chatcmpl-1"},
                                {"object", "chat.completion"},
                                {"choices", json::array{std::move(choice)}},
                                {"usage",
                                 {{"prompt_tokens", tokens},
                                  {"completion_tokens", 50},
                                  {"total_tokens", tokens + 50}}}});
    }

    std::string program_;
    Answers answers_;
    TempFolder folder_;
    std::mutex mutex_;
    bench::PromptLog log_;
    int calls_made_{0};
    bench::LoopbackModel model_;
};

Call command(std::string text) {
    return {"ExecCommand", {{"cmd", std::move(text)}, {"login", false}}};
}

std::string reading(int part) {
    return fmt::format("seq -f 'part {} line %05g' 1 400 | head -c {}", part, kResultBytes);
}

struct Baseline {
    double price{0};
    double largest{0};
    int rewrites{0};
    int overflows_at{0};  // The first round whose request does not fit the window.
};

// Every request has all that was said before.
Baseline send_everything(const std::vector<bench::SentPrompt>& sent) {
    Baseline out{.price = bench::price_of(sent.front().tokens, 0), .largest = sent.front().tokens};
    for (std::size_t i = 1; i < sent.size(); ++i) {
        out.price += bench::price_of(sent[i].last_round_tokens, out.largest);
        out.largest += sent[i].last_round_tokens;
        if (out.overflows_at == 0 && out.largest > kWindow)
            out.overflows_at = static_cast<int>(i) + 1;
    }
    return out;
}

Baseline summarise(const std::vector<bench::SentPrompt>& sent) {
    const double fixed = sent.front().tokens;
    double now = fixed;
    Baseline out{.price = bench::price_of(fixed, 0)};
    for (std::size_t i = 1; i < sent.size(); ++i) {
        const double added = sent[i].last_round_tokens;
        if (now + added > kSummariseAt) {
            out.price += bench::price_of(added + kInstructionTokens, now);
            out.price += bench::price_of(kSummaryTokens, fixed);
            now = fixed + kSummaryTokens;
            ++out.rewrites;
            continue;
        }
        out.price += bench::price_of(added, now);
        now += added;
        out.largest = std::max(out.largest, now);
    }
    return out;
}

void measure_turn(const std::string& program) {
    int round = 0;
    Agent agent(program, [&](const json::value&) -> Answer {
        if (++round > kRounds) return {"All parts are read."};
        return {fmt::format("Reading part {}.", round), {command(reading(round))}};
    });
    agent.say("Read all parts, one after the other.");
    const auto& log = agent.log();
    CHECK(std::ssize(log.prompts()) == kRounds + 1, "every result led to one more request");
    const auto everything = send_everything(log.prompts());
    const auto summaries = summarise(log.prompts());
    double rewritten = 0, kept = 0;
    int compactions = 0;
    for (const auto& prompt : log.prompts())
        if (!prompt.extends_previous && &prompt != &log.prompts().front()) {
            ++compactions;
            kept += prompt.common_tokens;
            rewritten += prompt.tokens - prompt.common_tokens;
        }
    note(fmt::format(
        "{} compactions, each of which leaves {:.0f} tokens as they were and writes "
        "{:.0f} anew; the first prompt has {:.0f}",
        compactions, kept / compactions, rewritten / compactions, log.prompts().front().tokens));
    note(
        fmt::format("{} rounds with results of {} bytes; the largest prompt has {:.0f} tokens of "
                    "{}; sending everything overflows in round {}; a summary at 90 % is made {} "
                    "times",
                    kRounds, kResultBytes, log.largest(), kWindow, everything.overflows_at,
                    summaries.rewrites));
    figure("context_500_rounds_largest_prompt", log.largest(), "tokens", at_most(kWindow));
    figure("context_500_rounds_price", log.price(), "units");
    figure("context_price_to_everything", 100 * log.price() / everything.price, "%", at_most(100));
    figure("context_price_to_summaries", 100 * log.price() / summaries.price, "%", at_most(100));
    figure("context_common_prefix", log.common_percent(), "%", at_least(kCommonPercentMin));
    figure("context_requests_extending", log.extending_percent(), "%",
           at_least(kExtendingPercentMin));
}

enum class FactKind { Operator, File, Exit, Decision };
constexpr std::array kFactKinds{FactKind::Operator, FactKind::File, FactKind::Exit,
                                FactKind::Decision};

struct Fact {
    FactKind kind{FactKind::Operator};
    int number{0};
    std::string key;    // What it is asked by.
    std::string value;  // What must be near the key.
};

constexpr std::array<std::string_view, kFactsPerKind> kNames{
    "adder",  "badger",  "cobra",  "dingo",  "egret",  "ferret", "gecko",  "heron", "ibis",
    "jackal", "kestrel", "lemur",  "marten", "newt",   "osprey", "puffin", "quail", "raven",
    "stoat",  "tapir",   "urchin", "vole",   "walrus", "yak",    "zebra"};

std::vector<Fact> make_facts() {
    std::vector<Fact> facts;
    for (int n = 0; n < kFactsPerKind; ++n) {
        const auto name = kNames.at(static_cast<std::size_t>(n));
        facts.push_back({FactKind::Operator, n, fmt::format("{} team", name),
                         fmt::format("room {}", 4000 + 37 * n)});
        facts.push_back({FactKind::File, n, fmt::format("{}_report", name),
                         fmt::format("{}_report_{}.txt", name, 100 + n)});
        facts.push_back(
            {FactKind::Exit, n, fmt::format("probe_{}", name), fmt::format("code {}", 11 + 3 * n)});
        facts.push_back({FactKind::Decision, n, fmt::format("{} cache", name),
                         fmt::format("{} megabytes", 1000 + 13 * n)});
    }
    return facts;
}

// Is the value near the key, as in one line or one record?
bool knows(std::string_view text, const Fact& fact) {
    constexpr std::size_t kNear = 400;
    for (auto at = text.find(fact.key); at != text.npos; at = text.find(fact.key, at + 1)) {
        const auto from = at > kNear ? at - kNear : 0;
        if (text.substr(from, at - from + kNear).contains(fact.value)) return true;
    }
    return false;
}

std::string operator_words(const std::vector<Fact>& facts, int turn, int turns) {
    std::string text = fmt::format("Continue with part {} of the survey.", turn + 1);
    for (const auto& fact : facts)
        if (fact.kind == FactKind::Operator && fact.number % turns == turn)
            text += fmt::format(" The {} meets in {}.", fact.key, fact.value);
    return text;
}

// The facts of files, exit codes and decisions, each in a round of its own; the rounds between them
// read other things.
Answer fact_round(const std::vector<Fact>& facts, int round) {
    constexpr int kOthers = 3 * kFactsPerKind;
    constexpr int kEvery = kFactRounds / kOthers;
    if (round % kEvery != 0)
        return {fmt::format("Reading part {}.", round), {command(reading(round))}};
    int left = round / kEvery;
    for (const auto& fact : facts) {
        if (fact.kind == FactKind::Operator || left-- > 0) continue;
        switch (fact.kind) {
            case FactKind::File:
                return {"Writing the report.",
                        {{"ApplyPatch",
                          {{"patch", fmt::format("*** Begin Patch\n*** Add File: {}\n+counted\n*** "
                                                 "End Patch\n",
                                                 fact.value)}}}}};
            case FactKind::Exit:
                return {"Probing.", {command(fmt::format("sh {}.sh", fact.key))}};
            case FactKind::Decision:
                return {fmt::format("Decision: the {} gets {}, because the logs show that more is "
                                    "never used.",
                                    fact.key, fact.value),
                        {command(reading(round))}};
            case FactKind::Operator:
                break;
        }
    }
    return {"Nothing to do.", {command("true")}};
}

class Survey {
public:
    explicit Survey(int turns) : turns_(turns), facts_(make_facts()) {}

    Answer answer(const json::value& request) {
        if (is_asking_) return ask(request);
        if (in_turn_ == kFactRounds / turns_) {
            in_turn_ = 0;
            return {fmt::format("Part {} is done.", round_ / (kFactRounds / turns_))};
        }
        ++in_turn_;
        return fact_round(facts_, round_++);
    }
    // What the commands of the facts run: the exit code is known to nobody before.
    void prepare(Agent& agent) const {
        for (const auto& fact : facts_)
            if (fact.kind == FactKind::Exit)
                agent.write(fact.key + ".sh", fmt::format("exit {}\n", fact.value.substr(5)));
    }
    std::string words(int turn) const { return operator_words(facts_, turn, turns_); }
    void begin_to_ask() { is_asking_ = true; }

    void report(std::string_view name) const {
        double operator_known = 0, others_known = 0, in_prompt = 0;
        std::array<int, kFactKinds.size()> known{};
        for (const auto& fact : facts_) {
            const bool is_in_prompt = knows(prompt_, fact);
            const bool is_known = is_in_prompt || knows(found_[fact.key], fact);
            in_prompt += is_in_prompt ? 1 : 0;
            known.at(static_cast<std::size_t>(fact.kind)) += is_known ? 1 : 0;
            (fact.kind == FactKind::Operator ? operator_known : others_known) += is_known ? 1 : 0;
        }
        note(
            fmt::format("{}: of {} each, {} of the operator, {} files, {} exit codes and {} "
                        "decisions are known, {:.0f} of all in the prompt",
                        name, kFactsPerKind, known[0], known[1], known[2], known[3], in_prompt));
        figure(fmt::format("context_facts_operator_{}", name), 100 * operator_known / kFactsPerKind,
               "%", at_least(kOperatorPercentMin));
        figure(fmt::format("context_facts_others_{}", name),
               100 * others_known / (3 * kFactsPerKind), "%", at_least(kOthersPercentMin));
    }

private:
    // The last turn: what its prompt has, and one search for each fact that it does not have.
    Answer ask(const json::value& request) {
        if (prompt_.empty()) {
            prompt_ = text_of(request);
            for (const auto& fact : facts_)
                if (!knows(prompt_, fact)) wanted_.push_back(&fact);
        }
        keep_results(request);
        asked_.clear();
        Answer answer{.text = "Looking it up."};
        while (!wanted_.empty() && asked_.size() < kSearchesPerRound) {
            asked_.push_back(wanted_.back()->key);
            answer.calls.push_back(
                {"MemorySearch", {{"query", wanted_.back()->key}, {"limit", 5}}});
            wanted_.pop_back();
        }
        if (asked_.empty()) answer.text = "That is all.";
        return answer;
    }

    // The results of the searches that the last answer made: the newest messages, in their order.
    void keep_results(const json::value& request) {
        const auto& messages = request.at("messages").as_array();
        for (std::size_t i = 0; i < asked_.size(); ++i)
            found_[asked_[i]] =
                base::string_at(messages[messages.size() - asked_.size() + i], "content");
    }

    static std::string text_of(const json::value& request) {
        std::string text;
        for (const auto& message : request.at("messages").as_array()) {
            const auto* content = base::find(message, "content");
            if (content && content->is_string()) text += std::string(content->get_string()) + "\n";
            if (content && content->is_array())
                for (const auto& part : content->get_array())
                    text += base::string_at(part, "text") + "\n";
            if (const auto* calls = base::find(message, "tool_calls"); calls && calls->is_array())
                for (const auto& call : calls->get_array())
                    text += base::string_at(call.at("function"), "arguments") + "\n";
        }
        return text;
    }

    int turns_;
    std::vector<Fact> facts_;
    int round_{0};
    int in_turn_{0};
    bool is_asking_{false};
    std::string prompt_;
    std::vector<const Fact*> wanted_;
    std::vector<std::string> asked_;
    mutable std::map<std::string, std::string> found_;
};

void measure_facts(const std::string& program, int turns, std::string_view name) {
    Survey survey(turns);
    Agent agent(program, [&](const json::value& request) { return survey.answer(request); });
    survey.prepare(agent);
    for (int turn = 0; turn < turns; ++turn) agent.say(survey.words(turn));
    survey.begin_to_ask();
    agent.say("What do you remember of all that?");
    survey.report(name);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: bench_context HOLON [turn|facts]\n");
        return 2;
    }
    try {
        const std::string program = std::filesystem::absolute(argv[1]).string();
        const std::string_view what = argc > 2 ? argv[2] : "";
        if (what.empty() || what == "turn") measure_turn(program);
        if (what.empty() || what == "facts") {
            measure_facts(program, kFactTurns, "ten_turns");
            measure_facts(program, 1, "one_turn");
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_context: %s\n", error.what());
        return 1;
    }
    return 0;
}
