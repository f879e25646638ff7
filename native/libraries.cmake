# What knows no Python: the recorder as a library of its own, and what makes traces and files of recordings.

# libkinetograph.so: the recorder. It must load without Python; tests/native checks that.
add_library(kinetograph SHARED
  base/clock.cpp base/strings.cpp base/fork.cpp base/temporary_file.cpp
  record/memory.cpp record/keeper.cpp record/recorder.cpp record/sessions.cpp record/gather.cpp record/given_names.cpp
  record/open_scopes.cpp
  record/thread_buffer.cpp record/extents.cpp record/lanes.cpp record/told_operators.cpp record/scope_cost.cpp
  record/losses.cpp record/journal.cpp
  record/session_memory.cpp record/session_file.cpp record/mapped_file.cpp record/slab_copy.cpp record/recover.cpp record/abi.cpp
  agent/frame.cpp agent/listener.cpp agent/agent.cpp)

# The headers of CUPTI and CUDA: of NVIDIA's wheels, as the build requirements bring them, or of a toolkit. Nothing is
# linked, so that one build runs with and without CUDA. Without the headers the collector says that it is missing.
if(KINETOGRAPH_CUPTI)
  find_package(Python 3.11 COMPONENTS Interpreter)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
      "import os, sys; print(next((d for p in sys.path for d in [os.path.join(p, 'nvidia/cu13/include')] if os.path.exists(os.path.join(d, 'cupti.h'))), ''))"
    OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE cupti_wheel)
  find_path(KINETOGRAPH_CUPTI_INCLUDE cupti.h
            HINTS ${cupti_wheel} $ENV{CUDA_HOME}/extras/CUPTI/include /usr/local/cuda/extras/CUPTI/include)
  find_path(KINETOGRAPH_CUDA_INCLUDE cuda_occupancy.h
            HINTS ${cupti_wheel} $ENV{CUDA_HOME}/include /usr/local/cuda/include)
  # What all of these include may be in another wheel, which torch does not bring.
  find_path(KINETOGRAPH_CRT_INCLUDE crt/host_defines.h
            HINTS ${cupti_wheel} $ENV{CUDA_HOME}/include /usr/local/cuda/include)
  set(KINETOGRAPH_CUDA_HEADERS ${KINETOGRAPH_CUPTI_INCLUDE} ${KINETOGRAPH_CUDA_INCLUDE} ${KINETOGRAPH_CRT_INCLUDE}
      CACHE INTERNAL "folders")
endif()
if(KINETOGRAPH_CUPTI AND KINETOGRAPH_CUPTI_INCLUDE AND KINETOGRAPH_CUDA_INCLUDE AND KINETOGRAPH_CRT_INCLUDE)
  try_compile(KINETOGRAPH_CUPTI_COMPILES ${CMAKE_CURRENT_BINARY_DIR}/cupti_headers
              ${CMAKE_CURRENT_SOURCE_DIR}/collect/cupti/headers_check.cpp
              CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${KINETOGRAPH_CUDA_HEADERS}"
              CXX_STANDARD 20)
endif()
if(KINETOGRAPH_CUPTI_COMPILES)
  target_sources(kinetograph PRIVATE
    collect/cupti/library.cpp collect/cupti/record_sizes.cpp collect/cupti/buffers.cpp collect/cupti/devices.cpp
    collect/cupti/shapes.cpp collect/cupti/calls.cpp collect/cupti/decoder.cpp collect/cupti/decoder_thread.cpp
    collect/cupti/memory.cpp collect/cupti/call_log.cpp collect/cupti/captures.cpp collect/cupti/collectives.cpp
    collect/cupti/synchronize.cpp collect/cupti/attachment.cpp collect/cupti/collector.cpp
    collect/cuda_events/driver.cpp collect/cuda_events/context_events.cpp collect/cuda_events/timer.cpp
    collect/cuda_events/collector.cpp
    # Counters in hardware.
    collect/cupti/metric_functions.cpp collect/cupti/metric_host.cpp collect/cupti/metric_choice.cpp
    collect/cupti/metric_devices.cpp collect/cupti/range_profiler.cpp collect/cupti/launch_log.cpp
    collect/cupti/range_events.cpp collect/cupti/metric_session.cpp collect/cupti/metrics.cpp
    collect/cupti/pm_sampler.cpp collect/cupti/sampling_session.cpp)
  target_include_directories(kinetograph SYSTEM PRIVATE ${KINETOGRAPH_CUDA_HEADERS})
  target_link_libraries(kinetograph PRIVATE ${CMAKE_DL_LIBS})
else()
  message(STATUS "the headers of CUPTI 13 were not found: CUDA will not be recorded")
  target_sources(kinetograph PRIVATE
    collect/cupti/collector_missing.cpp collect/cuda_events/collector_missing.cpp collect/cupti/metrics_missing.cpp)
endif()

# Our scopes in other people's tools. The headers of NVTX are those of NVIDIA's wheel, or of a toolkit; ITT needs none.
if(KINETOGRAPH_NVTX)
  find_path(KINETOGRAPH_NVTX_INCLUDE nvtx3/nvToolsExtPayload.h
            HINTS ${cupti_wheel} $ENV{CUDA_HOME}/include /usr/local/cuda/include)
