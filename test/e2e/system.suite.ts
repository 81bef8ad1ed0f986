import { afterAll, beforeAll, describe } from '@jest/globals'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import type { TestSystem } from '../support/system.ts'

/** What every way of running the system has. */
export type RunningSystem = Pick<TestSystem, 'demo' | 'end'>

/** A running system, a client of its merchant alpha, and a receiver of callbacks on 127.0.0.1 (R4). */
export interface SystemUnderTest<S extends RunningSystem = RunningSystem> {
  readonly system: S
  readonly alpha: MerchantClient
  readonly receiver: Receiver
}

/** Tests of a system that `describeSystem` starts. They read `given` only when they run. */
export type SystemSuite<S extends RunningSystem = RunningSystem> = (given: () => SystemUnderTest<S>) => void

/**
 * Runs suites one after another against one system, because a start costs more than most suites. Each suite must hold
 * whatever the suites before it left: it compares balances, and refers to payments by ids of its own.
 */
export function describeSystem<S extends RunningSystem>(
  name: string,
  start: () => Promise<S>,
  suites: readonly SystemSuite<S>[],
): void {
  describe(name, () => {
    let given: SystemUnderTest<S> | undefined
    beforeAll(async () => {
      const system = await start()
      given = { system, alpha: merchantClient(system.demo), receiver: await startReceiver() }
    })
    afterAll(async () => {
      await given?.receiver.stop()
      await given?.system.end()
    })
    for (const suite of suites) {
      suite(() => {
        if (!given) throw new Error('the system has not started')
        return given
      })
    }
  })
}
