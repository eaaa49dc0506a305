#include "train/safetensors.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

using Json = nlohmann::ordered_json;
static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kAlignment = 8;  // of the values in the file: the header is padded with blanks

/// Our names in capitals: "F32".
std::string name_in_file(DType dtype) {
  std::string text(name(dtype));
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::optional<DType> parse_dtype(std::string_view text) {
  for (const auto& [dtype, ours] : kEnumNames<DType>.rows)
    if (name_in_file(dtype) == text) return dtype;
  return text == "BOOL" ? std::optional(DType::kU8) : std::nullopt;
}

/// A tensor in the header.
struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  std::uint64_t begin, end;
};

std::vector<std::uint64_t> naturals(const Json& json, const std::string& where, const char* what) {
  check(json.is_array(), where, ": ", what, " must be a list of numbers");
  std::vector<std::uint64_t> values;
  for (const Json& value : json) {
    // No size or file offset reaches 2^62; the limit keeps sums from overflowing.
    check(value.is_number_unsigned() && value.get<std::uint64_t>() < (std::uint64_t{1} << 62), where, ": ",
          what, " must be whole numbers of at least 0, got ", value.dump());
    values.push_back(value.get<std::uint64_t>());
  }
  return values;
}

Entry parse_entry(const std::string& path, const std::string& name, const Json& json) {
  const std::string where = str(path, ": tensor '", name, "'");
  check(json.is_object() && json.size() == 3 && json.contains("dtype") && json.contains("shape") &&
            json.contains("data_offsets"),
        where, " must have dtype, shape and data_offsets");
  check(json["dtype"].is_string(), where, ": dtype must be text");
  const std::string dtype = json["dtype"];
  const auto known = parse_dtype(dtype);
  check(known.has_value(), where, " is of type ", dtype,
        "; Rodeo reads F64, F32, BF16, F16, I64, I32, U8 and BOOL");
  const auto sizes = naturals(json["shape"], where, "shape");
  check(sizes.size() <= Shape::kMaxRank, where, " has ", sizes.size(), " dimensions, at most ",
        Shape::kMaxRank, " are read");
  const auto offsets = naturals(json["data_offsets"], where, "data_offsets");
  check(offsets.size() == 2 && offsets[0] <= offsets[1], where,
        ": data_offsets must be [begin, end] with begin <= end");
  Entry entry{name, *known, {}, offsets[0], offsets[1]};
  try {
    entry.shape = Shape(std::vector<std::int64_t>(sizes.begin(), sizes.end()));
  } catch (const Error& error) {
    fail(where, ": ", error.what());
  }
  const auto bytes = static_cast<unsigned __int128>(entry.shape.numel()) * size_of(*known);
  check(bytes == entry.end - entry.begin, where, " of ", dtype, " ", entry.shape, " does not take the ",
        entry.end - entry.begin, " bytes that it has");
  return entry;
}

// Rejects repeated names: parsers differ in which of the two they keep.
Json parse_header(const std::string& path, const std::string& text) {
  std::vector<std::set<std::string>> names;
  std::string twice;
  bool too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    too_deep = too_deep || depth > 4;
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end && !names.empty()) names.pop_back();
    if (event == Json::parse_event_t::key && !names.empty() &&
        !names.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return !too_deep;
  };
  Json header;
  try {
    header = Json::parse(text, watch);
  } catch (const Json::exception&) {
    fail(path, ": is not a safetensors file: its header is not JSON");
  }
  check(!too_deep && header.is_object(), path,
        ": is not a safetensors file: its header is no table of tensors");
  check(twice.empty(), path, ": has '", twice, "' twice");
  return header;
}

std::uint64_t file_size(std::ifstream& file) {
  file.seekg(0, std::ios::end);
  const auto size = file.tellg();
  file.seekg(0);
  return size < 0 ? 0 : static_cast<std::uint64_t>(size);
}

}  // namespace

bool SafeTensors::has(const std::string& name) const {
  return std::any_of(tensors.begin(), tensors.end(), [&](const auto& t) { return t.first == name; });
}

const Tensor& SafeTensors::at(const std::string& name) const {
  for (const auto& [known, tensor] : tensors)
    if (known == name) return tensor;
  fail("there is no tensor '", name, "'");
}

