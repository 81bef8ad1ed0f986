import { z } from 'zod'
import type { Signer } from '#lib/base/crypto/signer.ts'
import {
  type Head,
  type HeadKind,
  missingHeads,
  startHeadExport,
} from '#lib/patterns/journal/exported-heads.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { signedHead } from '../domain/audit-chain.ts'
import type { AuditLog } from './audit-log.ts'

const AUDIT_HEAD: HeadKind<Readonly<Record<never, string>>> = {
  book: 'the audit trail',
  role: 'backoffice',
  is_optional: true,
  place: z.object({}),
  signedText: signedHead,
  nameOf: ({ seq }) => `batch ${seq} of the audit trail`,
}

/**
 * Writes the newest batch that this process has committed to the log once a minute, whatever `MULTIHUB_LOG_LEVEL` says; see
 * `startHeadExport`.
 */
export function exportAuditHeads(signer: Pick<Signer, 'sign'>) {
  const heads = startHeadExport(AUDIT_HEAD, signer, createLog('backoffice', { level: 'info' }))
  return { note: (head: Head) => heads.note(head, {}), stop: heads.stop }
}

/** Compares heads in lines of the log with the audit trail; see `missingHeads`. */
export function missingAuditHeads(
  audit_log: Pick<AuditLog, 'readPosition'>,
  signer: Pick<Signer, 'verify'>,
  lines: AsyncIterable<string>,
): AsyncGenerator<string> {
  return missingHeads(AUDIT_HEAD, signer, async (head) => (await audit_log.readPosition(head))?.hash, lines)
}
