import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { EICAR } from '../../services/attachments/domain/content/samples.fixture.ts'
import { freePort } from './free-port.ts'
import { HANG_LIMIT_MS } from './hang-limit.ts'
import { hasEnded, spawnUnreferenced } from './private-process.ts'

/** A clamd of one test, with a database that knows EICAR only. */
export interface PrivateClamd {
  /** For `MULTIHUB_SCANNER`. */
  readonly address: string
  kill(): Promise<void>
  /** Starts it again on the same port. */
  restart(): Promise<void>
  /** Stops its process, so that it accepts connections and does not answer. */
  pause(): void
  resume(): void
  /** Ends it and deletes its files. */
  stop(): Promise<void>
}

const CLAMD_CONF = join(import.meta.dirname, '../../deploy/components/scanner/clamd.conf')

/** Longer streams are refused with an error, as with any larger setting. */
export const CLAMD_STREAM_MAX_BYTES = 2 * 1024 * 1024

/** Starts clamd and waits until it answers. */
export async function spawnClamd(program: string): Promise<PrivateClamd> {
  const folder = await mkdtemp(join(tmpdir(), 'multihub-clamd-'))
  const log = join(folder, 'clamd.log')
  const config = join(folder, 'clamd.conf')
  const port = await freePort()
  await writeFile(join(folder, 'eicar.ndb'), `Eicar-Test-Signature:0:0:${EICAR.toString('hex')}\n`)
  await writeFile(config, await settings(port, folder))
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    child = await spawnUnreferenced(program, ['--config-file', config], log)
    await waitUntilReady(child, port, log)
  }
  const kill = async (): Promise<void> => {
    if (child === undefined || hasEnded(child)) return
    child.ref()
    child.kill('SIGKILL')
    await once(child, 'exit')
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
    address: `clamd://127.0.0.1:${port}`,
    kill,
    restart: () => kill().then(start),
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    stop,
  }
}

/** The settings of the manifests, with the places and the smaller stream of a test. */
async function settings(port: number, folder: string): Promise<string> {
  const lines = (await readFile(CLAMD_CONF, 'utf8')).split('\n')
  return [
    ...lines.filter((line) => !/^(LocalSocket|TCPSocket|User|StreamMaxLength) /.test(line)),
    'Foreground yes',
    `TCPSocket ${port}`,
    'TCPAddr 127.0.0.1',
    `DatabaseDirectory ${folder}`,
    `StreamMaxLength ${CLAMD_STREAM_MAX_BYTES}`,
    'Bytecode no',
    'MaxThreads 4',
    '',
  ].join('\n')
}

async function waitUntilReady(child: ChildProcess, port: number, log: string): Promise<void> {
  const deadline_ms = performance.now() + HANG_LIMIT_MS
  while (!(await answersPing(port))) {
    if (hasEnded(child) || performance.now() > deadline_ms) {
      const state = hasEnded(child) ? 'ended' : `was not ready within ${HANG_LIMIT_MS} ms`
      throw new Error(`clamd ${state}:\n${(await readFile(log, 'utf8')).slice(-2_000)}`)
    }
    await delay(20)
  }
}

async function answersPing(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    socket.write('zPING\0')
    const [answer] = await once(socket, 'data', { signal: AbortSignal.timeout(1_000) })
    return String(answer).startsWith('PONG')
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
