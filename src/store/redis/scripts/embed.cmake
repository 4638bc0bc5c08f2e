# Turns the .lua files into one source file: text and SHA1 (what EVALSHA asks for).
# cmake -DDIR=<scripts> -DNAMES=a,b -DOUT=<file> -P embed.cmake
string(REPLACE "," ";" NAMES "${NAMES}")
set(text "// Made from src/store/redis/scripts/*.lua by embed.cmake.\n#include \"store/redis/scripts.hpp\"\n\nnamespace penstock::store::scripts {\n\n")
foreach(name IN LISTS NAMES)
  file(READ "${DIR}/${name}.lua" body)
  file(SHA1 "${DIR}/${name}.lua" sha)
  string(APPEND text "const Script ${name}{\"${name}\", \"${sha}\", R\"lua(${body})lua\"};\n\n")
endforeach()
string(APPEND text "}  // namespace penstock::store::scripts\n")
file(WRITE "${OUT}" "${text}")
