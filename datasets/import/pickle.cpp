#include "datasets/import/pickle.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unordered_map>

namespace rodeo {
namespace {

using Kind = PickleValue::Kind;

class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  PickleFile run() {
    for (;;) {
      const char op = take(1)[0];
      if (op == '.') break;
      step(op);
    }
    const Pickle root = pop();
    return {std::move(values_), root};
  }

 private:
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail(name_, ": byte ", at_, ": ", parts...);
  }

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_) wrong("the pickle is truncated");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  std::string_view take_line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) wrong("the pickle is truncated");
    const std::string_view line = take(end - at_);
    ++at_;
    return line;
  }
  std::uint64_t number(std::size_t width) {  // little endian
    const std::string_view raw = take(width);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(raw[i])) << (8 * i);
    return value;
  }

  Pickle make(Kind kind) {
    values_->emplace_back();
    values_->back().kind = kind;
    return &values_->back();
  }
  void push(Pickle value) { stack_.push_back(value); }
  void push_integer(std::int64_t integer) {
    push(make(Kind::kInteger));
    stack_.back()->integer = integer;
  }
  void push_text(std::string_view text) {
    push(make(Kind::kText));
    stack_.back()->text = text;
  }
  Pickle pop() {
    if (stack_.size() <= floor()) wrong("an empty stack: the pickle is damaged");
    const Pickle value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Pickle top(Kind kind, Kind other) const {
    if (stack_.size() <= floor() || (stack_.back()->kind != kind && stack_.back()->kind != other))
      wrong("another value than expected: the pickle is damaged");
    return stack_.back();
  }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  std::vector<Pickle> since_mark() {
    if (marks_.empty()) wrong("no mark: the pickle is damaged");
    std::vector<Pickle> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  void push_list(std::vector<Pickle> items) {
    push(make(Kind::kList));
    stack_.back()->items = std::move(items);
  }
  void push_tuple(int count) {
    std::vector<Pickle> items(static_cast<std::size_t>(count));
    for (int i = count - 1; i >= 0; --i) items[i] = pop();
    push_list(std::move(items));
  }
  void extend(std::vector<Pickle> items, Kind kind) {
    std::vector<Pickle>& to = top(kind, Kind::kObject)->items;  // objects: the entries of a defaultdict
    to.insert(to.end(), items.begin(), items.end());
  }
  void construct() {
    constexpr std::size_t kMaxArguments = 16;  // each object copies its arguments: bounds the memory
    const Pickle arguments = pop(), made_by = pop();
    if (arguments->items.size() > kMaxArguments)
      wrong("an object of ", arguments->items.size(), " arguments");
    push(make(Kind::kObject));
    stack_.back()->text = made_by->text;
    // The argument of a defaultdict is its factory, not an entry.
    if (made_by->text != "collections defaultdict") stack_.back()->items = arguments->items;
  }
  void remember(std::uint64_t slot) {
    if (stack_.size() <= floor()) wrong("an empty stack: the pickle is damaged");
    memo_[slot] = stack_.back();
  }
  void recall(std::uint64_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end()) wrong("unknown memo ", slot, ": the pickle is damaged");
    push(found->second);
  }

  void step(char op);
  void step_with_argument(char op);

  std::unique_ptr<std::deque<PickleValue>> values_ = std::make_unique<std::deque<PickleValue>>();
  std::string_view bytes_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::vector<Pickle> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Pickle> memo_;
};

void PickleMachine::step(char op) {
  switch (op) {
    case '\x80':  // PROTO
      return void(take(1));
    case '\x95':  // FRAME
      return void(take(8));
    case '(':
      return marks_.push_back(stack_.size());
    case 'N':
      return push(make(Kind::kNone));
    case '\x88':
    case '\x89':
      return push_integer(op == '\x88');
    case ']':
    case ')':
      return push(make(Kind::kList));
    case '}':
      return push(make(Kind::kDict));
    case 't':
      return push_list(since_mark());
    case '\x85':
    case '\x86':
    case '\x87':
      return push_tuple(op - '\x85' + 1);
    case 'a': {
      const Pickle item = pop();
      return extend({item}, Kind::kList);
    }
    case 'e':
      return extend(since_mark(), Kind::kList);
    case 's': {
      const Pickle value = pop(), key = pop();
      return extend({key, value}, Kind::kDict);
    }
    case 'u':
      return extend(since_mark(), Kind::kDict);
    case 'c': {  // GLOBAL
      const std::string module(take_line());
      push(make(Kind::kClass));
      stack_.back()->text = module + " " + std::string(take_line());
      return;
    }
    case '\x93': {  // STACK_GLOBAL
      const Pickle name = pop(), module = pop();
      push(make(Kind::kClass));
      stack_.back()->text = module->text + " " + name->text;
      return;
    }
    case 'R':
    case '\x81':
      return construct();
    case 'b': {
      const Pickle state = pop();
      top(Kind::kObject, Kind::kObject)->state = state;
      return;
    }
    default:
      return step_with_argument(op);
  }
}

// Opcodes followed by an argument: numbers, strings and memo slots.
void PickleMachine::step_with_argument(char op) {
  switch (op) {
    case 'K':
      return push_integer(static_cast<std::int64_t>(number(1)));
    case 'M':
      return push_integer(static_cast<std::int64_t>(number(2)));
    case 'J':
      return push_integer(static_cast<std::int32_t>(number(4)));
    case '\x8a': {  // LONG1
      const std::uint64_t width = number(1);
      if (width > 8) wrong("an integer of more than 64 bits");
      std::uint64_t value = number(width);
      if (width > 0 && width < 8 && value >> (8 * width - 1)) value |= ~std::uint64_t{0} << (8 * width);
      return push_integer(static_cast<std::int64_t>(value));
    }
    case 'G': {  // big endian
      std::uint64_t raw = 0;
      for (const char c : take(8)) raw = raw << 8 | static_cast<unsigned char>(c);
      push(make(Kind::kFloat));
      stack_.back()->number = std::bit_cast<double>(raw);
      return;
    }
    case 'U':
    case 'C':
    case '\x8c':
      return push_text(take(number(1)));
    case 'T':
    case 'B':
    case 'X':
      return push_text(take(number(4)));
    case '\x8e':
    case '\x8d':
      return push_text(take(number(8)));
    case 'q':
      return remember(number(1));
    case 'r':
      return remember(number(4));
    case '\x94':
      return remember(memo_.size());
    case 'h':
      return recall(number(1));
    case 'j':
      return recall(number(4));
    case '\x96':
      wrong("has arrays of pickle protocol 5: write the file with protocol 4");
    default:
      wrong("opcode ", static_cast<int>(static_cast<unsigned char>(op)), " is not supported");
  }
}

}  // namespace

Pickle PickleValue::find(std::string_view key) const {
  for (std::size_t i = 0; i + 1 < items.size(); i += 2)
    if (items[i]->kind == Kind::kText && items[i]->text == key) return items[i + 1];
  return nullptr;
}

PickleFile parse_pickle(std::string_view bytes, const std::string& name) {
  return PickleMachine(bytes, name).run();
}

PickleFile read_pickle(const std::string& path) {
  check(std::filesystem::exists(path), path, ": no such file");
  std::ifstream file(path, std::ios::binary);
  check(file.is_open() && !std::filesystem::is_directory(path), path, ": cannot be opened for reading");
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return parse_pickle(bytes, path);
}

}  // namespace rodeo
