import { writeSync } from 'node:fs'
import { MessageChannel } from 'node:worker_threads'
import { createLog, levelOf, log } from '#lib/platform/telemetry/log.ts'
import { measureProcess } from '#lib/platform/telemetry/metrics.ts'
import { clock, withTimeout } from '#lib/platform/time.ts'
import { createLifecycle, type Lifecycle, type OwnedLifecycle } from './lifecycle.ts'
import { onStopRequest } from './signals.ts'
import { explainStart } from './start-error.ts'

/** The URLs that the process serves, by name, for its `ready` line. */
export type ReadyUrls = Readonly<Record<string, string>>

/** The whole of an orderly stop: an orchestrator that grants 15 s never has to kill (R5). */
const STOP_LIMIT_MS = 14_000

/**
 * Runs this process. `start` builds everything, top to bottom; when it is ready, one line `ready` with the URLs goes
 * to standard output (R2). A signal, or the launcher going away, stops everything in order with exit code 0 (R5). A
 * failed start is one sentence on standard error and exit code 1. A fault that nobody caught is logged and ends the
 * process with 1: a crash is safe by design, limping on is not.
 */
export function runProcess(start: (lifecycle: Lifecycle) => Promise<ReadyUrls>): void {
  dieOnFault()
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

function announce(lifecycle: Lifecycle, urls: ReadyUrls): void {
  void lifecycle.readiness.whenReady().then(() => {
    writeLine(1, ['ready', ...Object.entries(urls).map(([name, url]) => `${name}=${url}`)].join(' '))
  })
}

async function failStart(lifecycle: OwnedLifecycle, error: unknown): Promise<void> {
  if (lifecycle.stopping.aborted) return log.warn({ error }, 'told to stop before the start was complete')
  writeLine(2, explainStart(error))
  if (levelOf(process.env) === 'debug') log.debug({ error }, 'the start failed')
  await lifecycle.stop(STOP_LIMIT_MS)
  process.exit(1)
}

async function stopInOrder(lifecycle: OwnedLifecycle, started: Promise<void> | undefined): Promise<void> {
  const began_ms = clock.monotonic_ms()
  lifecycle.announceStop()
  // What a start still under way would register has to be stopped too; one that hangs is not waited for.
  if (started !== undefined) await withTimeout(started, STOP_LIMIT_MS / 2)
  const used_ms = clock.monotonic_ms() - began_ms
  await lifecycle.stop(STOP_LIMIT_MS - used_ms)
  process.exit(0)
}

/** Also in tests, where the log is silent, nobody dies without a word. */
function dieOnFault(): void {
  const lastWords = createLog(undefined, levelOf(process.env) === 'silent' ? { level: 'error' } : {})
  process.on('uncaughtException', (error, origin) => {
    lastWords.error({ error, kind: origin }, 'a fault that nobody caught: the process ends')
    process.exit(1)
  })
}

/** The timers of lib/time hold no process up. This does, so that a stop that hangs ends at its limit and is logged. */
function stayAlive(): void {
  new MessageChannel().port1.on('message', () => {})
}

/** A reader that went away is no reason to fail. */
function writeLine(descriptor: 1 | 2, line: string): void {
  try {
    writeSync(descriptor, `${line}\n`)
  } catch (error) {
    log.warn({ error }, 'a line could not be written')
  }
}
