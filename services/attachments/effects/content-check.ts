import { createThread, type Thread, type ThreadLimits, type ThreadTask } from '#lib/base/thread.ts'
import type { AttachmentType } from '#lib/contract/attachments.ts'
import { type Inspection, inspectContent } from '../domain/content/check-content.ts'

/** A whole file and its type. */
export interface ContentToCheck {
  readonly content: Uint8Array<ArrayBuffer>
  readonly mime_type: AttachmentType
}

/** The thread that checks the structure of files. */
export type ContentCheck = Thread<ContentToCheck, Inspection>

/** The check of one file. It takes a few seconds for 10 MiB that were forged for that. */
export const CONTENT_CHECK: ThreadTask<ContentToCheck, Inspection> = {
  entry: new URL('./content-check.thread.ts', import.meta.url),
  run: ({ content: { buffer, byteOffset, length }, mime_type }) =>
    inspectContent(Buffer.from(buffer, byteOffset, length), mime_type),
}

/** Far more than the check of any known file needs: a guard against files that we did not think of. */
export const CONTENT_CHECK_LIMITS: ThreadLimits = { processor_ms: 10_000, heap_mib: 192 }

/** Creates the thread; it starts with the first file. */
export function createContentCheck(): ContentCheck {
  return createThread(CONTENT_CHECK, CONTENT_CHECK_LIMITS)
}
