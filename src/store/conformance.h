// What every backend of store.h is held to: one test for each promise.
//
// A backend's test program links store_conformance and says
//
//     INSTANTIATE_TEST_SUITE_P(Name, StoreConformance, testing::Values(Backend{...}),
//     backend_name);
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/store.h"

namespace store {

// Opens one and the same database, also again after the store it gave was destroyed.
using Opener = std::function<std::unique_ptr<Store>()>;

struct Backend {
    std::string name;
    std::function<Opener()> fresh;  // An empty database that nobody else uses.
};

inline std::string backend_name(const testing::TestParamInfo<Backend>& info) {
    return info.param.name;
}

class StoreConformance : public testing::TestWithParam<Backend> {
protected:
    void SetUp() override;
    void reopen();

    // Both fail the test when the store reports an error.
    void write(Work work, Durability durability = Durability::Process);
    void read(Work work);

    Opener open_;
    std::unique_ptr<Store> store_;
};

namespace conformance {

// Makers that set only what the tests check.
domain::Message message(const std::string& id, const std::string& agent = "ada",
                        domain::Priority priority = domain::Priority::Normal);
domain::Event event(const std::string& id);
domain::Attempt attempt(const std::string& id, const std::string& agent = "ada");
domain::ToolExecution execution(const std::string& id, std::int64_t round, std::int64_t ordinal,
                                const std::string& run = "r1", const std::string& agent = "ada");
domain::TranscriptEntry entry(const std::string& id, const std::string& run,
                              const std::string& message);
domain::Timer timer(const std::string& id, std::optional<std::int64_t> fires,
                    const std::string& agent = "ada");
OutboxEntry effect(const std::string& id, const std::string& kind = "ask_model");

// Appends them in one transaction.
Work append(std::vector<domain::Message> messages);

template <class T>
std::vector<std::string> ids(const std::vector<T>& records) {
    std::vector<std::string> list;
    for (const auto& record : records) list.push_back(base::to_text(record.id));
    return list;
}

template <class T>
std::vector<std::int64_t> seqs(const std::vector<Numbered<T>>& records) {
    std::vector<std::int64_t> list;
    for (const auto& record : records) list.push_back(record.seq);
    return list;
}

}  // namespace conformance
}  // namespace store
