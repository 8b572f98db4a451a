// SPDX-License-Identifier: Apache-2.0
// FASTA: a header line that begins with '>', then lines of letters up to the next header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "weft/readers/reader.h"
#include "weft/readers/text_source.h"

namespace weft::readers {

/// A sequence under its header. Letters stay as they are, in upper or lower case.
struct FastaRecord {
  std::string name;         ///< the header's first word
  std::string description;  ///< what follows it
  std::string sequence;
  std::int64_t line = 0;  ///< of the header
};

/// Whether a line begins as a header does: '>' and a name.
bool is_fasta_header(std::string_view line);

/// Whether a line, without its end, is of a sequence: not empty, letters, '*' and '-' alone, blanks only behind them.
bool is_sequence_line(std::string_view line);

/// A file (plain or gzip), one record in memory at a time. Lines that begin with ';' and empty lines are left out; '*'
/// and '-' are letters too. Malformed: anything else in a sequence, a header without a sequence, a sequence without a
/// header.
class FastaReader final : public Reader<FastaRecord> {
 public:
  explicit FastaReader(const std::filesystem::path& path, const ReadOptions& options = {});
  explicit FastaReader(ByteSource bytes, const ReadOptions& options = {});

 protected:
  bool read(FastaRecord& record) override;

 private:
  bool at_header();
  void add(std::string_view line, std::string& sequence) const;
  void read_header(FastaRecord& record);
  void skip_record();

  TextSource source_;
};

}  // namespace weft::readers
