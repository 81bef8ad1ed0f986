import { AsyncLocalStorage } from 'node:async_hooks'
import { currentRequest, withoutRequest, withRequest } from '#lib/base/context.ts'
import type { Clock } from '#lib/base/time.ts'
import type { Scheduler } from './scheduler.ts'

/** How the clock of a process differs from the true time. */
export interface ClockError {
  /** The difference of the wall clock in milliseconds. A step changes it. */
  offset_ms: number
  /** How many milliseconds the clock counts per true millisecond. */
  readonly rate: number
  /** When the clock was last set, in true time; absent when it never was. */
  set_at_ms?: number
}

/** A process at the moment in which it acts. */
export interface Actor {
  readonly process: SimulatedProcess
  /** The time on its own clock. */
  readonly now_ms: number
  /** The true time, which is the store's. */
  readonly true_now_ms: number
  /** The true time since the start, which goes on evenly when the wall clocks of all are moved ahead. */
  readonly elapsed_ms: number
  /** Whether its clock was not set recently, so that what it decided a moment ago can be judged by its clock now. */
  readonly has_steady_clock: boolean
}

/** One simulated process: what a kill ends and what a pause delays. */
export interface SimulatedProcess {
  readonly name: string
  readonly clock_error: ClockError
  /** The states of modules that every process has once. */
  readonly states: Map<object, unknown>
  /** Whether it runs the next release. */
  readonly is_updated: boolean
  is_alive: boolean
  /** Until this time the process is stopped, as by SIGSTOP. */
  paused_until_ms: number
  /** How long its machine was suspended: its monotonic clock is behind by that. */
  suspended_ms: number
  /** Breaks its connections when it ends. */
  onEnd: () => void
}

/** The machine on which all simulated processes run. */
export interface Machine {
  readonly scheduler: Scheduler
  /** The true wall time. */
  now_ms(): number
  /** Moves the wall clocks of all processes and servers ahead, so that what waits for long is due. Timers do not notice. */
  advanceWall(time_ms: number): void
  /** The process that the running code belongs to; `undefined` for the world around the processes. */
  current(): SimulatedProcess | undefined
  /** Runs `work` as code of a process. */
  runIn<T>(process: SimulatedProcess | undefined, work: () => T): T
  /**
   * Runs `action` at a time as code of a process, within the request that is current now. It never runs when the
   * process was killed before, and after the pause when the process is paused.
   */
  schedule(process: SimulatedProcess | undefined, time_ms: number, action: () => void): { cancel(): void }
  /** The clock of whatever process asks. */
  readonly clock: Clock
  /** A process as it acts now; `undefined` for the world around the processes. */
  actorOf(process: SimulatedProcess | undefined): Actor | undefined
  /** The states of the process that asks. */
  states(): Map<object, unknown>
}

/** Longer than any process needs from a decision to the end of the write that follows. */
const STEADY_CLOCK_MS = 10_000

/**
 * The true wall time at the start of every simulation: a few seconds before the end of a day and a month in the time zone
 * of the merchants, so that withdrawals count on both sides of it.
 */
export const WALL_START_MS = Date.UTC(2026, 10, 30, 18, 29, 56)

const processes = new AsyncLocalStorage<SimulatedProcess | undefined>()

/** Makes a process that runs from now on. */
export function createProcess(name: string, clock_error: ClockError, is_updated = false): SimulatedProcess {
  const life = { is_alive: true, paused_until_ms: 0, suspended_ms: 0, onEnd: () => {} }
  return { name, clock_error, is_updated, states: new Map(), ...life }
}

/** Makes the machine of one simulation. */
export function createMachine(scheduler: Scheduler): Machine {
  const surroundings = new Map<object, unknown>()
  let wall_start_ms = WALL_START_MS
  const current = (): SimulatedProcess | undefined => processes.getStore()
  const runIn = <T>(process: SimulatedProcess | undefined, work: () => T): T =>
    processes.getStore() === process ? work() : processes.run(process, work)
  const rateOf = (process: SimulatedProcess | undefined): number => process?.clock_error.rate ?? 1

  const schedule: Machine['schedule'] = (process, time_ms, action) => {
    const request = currentRequest()
    let is_cancelled = false
    const start = (): void => {
      if (is_cancelled || process?.is_alive === false) return
      if (process !== undefined && scheduler.now_ms() < process.paused_until_ms) {
        scheduler.at(process.paused_until_ms, start)
        return
      }
      runIn(process, () => (request === undefined ? withoutRequest(action) : withRequest(request, action)))
    }
    const event = scheduler.at(time_ms, start)
    return {
      cancel() {
        is_cancelled = true
        event.cancel()
      },
    }
  }

  /** A timer of a process, which a suspension of its machine delays. */
  const startTimer: Clock['after'] = (delay_ms, action) => {
    const process = current()
    const suspendedMs = (): number => process?.suspended_ms ?? 0
    const before_ms = suspendedMs()
    const due_ms = scheduler.now_ms() + delay_ms / rateOf(process)
    const fireAt = (time_ms: number) =>
      schedule(process, time_ms, () => {
        const delayed_ms = due_ms + suspendedMs() - before_ms
        if (delayed_ms <= time_ms) action()
        else timer = fireAt(delayed_ms)
      })
    let timer = fireAt(due_ms)
    return { cancel: () => timer.cancel() }
  }

  const nowOf = (process: SimulatedProcess | undefined): number => {
    if (process === undefined) return wall_start_ms + scheduler.now_ms()
    const { rate, offset_ms } = process.clock_error
    return wall_start_ms + offset_ms + scheduler.now_ms() * rate
  }

  return {
    scheduler,
    now_ms: () => wall_start_ms + scheduler.now_ms(),
    advanceWall(time_ms) {
      wall_start_ms += time_ms
    },
    actorOf(process) {
      if (process === undefined) return undefined
      const { set_at_ms = Number.NEGATIVE_INFINITY } = process.clock_error
      const has_steady_clock = scheduler.now_ms() - set_at_ms > STEADY_CLOCK_MS
      const elapsed_ms = scheduler.now_ms()
      return { process, now_ms: nowOf(process), true_now_ms: nowOf(undefined), elapsed_ms, has_steady_clock }
    },
    current,
    runIn,
    schedule,
    states: () => current()?.states ?? surroundings,
    clock: {
      now_ms: () => nowOf(current()),
      monotonic_ms: () => (scheduler.now_ms() - (current()?.suspended_ms ?? 0)) * rateOf(current()),
      after: startTimer,
      nextTurn: (action) => void schedule(current(), scheduler.now_ms(), action),
    },
  }
}
