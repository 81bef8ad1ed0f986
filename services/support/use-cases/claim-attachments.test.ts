import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import {
  ClaimAttachmentsResponseSchema,
  ReleaseAttachmentsResponseSchema,
} from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type AttachmentClaims, type FileClaim, withClaimed } from './claim-attachments.ts'

const CLAIM: FileClaim = {
  merchant_id: '7001',
  environment: 'test',
  purpose: 'ticket',
  attachment_ids: ['a', 'b'],
  used_by: 'ticket:1',
}

/** Claims files for work that ends with an error. Returns the ids that the call gave back under its own id. */
async function releasedAfter(error: Error): Promise<readonly string[]> {
  const released: string[] = []
  const calls = new Set<string | undefined>()
  const attachments: AttachmentClaims = {
    async claimAttachments({ callId }) {
      calls.add(callId)
      return create(ClaimAttachmentsResponseSchema)
    },
    async releaseAttachments({ attachmentIds = [], callId }) {
      expect(callId).toMatch(/^[0-9a-f]{16}$/)
      if (calls.has(callId)) released.push(...attachmentIds)
      return create(ReleaseAttachmentsResponseSchema)
    },
  }
  const work = withClaimed(attachments, CLAIM, () => Promise.reject(error))
  await expect(work).rejects.toBe(error)
  return released
}

// S2, F7
test.each([10002, 10003, 8801] as const)(
  'files of work that was refused with %d are given back',
  async (code) => {
    expect(await releasedAfter(new PublicError(code))).toEqual(['a', 'b'])
  },
)

// S2, S3
test.each([
  ['2001', new PublicError(2001)],
  ['2002', new PublicError(2002)],
  ['an unavailable store', new Unavailable('the store did not answer')],
  ['a fault', new Error('broken')],
])('files of work that ended with %s stay claimed, because it may have been done', async (_name, error) => {
  expect(await releasedAfter(error)).toEqual([])
})
