import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { createSharedBudget } from '#lib/patterns/effects/budget.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Blobs } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import { type Attachment, SCAN_PAUSE_MAX_MS } from '../domain/attachment.ts'
import { scanContentEffect } from '../domain/attachment-effects.ts'
import { applyMissingBytes, applyScan, type ScanResult } from '../domain/finalize.ts'
import { NO_SCANNER, type Scanner, scanStream, toScanVerdict } from '../scanner/clamd.ts'
import { readScannedBytes } from '../use-cases/read-attachment.ts'

/** clamd works with as many threads by default, and each scan holds a connection. */
const SCANS_MAX = 8
/** Scans of one merchant at once: clamd may hang with each of its files, and files of others must go on meanwhile. */
const SCANS_PER_MERCHANT_MAX = 2
const SCAN_TIMEOUT_MS = 20_000
const LEASE_MS = 30_000
/** A scanner that is down for a day delays each file by at most this much after it is back. */
const BACKOFF = { first_ms: 1_000, max_ms: SCAN_PAUSE_MAX_MS }

/**
 * Scans a file for viruses, again and again until there is a verdict (F5). Without a configured scanner it never runs, so
 * that files wait for a process that has one.
 */
export function bindScanContent(files: Blobs, scanner: Scanner | undefined): BoundEffect<Attachment> {
  return scanContentEffect.bind<Attachment>({
    lease_ms: LEASE_MS,
    // A file without a verdict is never given up, and never accepted.
    tries_max: Number.POSITIVE_INFINITY,
    backoff: BACKOFF,
    budget: createSharedBudget(
      scanner === undefined ? 0 : SCANS_MAX,
      SCANS_PER_MERCHANT_MAX,
      ({ merchant_id }) => merchant_id,
    ),
    async run({ data }, attachment) {
      const bytes = await readScannedBytes(files, data.blob_id, attachment)
      if (bytes === undefined) return (current) => applyMissingBytes(current, now())
      const result = await scan(bytes, scanner, attachment.attachment_id)
      return (current) => applyScan(current, result, now())
    },
  })
}

async function scan(
  bytes: AsyncIterable<Uint8Array>,
  scanner: Scanner | undefined,
  attachment_id: string,
): Promise<ScanResult> {
  if (scanner === undefined) throw new Unavailable('no virus scanner is configured; set MULTIHUB_SCANNER')
  if (scanner === NO_SCANNER) {
    log.warn({ attachment_id }, 'MULTIHUB_SCANNER=none: a file is accepted without a virus scan')
    return 'skipped'
  }
  const { text, is_early } = await scanStream(scanner, bytes, SCAN_TIMEOUT_MS)
  const verdict = toScanVerdict(text, is_early)
  if (verdict === 'none')
    throw new Unavailable('the virus scanner gave no verdict', { cause: new Error(text) })
  if (verdict === 'infected') log.warn({ attachment_id, reason: text }, 'the virus scanner rejected a file')
  return verdict
}
