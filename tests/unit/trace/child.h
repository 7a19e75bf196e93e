// SPDX-License-Identifier: Apache-2.0
// A child process that works until it is killed, for what must survive that.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>

namespace convoy::trace {

class Child {
 public:
  // `work` writes a byte to `ready` once it has begun, and does not return. The constructor returns when it has begun.
  explicit Child(const std::function<void(int ready)>& work) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe");
    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error("fork");
    if (process_ == 0) {
      ::alarm(30);  // should the parent die
      work(ends[1]);
      ::_exit(1);
    }
    ::close(ends[1]);
    char byte = 0;
    const bool has_begun = ::read(ends[0], &byte, 1) == 1;
    ::close(ends[0]);
    if (!has_begun) throw std::runtime_error("the child ended before it had begun");
  }
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // SIGKILL, and waits for its end; once.
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  pid_t process_ = 0;
};

}  // namespace convoy::trace
