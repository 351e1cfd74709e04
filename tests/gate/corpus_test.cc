// How well the rules distinguish texts that must not enter from honest ones.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/gate/content.h"
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

// Written by the families that the gate must know, by somebody who had read no rule.
// contract: GATE-10
TEST(Corpus, SecretsWrittenByFamilyAreFound) {
    const auto found = count("fresh_secrets.txt", true, is_secret);
    const auto wrong = count("fresh_no_secrets.txt", false, any_reason);
    const double precision = static_cast<double>(found.hits) / (found.hits + wrong.hits);
    fmt::print("fresh: recall {:.3f}, precision {:.3f}\n", found.share(), precision);
    EXPECT_GE(found.share(), 0.95);
    EXPECT_GE(precision, 0.95);
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

// Written before manuals were let through: what a hostile one says to an agent is found as before.
// contract: GATE-12
TEST(Corpus, ManualsThatSpeakToAnAgentOrDoHarmAreFound) {
    std::size_t total = 0;
    for (const auto& text : corpus("hostile_manuals.txt")) {
        EXPECT_FALSE(validator().check_text(text).empty()) << text;
        ++total;
    }
    EXPECT_GE(total, 40U);
}

TEST(Corpus, ASearchForSecretsAloneFindsTheSameSecrets) {
    const auto scanner = scan::Scanner::make(all_rules()).value();
    std::size_t found = 0;
    for (const std::string name : {"secrets.txt", "fresh_secrets.txt", "unseen_secrets.txt",
                                   "no_secrets.txt", "injection.txt", "honest.txt"})
        for (const auto& text : corpus(name)) {
            auto expected = scanner->scan(text);
            std::erase_if(expected, [](const auto& each) { return each.family != "secret"; });
            const auto secrets = scanner->scan(text, scan::Part::Secrets);
            EXPECT_EQ(secrets, expected) << text;
            found += secrets.size();
        }
    EXPECT_GT(found, 400U);
}

// An ending only says where to look: without it the same is found, more slowly.
TEST(Corpus, RulesMeanTheSameWithoutTheirEndings) {
    std::vector<scan::Rule> with, without;
    for (const auto& rule : content_rules()) {
        if (!rule.ending) continue;
        with.push_back(rule);
        without.push_back(rule);
        without.back().ending.reset();
    }
    ASSERT_GE(with.size(), 3U);
    const auto fast = scan::Scanner::make({.rules = with}).value();
    const auto plain = scan::Scanner::make({.rules = without}).value();
    std::vector<std::string> words;
    std::size_t found = 0;
    const auto compare = [&](const std::string& text) {
        const auto expected = plain->scan(text);
        found += expected.size();
        EXPECT_EQ(fast->scan(text), expected) << text;
    };
    std::vector<std::string> texts = corpus("injection.txt");
    std::ranges::move(corpus("honest.txt"), std::back_inserter(texts));
    for (const auto& rule : with) {
        std::ranges::copy(rule.good, std::back_inserter(texts));
        std::ranges::copy(rule.bad, std::back_inserter(texts));
    }
    for (const auto& text : texts) {
        compare(text);
        compare(text + " " + text);
        for (std::size_t at = 0; at < text.size();) {
            const auto end = std::min(text.find(' ', at), text.size());
            words.push_back(text.substr(at, end - at));
            at = end + 1;
        }
    }
    // Words of all of them, mixed: near misses of every kind.
    std::mt19937 random(7);
    for (int i = 0; i < 3000; ++i) {
        std::string text;
        for (int n = 0; n < 60; ++n) text += words[random() % words.size()] + " ";
        compare(text);
    }
    EXPECT_GT(found, 50U);
}

}  // namespace
}  // namespace gate
