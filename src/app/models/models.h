// Which model is asked, and whether it can be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace app {

// Where no model is configured, takes the first that has a credential and a transport we speak; the
// others become its fallbacks. A model that an operator chose keeps the fallbacks they chose.
void choose_model(config::Config& config);

// What is wrong with a run that asks `model_ref` (empty: none is known) and its fallbacks, before
// anything is started for it. Without any model it looks whether one is served on this machine.
base::Status check_run(const config::Config& config, const std::string& model_ref);

// The full name of a model that can be asked; an error says why it cannot.
base::Result<std::string> name_model(const config::Config& config, const std::string& model_ref);

// The limits that a model is used with. Names are checked before they get this far; one that an
// earlier program stored is treated as unknown.
config::ModelPolicy policy_of(const config::Config& config, const std::string& model);

// The full names of the models to try when `model` fails, in order.
std::vector<std::string> fallback_names(const config::Config& config, const std::string& model);

// The model that plans are asked of: the one that was named, else the configured one.
base::Result<std::string> planner_model(const config::Config& config,
                                        const std::optional<std::string>& asked);

}  // namespace app
