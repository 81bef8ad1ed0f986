import { writeSync } from 'node:fs'
import { isNativeError } from 'node:util/types'
import { MessageChannel } from 'node:worker_threads'
import { ConfigError, type Variables } from '#lib/base/config/config.ts'
import { StartError } from '#lib/base/start-error.ts'
import { clock, withTimeout } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { maskText } from '#lib/telemetry/faults.ts'
import { createLog, levelOf, log } from '#lib/telemetry/log.ts'
import { measureProcess } from '#lib/telemetry/metrics.ts'
import { createLifecycle, type Lifecycle, type OwnedLifecycle } from './lifecycle.ts'

/** Errors of the operating system that concern a path or a disk, in words. */
const FILE_ERRORS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOTDIR: 'a part of the path is not a directory',
  ENOENT: 'no such file or directory',
  EMFILE: 'too many open files',
}

/**
 * The sentence that tells an operator why the process did not start. An unforeseen error shows its own message.
 * Passwords in URLs are masked.
 */
export function explainStartError(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StartError) return maskText(error.message)
  if (error instanceof Unavailable) return maskText(`cannot start: ${error.message}`)
  if (error instanceof PublicError)
    return `cannot start: a call within the system failed with ${error.code} (${error.message}): the log lines with "level":"error" say why`
  if (!(error instanceof Error || isNativeError(error))) return 'cannot start: a non-Error value was thrown'
  const reason = 'code' in error ? FILE_ERRORS[String(error.code)] : undefined
  if (reason !== undefined) {
    const path = 'path' in error ? String(error.path) : error.message
    return maskText(`cannot start: ${reason}: ${path}`)
  }
  return maskText(`cannot start: ${error.name}: ${error.message}`)
}

/** The last sentence of a command that has printed its findings. */
export function problemsText(problems: number): string {
  return problems === 1 ? '1 problem was found' : `${problems} problems were found`
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** One request to stop can arrive twice: a terminal signals its whole process group, and npm forwards the signal too. */
const SAME_REQUEST_MS = 250

/**
 * Calls `stop` at the first signal, or when the launcher of the process ends (its IPC channel closes). A signal more than
 * 250 ms later exits with 1.
 */
export function onStopRequest(stop: (reason: string) => void): void {
  let requested_ms: number | undefined
  const requestStop = (reason: string): void => {
    requested_ms = clock.monotonic_ms()
    stop(reason)
  }
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (requested_ms === undefined) requestStop(signal)
      else if (clock.monotonic_ms() - requested_ms > SAME_REQUEST_MS) process.exit(1)
    })
  }
  if (process.connected) {
    process.once('disconnect', () => {
      if (requested_ms === undefined) requestStop('launcher ended')
    })
  }
}

/** The URLs that the process serves, by name. The `ready` line shows them. */
export type ReadyUrls = Readonly<Record<string, string>>

/** The longest time for an orderly stop after the drain time: 15 s with a margin (R5). */
const STOP_LIMIT_MS = 14_000

/**
 * Runs this process. `start` builds everything. When the process is ready, it prints one line `ready` with its URLs on
 * standard output (R2). A signal, or the end of the launcher, drains the process and stops all parts in order with exit
 * code 0 (R5). A failed
 * start prints one sentence on standard error and exits with 1. An uncaught fault is logged and exits with 1, because
 * every write survives a crash, but the memory of a process after a fault cannot be trusted.
 */
export function runProcess(start: (lifecycle: Lifecycle) => Promise<ReadyUrls>): void {
  exitOnUncaughtFault()
  measureProcess()
  stayAlive()
  const lifecycle = createLifecycle()
  let started: Promise<void> | undefined
  onStopRequest((reason) => {
    log.info({ reason }, 'stopping')
    void stopInOrder(lifecycle, started)
  })
  started = start(lifecycle).then(
    (urls) => announce(lifecycle, urls),
    (error: unknown) => failStart(lifecycle, error),
  )
}

/** Where a command prints: results on standard output, and progress on standard error. */
export interface CommandOutput {
  printLine(line: string): void
  printProgress(line: string): void
}

/** A command that ends by itself: the words after its name, and the environment of the process. */
export type Command = (words: readonly string[], variables: Variables, output: CommandOutput) => Promise<void>

/** Runs a command that ends by itself. Exits with 0, or prints one sentence on standard error and exits with 1. */
export function runCommand(command: (output: CommandOutput) => Promise<void>): void {
  const output = {
    printLine: (line: string) => writeLine(1, line),
    printProgress: (line: string) => writeLine(2, line),
  }
  void exitCodeOf(command, output).then((code) => process.exit(code))
}

/** Runs a command, prints the sentence of its failure as its last progress, and returns the code with which its process exits. */
export function exitCodeOf(
  command: (output: CommandOutput) => Promise<void>,
  output: CommandOutput,
): Promise<0 | 1> {
  return command(output).then(
    () => 0,
    (error: unknown) => {
      output.printProgress(explainStartError(error))
      return 1
    },
  )
}

function announce(lifecycle: Lifecycle, urls: ReadyUrls): void {
  void lifecycle.readiness.whenReady().then(() => {
    writeLine(1, ['ready', ...Object.entries(urls).map(([name, url]) => `${name}=${url}`)].join(' '))
  })
}

async function failStart(lifecycle: OwnedLifecycle, error: unknown): Promise<void> {
  if (lifecycle.stopping.aborted) return log.warn({ error }, 'stopped before the start was complete')
  writeLine(2, explainStartError(error))
  if (levelOf(process.env) === 'debug') log.debug({ error }, 'start failed')
  await lifecycle.stop(STOP_LIMIT_MS)
  process.exit(1)
}

async function stopInOrder(lifecycle: OwnedLifecycle, started: Promise<void> | undefined): Promise<void> {
  await lifecycle.drain()
  const began_ms = clock.monotonic_ms()
  lifecycle.announceStop()
  // A start that is still in progress may register more parts, so it gets time to end, but not all of the time.
  if (started !== undefined) await withTimeout(started, STOP_LIMIT_MS / 2)
  const used_ms = clock.monotonic_ms() - began_ms
  await lifecycle.stop(STOP_LIMIT_MS - used_ms)
  process.exit(0)
}

/** Logs an uncaught fault and exits with 1. It logs also where the log level is `silent`, as in tests. */
function exitOnUncaughtFault(): void {
  const fault_log = createLog(undefined, levelOf(process.env) === 'silent' ? { level: 'error' } : {})
  process.on('uncaughtException', (error, origin) => {
    fault_log.error({ error, kind: origin }, 'uncaught fault; the process exits')
    process.exit(1)
  })
}

/** Keeps the process alive, which our timers do not do: a stop that hangs then reaches its time limit and is logged. */
function stayAlive(): void {
  new MessageChannel().port1.on('message', () => {})
}

/** Writes one line. A closed output stream does not make the process fail. */
function writeLine(descriptor: 1 | 2, line: string): void {
  try {
    writeSync(descriptor, `${line}\n`)
  } catch (error) {
    log.warn({ error }, 'line could not be written')
  }
}
