import { AsyncLocalStorage } from 'node:async_hooks'
import type { Scheduler } from 'fast-check'
import { useClock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous } from '#lib/store/errors.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { createManualClock, type ManualClock, settled } from '../../test/support/manual-clock.ts'
import type { QuotaCounter } from '../store.ts'
import { countOutcomes, interceptCalls, limitedCaller } from './limits.fixture.ts'
import { createLimits, type Limits } from './limits.ts'

/** The number of gateways. */
export const GATEWAYS = 3

const BUCKET = 'payment.in'
/** No pause of the compare-and-set loop (`lib/patterns/update.ts`) is longer. */
const UPDATE_PAUSE_MAX_MS = 100

/** The outcome of a write: it succeeds, it does not arrive, or its response is lost. */
export type WriteFault = 'ok' | 'unavailable' | 'ambiguous'

/** Gateways on one store, addressed by their index from 0. A new gateway takes the index of an ended gateway. */
export interface SimulatedGateways {
  setLimit(limit: number): void
  /** From now on the clock of a gateway is wrong by `offset_ms`. */
  setClock(index: number, offset_ms: number): void
  /** From now on all writes succeed. */
  heal(): void
  /** Starts `calls` calls to a gateway in the background. */
  startCalls(index: number, calls: number): void
  /** Kills a gateway: its calls fail, and its leases are lost. */
  crash(index: number): void
  /** Stops a gateway in the background; it gives its tokens back. */
  stop(index: number): void
  /** Runs all pending work to its end; returns how many calls were allowed meanwhile. */
  settle(): Promise<number>
  /** How many calls were allowed in total. */
  allowed(): number
  /** The last written counter of each window. */
  windows(): readonly QuotaCounter[]
  /** The highest `used` of any written counter. */
  peak(): number
  /** Kills all gateways. */
  killAll(): void
}

interface SimulatedGateway {
  readonly limits: Limits
  readonly clock: { offset_ms: number }
  readonly life: { over: boolean }
}

/** The clock error of the gateway that is running. */
const clock_error = new AsyncLocalStorage<{ offset_ms: number }>()

/** Installs a manual clock for the process. The clock of each gateway may differ from it. */
export function useGatewayClocks(): { readonly clock: ManualClock; readonly restore: () => void } {
  const clock = createManualClock()
  const restore = useClock({
    ...clock,
    now_ms: () => clock.now_ms() + (clock_error.getStore()?.offset_ms ?? 0),
    after(delay_ms, action) {
      const bound = AsyncLocalStorage.bind(action)
      // A pause between two tries of an update takes no time here: no test moves the clock to end it.
      if (delay_ms <= UPDATE_PAUSE_MAX_MS) setImmediate(bound)
      return delay_ms <= UPDATE_PAUSE_MAX_MS ? { cancel() {} } : clock.after(delay_ms, bound)
    },
  })
  return { clock, restore }
}

/** Makes counters whose calls run in the order of the scheduler, fail as `faults` says, and are recorded. */
function createFaultyCounters(
  counters: Collection<QuotaCounter>,
  scheduler: Scheduler,
  faults: readonly WriteFault[],
) {
  const history: Stored<QuotaCounter>[] = []
  let writes = 0
  let in_progress = 0
  let healed = false

  const turn = (): Promise<void> => scheduler.schedule(Promise.resolve())
  const nextFault = (kind: 'read' | 'write'): WriteFault | undefined => {
    if (kind === 'read' || healed) return 'ok'
    const fault = faults[writes % faults.length]
    writes += 1
    return fault
  }
  return {
    history,
    heal(): void {
      healed = true
    },
    countersOf: (life: SimulatedGateway['life']) =>
      interceptCalls(counters, async (kind, work) => {
        await turn()
        const fault = nextFault(kind)
        if (life.over || fault === 'unavailable') throw new Unavailable('the write did not arrive')
        in_progress += 1
        try {
          const result = await work()
          if (kind === 'write') history.push(result as Stored<QuotaCounter>)
          if (fault === 'ambiguous') throw new Ambiguous('the response was lost')
          return result
        } finally {
          in_progress -= 1
          await turn()
        }
      }),
    /** Runs all scheduled calls, each after the previous one has finished. */
    async runAll(): Promise<void> {
      await settled()
      while (scheduler.count() > 0) {
        await scheduler.waitOne()
        do await settled()
        while (in_progress > 0)
      }
    },
  }
}

/** Starts gateways that count the calls of one application in shared counters. */
export function startGateways(
  shared: Collection<QuotaCounter>,
  options: { application_id: string; scheduler: Scheduler; faults: readonly WriteFault[] },
): SimulatedGateways {
  const { application_id, scheduler, faults } = options
  const faulty = createFaultyCounters(shared, scheduler, faults)
  const started: SimulatedGateway[] = []
  let limit = 0
  let allowed = 0

  const start = (): SimulatedGateway => {
    const clock = { offset_ms: 0 }
    const life = { over: false }
    const limits = clock_error.run(clock, () => createLimits(faulty.countersOf(life)))
    const gateway = { limits, clock, life }
    started.push(gateway)
    return gateway
  }
  const gateways = Array.from({ length: GATEWAYS }, start)
  const gatewayAt = (index: number): SimulatedGateway => {
    const gateway = gateways[index]
    if (gateway === undefined) throw new RangeError(`there are gateways 0 to ${GATEWAYS - 1}, not ${index}`)
    return gateway
  }
  const replace = (index: number): SimulatedGateway => {
    const ended = gatewayAt(index)
    gateways[index] = start()
    return ended
  }
  const kill = ({ limits, life }: SimulatedGateway): void => {
    life.over = true
    void limits.close()
  }
  return {
    setLimit(to) {
      limit = to
    },
    setClock(index, offset_ms) {
      gatewayAt(index).clock.offset_ms = offset_ms
    },
    heal: faulty.heal,
    startCalls(index, calls) {
      const { limits, clock } = gatewayAt(index)
      const caller = limitedCaller({ application_id, rate_limits: new Map([[BUCKET, limit]]) })
      const running = clock_error.run(clock, () =>
        countOutcomes(calls, () => limits.useMethodQuota(BUCKET, caller)),
      )
      void running.then((result) => {
        allowed += result.allowed
      })
    },
    crash: (index) => kill(replace(index)),
    stop(index) {
      const { limits, clock } = replace(index)
      void clock_error.run(clock, () => limits.close())
    },
    async settle() {
      const before = allowed
      await faulty.runAll()
      return allowed - before
    },
    allowed: () => allowed,
    windows() {
      const ordered = [...faulty.history].sort((a, b) => a.version - b.version)
      return ordered.filter(
        ({ opened_at }, index) => ordered[index + 1]?.opened_at.getTime() !== opened_at.getTime(),
      )
    },
    peak: () => Math.max(0, ...faulty.history.map(({ used }) => used)),
    killAll: () => started.forEach(kill),
  }
}
