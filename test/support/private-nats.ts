import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import { HANG_LIMIT_MS } from './hang-limit.ts'
import { hasEnded, spawnUnreferenced } from './private-process.ts'

/** A NATS server that belongs to one test. It keeps its port through `kill` and `restart`. */
export interface PrivateNats {
  readonly url: string
  readonly port: number
  /** Ends the process as `kill -9` does; resolves when it is gone. */
  kill(): Promise<void>
  /** Kills it if it runs and starts it anew on the same port; resolves when it takes connections. */
  restart(): Promise<void>
  /** Stops the process with SIGSTOP: connections remain open without any response. */
  pause(): void
  /** Ends `pause`. */
  resume(): void
  /** Ends it and deletes its files. */
  stop(): Promise<void>
}

/**
 * Starts the `nats-server` at that path on a free port of 127.0.0.1, with a folder for its log in `parent_folder`.
 * `server_config` is the text of its configuration file.
 */
export async function spawnNats(
  program: string,
  server_config = '',
  parent_folder = tmpdir(),
): Promise<PrivateNats> {
  const folder = await mkdtemp(join(parent_folder, 'multihub-nats-'))
  const log = join(folder, 'log')
  const port = await freePort()
  let child: ChildProcess | undefined

  const kill = async (): Promise<void> => {
    if (!child || hasEnded(child)) return
    child.ref()
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const start = async (): Promise<void> => {
    const config = join(folder, 'config')
    await writeFile(config, server_config)
    const place = ['--addr', '127.0.0.1', '--port', String(port)]
    child = await spawnUnreferenced(program, [...place, '--config', config], log)
    await waitUntilReady(child, port, log)
  }
  const stop = async (): Promise<void> => {
    await kill()
    await rm(folder, { recursive: true, force: true })
  }

  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    kill,
    restart: () => kill().then(start),
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    stop,
  }
}

async function waitUntilReady(child: ChildProcess, port: number, log: string): Promise<void> {
  const deadline_ms = performance.now() + HANG_LIMIT_MS
  while (!(await sendsGreeting(port))) {
    if (hasEnded(child) || performance.now() > deadline_ms) {
      const state = hasEnded(child) ? 'ended' : `was not ready within ${HANG_LIMIT_MS} ms`
      throw new Error(`nats-server ${state}:\n${(await readFile(log, 'utf8')).slice(-2_000)}`)
    }
    await delay(20)
  }
}

// A connection is not enough, because the kernel accepts it for a stopped process too. The greeting proves that it runs.
async function sendsGreeting(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    const [greeting] = await once(socket, 'data', { signal: AbortSignal.timeout(1_000) })
    return String(greeting).startsWith('INFO')
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
