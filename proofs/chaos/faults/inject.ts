import { clock, sleep } from '#lib/base/time.ts'
import type { Choices } from '../../simulation/parts/random.ts'
import type { RepairedFault } from '../judge/recovery.ts'
import type { Disturbance } from './disturbance.ts'
import { drawLinkFault, type Link } from './links.ts'
import { drawProcessFault, type ProcessFaultDeps } from './process-faults.ts'
import { drawServerFault, type PrivateServers } from './server-faults.ts'

/** What injecting faults needs. */
export interface InjectionDeps extends Omit<ProcessFaultDeps, 'choices'> {
  readonly servers: PrivateServers
  /** The ways of each process to the servers; none when all processes share one way. */
  readonly links: readonly Link[]
  choicesOf(name: string): Choices
  /** Whether no further fault may begin. */
  readonly isOver: () => boolean
  readonly kills_max: number
  readonly print: (line: string) => void
}

/** The faults of a run so far. */
export interface FaultRecord {
  readonly repaired: RepairedFault[]
  /** The processes that were killed with SIGKILL. */
  kills: number
  /** The names of the faults that are not repaired yet. */
  readonly present: Set<string>
}

/** Three faults of processes can happen at the same time, two of links, and one of a server. */
const PROCESS_LANES = 3
const LINK_LANES = 2
const PROCESS_GAP_MS = { low: 100, high: 1_500 }
const LINK_GAP_MS = { low: 500, high: 4_000 }
/** Long enough for the system to serve in between: a database that is always down shows nothing. */
const SERVER_GAP_MS = { low: 8_000, high: 25_000 }

/** Injects faults until the run is over or has its kills. Resolves when all of them are repaired. */
export async function injectFaults(deps: InjectionDeps, record: FaultRecord): Promise<void> {
  const { choicesOf, servers, links, isOver, kills_max } = deps
  const began_ms = clock.monotonic_ms()
  let count = 0
  const isDone = (): boolean => isOver() || record.kills >= kills_max

  const inject = async (disturbance: Disturbance): Promise<void> => {
    const { kind, target, kills, hold_ms } = disturbance
    const name = `${kind} ${target}`.trim()
    count += 1
    const at = ((clock.monotonic_ms() - began_ms) / 1_000).toFixed(1)
    deps.print(`  fault ${count} at ${at} s: ${name}, for ${(hold_ms / 1_000).toFixed(1)} s`)
    const harmed_ms = clock.monotonic_ms()
    record.present.add(name)
    record.kills += kills
    await disturbance.harm()
    await sleep(hold_ms)
    await disturbance.repair()
    record.present.delete(name)
    record.repaired.push({ kind, target, began_ms: harmed_ms, repaired_ms: clock.monotonic_ms() })
  }
  const runLane = async (
    gap: typeof PROCESS_GAP_MS,
    choices: Choices,
    draw: () => Disturbance | undefined,
  ): Promise<void> => {
    for (;;) {
      await sleep(choices.between(gap.low, gap.high))
      if (isDone()) return
      const disturbance = draw()
      if (disturbance !== undefined) await inject(disturbance)
    }
  }
  const lanes = Array.from({ length: PROCESS_LANES }, (_, lane) => {
    const choices = choicesOf(`process faults ${lane}`)
    return runLane(PROCESS_GAP_MS, choices, () => drawProcessFault({ ...deps, choices }))
  })
  for (let lane = 0; lane < LINK_LANES && links.length > 0; lane += 1) {
    const choices = choicesOf(`link faults ${lane}`)
    lanes.push(runLane(LINK_GAP_MS, choices, () => drawLinkFault(links, choices)))
  }
  const choices = choicesOf('server faults')
  lanes.push(runLane(SERVER_GAP_MS, choices, () => drawServerFault(servers, choices)))
  await Promise.all(lanes)
}