endif()
target_sources(kinetograph PRIVATE
  emit/name.cpp emit/range.cpp emit/itt_client.cpp emit/itt.cpp emit/itt_tool.cpp emit/nvtx_tool.cpp emit/open_ranges.cpp
  emit/scopes.cpp emit/jit.cpp)
if(KINETOGRAPH_NVTX AND KINETOGRAPH_NVTX_INCLUDE)
  target_sources(kinetograph PRIVATE emit/nvtx.cpp)
  target_include_directories(kinetograph SYSTEM PRIVATE ${KINETOGRAPH_NVTX_INCLUDE})
else()
  message(STATUS "the headers of NVTX were not found: scopes will not be emitted to it")
  target_sources(kinetograph PRIVATE emit/nvtx_missing.cpp)
endif()
target_link_libraries(kinetograph PRIVATE ${CMAKE_DL_LIBS})
target_include_directories(kinetograph PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/include)
target_link_libraries(kinetograph PUBLIC Threads::Threads)
# Never unloaded: threads have destructors here, the keeper runs here, and tables of functions are in foreign hands.
target_link_options(kinetograph PRIVATE -Wl,-z,nodelete)
# The waist and the formats: what turns a recording into columns, and columns into files.
add_library(kinetograph_trace STATIC
  trace/column.cpp trace/strings.cpp trace/trace.cpp trace/track_index.cpp trace/builder.cpp trace/row_writer.cpp
  trace/device_rows.cpp trace/pause_rows.cpp trace/build_notes.cpp trace/samples.cpp
  trace/told_rows.cpp trace/running_lanes.cpp trace/device_memory.cpp trace/graph_launches.cpp trace/timed_scopes.cpp
  trace/launches.cpp trace/device_links.cpp trace/collectives.cpp trace/ranges.cpp trace/operator_args.cpp
  trace/start_order.cpp
  trace/nesting.cpp trace/object_numbers.cpp trace/event_args.cpp trace/name_rules.cpp trace/device_work.cpp trace/memory_use.cpp
  trace/averages.cpp trace/call_depth.cpp trace/call_tree.cpp trace/join.cpp trace/merge.cpp
  format/json_text.cpp format/json_number.cpp format/json_cursor.cpp format/json_check.cpp
  format/event_parser.cpp format/begin_ends.cpp format/trace_filler.cpp format/chrome_json_reader.cpp
  format/flows.cpp format/sequence_arrows.cpp format/name_rows.cpp format/event_writer.cpp format/chrome_json_writer.cpp
  format/json_pieces.cpp format/perfetto_interning.cpp format/perfetto_annotations.cpp format/perfetto_packets.cpp
  format/perfetto_tracks.cpp format/perfetto_arrows.cpp format/perfetto_counters.cpp format/perfetto_writer.cpp
  format/perfetto_sequence.cpp format/perfetto_values.cpp format/perfetto_places.cpp format/perfetto_links.cpp
  format/perfetto_packet_reader.cpp format/perfetto_reader.cpp format/folded.cpp
  intra_kernel/buffer.cpp intra_kernel/segment.cpp intra_kernel/segment_clock.cpp intra_kernel/segment_rows.cpp
  intra_kernel/decode.cpp intra_kernel/offset_fit.cpp intra_kernel/launch_tracker.cpp
  intra_kernel/attribution.cpp intra_kernel/join.cpp
  intra_kernel/task_times.cpp)
target_link_libraries(kinetograph_trace PUBLIC kinetograph)
# Two such builds are most of what CI compiles. Elsewhere each file has to include what it needs.
if(KINETOGRAPH_SANITIZE)
  foreach(library kinetograph kinetograph_trace)
    target_precompile_headers(${library} PRIVATE <algorithm> <atomic> <condition_variable> <functional> <map> <memory>
                              <mutex> <optional> <stdexcept> <string> <string_view> <thread> <unordered_map> <vector>)
  endforeach()
endif()

# What other people's annotations reach us by: loaded by whoever annotates, also where there is no Python. It records
# through the C table only.
add_library(kinetograph_annotations SHARED
  inject/itt.cpp inject/itt_names.cpp inject/itt_counters.cpp
  inject/domain.cpp inject/names.cpp inject/counted_note.cpp inject/recent_looks.cpp inject/nested_ranges.cpp inject/events.cpp inject/text.cpp inject/thread_state.cpp inject/library_lock.cpp inject/process.cpp
  inject/clients.cpp)
if(KINETOGRAPH_NVTX AND KINETOGRAPH_NVTX_INCLUDE)
  target_sources(kinetograph_annotations PRIVATE
    inject/nvtx.cpp inject/nvtx_extensions.cpp inject/nvtx_schemas.cpp inject/nvtx_layout.cpp inject/nvtx_payload.cpp inject/nvtx_values.cpp inject/nvtx_meaning.cpp inject/nvtx_counters.cpp
    inject/torch_names.cpp)
  target_include_directories(kinetograph_annotations SYSTEM PRIVATE ${KINETOGRAPH_NVTX_INCLUDE})
else()
  message(STATUS "the headers of NVTX were not found: annotations by it will not be recorded")
endif()
target_link_libraries(kinetograph_annotations PRIVATE kinetograph ${CMAKE_DL_LIBS})
target_link_options(kinetograph_annotations PRIVATE -Wl,-z,nodelete)
set_target_properties(kinetograph_annotations PROPERTIES INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
