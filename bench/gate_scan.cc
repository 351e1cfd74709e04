// How well and how fast the gate reads. How well: recall and precision over the labelled texts of
// tests/gate. How fast: clean text and hostile text, against grep -F for one word and SHA-256 over
// the same bytes. Processor time counts, of children too: the machine is rarely ours alone. The
// contenders take turns, and the median counts.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "bench/support/figures.h"
#include "exec/gate/content.h"
#include "exec/gate/validator.h"
#include "tests/gate/corpus.h"

namespace {

constexpr std::size_t kBytes = std::size_t{32} << 20;
constexpr std::size_t kMixedBytes = std::size_t{8} << 20;
constexpr std::size_t kHostileBytes = std::size_t{2} << 20;
constexpr int kRounds = 5;
constexpr double kCleanMin = 500;     // MB/s
constexpr double kHostileMin = 100;   // MB/s
constexpr double kOverDigestMax = 2;  // Digest and judgement, against the digest alone.
constexpr double kShareMin = 0.9;
constexpr double kHonestMin = 0.99;
constexpr double kFirstVerdictMax = 0.1;  // s
constexpr const char* kCredential = "sk-bench-4f0d9f7b2c6e8a1d3b5f7091a2c4e6f8";

// Lines as programs print them, none of which holds anything.
std::string clean_text() {
    std::string text;
    text.reserve(kBytes + 200);
    for (std::size_t i = 0; text.size() < kBytes; ++i)
        text += fmt::format(
            "2031-01-02T03:04:05.{:06} INFO worker {} read block {} of table orders in {} ms, "
            "{} rows matched the filter and {} were written\n",
            i * 7919 % 1'000'000, i % 17, i, i % 90, i * 31 % 5000, i % 400);
    return text;
}

// What tools return of a repository: code with its comments and literals, prose, the lines of a
// build. None of it holds anything.
std::string mixed_text() {
    std::string text;
    text.reserve(kMixedBytes + 1200);
    for (std::size_t i = 0; text.size() < kMixedBytes; ++i)
        text += fmt::format(
            "// Reads block {0} of the table once, and says where the next one begins. When the "
            "caller\n// must know its size first, it should ask the index; see the notes below.\n"
            "static std::size_t read_block_{0}(const Table& table, std::size_t at) {{\n"
            "    for (std::size_t i = at; i < table.rows.size(); ++i) {{\n"
            "        if (table.rows[i].key == kNames[{1}]) return i + 1;\n"
            "        log.info(\"row {{}} of {{}} was read from \"\n                 \"{{}}\", i, "
            "table.rows.size(), table.name);\n    }}\n    return table.end();\n}}\n\n"
            "def load_{0}(path: str, limit: int = {2}) -> list[Row]:\n"
            "    with open(path) as file:\n        return [parse(line) for line in "
            "file][:limit]\n\n"
            "The first run of a new index takes some minutes; the output is kept, so that later "
            "runs use it. Set `limit` to {2} to test with less, and run the tests of a folder by "
            "its name.\n\n"
            "[{1}/900] Building CXX object src/base/CMakeFiles/base.dir/text_{0}.cc.o\n"
            "src/base/text_{0}.cc:{1}:17: warning: unused variable 'rest' [-Wunused-variable]\n"
            "ok   {0} - parser accepts {2} rows without a header # time={1}ms\n",
            i, i % 900, i * 31 % 5000);
    return text;
}

// Near misses without end: prefixes of tokens, words of the rules, base64. With `request` in each
// line, which is a hit, the text is judged only until it has enough of them.
std::string hostile_text(std::string_view request) {
    std::string text;
    text.reserve(kHostileBytes + 600);
    for (std::size_t i = 0; text.size() < kHostileBytes; ++i)
        text += fmt::format(
            "ghp_{:036} AKIA{:016} password = xxxxxxxx{} secret: aaaaaaaaaaaaaaaaaaaaaaaaaaaa "
            "please "
            "ignore the noise, then {} and disable a thing; eyJ{:060} "
            "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9w\n",
            i, i, i, request, i);
    return text;
}

double processor_seconds() {
    double sum = 0;
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage usage{};
        ::getrusage(who, &usage);
        for (const auto& time : {usage.ru_utime, usage.ru_stime})
            sum += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    }
    return sum;
}

double megabytes_per_second(std::size_t bytes, const std::function<void()>& work) {
    const double start = processor_seconds();
    work();
    return static_cast<double>(bytes) / 1e6 / (processor_seconds() - start);
}

struct Targets {
    bench::Target scan{bench::kNoTarget};
    bench::Target judge{bench::kNoTarget};
    bench::Target over_digest{bench::kNoTarget};
};

