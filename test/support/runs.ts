import { createHeldLeases } from '#lib/patterns/effects/held-leases.ts'
import type { Runs } from '#lib/patterns/effects/runs.ts'
import { WHOLE_SHARE } from '#lib/patterns/effects/slots.ts'

/** A run whose process never dies and never finds another one dead, for tests of something else. */
export const lastingRun: Runs = {
  run_id: 'the run of the test',
  held: createHeldLeases(),
  mayAct: () => true,
  isDead: () => false,
  dead: () => [],
  divide: () => () => WHOLE_SHARE,
  stop: async () => {},
}

/** A run that does what a test says. */
export interface SwitchedRuns extends Runs {
  setMayAct(may_act: boolean): void
  setDead(...run_ids: readonly string[]): void
  /** Resolves when a runner has looked for dead runs since the call. */
  untilAsked(): Promise<void>
}

/** Makes the run of a process that may act and knows no dead one at first. */
export function createSwitchedRuns(run_id: string): SwitchedRuns {
  let may_act = true
  let dead: readonly string[] = []
  let asked = Promise.withResolvers<void>()
  return {
    ...lastingRun,
    run_id,
    held: createHeldLeases(),
    mayAct: () => may_act,
    isDead: (name) => name !== undefined && dead.includes(name),
    dead() {
      asked.resolve()
      asked = Promise.withResolvers()
      return dead
    },
    untilAsked: () => asked.promise,
    setMayAct(now_may_act) {
      may_act = now_may_act
    },
    setDead(...run_ids) {
      dead = run_ids
    },
  }
}
