import type { PrivateNats } from '../../../test/support/private-nats.ts'
import type { Choices } from '../../simulation/parts/random.ts'
import type { PrivateMongodb } from '../servers/private-mongodb.ts'
import type { Disturbance, FaultKind } from './disturbance.ts'

/** The servers of a run, as far as it has them. */
export interface PrivateServers {
  readonly nats: PrivateNats | undefined
  readonly mongodb: PrivateMongodb | undefined
}

const KILLED_MS = { low: 0, high: 3_000 }
const PAUSED_MS = { low: 3_000, high: 12_000 }

/** Draws a fault of NATS or of the database; `undefined` when the run has no server. */
export function drawServerFault(
  { nats, mongodb }: PrivateServers,
  choices: Choices,
): Disturbance | undefined {
  const killed_ms = choices.between(KILLED_MS.low, KILLED_MS.high)
  const paused_ms = choices.between(PAUSED_MS.low, PAUSED_MS.high)
  const faults: (readonly [weight: number, disturbance: Disturbance])[] = []
  const add = (
    weight: number,
    kind: FaultKind,
    hold_ms: number,
    harm: () => Promise<void>,
    repair: () => Promise<void>,
  ): void => {
    const kills = kind.startsWith('kill') ? 1 : 0
    faults.push([weight, { kind, target: '', kills, hold_ms, harm, repair }])
  }
  if (nats !== undefined) {
    add(2, 'kill nats', killed_ms, nats.kill, nats.restart)
    add(
      1,
      'pause nats',
      paused_ms,
      async () => nats.pause(),
      async () => nats.resume(),
    )
  }
  if (mongodb !== undefined) {
    add(2, 'kill ferretdb', killed_ms, () => mongodb.kill('ferretdb'), mongodb.repair)
    add(2, 'kill postgres', killed_ms, () => mongodb.kill('postgres'), mongodb.repair)
    add(1, 'pause ferretdb', paused_ms, mongodb.pause, mongodb.resume)
  }
  return faults.length === 0 ? undefined : choices.weighted(faults)
}
