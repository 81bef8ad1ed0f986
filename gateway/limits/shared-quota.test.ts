import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { ManualClock } from '../../test/support/manual-clock.ts'
import { propertyRuns } from '../../test/support/property-runs.ts'
import { type GatewayStoreFixture, openGatewayStoreFixture } from './limits.fixture.ts'
import {
  GATEWAYS,
  type SimulatedGateways,
  startGateways,
  useGatewayClocks,
  type WriteFault,
} from './simulated-gateways.fixture.ts'

const INDEXES = Array.from({ length: GATEWAYS }, (_, index) => index)
/** A gateway reads the store again a second after the store reported an exhausted quota. */
const STORE_RETRY_MS = 1_000

const index = fc.nat(GATEWAYS - 1)
const anyLimit = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1_001, max: 3_000 }))
const demand = fc.record({
  kind: fc.constant('demand' as const),
  index,
  calls: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 1_200 })),
})
const stop = fc.record({ kind: fc.constant('stop' as const), index })
const settle = fc.record({ kind: fc.constant('settle' as const) })
/** Time that passes, in which gateways return idle leases. */
const idle = fc.record({ kind: fc.constant('idle' as const), time_ms: fc.integer({ min: 1, max: 8_000 }) })
const anyStep = fc.oneof(
  { arbitrary: demand, weight: 8 },
  { arbitrary: settle, weight: 4 },
  { arbitrary: idle, weight: 2 },
  stop,
  fc.record({ kind: fc.constant('time' as const), time_ms: fc.integer({ min: 1, max: 70_000 }) }),
  fc.record({
    kind: fc.constant('clock' as const),
    index,
    offset_ms: fc.integer({ min: -100_000, max: 100_000 }),
  }),
  fc.record({ kind: fc.constant('limit' as const), limit: anyLimit }),
  fc.record({ kind: fc.constant('crash' as const), index }),
)
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never
const faults: fc.Arbitrary<readonly WriteFault[]> = fc.array(
  fc.oneof(
    { arbitrary: fc.constant('ok' as const), weight: 6 },
    fc.constantFrom('unavailable' as const, 'ambiguous' as const),
  ),
  { minLength: 1, maxLength: 12 },
)

let gateway_store: GatewayStoreFixture
let clock: ManualClock
let restore: () => void
beforeAll(async () => {
  ;({ clock, restore } = useGatewayClocks())
  gateway_store = await openGatewayStoreFixture()
})
afterAll(async () => {
  restore()
  await gateway_store[Symbol.asyncDispose]()
})

let applications = 0

/** Runs `work` with new gateways and a new application, in a new window. */
async function withGateways(
  scheduler: fc.Scheduler,
  write_faults: readonly WriteFault[],
  work: (gateways: SimulatedGateways) => Promise<void>,
): Promise<void> {
  applications += 1
  const application_id = String(applications)
  const gateways = startGateways(gateway_store.counters, { application_id, scheduler, faults: write_faults })
  try {
    await work(gateways)
  } finally {
    gateways.killAll()
    await gateways.settle()
    clock.stepWall(7_200_000)
  }
}

async function runStep(step: Step, gateways: SimulatedGateways): Promise<void> {
  if (step.kind === 'demand') gateways.startCalls(step.index, step.calls)
  else if (step.kind === 'settle') await gateways.settle()
  else if (step.kind === 'idle') await clock.advance(step.time_ms)
  else if (step.kind === 'stop') gateways.stop(step.index)
  else if (step.kind === 'time') clock.stepWall(step.time_ms)
  else if (step.kind === 'clock') gateways.setClock(step.index, step.offset_ms)
  else if (step.kind === 'limit') gateways.setLimit(step.limit)
  else gateways.crash(step.index)
}

/**
 * How many calls are allowed when each gateway gets one call and then as many as the limit. The first call tells
 * whether the store is available again.
 */
async function callUpTo(gateways: SimulatedGateways, limit: number): Promise<number> {
  await clock.advance(STORE_RETRY_MS)
  let allowed = await gateways.settle()
  for (const calls of [1, limit]) {
    for (const at of INDEXES) gateways.startCalls(at, calls)
    allowed += await gateways.settle()
  }
  return allowed
}

test('allows at most the counted calls and counts at most the limit, under any failures; allows the full limit afterwards', async () => {
  const steps = fc.array(anyStep, { minLength: 5, maxLength: 25, size: 'max' })
  const property = fc.asyncProperty(
    anyLimit,
    steps,
    faults,
    fc.scheduler(),
    (first, steps, faults, scheduler) =>
      withGateways(scheduler, faults, async (gateways) => {
        const drawn = steps.flatMap((step) => (step.kind === 'limit' ? [step.limit] : []))
        gateways.setLimit(first)
        for (const step of steps) await runStep(step, gateways)
        await gateways.settle()
        expect(gateways.peak()).toBeLessThanOrEqual(Math.max(first, ...drawn))
        const counted = gateways.windows().reduce((sum, { used }) => sum + used, 0)
        expect(gateways.allowed()).toBeLessThanOrEqual(counted)
        // No window opens before the previous one has ended, even when the clocks differ.
        const opened_ms = gateways.windows().map(({ opened_at }) => opened_at.getTime())
        for (const [index, at_ms] of opened_ms.slice(1).entries())
          expect(at_ms - (opened_ms[index] ?? 0)).toBeGreaterThanOrEqual(60_000)

        gateways.heal()
        for (const at of INDEXES) gateways.setClock(at, 0)
        clock.stepWall(7_200_000)
        const limit = drawn.at(-1) ?? first
        expect(await callUpTo(gateways, limit)).toBe(limit)
      }),
  )
  await fc.assert(property, { numRuns: propertyRuns(80) })
})

test('allows exactly the limit in each window when nothing fails, although gateways idle or stop', async () => {
  const steps = fc.array(fc.oneof({ arbitrary: demand, weight: 4 }, settle, idle, stop), {
    minLength: 1,
    maxLength: 6,
  })
  const rounds = fc.array(steps, { minLength: 1, maxLength: 4 })
  const property = fc.asyncProperty(anyLimit, rounds, fc.scheduler(), (limit, rounds, scheduler) =>
    withGateways(scheduler, ['ok'], async (gateways) => {
      gateways.setLimit(limit)
      for (const round of rounds) {
        const before = gateways.allowed()
        for (const step of round) await runStep(step, gateways)
        await gateways.settle()
        await callUpTo(gateways, limit)
        expect(gateways.allowed() - before).toBe(limit)
        clock.stepWall(60_000)
      }
    }),
  )
  await fc.assert(property, { numRuns: propertyRuns(40) })
})
