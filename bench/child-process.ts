import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** A process that a benchmark starts, separate from the process that measures. */
export interface BenchChild {
  readonly pid: number
  /** The first message of the process, sent when it is ready: the port that it listens on, if it listens. */
  readonly ready: unknown
  /** Sends a message and returns the reply. Throws when the process exits instead of replying. */
  request(message: object): Promise<unknown>
  kill(): void
}

/** Starts a file of `bench/` and waits for its first message. Parameters are passed as process variables. */
export async function startChild(
  file: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<BenchChild> {
  const child = fork(new URL(file, import.meta.url), {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: { ...process.env, ...variables },
  })
  return {
    pid: child.pid ?? 0,
    ready: await nextMessage(child, file),
    request(message) {
      const reply = nextMessage(child, file)
      child.send(message)
      return reply
    },
    kill: () => void child.kill('SIGKILL'),
  }
}

async function nextMessage(child: ChildProcess, file: string): Promise<unknown> {
  const listeners = new AbortController()
  const { signal } = listeners
  try {
    const exited = once(child, 'exit', { signal }).then(([code]) => {
      throw new Error(`${file} exited with ${code}`)
    })
    const [message] = await Promise.race([once(child, 'message', { signal }), exited])
    return message
  } finally {
    listeners.abort()
  }
}
