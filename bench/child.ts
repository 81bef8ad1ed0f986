import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** A process of a benchmark's own, beside the one that measures. */
export interface BenchChild {
  readonly pid: number
  /** What it said when it was ready: the port that it listens on, where it has one. */
  readonly ready: unknown
  /** Sends it a message and answers the one that comes back. Throws when it ends instead. */
  ask(question: object): Promise<unknown>
  end(): void
}

/** Starts a file of `bench/` and waits until it says that it is ready; what it needs to know is in its environment. */
export async function startChild(
  file: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<BenchChild> {
  const child = fork(new URL(file, import.meta.url), {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: { ...process.env, ...environment },
  })
  return {
    pid: child.pid ?? 0,
    ready: await messageOf(child, file),
    ask(question) {
      const answered = messageOf(child, file)
      child.send(question)
      return answered
    },
    end: () => void child.kill('SIGKILL'),
  }
}

async function messageOf(child: ChildProcess, file: string): Promise<unknown> {
  const over = new AbortController()
  const { signal } = over
  try {
    const ended = once(child, 'exit', { signal }).then(([code]) => {
      throw new Error(`${file} ended with ${code}`)
    })
    const [message] = await Promise.race([once(child, 'message', { signal }), ended])
    return message
  } finally {
    over.abort()
  }
}
