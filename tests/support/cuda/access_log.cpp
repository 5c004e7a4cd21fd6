// Compares each access to an element with earlier accesses.
#include "support/cuda/access_log.h"

#include <fmt/format.h>

#include <string_view>

namespace laptime::test {
namespace {

std::string described(const Actor& actor, std::string_view verb) {
  const std::string_view path = actor.place.file;
  return fmt::format("thread {} of block {} {} at {}:{}", actor.thread, actor.block, verb,
                     path.substr(path.rfind('/') + 1), actor.place.line);
}

std::string race(const Actor& before, std::string_view before_verb, const Actor& now, std::string_view now_verb) {
  return fmt::format("race: {}, and {}, with no barrier between", described(before, before_verb),
                     described(now, now_verb));
}

bool same_interval(const Actor& a, const Actor& b) { return a.block == b.block && a.interval == b.interval; }

}  // namespace

std::optional<std::string> AccessLog::load(const void* address, const Actor& actor) {
  Element& element = elements_[address];
  if (element.writer && element.writer->races_with(actor)) return race(*element.writer, "writes", actor, "reads");
  if (!element.first_reader) element.first_reader = actor;
  if (element.first_reader->block != actor.block) element.other_block = actor;
  if (!element.reader || !same_interval(*element.reader, actor)) {
    element.reader = actor;
    element.other_thread.reset();
  } else if (element.reader->thread != actor.thread) {
    element.other_thread = actor;
  }
  return std::nullopt;
}

std::optional<std::string> AccessLog::store(const void* address, const Actor& actor) {
  Element& element = elements_[address];
  if (element.writer && element.writer->races_with(actor)) return race(*element.writer, "writes", actor, "writes");
  for (const auto& reader : {element.reader, element.other_thread, element.first_reader, element.other_block}) {
    if (reader && reader->races_with(actor)) return race(*reader, "reads", actor, "writes");
  }
  element = {};
  element.writer = actor;
  return std::nullopt;
}

bool AccessLog::is_written(const void* address) const {
  const auto found = elements_.find(address);
  return found != elements_.end() && found->second.writer.has_value();
}

}  // namespace laptime::test
