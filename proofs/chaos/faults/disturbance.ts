/** The kinds of faults of a run. */
export const FAULT_KINDS = [
  'kill',
  'kill all',
  'restart',
  'pause',
  'kill nats',
  'pause nats',
  'kill ferretdb',
  'kill postgres',
  'pause ferretdb',
  'cut link',
  'partition',
  'hold requests',
  'hold responses',
] as const

/** The name of a kind of faults. */
export type FaultKind = (typeof FAULT_KINDS)[number]

/** One fault: it harms its target, waits, and repairs it. */
export interface Disturbance {
  readonly kind: FaultKind
  readonly target: string
  /** How many processes it kills with SIGKILL. */
  readonly kills: number
  readonly hold_ms: number
  harm(): Promise<void>
  /** Resolves when the target serves again. */
  repair(): Promise<void>
}