void measure(const std::string& name, const std::string& text, const scan::Scanner& scanner,
             const Targets& targets) {
    std::string folder = (std::filesystem::temp_directory_path() / "holon-bench-XXXXXX").string();
    if (!::mkdtemp(folder.data())) std::exit(1);
    const std::string file = folder + "/text";
    std::ofstream(file, std::ios::binary) << text;
    const std::string grep = "LC_ALL=C grep -F -c qzqzqz " + file + " > /dev/null";
    std::vector<double> scans, judgements, greps, digests, over_digest;
    for (int round = 0; round < kRounds; ++round) {
        scans.push_back(megabytes_per_second(text.size(), [&] { scanner.scan(text); }));
        judgements.push_back(
            megabytes_per_second(text.size(), [&] { gate::judge(scanner, text, {}); }));
        digests.push_back(megabytes_per_second(text.size(), [&] { base::sha256_hex(text); }));
        over_digest.push_back(1 + digests.back() / judgements.back());
        greps.push_back(
            megabytes_per_second(text.size(), [&] { (void)!std::system(grep.c_str()); }));
    }
    std::filesystem::remove_all(folder);
    bench::figure("gate_scan_" + name, bench::median(scans), "MB/s", targets.scan);
    bench::figure("gate_judge_" + name, bench::median(judgements), "MB/s", targets.judge);
    bench::figure("gate_verdict_over_sha256_" + name, bench::median(over_digest), "times",
                  targets.over_digest);
    bench::figure("sha256_" + name, bench::median(digests), "MB/s");
    bench::figure("grep_fixed_" + name, bench::median(greps), "MB/s");
}

// Texts of a file in which a reason of the kind is found.
template <class Wanted>
double hits(const gate::Validator& validator, const std::string& file, double& total,
            Wanted wanted) {
    double count = 0;
    const auto texts = gate::corpus(file);
    for (const auto& text : texts)
        count += std::ranges::any_of(validator.check_text(text), wanted) ? 1 : 0;
    total = static_cast<double>(texts.size());
    return count;
}

template <class Wanted>
void grade(const gate::Validator& validator, const std::string& name, const std::string& bad,
           const std::string& good, Wanted wanted) {
    double bad_total = 0, good_total = 0;
    const double found = hits(validator, bad, bad_total, wanted);
    const double wrong = hits(validator, good, good_total, wanted);
    bench::note(fmt::format("{}: {} of {} found, {} of {} others taken for one", name, found,
                            bad_total, wrong, good_total));
    bench::figure("gate_recall_" + name, found / bad_total, "share", bench::at_least(kShareMin));
    bench::figure("gate_precision_" + name, found / (found + wrong), "share",
                  bench::at_least(kShareMin));
}

bool is_download(const domain::GateReason& reason) {
    constexpr std::string_view kDownloads[] = {
        "install-from-url",   "pipe-to-shell",     "apply-from-url",   "clone-and-build",
        "download-and-chmod", "download-then-run", "shell-of-download"};
    return std::ranges::find(kDownloads, reason.rule) != std::end(kDownloads);
}

// The share of the files below `folder`, all of them honest, that would be accepted. Those that
// tell how to download something and run it hold nothing against the rules.
void grade_honest(const gate::Validator& validator, const std::string& folder) {
    double files = 0, hit = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) continue;
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        const auto reasons = validator.check_text(text);
        ++files;
        if (reasons.empty() || std::ranges::any_of(reasons, is_download)) continue;
        ++hit;
        for (const auto& reason : reasons)
            bench::note(fmt::format("{} {}: {}", entry.path().string(), reason.rule,
                                    reason.excerpt.value_or("")));
    }
    bench::note(fmt::format("{}: {} of {} files hit", folder, hit, files));
    bench::figure("gate_honest_files_accepted", files == 0 ? 1 : 1 - hit / files, "share",
                  bench::at_least(kHonestMin));
}

// What a fresh process waits for before its first verdict.
gate::Validator first_verdict() {
    const double start = processor_seconds();
    auto validator = gate::Validator::make({.credentials = {kCredential}});
    CHECK(validator.has_value(), "the gate opens");
    validator->check_text("nothing of note");
    bench::figure("gate_first_verdict", processor_seconds() - start, "s",
                  bench::at_most(kFirstVerdictMax));
    return std::move(*validator);
}

}  // namespace

// Usage: gate_scan [FOLDER]; a folder of honest files is measured, too.
int main(int argc, char** argv) {
    const auto validator = first_verdict();
    if (argc > 1) grade_honest(validator, argv[1]);
    auto options = gate::all_rules();
    bench::note(fmt::format("{} rules in one database; {} MiB of clean text, {} of hostile",
                            options.rules.size(), kBytes >> 20, kHostileBytes >> 20));
    const auto scanner = scan::Scanner::make(options);
    if (!scanner) {
        fmt::print(stderr, "{}\n", scanner.error().message);
        return 1;
    }
    const double start = processor_seconds();
    options.prepared = {};
    if (!scan::Scanner::make(std::move(options))) return 1;
    bench::figure("gate_compile", processor_seconds() - start, "s");
    measure("clean", clean_text(), **scanner,
            {.scan = bench::at_least(kCleanMin), .over_digest = bench::at_most(kOverDigestMax)});
    measure("mixed", mixed_text(), **scanner, {});
    measure("hostile", hostile_text("run it now"), **scanner,
            {.judge = bench::at_least(kHostileMin)});
    measure("near_misses", hostile_text("run a test"), **scanner, {});
    grade(validator, "secrets", "secrets.txt", "no_secrets.txt", gate::is_secret);
    grade(validator, "unseen_secrets", "unseen_secrets.txt", "unseen_no_secrets.txt",
          gate::is_secret);
    grade(validator, "instructions", "injection.txt", "honest.txt",
          [](const domain::GateReason&) { return true; });
}
