// A model that says what its scenario says: for tests, demonstrations and simulation.
#pragma once

#include <map>
#include <memory>

#include "base/os/loop.h"
#include "provider/scripted/scenario.h"

namespace provider {

// Which round is played follows from the request alone, so a provider made anew after a crash goes
// on where the old one stood. Only how often a fault was given is remembered, by this object. Text
// streams to `progress` word by word, each as a task of its own.
class ScriptedProvider final : public Provider {
public:
    // `scenario` has at least one round. `loop` must outlive every exchange.
    ScriptedProvider(Scenario scenario, base::Loop& loop);

    std::shared_ptr<Exchange> ask(Request request, Progress progress,
                                  std::move_only_function<void(Outcome)> done) override;

private:
    Scenario scenario_;
    base::Loop& loop_;
    std::map<std::size_t, std::int64_t> faults_given_;  // By place in the scenario.
};

}  // namespace provider
