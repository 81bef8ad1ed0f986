import { createHeldLeases } from '#lib/patterns/effects/held-leases.ts'
import type { Runs } from '#lib/patterns/effects/runs.ts'
import { WHOLE_ASSIGNMENT } from '#lib/patterns/effects/slots.ts'

/** A run whose process never dies and never finds another one dead, for tests of something else. */
export const lastingRun: Runs = {
  run_id: 'the run of the test',
  held: createHeldLeases(),
  mayAct: () => true,
  isDead: () => false,
  dead: () => [],
  live: () => [],
  divide: () => () => WHOLE_ASSIGNMENT,
  stop: async () => {},
}

/** A run that does what a test says. */
export interface SwitchedRuns extends Runs {
  setMayAct(may_act: boolean): void
  setDead(...run_ids: readonly string[]): void
  setLive(run_ids: readonly string[]): void
  /** Lets the process go on under another run, as after it was declared dead. */
  setRun(run_id: string): void
  /** Resolves when a runner has looked for dead runs since the call. */
  untilAsked(): Promise<void>
}

/** Makes the run of a process that may act and knows no dead one at first. */
export function createSwitchedRuns(first_run_id: string): SwitchedRuns {
  let run_id = first_run_id
  let live: readonly string[] = []
  let may_act = true
  let dead: readonly string[] = []
  let asked = Promise.withResolvers<void>()
  return {
    ...lastingRun,
    get run_id() {
      return run_id
    },
    held: createHeldLeases(),
    mayAct: (lease) => may_act && (lease === undefined || lease.run === run_id),
    isDead: (name) => name !== undefined && dead.includes(name),
    dead() {
      asked.resolve()
      asked = Promise.withResolvers()
      return dead
    },
    live: () => live,
    untilAsked: () => asked.promise,
    setMayAct(now_may_act) {
      may_act = now_may_act
    },
    setDead(...run_ids) {
      dead = run_ids
    },
    setLive(run_ids) {
      live = run_ids
    },
    setRun(fresh_id) {
      run_id = fresh_id
    },
  }
}
