// SPDX-License-Identifier: Apache-2.0
// Runs a fuzzer (LLVMFuzzerTestOneInput) where the compiler brings no libFuzzer: mutates a corpus for some seconds with
// a printed seed. Usage: PROGRAM [--seconds=S] [--runs=N] [--seed=N] [--input-seconds=S] [--input-mebibytes=N] [FILE or
// FOLDER]...; named files alone are run once, unchanged (--runs=0). An input that takes more processor time or memory
// than an input may is a failure like a crash.
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Input = std::vector<std::uint8_t>;

// Most inputs stay small, or as long as what they began with, so that many are run; some grow far enough to show what
// does not grow with its input.
constexpr std::size_t kUsualInput = 4096;
constexpr std::size_t kLargestInput = 65536;
constexpr std::string_view kCrashFile = "fuzz-crash.bin";

struct Settings {
  double seconds = 3;
  std::uint64_t runs = UINT64_MAX;
  std::uint64_t seed = 0;
  unsigned input_seconds = 20;
  unsigned input_mebibytes = 1024;
  std::vector<std::filesystem::path> paths;
};

// What is running now, for the handlers.
const Input* current_input = nullptr;
unsigned ticks_left = 0;
std::size_t most_pages = 0;

void write_text(int file, std::string_view text) {
  if (write(file, text.data(), text.size()) < 0) _exit(1);
}

// Keeps the input that failed, and says where. Only calls that a signal handler may make.
void save_current_input() {
  const int file = current_input == nullptr ? -1 : creat(kCrashFile.data(), 0644);
  if (file < 0) return;
  write_text(file, {reinterpret_cast<const char*>(current_input->data()), current_input->size()});
  write_text(STDERR_FILENO, "\nfuzz: the input that failed is in fuzz-crash.bin\n");
  close(file);
}

