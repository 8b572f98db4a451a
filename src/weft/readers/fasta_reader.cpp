// SPDX-License-Identifier: Apache-2.0
// A record that is malformed is read up to the next header, so that the reader goes on there.
#include "weft/readers/fasta_reader.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "weft/core/quote.h"

namespace weft::readers {
namespace {

bool is_letter(char byte) { return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z'); }

bool is_residue(char byte) { return is_letter(byte) || byte == '*' || byte == '-'; }

std::string_view without_blanks_behind(std::string_view line) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) {
    line.remove_suffix(1);
  }
  return line;
}

}  // namespace

bool is_fasta_header(std::string_view line) {
  return line.size() > 1 && line[0] == '>' && line[1] > ' ' && line[1] != '>';
}

bool is_sequence_line(std::string_view line) {
  const std::string_view letters = without_blanks_behind(line);
  return !letters.empty() && std::all_of(letters.begin(), letters.end(), is_residue);
}

FastaReader::FastaReader(const std::filesystem::path& path, const ReadOptions& options)
    : FastaReader(ByteSource(path), options) {}

FastaReader::FastaReader(ByteSource bytes, const ReadOptions& options)
    : Reader(options), source_(std::move(bytes), options) {}

bool FastaReader::at_header() {
  const int next = source_.peek();
  return next == '>' || next == TextSource::kEnd;
}

void FastaReader::skip_record() {
  std::string line;
  while (!at_header() && source_.next_line(line)) {
  }
}

void FastaReader::read_header(FastaRecord& record) {
  std::string line;
  source_.next_line(line);
  record.line = source_.line();
  const std::string_view header = std::string_view(line).substr(1);
  const std::size_t begin = std::min(header.find_first_not_of(" \t"), header.size());
  const std::size_t end = std::min(header.find_first_of(" \t", begin), header.size());
  record.name = header.substr(begin, end - begin);
  record.description = header.substr(std::min(header.find_first_not_of(" \t", end), header.size()));
  check_utf8(line, source_.where());
}

void FastaReader::add(std::string_view line, std::string& sequence) const {
  line = without_blanks_behind(line);
  const auto* wrong = std::find_if_not(line.begin(), line.end(), is_residue);
  if (wrong != line.end()) {
    malformed(source_.where(), ": a sequence must be letters, '*' and '-', found ", quote(std::string(1, *wrong)),
              " in column ", wrong - line.begin() + 1);
  }
  sequence += line;
}

bool FastaReader::read(FastaRecord& record) {
  record = {};
  std::string line;
  source_.begin_record();
  try {
    while (!at_header()) {
      source_.next_line(line);
      if (!line.empty() && line.front() != ';') {
        malformed(source_.where(), ": a sequence begins with a header line, '>' and a name, found ", quote(line, 40));
      }
    }
    if (source_.peek() == TextSource::kEnd) {
      return false;
    }
    read_header(record);
    while (!at_header()) {
      source_.next_line(line);
      if (!line.starts_with(';')) {
        add(line, record.sequence);
      }
    }
  } catch (const MalformedRecord&) {
    skip_record();
    throw;
  }
  if (record.sequence.empty()) {
    malformed(source_.where(record.line), ": the header ", quote(record.name), " has no sequence");
  }
  return true;
}

}  // namespace weft::readers
