/*
 * Holds a pod's namespaces: waits for a signal, reaps children, ends on SIGINT and SIGTERM.
 *
 * The signals are blocked and waited for. The first process of a PID namespace gets no signal that
 * it has no handler for, except those that it blocks (kernel/signal.c, sig_ignored).
 */
#include "../syscall.h"

enum { SIGINT = 2, SIGTERM = 15, SIGCHLD = 17, SIG_BLOCK = 0, WNOHANG = 1, ANY_CHILD = -1 };

static unsigned long bit(int signal) { return 1UL << (signal - 1); }

static void reap(void) {
    while (syscall4(SYS_wait4, ANY_CHILD, 0, WNOHANG, 0) > 0) {
    }
}

__attribute__((noreturn)) void _start(void) {
    unsigned long signals = bit(SIGINT) | bit(SIGTERM) | bit(SIGCHLD);
    syscall4(SYS_rt_sigprocmask, SIG_BLOCK, (long)&signals, 0, sizeof signals);
    for (;;) {
        long signal = syscall4(SYS_rt_sigtimedwait, (long)&signals, 0, 0, sizeof signals);
        if (signal == SIGCHLD) reap();
        if (signal == SIGINT || signal == SIGTERM) exit_with(0);
    }
}