void write_safetensors(const std::string& path, const SafeTensors& contents) {
  Json header = Json::object();
  if (!contents.metadata.empty()) header[std::string(kMetadata)] = contents.metadata;
  std::set<std::string> names;
  for (const auto& [name, tensor] : contents.tensors) {
    check(!name.empty() && name != kMetadata && names.insert(name).second, path,
          ": a tensor cannot be named '", name, "', or is there twice");
    check(tensor.defined(), path, ": tensor '", name, "' is undefined");
    header[name] = {{"dtype", name_in_file(tensor.dtype())}, {"shape", tensor.shape().sizes()}};
  }
  // Values are ordered by falling element size, so that each is aligned for readers that map the file.
  auto by_place = contents.tensors;
  std::stable_sort(by_place.begin(), by_place.end(), [](const auto& a, const auto& b) {
    return size_of(a.second.dtype()) > size_of(b.second.dtype());
  });
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : by_place) {
    const auto end = offset + static_cast<std::uint64_t>(tensor.nbytes());
    header[name]["data_offsets"] = {offset, end};
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception&) {
    fail(path, ": names and descriptions must be UTF-8");
  }
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  check(text.size() <= kMaxSafeTensorsHeader, path, ": names and descriptions take ", text.size(),
        " bytes, more than ", kMaxSafeTensorsHeader);

  AtomicFile file(path);
  const std::uint64_t length = text.size();
  file.write(&length, sizeof length);
  file.write(text);
  for (const auto& [name, tensor] : by_place) {
    const Tensor host = tensor.to(kCpu);
    if (host.numel() > 0) file.write(host.raw(), static_cast<std::size_t>(host.nbytes()));
  }
  file.commit();
}

SafeTensors read_safetensors(const std::string& path) {
  std::error_code none;
  check(!std::filesystem::is_directory(path, none), path, ": is a directory, not a safetensors file");
  std::ifstream file(path, std::ios::binary);
  check(file.is_open(), path, ": cannot be read: ", std::strerror(errno));
  const std::uint64_t size = file_size(file);
  std::uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), sizeof length);
  check(file.good(), path, ": is not a safetensors file: shorter than 8 bytes");
  check(length <= kMaxSafeTensorsHeader, path, ": is not a safetensors file: a header of ", length, " bytes");
  check(length <= size - sizeof length, path, ": is cut off in its header");
  std::string text(length, '\0');
  file.read(text.data(), static_cast<std::streamsize>(length));
  check(file.good() || length == 0, path, ": cannot be read");
  const std::uint64_t values = size - sizeof length - length;

  SafeTensors contents;
  std::vector<Entry> entries;
  const Json header = parse_header(path, text);
  for (const auto& [name, json] : header.items()) {
    if (name != kMetadata) {
      entries.push_back(parse_entry(path, name, json));
      continue;
    }
    check(json.is_object(), path, ": ", kMetadata, " must be texts by name");
    for (const auto& [key, value] : json.items()) {
      check(value.is_string(), path, ": ", kMetadata, " must be texts by name, '", key, "' is none");
      contents.metadata[key] = value.get<std::string>();
    }
  }

  std::vector<const Entry*> by_place;
  for (const Entry& entry : entries) by_place.push_back(&entry);
  std::sort(by_place.begin(), by_place.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::uint64_t next = 0;
  for (const Entry* entry : by_place) {
    check(entry->begin == next, path, ": tensor '", entry->name, "' begins at byte ", entry->begin,
          entry->begin < next ? ", within another: expected " : ", after a gap: expected ", next);
    next = entry->end;
  }
  check(next <= values, path, ": is cut off: ", next, " bytes of values expected, got ", values);
  check(next == values, path, ": has ", values - next, " bytes that belong to no tensor");

  for (const Entry& entry : entries) {
    const Tensor tensor = Tensor::empty(entry.shape, entry.dtype);
    file.seekg(static_cast<std::streamoff>(sizeof length + length + entry.begin));
    if (tensor.numel() > 0) file.read(static_cast<char*>(tensor.raw()), tensor.nbytes());
    check(file.good(), path, ": tensor '", entry.name, "' cannot be read");
    contents.tensors.emplace_back(entry.name, tensor);
  }
  return contents;
}

}  // namespace rodeo
