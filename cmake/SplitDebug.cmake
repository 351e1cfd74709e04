# The program is used without its debug information, which lies beside it and is found by debuggers.
function(holon_split_debug target)
  find_program(OBJCOPY NAMES llvm-objcopy-19 objcopy REQUIRED)
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND ${OBJCOPY} --only-keep-debug $<TARGET_FILE:${target}> $<TARGET_FILE:${target}>.debug
    COMMAND ${OBJCOPY} --strip-all --add-gnu-debuglink=$<TARGET_FILE:${target}>.debug $<TARGET_FILE:${target}>)
endfunction()
