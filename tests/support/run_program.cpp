// SPDX-License-Identifier: Apache-2.0
#include "tests/support/run_program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

namespace convoy::support {
namespace {

// Files instead of pipes: a program that says much cannot block on us.
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File temporary() {
  File file(std::tmpfile(), &std::fclose);
  if (!file) throw std::system_error(errno, std::generic_category(), "tmpfile");
  return file;
}

std::string content(std::FILE* file) {
  std::string text;
  std::rewind(file);
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, file)) text.append(buffer, got);
  return text;
}

[[noreturn]] void become(const ProgramCall& call, std::FILE* in, std::FILE* out, std::FILE* err) {
  ::dup2(::fileno(in), STDIN_FILENO);
  ::dup2(::fileno(out), STDOUT_FILENO);
  ::dup2(::fileno(err), STDERR_FILENO);
  if (!call.directory.empty() && ::chdir(call.directory.c_str()) != 0) ::_exit(127);
  for (const std::string& setting : call.environment) {
    const std::size_t equals = setting.find('=');
    ::setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : call.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

ProgramResult run_program(const ProgramCall& call) {
  const File in = temporary(), out = temporary(), err = temporary();
  std::fwrite(call.input.data(), 1, call.input.size(), in.get());
  std::fflush(in.get());
  std::rewind(in.get());
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) become(call, in.get(), out.get(), err.get());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content(out.get()), content(err.get())};
}

}  // namespace convoy::support
