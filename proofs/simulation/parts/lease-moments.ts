import type { Choices } from './random.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import type { Change } from './store/memory-collection.ts'

/** A lease of an effect at the moment in which the store applies the write that takes it. */
export interface TakenLease {
  /** The process that takes it and does not know yet whether its write succeeded. */
  readonly process: SimulatedProcess
  /** When the lease ends, on the clock of that process (epoch ms). */
  readonly until_ms: number
}

/** The moments in which processes take leases. */
export interface LeaseMoments {
  /** Notes the leases that a process takes with a change. Called within the command that makes the change. */
  onChange(change: Change, process: SimulatedProcess): void
  /**
   * Calls `strike` once, within the command that takes the next lease of a kind of effects. The kind is one of those
   * that were leased so far, all equally likely; before the first lease there is none, and `strike` is never called.
   * Returns what cancels this.
   */
  strikeNext(choices: Choices, strike: (lease: TakenLease) => void): () => void
}

interface LeasedEffect {
  readonly kind: string
  readonly lease?: { readonly token: string; readonly until: Date }
}

/** Makes the lease moments of one simulation. */
export function createLeaseMoments(): LeaseMoments {
  const strikes = new Map<string, Set<(lease: TakenLease) => void>>()
  return {
    onChange({ before, after }, process) {
      const tokens = new Set(effectsOf(before).map(({ lease }) => lease?.token))
      for (const { kind, lease } of effectsOf(after)) {
        if (lease === undefined || tokens.has(lease.token)) continue
        const waiting = strikes.get(kind) ?? []
        strikes.set(kind, new Set())
        for (const strike of waiting) strike({ process, until_ms: lease.until.getTime() })
      }
    },
    strikeNext(choices, strike) {
      if (strikes.size === 0) return () => {}
      const kind = choices.pick([...strikes.keys()])
      strikes.get(kind)?.add(strike)
      return () => void strikes.get(kind)?.delete(strike)
    },
  }
}

function effectsOf(body: Change['before']): readonly LeasedEffect[] {
  return (body as { readonly effects?: readonly LeasedEffect[] } | undefined)?.effects ?? []
}
