# tidekeeper_add_plugin(<id>
#     SOURCES  a.cpp …
#     METADATA <id>.json.in      what the engine reads before it runs any code of the plugin
#     [LINK    …]                private libraries; they must not show in the plugin's interfaces
#     [NO_INSTALL])
#
# Makes the MODULE library <id>.so in ${CMAKE_BINARY_DIR}/lib/tidekeeper/plugins and an install rule (component
# "plugins"). METADATA is plain JSON; @VARIABLES@ are replaced (for example "Version": "@PROJECT_VERSION@"), the
# key SdkVersion is added by this function, and the result is <id>.json, found by
#     Q_PLUGIN_METADATA(IID TIDEKEEPER_PLUGIN_IID FILE "<id>.json")
function(tidekeeper_add_plugin id)
    cmake_parse_arguments(ARG "NO_INSTALL" "METADATA" "SOURCES;LINK" ${ARGN})
    if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_SOURCES OR NOT ARG_METADATA)
        message(FATAL_ERROR
            "tidekeeper_add_plugin(${id}): write SOURCES a.cpp … METADATA ${id}.json.in [LINK …] [NO_INSTALL].")
    endif()

    set(json "${CMAKE_CURRENT_BINARY_DIR}/${id}.metadata/${id}.json")
    _tidekeeper_write_metadata("${ARG_METADATA}" "${json}")

    add_library(${id} MODULE ${ARG_SOURCES})
    target_compile_definitions(${id} PRIVATE QT_PLUGIN)
    target_include_directories(${id} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/${id}.metadata")
    target_link_libraries(${id} PRIVATE Tidekeeper::Sdk ${ARG_LINK})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # A missing symbol is found now, by the linker, and not by the engine's user.
        target_link_options(${id} PRIVATE "LINKER:-z,defs")
    endif()
    set_target_properties(${id} PROPERTIES
        AUTOMOC ON
        PREFIX ""
        OUTPUT_NAME "${id}"
        LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib/tidekeeper/plugins"
        CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON)

    # moc compiles the metadata into the library. Ninja sees that a changed JSON file makes moc run again, but
    # not that a source which includes moc's output is stale: without this it would keep the old metadata.
    set_property(SOURCE ${ARG_SOURCES} APPEND PROPERTY OBJECT_DEPENDS "${json}")

    if(NOT ARG_NO_INSTALL)
        if(NOT CMAKE_INSTALL_LIBDIR)
            include(GNUInstallDirs)
        endif()
        install(TARGETS ${id}
            LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/tidekeeper/plugins" COMPONENT plugins)
    endif()
endfunction()

function(_tidekeeper_write_metadata input output)
    get_filename_component(input "${input}" ABSOLUTE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${input}")
    file(READ "${input}" metadata)
    string(CONFIGURE "${metadata}" metadata @ONLY)
    get_target_property(sdk_version Tidekeeper::Sdk TIDEKEEPER_SDK_VERSION)
    string(JSON metadata ERROR_VARIABLE error SET "${metadata}" SdkVersion "\"${sdk_version}\"")
    if(error)
        message(FATAL_ERROR "${input} is not a JSON object: ${error}")
    endif()
    file(CONFIGURE OUTPUT "${output}" CONTENT "${metadata}" @ONLY)
endfunction()
