#include "agent/context/plan.h"

#include <algorithm>

#include "base/text.h"

namespace context {
namespace {

std::int64_t estimated(const Candidate& candidate) {
    return static_cast<std::int64_t>(base::estimate_tokens(candidate.text));
}

void shorten(Candidate& candidate, Decision& decision) {
    if (candidate.chars_min == 0 || base::char_count(candidate.text) <= candidate.chars_min) return;
    candidate.text = base::ellipsize(candidate.text, candidate.chars_min);
    decision.verdict = Verdict::Shortened;
    decision.tokens_shown = estimated(candidate);
}

}  // namespace

Plan plan(std::vector<Candidate> candidates, std::optional<std::int64_t> tokens_max) {
    Plan out;
    std::int64_t used = 0;
    for (const auto& candidate : candidates) {
        const auto tokens = estimated(candidate);
        used += tokens;
        out.decisions.push_back({candidate.name, candidate.tier, Verdict::Shown, tokens, tokens});
    }
    const auto each = [&](Tier tier, auto change) {
        for (std::size_t i = candidates.size(); i-- > 0;) {
            auto& decision = out.decisions[i];
            if (!tokens_max || used <= *tokens_max || candidates[i].tier != tier) continue;
            const auto before = decision.tokens_shown;
            change(candidates[i], decision);
            used -= before - decision.tokens_shown;
        }
    };
    for (const auto tier : {Tier::Optional, Tier::Useful, Tier::Important}) {
        each(tier, shorten);
        each(tier, [](Candidate&, Decision& decision) {
            decision.verdict = Verdict::LeftOut;
            decision.tokens_shown = 0;
        });
    }
    for (std::size_t i = 0; i < candidates.size(); ++i)
        if (out.decisions[i].verdict != Verdict::LeftOut)
            out.shown.push_back(std::move(candidates[i]));
    return out;
}

}  // namespace context
