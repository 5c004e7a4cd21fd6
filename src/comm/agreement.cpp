// Exchanges texts between ranks; each text is preceded by its length.
#include "comm/agreement.h"

#include <algorithm>
#include <cstdint>

#include "base/proc_text.h"

namespace laptime {
namespace {

std::byte* bytes_of(int64_t& number) { return reinterpret_cast<std::byte*>(&number); }
std::byte* bytes_of(std::string& text) { return reinterpret_cast<std::byte*>(text.data()); }

// Sends `own` to the ranks for which sends(rank) holds. Returns a text per rank: `own` for this rank, the text received
// from each rank for which receives(rank) holds, and an empty text for all others.
template <class Sends, class Receives>
std::vector<std::string> swap_texts(Group& group, std::string own, const Sends& sends, const Receives& receives) {
  const auto size = static_cast<size_t>(group.size());
  auto length = static_cast<int64_t>(own.size());
  std::vector<int64_t> lengths(size);
  std::vector<std::string> texts(size);
  std::vector<Message> outgoing;
  std::vector<Message> incoming;
  const auto add_all = [&](std::byte* data, int64_t bytes, const auto& to) {
    outgoing.clear();
    incoming.clear();
    for (int peer = 0; peer < group.size(); ++peer) {
      if (peer == group.rank()) continue;
      if (sends(peer)) outgoing.push_back({peer, data, bytes});
      if (receives(peer)) incoming.push_back(to(peer));
    }
    group.exchange(outgoing, incoming);
  };
  add_all(bytes_of(length), sizeof(length), [&](int peer) {
    return Message{peer, bytes_of(lengths[static_cast<size_t>(peer)]), sizeof(int64_t)};
  });
  add_all(bytes_of(own), length, [&](int peer) {
    std::string& text = texts[static_cast<size_t>(peer)];
    text.resize(static_cast<size_t>(lengths[static_cast<size_t>(peer)]));
    return Message{peer, bytes_of(text), static_cast<int64_t>(text.size())};
  });
  texts[static_cast<size_t>(group.rank())] = std::move(own);
  return texts;
}

}  // namespace

std::string broadcast(Group& group, const std::string& text) {
  const bool is_first = group.rank() == 0;
  return swap_texts(
             group, text, [&](int) { return is_first; }, [&](int peer) { return !is_first && peer == 0; })
      .front();
}

std::vector<std::string> gather(Group& group, const std::string& text) {
  return swap_texts(
      group, text, [](int) { return true; }, [](int) { return true; });
}

int local_rank(Group& group) {
  // Compares boot ids, because containers of one machine may have different names but share its devices.
  const std::vector<std::string> machines =
      gather(group, read_word("/proc/sys/kernel/random/boot_id").value_or(std::string()));
  const auto own = machines.begin() + group.rank();
  return static_cast<int>(std::count(machines.begin(), own, *own));
}

bool decide(Group& group, bool own) {
  char decision = own ? 1 : 0;
  char unread = 0;
  auto* const data = reinterpret_cast<std::byte*>(&decision);
  std::vector<Message> outgoing;
  std::vector<Message> incoming;
  if (group.rank() != 0) {
    outgoing.push_back({0, reinterpret_cast<std::byte*>(&unread), 1});
    group.exchange(outgoing, {});
    incoming.push_back({0, data, 1});
    group.exchange({}, incoming);
    return decision != 0;
  }
  for (int peer = 1; peer < group.size(); ++peer) {
    incoming.push_back({peer, reinterpret_cast<std::byte*>(&unread), 1});
    outgoing.push_back({peer, data, 1});
  }
  group.exchange({}, incoming);
  group.exchange(outgoing, {});
  return own;
}

}  // namespace laptime
