// A small mutational fuzzer for compilers without libFuzzer.
//
//   fuzz_x SECONDS [FILE_OR_DIRECTORY...]     0 seconds: only replay
//
// Inputs start from the corpus; each round copies one, cuts, joins, repeats or flips it, and runs it. The
// seed is printed, and an input that crashes is left in crash-input.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> load_corpus(const std::vector<fs::path>& paths) {
    std::vector<std::string> corpus;
    for (const fs::path& path : paths) {
        if (!fs::is_directory(path)) {
            corpus.push_back(contents(path));
            continue;
        }
        for (const auto& entry : fs::directory_iterator(path)) corpus.push_back(contents(entry.path()));
    }
    if (corpus.empty()) corpus.emplace_back();
    return corpus;
}

class Mutator {
public:
    Mutator(const std::vector<std::string>& corpus, uint64_t seed) : corpus_(corpus), random_(seed) {}

    std::string next() {
        std::string text = pick();
        for (size_t i = 0, rounds = 1 + below(6); i < rounds; ++i) change(text);
        if (text.size() > longest) text.resize(longest);
        return text;
    }

private:
    static constexpr size_t longest = 1 << 16;

    size_t below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }
    const std::string& pick() { return corpus_[below(corpus_.size())]; }

    std::string part_of(const std::string& text) {
        const size_t start = below(text.size());
        return text.substr(start, 1 + below(std::min<size_t>(text.size() - start, 64)));
    }

    void change(std::string& text) {
        static const char* const tokens[] = {"{",
                                             "}",
                                             "[",
                                             "]",
                                             ",",
                                             ":",
                                             "\"",
                                             "\\",
                                             "\\u",
                                             "null",
                                             "true",
                                             "false",
                                             "1e9",
                                             "-",
                                             "0.001",
                                             "\xff",
                                             "\n",
                                             "\\ud800",
                                             "\"ph\":",
                                             "\"B\"",
                                             "\"E\"",
                                             "{}",
                                             "9999999999999999999"};
        const size_t at = below(text.size() + 1);
        switch (below(7)) {
            case 0:
                text.insert(at, 1, static_cast<char>(random_()));
                break;
            case 1:
                text.insert(at, tokens[below(std::size(tokens))]);
                break;
            case 2:
                text.erase(at, 1 + below(32));
                break;
            case 3:
                text.insert(at, part_of(text));
                break;
            case 4:
                text.insert(at, part_of(pick()));
                break;
            case 5:
                text.resize(at);
                break;
            default:
                if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        }
    }

    const std::vector<std::string>& corpus_;
    std::mt19937_64 random_;
};

void run(const std::string& input) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

// The input that is running, for the signal that ends it. Written ahead: a dying process writes no files.
void remember(const std::string& input) {
    static std::FILE* file = std::fopen("crash-input", "wb");
    if (file == nullptr) return;
    std::rewind(file);
    std::fwrite(input.data(), 1, input.size(), file);
    std::fflush(file);
    if (ftruncate(fileno(file), static_cast<long>(input.size())) != 0) std::perror("crash-input");
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 0;
    std::vector<fs::path> paths(argv + std::min(argc, 2), argv + argc);
    if (paths.empty()) paths.emplace_back(FUZZ_CORPUS);
    const std::vector<std::string> corpus = load_corpus(paths);
    for (const std::string& input : corpus) run(input);

    const uint64_t seed = seconds > 0 ? std::random_device{}() : 0;
    Mutator mutator(corpus, seed);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    size_t rounds = 0;
    for (; std::chrono::steady_clock::now() < end; ++rounds) {
        const std::string input = mutator.next();
        remember(input);
        run(input);
    }
    if (rounds > 0) std::remove("crash-input");
    std::printf("%zu inputs of the corpus, %zu mutated ones, seed %llu\n", corpus.size(), rounds,
                static_cast<unsigned long long>(seed));
}
