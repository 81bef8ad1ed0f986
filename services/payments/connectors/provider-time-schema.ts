import { z } from 'zod'
import { clock } from '#lib/base/time.ts'

const EARLIEST_MS = Date.UTC(2000, 0, 1)
/** Covers a clock of the provider that is wrong, and a local time that is called UTC. */
const AHEAD_MAX_MS = 24 * 60 * 60 * 1_000

/**
 * The time of a success as a provider reports it, in UTC. A time before the year 2000 or more than a day ahead is invalid,
 * because no payment can have it and other formats cannot carry it.
 */
export const providerTimeSchema = z.iso.datetime().refine((text) => {
  const at_ms = Date.parse(text)
  return at_ms >= EARLIEST_MS && at_ms <= clock.now_ms() + AHEAD_MAX_MS
})
