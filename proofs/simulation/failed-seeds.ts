/** A seed that once failed, and what it found. */
export interface FailedSeed {
  readonly seed: number
  readonly found: string
}

/**
 * Every seed that ever failed because of the product. Its history changes with the product and with the simulation, so a
 * seed may no longer take the way that it took; the unit test of each fault does not depend on that.
 */
export const FAILED_SEEDS: readonly FailedSeed[] = [
  { seed: 21, found: 'a requested callback announced money before the ledger had it (2026-11-22)' },
  { seed: 108, found: 'an accepted payment was not found by its h_id during a fail-over (2026-11-22)' },
  { seed: 114, found: 'an accepted payment was not found by its h_id during a fail-over (2026-11-22)' },
  { seed: 353152053, found: 'a callback stored after a pause beyond the lease stayed pending (2026-11-22)' },
  {
    seed: 388673251,
    found: 'a process with a wrong clock took a place for an upload, with a wrong end (2026-11-22)',
  },
  { seed: 358, found: 'a process that was paused counted a refund again for the summary (2026-11-22)' },
  { seed: 7006, found: 'the bytes of an upload that could not be completed stayed (2026-11-22)' },
  { seed: 398746377, found: 'a refused request got the next payment under its c_id (2026-11-22)' },
  { seed: 7100007, found: 'a won chargeback was open in support after a restore (2026-11-24)' },
  {
    seed: 1001973,
    found: 'a callback that was stored after its call had failed stayed pending (2026-11-29)',
  },
  { seed: 46, found: 'a refund that was erased during its deletion stayed without its c_id (2026-11-29)' },
  { seed: 7000218, found: 'a restore brought back bytes that no file names (2026-11-29)' },
  { seed: 7000243, found: 'a restored file without bytes was scanned without end (2026-11-29)' },
]
