import { AsyncLocalStorage } from 'node:async_hooks'
import type { Scheduler } from 'fast-check'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous } from '#lib/platform/store/errors.ts'
import type { Collection, Stored } from '#lib/platform/store/port.ts'
import { useClock } from '#lib/platform/time.ts'
import { createManualClock, type ManualClock, settled } from '../../test/support/manual-clock.ts'
import type { QuotaCounter } from '../store.ts'
import { countOutcomes, interceptCalls, limitedCaller } from './limits.fixture.ts'
import { createLimits, type Limits } from './limits.ts'

/** How many gateways there are. */
export const GATEWAYS = 3

const BUCKET = 'payment.in'
/** No pause of the compare-and-set loop (`lib/patterns/update.ts`) is longer. */
const UPDATE_PAUSE_MAX_MS = 100

/** What is the matter with a write: nothing, it did not arrive, or its answer did not. */
export type WriteFault = 'well' | 'unavailable' | 'ambiguous'

/** Gateways over one store. Each is known by its place, from 0; one that ended has a successor there. */
export interface SimulatedGateways {
  setLimit(limit: number): void
  /** From now on the clock of a gateway is wrong by so much. */
  setClock(place: number, offset_ms: number): void
  /** From now on all writes go well. */
  heal(): void
  /** Has a gateway asked for so many calls, which go on in the background. */
  demand(place: number, calls: number): void
  /** Kills a gateway: what it was at fails, and what it held is lost. */
  crash(place: number): void
  /** Has a gateway end as it should, in the background. */
  stop(place: number): void
  /** Lets everything that goes on come to its end; answers how many calls were admitted meanwhile. */
  settle(): Promise<number>
  /** How many calls were admitted at all. */
  admitted(): number
  /** The counter as it was written last in each of its windows. */
  windows(): readonly QuotaCounter[]
  /** The most that was ever counted in a window. */
  peak(): number
  /** Ends all gateways without a word. */
  end(): void
}

interface SimulatedGateway {
  readonly limits: Limits
  readonly clock: { offset_ms: number }
  readonly life: { over: boolean }
}

/** By how much the clock of the gateway that is at work is wrong. */
const clock_error = new AsyncLocalStorage<{ offset_ms: number }>()

/** Sets the clock of the process to one that the test moves, and from which those of the gateways may differ. */
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

/** A way to the counters of which the scheduler says whose call is next, and that keeps what was written. */
function createFaultyCounters(
  counters: Collection<QuotaCounter>,
  scheduler: Scheduler,
  fates: readonly WriteFault[],
) {
  const history: Stored<QuotaCounter>[] = []
  let writes = 0
  let under_way = 0
  let healed = false

  const turn = (): Promise<void> => scheduler.schedule(Promise.resolve())
  const fateOf = (kind: 'read' | 'write'): WriteFault | undefined =>
    kind === 'read' || healed ? 'well' : fates[writes++ % fates.length]
  return {
    history,
    heal(): void {
      healed = true
    },
    countersOf: (life: SimulatedGateway['life']) =>
      interceptCalls(counters, async (kind, work) => {
        await turn()
        const fate = fateOf(kind)
        if (life.over || fate === 'unavailable') throw new Unavailable('it did not arrive')
        under_way += 1
        try {
          const result = await work()
          if (kind === 'write') history.push(result as Stored<QuotaCounter>)
          if (fate === 'ambiguous') throw new Ambiguous('the answer was lost')
          return result
        } finally {
          under_way -= 1
          await turn()
        }
      }),
    /** Lets them have their turns, the next one only when the call of the one before is through. */
    async quiet(): Promise<void> {
      await settled()
      while (scheduler.count() > 0) {
        await scheduler.waitOne()
        do await settled()
        while (under_way > 0)
      }
    },
  }
}

/** Starts gateways that count the calls of one application in the shared counters. */
export function startGateways(
  shared: Collection<QuotaCounter>,
  options: { application_id: string; scheduler: Scheduler; fates: readonly WriteFault[] },
): SimulatedGateways {
  const { application_id, scheduler, fates } = options
  const way = createFaultyCounters(shared, scheduler, fates)
  const started: SimulatedGateway[] = []
  let limit = 0
  let admitted = 0

  const start = (): SimulatedGateway => {
    const clock = { offset_ms: 0 }
    const life = { over: false }
    const limits = clock_error.run(clock, () => createLimits(way.countersOf(life)))
    const gateway = { limits, clock, life }
    started.push(gateway)
    return gateway
  }
  const gateways = Array.from({ length: GATEWAYS }, start)
  const at = (place: number): SimulatedGateway => gateways[place] ?? start()
  const replace = (place: number): SimulatedGateway => gateways.splice(place, 1, start())[0] ?? start()
  const kill = ({ limits, life }: SimulatedGateway): void => {
    life.over = true
    void limits.close()
  }
  return {
    setLimit(to) {
      limit = to
    },
    setClock(place, offset_ms) {
      at(place).clock.offset_ms = offset_ms
    },
    heal: way.heal,
    demand(place, calls) {
      const { limits, clock } = at(place)
      const caller = limitedCaller({ application_id, rate_limits: new Map([[BUCKET, limit]]) })
      const asking = clock_error.run(clock, () => countOutcomes(calls, () => limits.admit(BUCKET, caller)))
      void asking.then((result) => {
        admitted += result.admitted
      })
    },
    crash: (place) => kill(replace(place)),
    stop(place) {
      const { limits, clock } = replace(place)
      void clock_error.run(clock, () => limits.close())
    },
    async settle() {
      const before = admitted
      await way.quiet()
      return admitted - before
    },
    admitted: () => admitted,
    windows() {
      const ordered = [...way.history].sort((a, b) => a.version - b.version)
      return ordered.filter(
        ({ opened_at }, index) => ordered[index + 1]?.opened_at.getTime() !== opened_at.getTime(),
      )
    },
    peak: () => Math.max(0, ...way.history.map(({ used }) => used)),
    end: () => started.forEach(kill),
  }
}
