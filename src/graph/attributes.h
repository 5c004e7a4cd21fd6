// Attributes: the parameters of an op (an axis, a scale, a shape), stored by value as a type-erased plain struct.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "base/error.h"
#include "base/fields.h"
#include "tensor/shape.h"

namespace laptime {

// Contains one trivially copyable struct; text() prints the fields that the struct lists (base/fields.h).
class Attributes {
 public:
  Attributes() = default;

  template <class T>
  requires(!std::is_same_v<std::decay_t<T>, Attributes>) Attributes(const T& value)
      : type_(&kTypeOf<T>) {  // NOLINT(google-explicit-constructor): converts implicitly from a struct
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kCapacity);
    std::memcpy(bytes_.data(), &value, sizeof(T));
  }

  template <class T>
  const T& as() const {
    LAPTIME_CHECK(!empty() && *type_->id == typeid(T), "attributes of another type: {}", text());
    return *reinterpret_cast<const T*>(bytes_.data());
  }

  bool empty() const { return type_ == nullptr; }
  std::string text() const { return type_ == nullptr ? "" : type_->print(bytes_.data()); }

 private:
  static constexpr size_t kCapacity = 96;

  // Types are compared by typeid, because code compiled for another instruction set has its own copy of kTypeOf
  // (cmake/op_files.cmake).
  struct Type {
    const std::type_info* id;
    std::string (*print)(const std::byte*);
  };
  template <class T>
  static constexpr Type kTypeOf{
      &typeid(T),
      [](const std::byte* bytes) { return print_fields(*reinterpret_cast<const T*>(bytes)); },
  };

  const Type* type_ = nullptr;
  alignas(8) std::array<std::byte, kCapacity> bytes_{};
};

}  // namespace laptime
