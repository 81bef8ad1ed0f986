import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { expect, test } from '@jest/globals'
import { AttachmentPurpose, AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import type { FinalizeAttachmentRequest } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import type { Scope } from '#lib/contract/methods.ts'
import { createTestGateway, send } from '../gateway.fixture.ts'

const H_ID = '0199c0de-0000-7000-8000-000000000001'

/** What a credential with these scopes gets for a file of a purpose; the attachments service has every file. */
async function answerOf(
  method: string,
  scopes: readonly Scope[],
  purpose: AttachmentPurpose,
  more: { readonly params?: object; readonly finalized?: FinalizeAttachmentRequest[] } = {},
): Promise<number> {
  const attachment = {
    attachmentId: H_ID,
    purpose,
    status: AttachmentStatus.READY,
    name: 'a.txt',
    mimeType: 'text/plain',
    sizeBytes: 1n,
    createTime: timestampFromMs(0),
    updateTime: timestampFromMs(0),
  }
  const link = { path: '/a', expireTime: timestampFromMs(0) }
  const app = await createTestGateway({
    credential: { scopes: [...scopes], supportResources: ['attachment'] },
    attachments: {
      getAttachment: () => ({ attachment, download: link }),
      prepareAttachment: () => ({ attachment, upload: link }),
      finalizeAttachment(request) {
        more.finalized?.push(request)
        return { attachment }
      },
    },
  })
  const operation_id = method === 'attachment.prepare' || method === 'attachment.finalize' ? 'a' : undefined
  const params = more.params ?? { attachment: { h_id: H_ID } }
  const { status, body } = await send(app, { body: { method, operation_id, params } })
  return body.error?.code ?? status
}

const { TICKET, TICKET_COMMENT, CHARGEBACK_EVIDENCE } = AttachmentPurpose

// F7
test.each<[scope: Scope, permitted: readonly AttachmentPurpose[]]>([
  ['tickets.read', [TICKET, TICKET_COMMENT]],
  ['chargebacks.read', [CHARGEBACK_EVIDENCE]],
])('with %s alone a credential reads files of its own purposes only', async (scope, permitted) => {
  for (const method of ['attachment.get', 'attachment.status']) {
    for (const purpose of [TICKET, TICKET_COMMENT, CHARGEBACK_EVIDENCE]) {
      const expected = permitted.includes(purpose) ? 200 : 3008
      expect([method, purpose, await answerOf(method, [scope], purpose)]).toEqual([method, purpose, expected])
    }
  }
})

test.each<[Scope]>([['tickets.create'], ['tickets.comment'], ['refunds.read']])(
  'with %s alone a credential reads no file',
  async (scope) => {
    for (const purpose of [TICKET, TICKET_COMMENT, CHARGEBACK_EVIDENCE])
      expect(await answerOf('attachment.get', [scope], purpose)).toBe(3008)
  },
)

test.each<[scope: Scope, purpose: string, expected: number]>([
  ['tickets.create', 'ticket', 200],
  ['tickets.create', 'ticket_comment', 3008],
  ['tickets.comment', 'ticket_comment', 200],
  ['tickets.comment', 'ticket', 3008],
  ['tickets.read', 'ticket', 3008],
  ['chargebacks.read', 'ticket', 3008],
])('with %s alone the prepare of a file of %s is answered with %i', async (scope, purpose, expected) => {
  const params = { purpose, name: 'a.txt', mime_type: 'text/plain', size: 1, sha256: 'ab'.repeat(32) }
  expect(await answerOf('attachment.prepare', [scope], TICKET, { params })).toBe(expected)
})

test.each<[scope: Scope, permitted: readonly AttachmentPurpose[]]>([
  ['tickets.create', [TICKET]],
  ['tickets.comment', [TICKET_COMMENT]],
])('with %s alone a credential finalizes files of its own purpose only', async (scope, permitted) => {
  const finalized: FinalizeAttachmentRequest[] = []
  expect(await answerOf('attachment.finalize', [scope], TICKET, { finalized })).toBe(200)
  expect(finalized.map(({ permittedPurposes }) => permittedPurposes)).toEqual([permitted])
  expect(await answerOf('attachment.finalize', ['chargebacks.read'], TICKET, { finalized })).toBe(3008)
  expect(finalized).toHaveLength(1)
})
