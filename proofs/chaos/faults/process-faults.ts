import type { Place } from '../../../test/support/fleet/place.ts'
import type { Choices } from '../../simulation/parts/random.ts'
import type { Disturbance } from './disturbance.ts'

/** What draws faults of processes. */
export interface ProcessFaultDeps {
  readonly choices: Choices
  readonly places: readonly Place[]
  /** Whether the run is long enough for pauses beyond the longest lease. */
  readonly is_long: boolean
  onProblem(problem: string): void
}

/** Beyond the leases of effects: 5 s of a credit or an event, 8 s of a create under the limits of the fleet. */
const PAUSE_MS = { low: 6_000, high: 16_000 }

/** Beyond the lease of an instance number, a minute. */
const LONG_PAUSE_MS = 65_000
const LONG_PAUSES = 0.1

/** Draws a fault of a process; `undefined` when another fault has the process that was drawn. */
export function drawProcessFault(deps: ProcessFaultDeps): Disturbance | undefined {
  const { choices, places, is_long } = deps
  const draw = choices.weighted([
    [12, kill],
    [2, killAll],
    [3, restart],
    [2, pause],
  ] as const)
  const place = choices.pick(places)
  const hold_ms = choices.between(0, 2_000)
  const long = choices.chance(LONG_PAUSES) && is_long
  const pause_ms = long ? LONG_PAUSE_MS : choices.between(PAUSE_MS.low, PAUSE_MS.high)
  return draw(deps, place, draw === pause ? pause_ms : hold_ms)
}

type Draw = (deps: ProcessFaultDeps, place: Place, hold_ms: number) => Disturbance | undefined

const kill: Draw = (_deps, place, hold_ms) =>
  place.state() !== 'running'
    ? undefined
    : {
        kind: 'kill',
        target: place.name,
        kills: 1,
        hold_ms,
        harm: () => place.kill(),
        repair: () => place.start(),
      }

const killAll: Draw = ({ places }, { role }, hold_ms) => {
  const copies = places.filter((place) => place.role === role)
  if (copies.some((place) => place.state() !== 'running')) return undefined
  return {
    kind: 'kill all',
    target: role,
    kills: copies.length,
    hold_ms,
    harm: async () => void (await Promise.all(copies.map((place) => place.kill()))),
    repair: async () => void (await Promise.all(copies.map((place) => place.start()))),
  }
}

const restart: Draw = ({ onProblem }, place) =>
  place.state() !== 'running'
    ? undefined
    : {
        kind: 'restart',
        target: place.name,
        kills: 0,
        hold_ms: 0,
        async harm() {
          const code = await place.stop()
          // R5
          if (code !== 0) onProblem(`${place.name} ended with ${code} on SIGTERM, see ${place.log_path}`)
        },
        repair: () => place.start(),
      }

const pause: Draw = (_deps, place, hold_ms) =>
  place.state() !== 'running'
    ? undefined
    : {
        kind: 'pause',
        target: place.name,
        kills: 0,
        hold_ms,
        harm: async () => place.pause(),
        repair: async () => place.resume(),
      }
