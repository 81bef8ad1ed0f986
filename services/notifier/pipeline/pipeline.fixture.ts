import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { now } from '#lib/base/time.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import type { Stored } from '#lib/store/store.ts'
import { createDatabase } from '../../../proofs/simulation/parts/store/database.ts'
import {
  isWrite,
  openSimulatedStore,
  type StoreCommand,
} from '../../../proofs/simulation/parts/store/store.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import type { AttemptOutcome } from '../delivery/make-attempt.ts'
import { delivery as deliveryOf } from '../delivery.fixture.ts'
import type { Delivery } from '../domain/delivery.ts'
import type { Destination } from '../domain/destination.ts'
import { deliveryIdOf } from '../domain/event.ts'
import { type NotifierStore, openNotifierStore } from '../store/notifier-store.ts'
import { createPipeline, type Pipeline, type PipelineOptions } from './pipeline.ts'

/** One attempt as a receiver sees it. */
export interface SeenAttempt {
  readonly process: string
  readonly delivery: Delivery
  readonly at_ms: number
}

/** A notifier of these tests, which behaves as a process of its own. */
export interface TestProcess {
  readonly pipeline: Pipeline
  /** The writes of this process so far, as `kind collection`. */
  readonly writes: string[]
  /** Ends the process as SIGKILL does: no command of it reaches the store any more. */
  kill(): void
  /** Called before each command of this process; a promise holds the command back. */
  onCommand: (command: StoreCommand) => Promise<void> | undefined
  /** Called when a command has taken effect; a promise holds its result back. */
  onResult: (command: StoreCommand) => Promise<void> | undefined
  /** Stops the process in order. */
  stop(): Promise<void>
}

/** Notifiers over one store in memory, under a manual clock, with receivers that answer as a test says. */
export interface PipelineFixture extends Disposable {
  readonly clock: InstalledClock
  readonly attempts: SeenAttempt[]
  /** What receivers answer. They deliver everything at first. */
  respond: (seen: SeenAttempt) => AttemptOutcome | Promise<AttemptOutcome>
  /** Whether there is a secret for a delivery. */
  hasSecret: (delivery: Delivery) => boolean
  /** Whether the bus loses everything. */
  isBusDown: boolean
  startProcess(
    name: string,
    options?: Partial<Pick<PipelineOptions, 'owned_max' | 'clock_guard'>>,
  ): Promise<TestProcess>
  stored(delivery: Delivery): Promise<Stored<Delivery> | undefined>
  destination(destination_key: string): Promise<Stored<Destination> | undefined>
  readonly store: NotifierStore
}

export const BODY = Buffer.from('{"id":"1"}')

/** The answers of receivers. */
export const DELIVERED: AttemptOutcome = ended({ http_status: 200 })
export const FAILED: AttemptOutcome = ended({ http_status: 500, failure: 'http_status' })

function ended(result: { http_status: number; failure?: 'http_status' }): AttemptOutcome {
  return { kind: 'ended', result: { started_at: new Date(0), duration_ms: 1, ...result } }
}

/** A delivery of an event to a destination, as the notifier creates it. */
export function newDelivery(number: number, destination = 'one', changes: Partial<Delivery> = {}): Delivery {
  const destination_key = `endpoint:${destination}`
  const event_key = `p-${number}:3`
  const merchant_id = changes.merchant_id ?? '7001'
  return deliveryOf({
    delivery_id: deliveryIdOf({ merchant_id, event_key, created_at: new Date(0) }, destination_key),
    destination_key,
    endpoint_id: destination,
    url: `https://${destination}.example.com/`,
    event_key,
    created_at: now(),
    due_at: now(),
    kept_until: new Date(now().getTime() + 90 * 86_400_000),
    ...changes,
  })
}

/** Makes the fixture. No notifier runs yet. */
export async function openPipelines(): Promise<PipelineFixture> {
  const clock = installManualClock()
  const database = createDatabase('notifier')
  const bus = createMemoryBus()
  const processes: TestProcess[] = []
  const open = (carry: Parameters<typeof openSimulatedStore>[1]): Promise<NotifierStore> =>
    openNotifierStore(openSimulatedStore(database, carry, now), testKeys().person)
  const store = await open(async (_command, apply) => apply(undefined))

  const startProcess: PipelineFixture['startProcess'] = async (name, options = {}) => {
    let is_dead = false
    const writes: string[] = []
    const own_store = await open(async (command, apply) => {
      await test_process.onCommand(command)
      if (is_dead) return new Promise<never>(() => {})
      if (isWrite(command)) writes.push(`${command.kind} ${command.collection}`)
      const result = await apply(undefined)
      await test_process.onResult(command)
      return result
    })
    const pipeline = createPipeline({
      store: own_store,
      bus: {
        ...bus,
        publish: async (...message) => (fixture.isBusDown ? undefined : bus.publish(...message)),
      },
      clock_guard: trustedClock,
      ...options,
      hasSecret: async (delivery) => fixture.hasSecret(delivery),
      async makeAttempt(delivery) {
        if (is_dead) return new Promise<never>(() => {})
        if (!fixture.hasSecret(delivery)) return { kind: 'blocked' }
        const seen = { process: name, delivery, at_ms: clock.now_ms() }
        fixture.attempts.push(seen)
        return await fixture.respond(seen)
      },
    })
    const test_process: TestProcess = {
      pipeline,
      writes,
      onCommand: () => undefined,
      onResult: () => undefined,
      kill() {
        is_dead = true
      },
      stop: () => pipeline.stop(),
    }
    processes.push(test_process)
    await pipeline.start()
    return test_process
  }

  const fixture: PipelineFixture = {
    clock,
    attempts: [],
    respond: () => DELIVERED,
    hasSecret: () => true,
    isBusDown: false,
    startProcess,
    store,
    stored: ({ merchant_id, delivery_id }) => store.deliveries.get({ merchant_id, delivery_id }),
    destination: (destination_key) => store.destinations.get({ destination_key }),
    [Symbol.dispose]() {
      for (const { kill } of processes) kill()
      clock[Symbol.dispose]()
    },
  }
  return fixture
}
