import type { DeliveryKey, Lane } from '../domain/delivery.ts'

/** How many attempts may be in progress at once: of all kinds, to sick destinations, and retries. */
export interface SlotLimits {
  readonly max: number
  readonly sick_max: number
  readonly retry_max: number
}

/** The scopes that each attempt counts in. */
export type SlotScope = 'process' | 'merchant' | 'host' | 'destination'

/**
 * The limits of one notifier process. A receiver that hangs or fails is sick: it shares a bounded part of the slots of
 * each scope with other sick ones, so the rest stays free for healthy ones. The host counts without its port, because a
 * merchant could otherwise multiply the limit (N9).
 */
export const SLOT_LIMITS: Readonly<Record<SlotScope, SlotLimits>> = {
  process: { max: 2_048, sick_max: 512, retry_max: 1_024 },
  merchant: { max: 512, sick_max: 128, retry_max: 256 },
  host: { max: 256, sick_max: 64, retry_max: 128 },
  destination: { max: 64, sick_max: 32, retry_max: 32 },
}

/** Where an attempt goes. */
export interface SlotUser extends Pick<DeliveryKey, 'merchant_id'> {
  readonly destination_key: string
  readonly host: string
  readonly lane: Lane
}

/** The right to make one attempt now. */
export interface Slot {
  /** Counts the attempt as one to a sick destination from now on. */
  markSick(): void
  /** Gives the slot back. Only the first call has an effect. */
  release(): void
}

/** The slots of a process. */
export interface Slots {
  /** Takes a slot in every scope; `undefined` when one of them has no room. */
  take(user: SlotUser, is_sick: boolean): Slot | undefined
  /** The attempts in progress: to healthy and to sick destinations. */
  inUse(): { readonly healthy: number; readonly sick: number }
}

interface Use {
  all: number
  sick: number
  retry: number
}

/** Creates the slots of a process. */
export function createSlots(limits: Readonly<Record<SlotScope, SlotLimits>> = SLOT_LIMITS): Slots {
  const process_use: Use = { all: 0, sick: 0, retry: 0 }
  const uses = {
    merchant: new Map<string, Use>(),
    host: new Map<string, Use>(),
    destination: new Map<string, Use>(),
  }

  return {
    take({ merchant_id, host, destination_key, lane }, is_sick) {
      const keys = [
        ['merchant', merchant_id],
        ['host', host],
        ['destination', destination_key],
      ] as const
      if (!hasRoom(process_use, limits.process, lane, is_sick)) return undefined
      for (const [scope, key] of keys) {
        const use = uses[scope].get(key)
        if (use !== undefined && !hasRoom(use, limits[scope], lane, is_sick)) return undefined
      }
      const taken = [process_use, ...keys.map(([scope, key]) => useOf(uses[scope], key))]
      let counts_as_sick = is_sick
      let is_released = false
      for (const use of taken) {
        use.all += 1
        use.sick += is_sick ? 1 : 0
        use.retry += lane === 'retry' ? 1 : 0
      }
      return {
        markSick() {
          if (counts_as_sick || is_released) return
          counts_as_sick = true
          for (const use of taken) use.sick += 1
        },
        release() {
          if (is_released) return
          is_released = true
          for (const use of taken) {
            use.all -= 1
            use.sick -= counts_as_sick ? 1 : 0
            use.retry -= lane === 'retry' ? 1 : 0
          }
          for (const [scope, key] of keys) if (uses[scope].get(key)?.all === 0) uses[scope].delete(key)
        },
      }
    },
    inUse: () => ({ healthy: process_use.all - process_use.sick, sick: process_use.sick }),
  }
}

function hasRoom(use: Use, { max, sick_max, retry_max }: SlotLimits, lane: Lane, is_sick: boolean): boolean {
  if (use.all >= max) return false
  if (is_sick && use.sick >= sick_max) return false
  return lane === 'first' || use.retry < retry_max
}

function useOf(uses: Map<string, Use>, key: string): Use {
  const existing = uses.get(key)
  if (existing !== undefined) return existing
  const created = { all: 0, sick: 0, retry: 0 }
  uses.set(key, created)
  return created
}
