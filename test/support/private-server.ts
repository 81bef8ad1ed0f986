import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import { HANG_LIMIT_MS } from './hang-limit.ts'
import { endingWithParent } from './programs.ts'

/** A server that belongs to one test. It keeps its port through `kill` and `restart`. */
export interface PrivateServer {
  readonly port: number
  /** Ends the process as `kill -9` does; resolves when it is gone. */
  kill(): Promise<void>
  /** Kills it if it runs and starts it anew on the same port; resolves when it answers. */
  restart(): Promise<void>
  /** Stops the process with SIGSTOP: it accepts connections, those it has remain open, and it does not answer. */
  pause(): void
  /** Ends `pause`. */
  resume(): void
  /** Ends it and deletes its files. */
  stop(): Promise<void>
}

/** How a kind of server is started, and how it is seen that one answers. */
export interface ServerKind {
  readonly name: string
  /** Writes the files of the server into its folder; returns the arguments of the program. */
  prepare(folder: string, port: number): Promise<readonly string[]>
  /** What is sent on a new connection; nothing for a server that sends first. */
  readonly question: string
  /** How the response to the question begins. */
  readonly answer: string
}

/** Starts a server on a free port of 127.0.0.1, with a folder for its files in `parent_folder`, and waits until it answers. */
export async function spawnServer(
  program: string,
  kind: ServerKind,
  parent_folder = tmpdir(),
): Promise<PrivateServer> {
  const folder = await mkdtemp(join(parent_folder, `multihub-${kind.name}-`))
  const log = join(folder, 'log')
  const port = await freePort()
  const parameters = await kind.prepare(folder, port)
  let child: ChildProcess | undefined

  const kill = async (): Promise<void> => {
    if (!child || hasEnded(child)) return
    child.ref()
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const start = async (): Promise<void> => {
    child = await spawnUnreferenced(program, parameters, log)
    await waitUntilAnswering(child, kind, port, log)
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
    port,
    kill,
    restart: () => kill().then(start),
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    stop,
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

/** The output of the program goes to a file, and its process is unreferenced: neither keeps the test process alive. */
async function spawnUnreferenced(
  program: string,
  parameters: readonly string[],
  log: string,
): Promise<ChildProcess> {
  const [command, ...rest] = endingWithParent(program, parameters)
  const file = await open(log, 'a')
  try {
    const child = spawn(command, rest, { stdio: ['ignore', file.fd, file.fd] })
    await once(child, 'spawn')
    child.unref()
    return child
  } finally {
    await file.close()
  }
}

async function waitUntilAnswering(
  child: ChildProcess,
  kind: ServerKind,
  port: number,
  log: string,
): Promise<void> {
  const deadline_ms = performance.now() + HANG_LIMIT_MS
  while (!(await isAnswering(kind, port))) {
    if (hasEnded(child) || performance.now() > deadline_ms) {
      const state = hasEnded(child) ? 'ended' : `was not ready within ${HANG_LIMIT_MS} ms`
      throw new Error(`${kind.name} ${state}:\n${(await readFile(log, 'utf8')).slice(-2_000)}`)
    }
    await delay(20)
  }
}

// A connection is not enough, because the kernel accepts it for a stopped process too.
async function isAnswering({ question, answer }: ServerKind, port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    if (question !== '') socket.write(question)
    const [received] = await once(socket, 'data', { signal: AbortSignal.timeout(1_000) })
    return String(received).startsWith(answer)
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
