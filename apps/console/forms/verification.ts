import { AuditService } from '#gen/multihub/backoffice/v1/audit_service_pb.ts'
import type { ShardStop } from '#gen/multihub/balances/v1/verification_pb.ts'
import { VerificationService } from '#gen/multihub/balances/v1/verification_service_pb.ts'
import { act } from './act.ts'

/** Begins a check of the whole ledger. */
export const verifyLedger = act({
  name: 'Verify the ledger',
  method: VerificationService.method.startVerification,
  reason: 'optional',
  effects: (_none: undefined) => [
    'Every batch of the journal is read and its signatures, hashes and sums are checked. Payments go on.',
    'It goes on in the background; this page shows how far it is.',
  ],
  fields: () => [
    {
      name: 'from_first_batch',
      label: 'From the first batch on',
      kind: 'choice',
      choices: ['no', 'yes'],
      initial: 'no',
      help: 'no: from where the last one ended. yes: everything, and wrong checkpoints are replaced.',
    },
  ],
})

/** Lets a shard decide again that a verification has stopped. */
export const resumeShard = act({
  name: 'Resume',
  method: VerificationService.method.resumeShard,
  effects: ({ shard, sequence, description }: ShardStop) => [
    `Shard ${shard} decides again, although its batch ${sequence} is not as the ledger wrote it: ${description}.`,
    'A verification that finds the same again does not stop it; it cannot look at later batches of this shard either.',
    'Without this, a verification from the first batch ends the stop as soon as it finds nothing.',
  ],
  // The stop that is shown: another one since is not ended.
  request: ({ shard, verificationId, sequence }) => ({ shard, verificationId, sequence }),
})

/** Checks the whole audit trail. */
export const verifyAudit = act({
  name: 'Verify the audit trail',
  method: AuditService.method.verifyAudit,
  effects: (_none: undefined) => [
    'Every entry is read: that it is as it was written, and that none is missing in between.',
  ],
  outcome: ({ consistent, entries, problems }) => ({
    sentences: [
      consistent ? `All ${entries} entries are as they were written.` : `${entries} entries were read.`,
      ...problems,
    ],
  }),
})
