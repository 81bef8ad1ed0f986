import { afterAll, beforeAll } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import {
  type CrashingProcess,
  newOutside,
  type Outside,
  type Scenario,
  startCrashingProcess,
} from './crashing-process.fixture.ts'
import { openPayments, type PaymentsFixture } from './payments-store.fixture.ts'
import type { CrashPoint } from './process-life.fixture.ts'
import type { PaymentsStore } from './store/payments-store.ts'

/** Longer than every lease. */
const LEASES_MS = 600_000
/** More steps than any flow has. */
const STEPS_MAX = 60

/** What a process does for one case, and how the next process completes it. */
export interface CrashedFlow<Case, Left> {
  /** Stores what the flow begins with. */
  newCase(): Promise<Case>
  /** Resolves when the process has no more to do, and has stopped. Never resolves in a process that crashes. */
  run(process: CrashingProcess, one: Case): Promise<unknown>
  /** Resolves when nothing is left to do, with what is left. The sweeper of the process runs. */
  recover(process: CrashingProcess, one: Case): Promise<Left>
}

/** Checks what is left of a case. `at` is the step of the crash. */
export type CheckCase<Case, Left> = (left: Left, outside: Outside, one: Case, at: number) => unknown

/** The collections that all processes of the tests of a file share. */
export interface CrashTests {
  store(): PaymentsStore
  /** Sets the clock forward. */
  passTime(ms: number): void
  /**
   * Crashes a flow at each of its steps in turn, lets another process complete it, and checks what is left. Returns the
   * number of steps.
   */
  crashEverywhere<Case, Left>(
    scenario: Scenario,
    when: CrashPoint['when'],
    flow: CrashedFlow<Case, Left>,
    check: CheckCase<Case, Left>,
  ): Promise<number>
}

/** Opens the collections for the tests of the calling file, with a clock that passes over leases. */
export function openCrashTests(): CrashTests {
  const clock = createAdjustableClock()
  let fixture: PaymentsFixture
  let restoreClock: () => void
  beforeAll(async () => {
    restoreClock = useClock(clock)
    fixture = await openPayments()
  })
  afterAll(async () => {
    await fixture[Symbol.asyncDispose]()
    restoreClock()
  })
  return {
    store: () => fixture.store,
    passTime: (ms: number): void => clock.stepWall(ms),
    async crashEverywhere(scenario, when, flow, check) {
      for (let at = 1; at <= STEPS_MAX; at += 1) {
        const one = await flow.newCase()
        const outside = newOutside()
        const process = startCrashingProcess(fixture.store, outside, scenario, { at, when })
        const has_crashed = (await Promise.race([flow.run(process, one), process.crashed])) === 'crashed'
        clock.stepWall(LEASES_MS)
        const next = startCrashingProcess(fixture.store, outside, scenario)
        next.runner.start()
        const left = await flow.recover(next, one)
        await next.runner.stop()
        await check(left, outside, one, at)
        if (!has_crashed) return at - 1
      }
      throw new Error('the flow has no end')
    },
  }
}
