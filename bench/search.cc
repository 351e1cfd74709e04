// What a search costs over a million records, how large its index is, and what it finds: all pairs
// of Han characters, and a small labelled set in English, Chinese, Japanese and code.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include <stdlib.h>

#include "base/text.h"
#include "bench/support/figures.h"
#include "store/fts/index.h"
#include "store/fts/segments.h"

namespace {

using Steady = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr int kRecords = 1'000'000;
constexpr int kRecordsPerCommit = 10'000;
constexpr int kQueries = 200;  // Of each kind.
constexpr int kHanRecords = 10'000;
constexpr int kHanQueries = 300;
constexpr std::size_t kParagraphBytes = 1000;
constexpr std::size_t kHanWords = 12'000;
constexpr double kMsMax = 20;
constexpr double kEnglishMax = 1.2;
constexpr double kChineseMax = 2.3;

const base::Time kNow = base::parse_time("2031-01-02T03:04:05Z").value();

void check(const base::Status& status) {
    if (!status) fmt::print(stderr, "{}\n", status.error().message);
    CHECK(status.has_value(), "the index can be used");
}

class Folder {
public:
    Folder() {
        std::string pattern = (fs::temp_directory_path() / "holon-search-XXXXXX").string();
        path_ = mkdtemp(pattern.data());
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    fs::path file() const { return path_ / "index.sqlite3"; }

private:
    fs::path path_;
};

// Words as often as in a language: the nth is chosen about 1/n times as often as the first.
class Vocabulary {
public:
    Vocabulary(std::vector<std::string> words, unsigned seed)
        : words_(std::move(words)), random_(seed) {
        double sum = 0;
        for (std::size_t rank = 1; rank <= words_.size(); ++rank)
            sums_.push_back(sum += 1.0 / static_cast<double>(rank));
    }
    const std::string& word() {
        const double at = std::uniform_real_distribution<>(0, sums_.back())(random_);
        return words_[static_cast<std::size_t>(std::ranges::lower_bound(sums_, at) -
                                               sums_.begin())];
    }
    const std::string& at(std::size_t rank) const { return words_.at(rank); }
    std::string text(int words, std::string_view between) {
        std::string out;
        for (int n = 0; n < words; ++n) out += (n == 0 ? "" : std::string(between)) + word();
        return out;
    }
    std::size_t number(std::size_t below) {
        return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
    }

private:
    std::vector<std::string> words_;
    std::vector<double> sums_;
    std::mt19937 random_;
};

std::vector<std::string> latin_words(std::size_t count) {
    std::mt19937 random(7);
    std::set<std::string> words;
    std::vector<std::string> list;
    while (list.size() < count) {
        std::string word;
        const auto length = 2 + random() % 8;
        for (std::size_t n = 0; n < length; ++n) word += static_cast<char>('a' + random() % 26);
        if (words.insert(word).second) list.push_back(std::move(word));
    }
    return list;
}

std::string han(char32_t code) {
    return {static_cast<char>(0xE0U | (code >> 12U)),
            static_cast<char>(0x80U | ((code >> 6U) & 0x3FU)),
            static_cast<char>(0x80U | (code & 0x3FU))};
}

// Words of one to three of the 3,500 characters that a newspaper uses.
std::vector<std::string> han_words(std::size_t count) {
    std::mt19937 random(8);
    std::vector<std::string> list;
    while (list.size() < count) {
        std::string word;
        const auto length = 1 + random() % 3;
        for (std::size_t n = 0; n < length; ++n)
            word += han(static_cast<char32_t>(0x4E00 + random() % 3'500));
        list.push_back(std::move(word));
    }
    return list;
}

fts::Document record(int number, std::string body) {
    return {.source_ref = fmt::format("main/transcript/{:08}", number),
            .kind = "transcript",
            .scope = "main",
            .title = "tool results",
            .body = std::move(body),
            .updated_at = kNow - std::chrono::seconds(kRecords - number),
            .sequence = number};
}

void put_all(const fs::path& file, int count, const std::function<std::string(int)>& body) {
    check(fts::with_index(file, [&](fts::Index& index) -> base::Status {
        for (int first = 0; first < count; first += kRecordsPerCommit)
            TRY(index.write([&](fts::Index& in) -> base::Status {
                for (int n = first; n < std::min(count, first + kRecordsPerCommit); ++n)
                    TRY(in.put(record(n, body(n))));
                return {};
            }));
        return index.compact();
    }));
}

std::vector<std::string> find(const fs::path& file, const std::string& text, std::int64_t limit) {
    std::vector<std::string> refs;
    check(fts::with_index(file, [&](fts::Index& index) -> base::Status {
        for (const auto& hit : TRY(index.search({.text = text, .limit = limit, .now = kNow})))
            refs.push_back(hit.document.source_ref);
        return {};
    }));
    return refs;
}

// A million records, and queries of every kind. Each opens the index anew, as a command does.
void measure_speed() {
    const Folder folder;
    Vocabulary english(latin_words(60'000), 1);
    Vocabulary chinese(han_words(kHanWords), 2);
    const auto begun = Steady::now();
    put_all(folder.file(), kRecords, [&](int number) {
        return number % 10 < 7 ? english.text(24, " ") : chinese.text(40, "");
    });
    bench::figure("search_build",
                  kRecords / std::chrono::duration<double>(Steady::now() - begun).count(),
                  "records/s");
    const auto any_han = [&](std::size_t characters) {
        while (true) {
            const auto& word = chinese.word();
            if (fts::characters_of(word).size() == characters) return word;
        }
    };
    std::vector<double> all;
    const auto measure = [&](std::string_view name, const std::function<std::string()>& text) {
        std::vector<double> times;
        for (int n = 0; n < kQueries; ++n) {
            const auto asked = text();
            const auto start = Steady::now();
            find(folder.file(), asked, 10);
            times.push_back(
                std::chrono::duration<double, std::milli>(Steady::now() - start).count());
        }
        bench::figure(fmt::format("search_{}_p99", name), bench::percentile(times, 0.99), "ms");
        all.insert(all.end(), times.begin(), times.end());
    };
    measure("one_word", [&] { return english.at(english.number(60'000)); });
    measure("common_word", [&] { return english.at(english.number(5)); });
    measure("two_words", [&] { return english.text(2, " "); });
    measure("six_words", [&] { return english.text(6, " "); });
    measure("two_han", [&] { return any_han(2); });
    measure("three_han", [&] { return any_han(3); });
    bench::figure("search_median", bench::median(all), "ms");
    bench::figure("search_p99", bench::percentile(all, 0.99), "ms", bench::at_most(kMsMax));
    measure("one_han", [&] { return any_han(1); });
}

// What the file has besides the text itself, for each byte of text.
void measure_size(std::string_view name, const std::vector<std::string>& texts, double bound) {
    const Folder folder;
    put_all(folder.file(), static_cast<int>(texts.size()),
            [&](int number) { return texts[static_cast<std::size_t>(number)]; });
    double bytes = 0;
    for (const auto& text : texts) bytes += static_cast<double>(text.size());
    double used = 0;
    check(fts::with_index(folder.file(), [&](fts::Index& index) -> base::Status {
        used = static_cast<double>(TRY(index.size()).used_bytes);
        return {};
    }));
    bench::figure(name, (used - bytes) / bytes, "x", bench::at_most(bound));
}

// The paragraphs of the project's own documentation.
std::vector<std::string> english_texts() {
    std::vector<std::string> list;
    for (const char* folder : {"docs", "changes", "src", "tests"})
        for (const auto& entry :
             fs::recursive_directory_iterator(fs::path(HOLON_SOURCES) / folder)) {
            if (entry.path().extension() != ".md") continue;
            std::ifstream in(entry.path());
            std::string paragraph;
            for (std::string line; std::getline(in, line);) {
                paragraph += line + "\n";
                if (paragraph.size() < kParagraphBytes || !line.empty()) continue;
                list.push_back(std::exchange(paragraph, {}));
            }
            if (!paragraph.empty()) list.push_back(std::move(paragraph));
        }
    return list;
}

std::vector<std::string> chinese_texts() {
    Vocabulary words(han_words(kHanWords), 3);
    std::vector<std::string> list;
    for (int n = 0; n < kHanRecords; ++n) {
        std::string text;
        for (int sentence = 0; sentence < 8; ++sentence) text += words.text(12, "") + "。";
        list.push_back(std::move(text));
    }
    return list;
}

// Every record that has two characters side by side is found by them.
void measure_han_recall() {
    const Folder folder;
    const auto texts = chinese_texts();
    put_all(folder.file(), kHanRecords,
            [&](int number) { return texts[static_cast<std::size_t>(number)]; });
    std::mt19937 random(5);
    double found = 0;
    double wanted = 0;
    for (int n = 0; n < kHanQueries; ++n) {
        const auto& text = texts[random() % texts.size()];
        const auto characters = fts::characters_of(text);
        const auto at = random() % (characters.size() - 1);
        const std::string pair = std::string(characters[at]) + std::string(characters[at + 1]);
        if (pair.contains("。")) continue;
        std::set<std::string> relevant;
        for (int number = 0; number < kHanRecords; ++number)
            if (texts[static_cast<std::size_t>(number)].contains(pair))
                relevant.insert(record(number, "").source_ref);
        if (std::ssize(relevant) > fts::kHitsMax) continue;
        for (const auto& ref : find(folder.file(), pair, fts::kHitsMax))
            found += static_cast<double>(relevant.count(ref));
        wanted += static_cast<double>(relevant.size());
    }
    bench::figure("search_han_pair_recall", found / wanted, "of all", bench::at_least(1.0));
}

struct Labelled {
    std::string_view language;
    std::vector<std::string> documents;
    std::vector<std::pair<std::string, std::vector<int>>> queries;  // With the documents wanted.
};

std::vector<Labelled> labelled_sets() {
    return {{"english",
             {"The deployment failed because the database connection was refused.",
              "We decided to retry failed deployments three times with growing pauses.",
              "The operator prefers tabs over spaces in Makefiles.",
              "Flaky test: the websocket reconnect test times out on slow machines.",
              "Backups run every night at three and are kept for thirty days.",
              "The release checklist: update the changelog, tag, build, publish."},
             {{"why did the deployment fail", {0, 1}},
              {"database connection refused", {0}},
              {"tabs or spaces", {2}},
              {"flaky tests timing out", {3}},
              {"how long are backups kept", {4}},
              {"release checklist", {5}}}},
            {"chinese",
             {"部署失败，因为数据库拒绝了连接。", "我们决定失败的部署最多重试三次。",
              "操作员喜欢用制表符而不是空格。", "不稳定的测试：在慢机器上重连会超时。",
              "备份每天凌晨三点运行，保留三十天。", "发布清单：更新日志、打标签、构建、发布。"},
             {{"部署失败", {0}},
              {"数据库 连接", {0}},
              {"重试三次", {1}},
              {"制表符", {2}},
              {"重连超时", {3}},
              {"备份保留", {4}},
              {"发布清单", {5}}}},
            {"japanese",
             {"データベースの接続が拒否され、デプロイに失敗した。",
              "失敗したデプロイは三回まで再試行する。", "運用者はスペースよりタブを好む。",
              "不安定なテスト：遅いマシンで再接続が時間切れになる。",
              "バックアップは毎晩三時に実行し、三十日間保存する。",
              "リリースの手順：変更履歴の更新、タグ付け、公開。"},
             {{"データベース 接続", {0}},
              {"再試行", {1}},
              {"タブ", {2}},
              {"時間切れ", {3}},
              {"バックアップ 保存", {4}},
              {"変更履歴", {5}}}},
            {"code",
             {"int HttpServer::acceptConnection(int listen_fd) {",
              "def get_user_name(user_id): return db.fetch(user_id)",
              "class UserNameCache : public LruCache<UserId, std::string> {",
              "ALTER TABLE queue_entries ADD COLUMN claimed_at INTEGER;",
              "export const parseURLQuery = (url) => new URLSearchParams(url)",
              "kRetryBackoffMs = 250;  // doubled after each attempt"},
             {{"accept connection", {0}},
              {"getUserName", {1}},
              {"user name cache", {2}},
              {"claimed_at", {3}},
              {"parse url query", {4}},
              {"retry backoff", {5}}}}};
}

// Of the documents wanted, how many are found; and of as many hits, how many are wanted.
void measure_labelled(const Labelled& set) {
    const Folder folder;
    put_all(folder.file(), static_cast<int>(set.documents.size()),
            [&](int number) { return set.documents[static_cast<std::size_t>(number)]; });
    double found = 0;
    double first = 0;
    double wanted = 0;
    for (const auto& [text, documents] : set.queries) {
        const auto refs = find(folder.file(), text, 5);
        for (const int number : documents) {
            const auto at = std::ranges::find(refs, record(number, "").source_ref) - refs.begin();
            found += at < std::ssize(refs) ? 1 : 0;
            first += at < std::min(std::ssize(documents), std::ssize(refs)) ? 1 : 0;
            wanted += 1;
        }
    }
    bench::figure(fmt::format("search_{}_recall", set.language), found / wanted, "of all",
                  bench::at_least(0.95));
    bench::figure(fmt::format("search_{}_precision", set.language), first / wanted, "of first",
                  bench::at_least(0.9));
}

}  // namespace

int main() {
    bench::note(
        "search: sizes are what the file has besides the text; precision counts as many hits as "
        "are wanted");
    for (const auto& set : labelled_sets()) measure_labelled(set);
    measure_han_recall();
    measure_size("search_index_english", english_texts(), kEnglishMax);
    measure_size("search_index_chinese", chinese_texts(), kChineseMax);
    measure_speed();
    return 0;
}
