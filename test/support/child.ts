import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { NODE_OPTIONS } from '../../scripts/node-options.mjs'
import { HANG_LIMIT_MS } from './hang-limit.ts'
import { endingWithParent } from './programs.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** A process of the system under test. */
export interface SystemProcess {
  readonly child: ChildProcess
  /** Its standard error, for the report of a failure. */
  log(): string
  /** Kills it with SIGKILL. */
  kill(): Promise<void>
  /** Sends SIGTERM, and returns the exit code. */
  stop(): Promise<number | null>
}

/** The URLs of a `ready` line, by name. */
export type ReadyUrls = Readonly<Record<string, string>>

/**
 * Starts a file of the project in its own process and waits for its `ready` line. `root` is the folder of the project, when
 * it is another release.
 */
export async function startProcess(
  file: string,
  parameters: readonly string[],
  variables: Readonly<Record<string, string>>,
  root = ROOT,
): Promise<SystemProcess & { readonly urls: ReadyUrls }> {
  const started = launch(file, parameters, variables, root)
  const { child } = started
  const { promise, resolve, reject } = Promise.withResolvers<ReadyUrls>()
  const limit = setTimeout(() => reject(new Error(`not ready in time:\n${started.log()}`)), HANG_LIMIT_MS)
  child.once('exit', (code) => reject(new Error(`ended with ${code} before it was ready:\n${started.log()}`)))
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('ready')) resolve(readyUrls(line))
    })
  }
  try {
    return { ...started, urls: await promise }
  } catch (error) {
    await started.kill()
    throw error
  } finally {
    clearTimeout(limit)
  }
}

/** Starts a process without waiting for its `ready` line, for example a process that must fail. */
export function launch(
  file: string,
  parameters: readonly string[],
  variables: Readonly<Record<string, string>>,
  root = ROOT,
): SystemProcess {
  const lines: string[] = []
  const [command, ...rest] = endingWithParent(process.execPath, [
    ...NODE_OPTIONS,
    join(root, file),
    ...parameters,
  ])
  const child = spawn(command, rest, {
    cwd: root,
    env: { ...inherited(), ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    lines.push(chunk.toString())
    if (lines.length > 500) lines.shift()
  })
  const ended = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
    child.kill(signal)
    const [code] = await once(child, 'exit')
    return code
  }
  return {
    child,
    log: () => lines.join(''),
    kill: async () => void (await ended('SIGKILL')),
    stop: () => ended('SIGTERM'),
  }
}

/** What a process gets from this one: nothing that could be a setting, but the cache that makes starts faster. */
function inherited(): Readonly<Record<string, string>> {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env
  return { PATH, ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }) }
}

/** How a process ended: its exit code (`null` when it was killed), its standard output and its standard error. */
export interface EndedProcess {
  readonly code: number | null
  readonly output: string
  readonly log: string
}

/** Runs a command until it ends by itself. A command that does not end is killed. */
export async function runUntilEnd(
  file: string,
  parameters: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<EndedProcess> {
  const { child, log, kill } = launch(file, parameters, variables)
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk
  })
  const limit = setTimeout(() => void kill(), HANG_LIMIT_MS)
  const [code] = await once(child, 'close')
  clearTimeout(limit)
  return { code, output, log: log() }
}

/** Runs a command that ends by itself, and returns the lines of its standard output. Throws unless it exits with 0. */
export async function runToEnd(
  file: string,
  parameters: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const { code, output, log } = await runUntilEnd(file, parameters, variables)
  if (code !== 0) throw new Error(`${file} ${parameters.join(' ')} ended with ${code}:\n${log}`)
  return output.trimEnd().split('\n')
}

function readyUrls(line: string): ReadyUrls {
  const pairs = line.split(' ').slice(1)
  return Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  )
}
