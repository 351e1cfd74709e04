# What is installed, and the packages: cmake --install, cpack -G DEB, scripts/release_check.
include(GNUInstallDirs)

# The manual page and the completions are what the program itself prints.
set(extras "${CMAKE_BINARY_DIR}/extras")
function(holon_print file)
  add_custom_command(OUTPUT "${extras}/${file}" VERBATIM DEPENDS holon
    COMMAND ${CMAKE_COMMAND} -E make_directory "${extras}"
    COMMAND env -i HOME=/nonexistent $<TARGET_FILE:holon> ${ARGN} > "${extras}/${file}")
endfunction()
holon_print(holon.1 help --man)
holon_print(holon.bash completion bash)
holon_print(holon.zsh completion zsh)
holon_print(holon.fish completion fish)
add_custom_command(OUTPUT "${extras}/holon.1.gz" VERBATIM DEPENDS "${extras}/holon.1"
  COMMAND gzip --keep --force --best --no-name "${extras}/holon.1")
add_custom_target(extras DEPENDS "${extras}/holon.1.gz" "${extras}/holon.bash" "${extras}/holon.zsh"
  "${extras}/holon.fish")

install(TARGETS holon RUNTIME)
install(FILES "${extras}/holon.1.gz" DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES "${extras}/holon.bash" DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME holon)
install(FILES "${extras}/holon.zsh" DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
  RENAME _holon)
install(FILES "${extras}/holon.fish" DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# The unit names the program where it is installed.
install(CODE "set(bin \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
  configure_file(\"${CMAKE_SOURCE_DIR}/packaging/holon.service\" \"${extras}/holon.service\" @ONLY)")
install(FILES "${extras}/holon.service" DESTINATION lib/systemd/user)
install(FILES "${extras}/copyright" DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_file(packaging/debian/changelog "${extras}/changelog" @ONLY)
configure_file(packaging/debian/copyright "${extras}/copyright" COPYONLY)
execute_process(COMMAND gzip --keep --force --best --no-name "${extras}/changelog" COMMAND_ERROR_IS_FATAL ANY)
install(FILES "${extras}/changelog.gz" DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "holon maintainers <maintainers@holon.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "runtime that keeps agents alive")
set(CPACK_PACKAGE_DESCRIPTION "holon runs agents: models that work in rounds and act through tools in a
project folder. Each turn is a state machine in a database, so that a crash
loses no work. A daemon wakes agents for prompts, timers and webhooks, and
commands run behind a boundary that the kernel enforces.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "git, ca-certificates")
set(CPACK_STRIP_FILES OFF)  # The program is, already.
include(CPack)
