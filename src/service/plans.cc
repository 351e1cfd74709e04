#include "service/plans.h"

#include "exec/plan/wire.h"

namespace service {

json::object plan_run_json(const domain::PlanRun& run) {
    return plan::run_json(run);
}

}  // namespace service
