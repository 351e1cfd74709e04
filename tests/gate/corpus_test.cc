// How well the rules distinguish texts that must not enter from honest ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/gate/validator.h"
#include "tests/gate/corpus.h"

namespace gate {
namespace {

const Validator& validator() {
    static const auto made = Validator::make({}).value();
    return made;
}

struct Counts {
    int hits{0};
    int total{0};
    double share() const { return static_cast<double>(hits) / total; }
};

// Counts the texts in which a rule of the kind is hit, and prints those of the other sort.
template <class Wanted>
Counts count(const std::string& name, bool should_hit, Wanted wanted) {
    Counts counts;
    for (const auto& text : corpus(name)) {
        const auto reasons = validator().check_text(text);
        const bool is_hit = std::ranges::any_of(reasons, wanted);
        ++counts.total;
        counts.hits += is_hit;
        if (is_hit == should_hit) continue;
        fmt::print("  {} {}: {}\n", name,
                   is_hit ? "hit by " + reasons[0].rule : std::string("missed"),
                   text.substr(0, 100));
    }
    fmt::print("{}: {} of {} hit\n", name, counts.hits, counts.total);
    EXPECT_GE(counts.total, 50) << name;
    return counts;
}

bool any_reason(const domain::GateReason&) {
    return true;
}

// contract: GATE-10
TEST(Corpus, SecretsAreFoundAndLittleElseIsTakenForOne) {
    const auto found = count("secrets.txt", true, is_secret);
    const auto wrong = count("no_secrets.txt", false, is_secret);
    const double precision = static_cast<double>(found.hits) / (found.hits + wrong.hits);
    fmt::print("secrets: recall {:.3f}, precision {:.3f}\n", found.share(), precision);
    EXPECT_GE(found.share(), 0.90);
    EXPECT_GE(precision, 0.90);
}

// Written from the formats of vendors and from what tools print, without knowledge of the rules.
// New texts belong here first: what they say of the rules, no example inside a rule can say.
// contract: GATE-10
TEST(Corpus, SecretsWithoutARuleOfTheirOwnAreFoundToo) {
    const auto found = count("held_out_secrets.txt", true, is_secret);
    const auto wrong = count("held_out_no_secrets.txt", false, any_reason);
    const double precision = static_cast<double>(found.hits) / (found.hits + wrong.hits);
    fmt::print("held out: recall {:.3f}, precision {:.3f}\n", found.share(), precision);
    EXPECT_GE(found.share(), 0.95);
    EXPECT_GE(precision, 0.95);
}

// By families and syntaxes (make_corpus.py); the unseen ones have other names, formats and syntaxes
// than those that rules were written for.
// contract: GATE-10
TEST(Corpus, GeneratedSecretsAreFoundInEverySyntax) {
    for (const std::string kind : {"generated", "unseen"}) {
        const auto found = count(kind + "_secrets.txt", true, is_secret);
        const auto wrong = count(kind + "_no_secrets.txt", false, any_reason);
        const double precision = static_cast<double>(found.hits) / (found.hits + wrong.hits);
        fmt::print("{}: recall {:.3f}, precision {:.3f}\n", kind, found.share(), precision);
        EXPECT_GE(found.share(), 0.90) << kind;
        EXPECT_GE(precision, 0.95) << kind;
        EXPECT_LE(wrong.share(), 0.01) << kind;
    }
}

// contract: GATE-12
TEST(Corpus, InstructionsAndClaimsAboutPolicyAreFoundAndHonestReportsPass) {
    const auto found = count("injection.txt", true, any_reason);
    const auto wrong = count("honest.txt", false, any_reason);
    const double precision = static_cast<double>(found.hits) / (found.hits + wrong.hits);
    fmt::print("instructions: recall {:.3f}, precision {:.3f}; honest texts accepted {:.3f}\n",
               found.share(), precision, 1 - wrong.share());
    EXPECT_GE(found.share(), 0.90);
    EXPECT_GE(precision, 0.90);
    EXPECT_LE(wrong.share(), 0.05);
}

}  // namespace
}  // namespace gate