void handle_abort(int signal_number) {
  save_current_input();
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

// Pages of memory in use: the second number of /proc/self/statm.
std::size_t pages_in_use() {
  char text[64] = {};
  const int file = open("/proc/self/statm", O_RDONLY);
  const ssize_t size = file < 0 ? 0 : read(file, text, sizeof(text) - 1);
  close(file);
  const char* digit = size <= 0 ? text : std::find(text, text + size, ' ') + 1;
  std::size_t pages = 0;
  for (; *digit >= '0' && *digit <= '9'; ++digit) pages = pages * 10 + static_cast<std::size_t>(*digit - '0');
  return pages;
}

// Comes every twentieth of a second of processor time.
void handle_tick(int) {
  if (current_input == nullptr) return;
  const bool too_large = pages_in_use() > most_pages;
  if (ticks_left-- > 0 && !too_large) return;
  write_text(STDERR_FILENO, too_large ? "\nfuzz: the input takes more memory than --input-mebibytes\n"
                                      : "\nfuzz: the input takes more time than --input-seconds\n");
  std::abort();
}

constexpr unsigned kTicksPerSecond = 20;

void start_clock() {
  struct sigaction action = {};
  action.sa_handler = handle_tick;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  const itimerval interval{{0, 1000000 / kTicksPerSecond}, {0, 1000000 / kTicksPerSecond}};
  setitimer(ITIMER_PROF, &interval, nullptr);
}

Settings parse_settings(int argument_count, char** arguments) {
  Settings settings;
  settings.seed = std::random_device{}();
  for (int i = 1; i < argument_count; ++i) {
    const std::string argument = arguments[i];
    const std::string value = argument.substr(argument.find('=') + 1);
    if (argument.starts_with("--seconds=")) {
      settings.seconds = std::stod(value);
    } else if (argument.starts_with("--runs=")) {
      settings.runs = std::stoull(value);
    } else if (argument.starts_with("--seed=")) {
      settings.seed = std::stoull(value);
    } else if (argument.starts_with("--input-seconds=")) {
      settings.input_seconds = static_cast<unsigned>(std::stoul(value));
    } else if (argument.starts_with("--input-mebibytes=")) {
      settings.input_mebibytes = static_cast<unsigned>(std::stoul(value));
    } else {
      settings.paths.emplace_back(argument);
    }
  }
  return settings;
}

Input read_input(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Input(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::vector<Input> read_corpus(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::filesystem::path> files;
  for (const auto& path : paths) {
    if (std::filesystem::is_directory(path)) {
      for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
    } else if (std::filesystem::exists(path)) {
      files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Input> corpus;
  for (const auto& file : files) corpus.push_back(read_input(file));
  return corpus;
}

class Mutator {
 public:
  Mutator(std::vector<Input> corpus, std::uint64_t seed) : corpus_(std::move(corpus)), random_(seed) {
    if (corpus_.empty()) corpus_.push_back({});
  }

  /// A corpus entry with one to eight changes.
  Input next() {
    Input input = corpus_[below(corpus_.size())];
    const std::size_t longest = std::max(kUsualInput, input.size());
    for (std::size_t count = 1 + below(8); count > 0; --count) change(input);
    if (input.size() > longest) input.resize(longest);
    if (below(16) == 0) expand(input);
    return input;
  }

 private:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : static_cast<std::size_t>(random_() % bound); }

  void change(Input& input) {
    const std::size_t at = below(input.size() + 1);
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t length = below(std::min<std::size_t>(input.size() - at, 16) + 1);
    const auto end = place + static_cast<std::ptrdiff_t>(length);
    switch (below(6)) {
      case 0:  // one bit
        if (at < input.size()) input[at] ^= static_cast<std::uint8_t>(1U << below(8));
        break;
      case 1:  // one byte, of those that stand at limits
        if (at < input.size()) input[at] = kEdgeBytes[below(std::size(kEdgeBytes))];
        break;
      case 2:  // a few bytes out
        input.erase(place, end);
        break;
      case 3:  // a few bytes twice
        repeat(input, at, length);
        break;
      case 4:  // a random byte in
        input.insert(place, static_cast<std::uint8_t>(random_()));
        break;
      default:
        splice(input, at);
    }
  }

  static void repeat(Input& input, std::size_t at, std::size_t length) {
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    const Input piece(place, place + static_cast<std::ptrdiff_t>(length));
    input.insert(place, piece.begin(), piece.end());
  }

  // A few bytes many times, up to the largest input.
  void expand(Input& input) {
    if (input.empty()) return;
    const std::size_t at = below(input.size());
    const std::size_t length = 1 + below(std::min<std::size_t>(input.size() - at, 16));
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    const Input piece(place, place + static_cast<std::ptrdiff_t>(length));
    const std::size_t room = (kLargestInput - std::min(input.size(), kLargestInput)) / length;
    const std::size_t count = std::min<std::size_t>(room, std::size_t{1} << below(17));
    Input run;
    run.reserve(count * length);
    for (std::size_t i = 0; i < count; ++i) run.insert(run.end(), piece.begin(), piece.end());
    input.insert(place, run.begin(), run.end());
  }

  // A piece of another corpus entry, put in at `at`.
  void splice(Input& input, std::size_t at) {
    const Input& other = corpus_[below(corpus_.size())];
    const std::size_t first = below(other.size());
    const std::size_t length = below(other.size() - first + 1);
    input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), other.begin() + static_cast<std::ptrdiff_t>(first),
                 other.begin() + static_cast<std::ptrdiff_t>(first + length));
  }

  static constexpr std::uint8_t kEdgeBytes[] = {0,    1,   9,   '"', '(', ')', '0', '9',
                                                '\\', '{', 127, 128, 192, 240, 254, 255};

  std::vector<Input> corpus_;
  std::mt19937_64 random_;
};

void run_one(const Input& input, const Settings& settings) {
  constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  most_pages =
      pages_in_use() + settings.input_mebibytes * (kMebibyte / static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  ticks_left = settings.input_seconds * kTicksPerSecond;
  current_input = &input;
  LLVMFuzzerTestOneInput(input.data(), input.size());
  current_input = nullptr;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const Settings settings = parse_settings(argument_count, arguments);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(save_current_input);
  signal(SIGABRT, handle_abort);
  start_clock();
  std::cout << "fuzz: seed " << settings.seed << std::endl;

  const std::vector<Input> corpus = read_corpus(settings.paths);
  for (const Input& input : corpus) run_one(input, settings);
  Mutator mutator(corpus, settings.seed);
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t runs = 0;
  while (runs < settings.runs &&
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < settings.seconds) {
    const Input input = mutator.next();
    run_one(input, settings);
    ++runs;
  }
  std::cout << "fuzz: " << corpus.size() << " corpus inputs, " << runs << " mutated inputs" << std::endl;
  return 0;
}
