#include "provider/scripted/scenario.h"

#include "base/os/files.h"

namespace provider {
namespace {

using base::ErrorCode;

constexpr std::int64_t kTokensMax = 1'000'000'000'000;  // Sums of these cannot overflow.

bool is_plausible(const std::optional<ScriptedUsage>& usage) {
    const auto fits = [](std::int64_t tokens) { return tokens >= 0 && tokens <= kTokensMax; };
    return !usage || (fits(usage->input_tokens) && fits(usage->output_tokens));
}

base::Status check_round(const Round& round, std::size_t index) {
    if (round.delay_ms < 0 || round.delay_ms > kScenarioDelayMsMax)
        return base::fail(ErrorCode::InvalidInput, "/rounds/{}/delay_ms: expected 0 to {}, got {}",
                          index, kScenarioDelayMsMax, round.delay_ms);
    if (!is_plausible(round.usage) || (round.fault && !is_plausible(round.fault->usage)))
        return base::fail(ErrorCode::InvalidInput, "/rounds/{}: expected usage of 0 to {} tokens",
                          index, kTokensMax);
    if (!round.fault) return {};
    if (round.fault->times < 1)
        return base::fail(ErrorCode::InvalidInput,
                          "/rounds/{}/fault/times: expected 1 or more, got {}", index,
                          round.fault->times);
    const auto retry_after_ms = round.fault->retry_after_ms.value_or(0);
    if (retry_after_ms < 0 || retry_after_ms > kScenarioDelayMsMax)
        return base::fail(ErrorCode::InvalidInput,
                          "/rounds/{}/fault/retry_after_ms: expected 0 to {}, got {}", index,
                          kScenarioDelayMsMax, retry_after_ms);
    return {};
}

base::Status check_rounds(const std::vector<Round>& rounds) {
    for (std::size_t i = 0; i < rounds.size(); ++i) TRY(check_round(rounds[i], i));
    return {};
}

}  // namespace

base::Result<Scenario> parse_scenario(std::string_view text) {
    const json::value document = TRY(base::parse_json(text));
    auto scenario = TRY(base::from_json<Scenario>(document, base::Unknown::Reject));
    if (scenario.rounds.empty())
        return base::fail(ErrorCode::InvalidInput, "/rounds: expected at least one round");
    TRY(check_rounds(scenario.rounds));
    for (const auto& scene : scenario.scenes) {
        if (scene.when.empty() || scene.rounds.empty())
            return base::fail(ErrorCode::InvalidInput,
                              "/scenes: expected `when` and at least one round in each");
        TRY(check_rounds(scene.rounds));
    }
    return scenario;
}

base::Result<Scenario> load_scenario(const std::filesystem::path& path) {
    const std::string text = TRY(base::read_file(path, kScenarioBytesMax));
    auto scenario = parse_scenario(text);
    if (!scenario)
        return base::fail(scenario.error().code, "scenario {}: {}", path.string(),
                          scenario.error().message);
    return scenario;
}

}  // namespace provider
