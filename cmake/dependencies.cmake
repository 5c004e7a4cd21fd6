# External libraries, all Debian packages (tools/install_packages.sh), and the layers that use them.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(SQLite3 REQUIRED)

# layer | libraries. Layers above link them too.
set(LAPTIME_LAYER_LIBRARIES
  "base        | fmt::fmt nlohmann_json::nlohmann_json Threads::Threads"
  "config      | tomlplusplus::tomlplusplus"
  "record      | SQLite::SQLite3"
)
