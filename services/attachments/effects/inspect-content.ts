import { createBudget } from '#lib/patterns/effects/budget.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Scanner } from '#lib/platform/clamd/scanner-setting.ts'
import type { Blobs } from '#lib/platform/store/store.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { now } from '#lib/platform/time.ts'
import type { Attachment } from '../domain/attachment.ts'
import { inspectContentEffect } from '../domain/attachment-effects.ts'
import { checkContent } from '../domain/content/check-content.ts'
import { applyInspection } from '../domain/finalize.ts'
import { readBytes } from '../use-cases/read-bytes.ts'

/** Each holds a whole file in memory: up to 10 MiB. */
const INSPECTIONS_MAX = 4
const LEASE_MS = 60_000

/** Checks the structure of a file against its type before its virus scan. */
export function bindInspectContent(files: Blobs, scanner: Scanner | undefined): BoundEffect<Attachment> {
  return inspectContentEffect.bind<Attachment>({
    lease_ms: LEASE_MS,
    // Only an unavailable store makes it fail, so it is never given up.
    tries_max: Number.POSITIVE_INFINITY,
    budget: createBudget(INSPECTIONS_MAX),
    async run({ data }, { attachment_id, mime_type }) {
      const chunks: Uint8Array[] = []
      for await (const chunk of await readBytes(files, data.blob_id)) chunks.push(chunk)
      const reason = checkContent(Buffer.concat(chunks), mime_type)
      if (reason === undefined && scanner === undefined)
        log.warn({ attachment_id }, 'a file waits for a virus scan: MULTIHUB_SCANNER is not set')
      return (current) => applyInspection(current, reason, now())
    },
  })
}
