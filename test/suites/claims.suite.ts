import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AttachmentPurpose, AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { type AttachmentsFixture, MERCHANT } from '../../services/attachments/attachments.fixture.ts'

let fixture: AttachmentsFixture
/** The suite for claims of files, which must pass on every store. */
export function claimsSuite(name: string, start: () => Promise<AttachmentsFixture>): void {
  describe(`claims on ${name}`, () => {
    beforeAll(async () => {
      fixture = await start()
    })
    afterAll(async () => fixture[Symbol.asyncDispose]())

    const claim = (
      used_by: string,
      ids: readonly string[],
      more: { merchant_id?: string; purpose?: AttachmentPurpose; call_id?: string } = {},
    ) =>
      fixture.support.claimAttachments({
        merchantId: more.merchant_id ?? MERCHANT,
        environment: Environment.TEST,
        purpose: more.purpose ?? AttachmentPurpose.TICKET,
        attachmentIds: [...ids],
        usedBy: used_by,
        callId: more.call_id ?? randomUUID(),
      })
    const release = (used_by: string, ids: readonly string[], call_id: string) =>
      fixture.support.releaseAttachments({
        merchantId: MERCHANT,
        environment: Environment.TEST,
        attachmentIds: [...ids],
        usedBy: used_by,
        callId: call_id,
      })
    const usesOf = async (ids: readonly string[]): Promise<readonly string[]> => {
      const { attachments } = await fixture.operator.getAttachments({
        merchantId: MERCHANT,
        environment: Environment.TEST,
        attachmentIds: [...ids],
      })
      return attachments.map(({ usedBy }) => usedBy)
    }
    const newTicket = (): string => `ticket:${randomUUID()}`

    describe('a claim', () => {
      test('gives ready files to one ticket, also when it is repeated, and to no second one', async () => {
        const ids = [await fixture.ready({ name: 'one.txt' }), await fixture.ready({ name: 'two.txt' })]
        const ticket = newTicket()
        const { attachments } = await claim(ticket, ids)
        expect(attachments.map(({ name, sizeBytes, status }) => ({ name, sizeBytes, status }))).toEqual([
          { name: 'one.txt', sizeBytes: 10n, status: AttachmentStatus.READY },
          { name: 'two.txt', sizeBytes: 10n, status: AttachmentStatus.READY },
        ])
        await claim(ticket, ids)
        await expect(claim(newTicket(), ids)).rejects.toMatchObject({
          code: 9000,
          details: { description: 'params.attachment_ids.0' },
        })
        expect(await usesOf(ids)).toEqual([ticket, ticket])
      })

      test('takes nothing when one of the files cannot be used', async () => {
        const [free, used] = [await fixture.ready(), await fixture.ready()]
        const other = newTicket()
        await claim(other, [used])
        await expect(claim(newTicket(), [free, used])).rejects.toMatchObject({
          code: 9000,
          details: { description: 'params.attachment_ids.1' },
        })
        expect(await usesOf([free, used])).toEqual(['', other])
      })

      test('of overlapping files by several tickets at once succeeds for at most one of them, and wholly', async () => {
        for (let round = 0; round < 10; round += 1) {
          const ids = await Promise.all([fixture.ready(), fixture.ready(), fixture.ready()])
          const wanted = [ids, ids.toReversed(), ids.slice(1), ids.slice(0, 2)]
          const tickets = wanted.map(newTicket)
          // Each of them asks twice, as a client does that repeats a request which has not ended.
          const results = await Promise.allSettled(
            [...wanted, ...wanted].map((some, at) => claim(tickets[at % tickets.length] ?? '', some)),
          )
          const winners = tickets.filter((_, at) =>
            [at, at + tickets.length].some((call) => results[call]?.status === 'fulfilled'),
          )
          const held = await usesOf(ids)
          const disjoint = winners.every((ticket) => {
            const own = wanted[tickets.indexOf(ticket)] ?? []
            return own.every((id) => held[ids.indexOf(id)] === ticket)
          })
          expect(disjoint).toBe(true)
          for (const ticket of held.filter((one) => one !== '')) expect(winners).toContain(ticket)
        }
      })

      test('of an unknown file and of a file of another merchant is the same 13001', async () => {
        const foreign = await fixture.ready({ merchant_id: '7002' })
        const refusals = await Promise.allSettled([
          claim(newTicket(), [foreign]),
          claim(newTicket(), [randomUUID()]),
        ])
        const [first, second] = refusals.map((refusal) =>
          refusal.status === 'rejected'
            ? { code: refusal.reason.code, details: refusal.reason.details }
            : refusal,
        )
        expect(first).toEqual({ code: 13001, details: { description: 'params.attachment_ids.0' } })
        expect(second).toEqual(first)
      })

      test('of a file that is not ready, rejected or of another purpose says which', async () => {
        const { id: awaiting } = await fixture.prepare()
        await expect(claim(newTicket(), [awaiting])).rejects.toMatchObject({
          code: 13003,
          details: { status: 'awaiting_upload' },
        })
        const rejected = await fixture.prepare({ sha256: '0'.repeat(64) })
        await fixture.put(rejected.path, Buffer.from('a receipt\n'))
        await expect(fixture.finalize(rejected.id)).rejects.toMatchObject({ code: 13004 })
        await expect(claim(newTicket(), [rejected.id])).rejects.toMatchObject({
          code: 13004,
          details: { reason: 'sha256_mismatch' },
        })
        const comment = await fixture.ready({ purpose: AttachmentPurpose.TICKET_COMMENT })
        await expect(claim(newTicket(), [comment])).rejects.toMatchObject({ code: 9000 })
        await expect(claim(newTicket(), [comment, comment])).rejects.toMatchObject({
          code: 9000,
          details: { description: 'params.attachment_ids.1' },
        })
      })

      test('can be given back by its own ticket only', async () => {
        const id = await fixture.ready()
        const ticket = newTicket()
        await claim(ticket, [id], { call_id: 'call' })
        await release(newTicket(), [id], 'call')
        expect(await usesOf([id])).toEqual([ticket])
        await release(ticket, [id], 'call')
        await release(ticket, [id], 'call')
        const next = newTicket()
        await claim(next, [id])
        expect(await usesOf([id])).toEqual([next])
      })

      test('of two calls for one ticket stays when one of them was refused, also when that one says so late', async () => {
        const id = await fixture.ready()
        const ticket = newTicket()
        await claim(ticket, [id], { call_id: 'refused' })
        await claim(ticket, [id], { call_id: 'stored' })
        await release(ticket, [id], 'refused')
        await release(ticket, [id], 'refused')
        expect(await usesOf([id])).toEqual([ticket])
        await release(newTicket(), [id], 'stored')
        expect(await usesOf([id])).toEqual([ticket])
        await release(ticket, [id], 'stored')
        expect(await usesOf([id])).toEqual([''])
      })

      test('is refused for more than 10 files and for callers other than support', async () => {
        const ids = Array.from({ length: 11 }, () => randomUUID())
        await expect(claim(newTicket(), ids)).rejects.toMatchObject({ code: 9000 })
        await expect(
          fixture.gateway.claimAttachments({ merchantId: MERCHANT, attachmentIds: [], usedBy: 'ticket:1' }),
        ).rejects.toMatchObject({ code: 2001 })
      })
    })
  })
}
