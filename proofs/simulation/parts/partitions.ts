import type { SimulatedProcess } from './simulated-process.ts'

/** One end of a connection: a process, the bus, the database of a role, or `undefined` for the world outside. */
export type Side = SimulatedProcess | 'bus' | `store ${string}` | undefined

/** Which messages do not get through. Those that are cut off are lost: no sender learns of it. */
export interface Partitions {
  /** Cuts what sides send to others off, until the returned function is called. Names are names of places. */
  cut(from: readonly string[], to: readonly string[]): () => void
  /** Whether what one side sends now does not reach the other side. */
  isCut(from: Side, to: Side): boolean
}

/** Makes the partitions of one simulation: none. */
export function createPartitions(): Partitions {
  const cuts = new Set<{ readonly from: readonly string[]; readonly to: readonly string[] }>()
  return {
    cut(from, to) {
      const added = { from, to }
      cuts.add(added)
      return () => void cuts.delete(added)
    },
    isCut(from, to) {
      if (cuts.size === 0) return false
      const [sender, receiver] = [nameOf(from), nameOf(to)]
      return [...cuts].some((one) => one.from.includes(sender) && one.to.includes(receiver))
    },
  }
}

/** The place of a process, whose name also counts its lives, or the name of another side. */
function nameOf(side: Side): string {
  return typeof side === 'object' ? (side.name.split('#')[0] ?? '') : (side ?? 'outside')
}
