#include "exec/plan/record/chain.h"

#include "base/hash.h"
#include "exec/plan/language/wire.h"

namespace plan {
namespace {

constexpr std::string_view kHashMember = R"(,"hash":"sha256:)";
constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kTailBytes = kHashMember.size() + kHashDigits + 2;  // And "}.

std::string link(std::string_view last_hash, domain::PlanRecordKind kind, std::string_view body) {
    base::Sha256 hash;
    hash.add(last_hash);
    hash.add(base::enum_name(kind));
    hash.add(body);
    return "sha256:" + hash.finish_hex();
}

}  // namespace

std::string first_link(const domain::RunId& run, const std::string& plan_hash,
                       const std::string& policy_hash) {
    return "sha256:" + base::sha256_hex(run.value + "\n" + plan_hash + "\n" + policy_hash);
}

domain::PlanRecord seal(std::int64_t& seq, std::string& last_hash, domain::PlanRecordKind kind,
                        json::object body) {
    domain::PlanRecord record{.seq = ++seq, .kind = kind};
    record.line = fmt::format("{{\"seq\":{}", seq);
    const std::string text = base::json_text(json::value(std::move(body)));
    if (text.size() > 2) record.line.append(",").append(text, 1, text.size() - 2);
    last_hash = link(last_hash, kind, record.line);
    record.line += R"(,"hash":")" + last_hash + R"("})";
    return record;
}

std::optional<Link> link_of(const domain::PlanRecord& record, const std::string& last_hash) {
    const std::string_view line = record.line;
    if (line.size() <= kTailBytes) return std::nullopt;
    const std::string_view tail = line.substr(line.size() - kTailBytes);
    if (!tail.starts_with(kHashMember) || !tail.ends_with("\"}")) return std::nullopt;
    return Link{"sha256:" + std::string(tail.substr(kHashMember.size(), kHashDigits)),
                link(last_hash, record.kind, line.substr(0, line.size() - kTailBytes))};
}

std::string policy_hash(const domain::PolicySnapshot& policy) {
    return "sha256:" + base::sha256_hex(base::canonical_json(policy_json(policy)));
}

std::string identity_hash(const domain::PlanRun& run) {
    json::object members = run_json(run);
    for (const std::string_view changing :
         {"status", "confirmation", "startedAt", "endedAt", "pass", "lastSeq", "lastHash", "counts",
          "failure", "cancelReason", "carrier"})
        members.erase(changing);
    return "sha256:" + base::sha256_hex(base::canonical_json(members));
}

std::string inputs_hash(const domain::PlanRun& run) {
    return "sha256:" +
           base::sha256_hex(base::canonical_json(json::object{
               {"vault", run.vault}, {"context", run.context}, {"params", run.params}}));
}

}  // namespace plan
