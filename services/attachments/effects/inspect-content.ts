import { ThreadLimitExceeded } from '#lib/base/thread.ts'
import { now } from '#lib/base/time.ts'
import { createSharedBudget } from '#lib/patterns/effects/budget.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Blobs } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Attachment } from '../domain/attachment.ts'
import { inspectContentEffect } from '../domain/attachment-effects.ts'
import type { Inspection } from '../domain/content/check-content.ts'
import { applyInspection, applyMissingBytes } from '../domain/finalize.ts'
import type { Scanner } from '../scanner/clamd.ts'
import { readScannedBytes } from '../use-cases/read-attachment.ts'
import type { ContentCheck } from './content-check.ts'

/** Each holds a whole file in memory, up to 10 MiB, and waits for the same thread. */
const INSPECTIONS_MAX = 4
/** Inspections of one merchant at once: its files may all take long, and files of others must go on meanwhile. */
const INSPECTIONS_PER_MERCHANT_MAX = 2
/** It outlasts the checks of all files that are inspected at once. */
const LEASE_MS = 60_000

/** Checks the structure of a file against its type before its virus scan. */
export function bindInspectContent(
  files: Blobs,
  scanner: Scanner | undefined,
  content_check: ContentCheck,
): BoundEffect<Attachment> {
  return inspectContentEffect.bind<Attachment>({
    lease_ms: LEASE_MS,
    // An unavailable store makes it fail, or the end of this process, so it is never given up.
    tries_max: Number.POSITIVE_INFINITY,
    budget: createSharedBudget(
      INSPECTIONS_MAX,
      INSPECTIONS_PER_MERCHANT_MAX,
      ({ merchant_id }) => merchant_id,
    ),
    async run({ data }, attachment) {
      const { attachment_id, mime_type, size_bytes } = attachment
      const bytes = await readScannedBytes(files, data.blob_id, attachment)
      if (bytes === undefined) return (current) => applyMissingBytes(current, now())
      const content = await readWhole(bytes, size_bytes)
      const inspection = await content_check
        .run({ content, mime_type }, [content.buffer])
        .catch((error: unknown) => rejectUnlessFault(error, attachment_id))
      if (inspection.reason === undefined && scanner === undefined)
        log.warn({ attachment_id }, 'a file waits for a virus scan: MULTIHUB_SCANNER is not set')
      return (current) => applyInspection(current, inspection, now())
    },
  })
}

/** The result for a file whose check has failed. Throws the error when the file is not to blame. */
function rejectUnlessFault(error: unknown, attachment_id: string): Inspection {
  if (!(error instanceof ThreadLimitExceeded)) throw error
  log.warn({ attachment_id, error }, 'a file was rejected because its check used up its limits')
  return { reason: 'malformed', has_formulas: false }
}

/** In a buffer of its own, which can be moved to a thread. */
async function readWhole(
  bytes: AsyncIterable<Uint8Array>,
  size_bytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const content = new Uint8Array(size_bytes)
  let at = 0
  for await (const chunk of bytes) {
    content.set(chunk, at)
    at += chunk.length
  }
  return content
}
