# One INTERFACE target with what every target of the house is built with, and the
# three functions that make libraries, programs and tests.

add_library(tidekeeper_options INTERFACE)
target_compile_features(tidekeeper_options INTERFACE cxx_std_20)
target_compile_options(tidekeeper_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
    -fvisibility=hidden -fvisibility-inlines-hidden)
target_compile_definitions(tidekeeper_options INTERFACE
    QT_NO_KEYWORDS QT_NO_CAST_FROM_ASCII QT_NO_CAST_TO_ASCII QT_NO_FOREACH
    $<$<CONFIG:Debug>:QT_FORCE_ASSERTS>)

if(TIDEKEEPER_FAULT_POINTS)
    target_compile_definitions(tidekeeper_options INTERFACE TIDEKEEPER_FAULT_POINTS)
endif()

if(TIDEKEEPER_SANITIZE)
    target_compile_options(tidekeeper_options INTERFACE
        -fsanitize=${TIDEKEEPER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(tidekeeper_options INTERFACE -fsanitize=${TIDEKEEPER_SANITIZE})
endif()

find_program(TIDEKEEPER_CCACHE ccache)
if(TIDEKEEPER_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${TIDEKEEPER_CCACHE}")
endif()

# tidekeeper_add_library(redis SOURCES a.cpp … LINK Qt6::Core …)
# makes the static library tidekeeper_redis with the alias Tidekeeper::redis.
# Headers are included as "redis/redisconnection.h", from the folder above.
function(tidekeeper_add_library name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
    add_library(tidekeeper_${name} STATIC ${ARG_SOURCES})
    add_library(Tidekeeper::${name} ALIAS tidekeeper_${name})
    target_include_directories(tidekeeper_${name} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}/..")
    target_link_libraries(tidekeeper_${name}
        PUBLIC ${ARG_LINK}
        PRIVATE tidekeeper_options ${ARG_PRIVATE_LINK})
endfunction()

# tidekeeper_add_test(tst_cron SOURCES tst_cron.cpp LINK Tidekeeper::core … [TIMEOUT s] [LABELS …]
#     [BOTH_DATABASES])
# makes one Qt Test program and registers it with ctest; BOTH_DATABASES: twice, on SQLite and as
# tst_cron.postgres, for programs whose test::TestDatabase is all they know of SQL.
function(tidekeeper_add_test name)
    cmake_parse_arguments(ARG "BOTH_DATABASES" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 120)
    endif()
    add_executable(${name} ${ARG_SOURCES})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    target_link_libraries(${name} PRIVATE tidekeeper_options Qt6::Test ${ARG_LINK})
    target_compile_definitions(${name} PRIVATE
        TIDEKEEPER_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
        TIDEKEEPER_BINARY_DIR="${PROJECT_BINARY_DIR}")
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
        ENVIRONMENT "QT_QPA_PLATFORM=offscreen")
    if(ARG_BOTH_DATABASES)
        add_test(NAME ${name}.postgres COMMAND ${name})
        set_tests_properties(${name}.postgres PROPERTIES TIMEOUT ${ARG_TIMEOUT}
            LABELS "${ARG_LABELS};postgres" SKIP_RETURN_CODE 77
            ENVIRONMENT "QT_QPA_PLATFORM=offscreen;TIDEKEEPER_TEST_DATABASE=postgres")
    endif()
endfunction()
