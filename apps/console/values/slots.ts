import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'

interface Slot {
  readonly startTime?: Timestamp | undefined
  readonly created: bigint
  readonly ended: bigint
  readonly succeeded: bigint
}

/** How payments went in one minute or hour. */
export interface FilledSlot {
  readonly start_ms: number
  readonly created: number
  readonly succeeded: number
  /** How many ended, but not as a success. */
  readonly failed: number
}

/** All slots of a time, also those without payments, which an answer leaves out; the last one is that of `now_ms`. */
export function fillSlots(
  slots: readonly Slot[],
  { step_ms, count, now_ms }: { readonly step_ms: number; readonly count: number; readonly now_ms: number },
): readonly FilledSlot[] {
  const known = new Map(slots.map((slot) => [slot.startTime ? timestampMs(slot.startTime) : 0, slot]))
  const last_ms = now_ms - (now_ms % step_ms)
  return Array.from({ length: count }, (_, place) => {
    const start_ms = last_ms - (count - 1 - place) * step_ms
    const { created = 0n, ended = 0n, succeeded = 0n } = known.get(start_ms) ?? {}
    return {
      start_ms,
      created: Number(created),
      succeeded: Number(succeeded),
      failed: Number(ended - succeeded),
    }
  })
}
