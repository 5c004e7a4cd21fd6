# External libraries, all Debian packages (tools/install_packages.sh), and the layers that use them.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(dnnl CONFIG REQUIRED)

# layer | libraries. The layers above link them too.
set(LAPTIME_LAYER_LIBRARIES
  "base        | fmt::fmt Threads::Threads"
  "table       | nlohmann_json::nlohmann_json"
  "config      | nlohmann_json::nlohmann_json tomlplusplus::tomlplusplus"
  "data        | nlohmann_json::nlohmann_json"
  "backend/cpu | DNNL::dnnl gomp"
  "record      | nlohmann_json::nlohmann_json SQLite::SQLite3"
  "cli         | CLI11::CLI11"
)
