import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { TicketStatus } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { eventually } from '../support/eventually.ts'
import type { PublicResponse } from '../support/public-client.ts'
import { announcementOf, transfer } from './attachments.fixture.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
let shop: SupportClient
beforeAll(async () => {
  system = await startSupport()
  shop = await system.newMerchant()
})
afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
})

const CONTENT = Buffer.from('a receipt\n')

/** Prepares a file; uploads it too unless `is_uploaded` is false, and waits until it is ready. Returns its id. */
async function newFile(purpose: string, { is_uploaded = true, of = shop } = {}): Promise<string> {
  const { body } = await of.call('attachment.prepare', announcementOf(CONTENT, { purpose }), randomUUID())
  const { h_id } = body.result.attachment.identifiers
  if (!is_uploaded) return h_id
  const { url, headers } = body.result.upload
  await transfer(url, { method: 'PUT', headers, content: CONTENT })
  await of.call('attachment.finalize', { attachment: { h_id } }, randomUUID())
  await eventually(
    () => of.call('attachment.status', { attachment: { h_id } }),
    (response) => response?.body.result?.status === 'ready',
  )
  return h_id
}

const create = (attachment_ids: readonly string[], more: object = {}): Promise<PublicResponse> =>
  shop.call('ticket.create', {
    identifiers: { c_id: randomUUID() },
    title: 'a',
    description: 'b',
    category: 'bug',
    attachment_ids,
    ...more,
  })

const refusalOf = ({ http_status, body }: PublicResponse) => [
  http_status,
  body.error?.code,
  body.error?.details?.description,
]

// S1, S2
test('a ticket shows its files in their order, and a payment issue with one is accepted', async () => {
  const ids = [await newFile('ticket'), await newFile('ticket')]
  const { c_id } = await shop.deposit()
  const { body } = await create(ids, { category: 'payment_issue', payment: { c_id } })
  expect(body.result.attachments).toEqual(
    ids.map((h_id) => ({
      identifiers: { h_id },
      name: 'receipt.txt',
      mime_type: 'text/plain',
      size: CONTENT.length,
      created_at: expect.any(String),
    })),
  )
  const { identifiers } = body.result
  const shown = await shop.call('ticket.get', { identifiers: { h_id: identifiers.h_id } })
  expect(shown.body.result).toEqual(body.result)
})

// S2, F7
test('refuses files that cannot be used, and names their position', async () => {
  const other = await system.newMerchant()
  const foreign = await newFile('ticket', { of: other })
  const ready = await newFile('ticket')
  expect(refusalOf(await create([ready, randomUUID()]))).toEqual([404, 13001, 'params.attachment_ids.1'])
  expect(refusalOf(await create([ready, foreign]))).toEqual([404, 13001, 'params.attachment_ids.1'])
  const pending = await newFile('ticket', { is_uploaded: false })
  expect(refusalOf(await create([pending]))).toEqual([409, 13003, 'params.attachment_ids.0'])
  const of_comment = await newFile('ticket_comment')
  expect(refusalOf(await create([of_comment]))).toEqual([400, 9000, 'params.attachment_ids.0'])
  expect(refusalOf(await create([ready, ready]))).toEqual([400, 9000, 'params.attachment_ids.1'])
  // None of the refusals has used the ready file.
  const params = { identifiers: { c_id: 'with a file' } }
  const first = await create([ready], params)
  expect(first.http_status).toBe(200)
  expect((await create([ready], params)).body.result).toEqual(first.body.result)
  expect(refusalOf(await create([ready]))).toEqual([400, 9000, 'params.attachment_ids.0'])
})

// S2
test('a refused ticket leaves its files free', async () => {
  const payment = await shop.deposit()
  const about = { category: 'dispute', payment: { c_id: payment.c_id } }
  const files = await Promise.all([0, 1, 2, 3].map(() => newFile('ticket')))
  const responses = await Promise.all(files.map((file) => create([file], about)))
  expect(responses.map(({ http_status }) => http_status).sort()).toEqual([200, 409, 409, 409])
  for (const [place, { http_status }] of responses.entries()) {
    const again = await create([files[place] ?? ''])
    expect(again.http_status).toBe(http_status === 200 ? 400 : 200)
  }
})

// S1, S4
test('a comment shows its files, and a refused one leaves them free', async () => {
  const { h_id } = (await create([])).body.result.identifiers
  const comment = (attachment_ids: readonly string[]) =>
    shop.call('ticket.comment.create', { ticket: { h_id }, body: 'see', attachment_ids }, randomUUID())
  const file = await newFile('ticket_comment')
  const move = (status: TicketStatus) => system.operator(TicketService).moveTicket({ ticketId: h_id, status })
  await move(TicketStatus.CLOSED)
  expect(refusalOf(await comment([file]))).toEqual([409, 10003, undefined])
  await shop.call('ticket.reopen', { identifiers: { h_id } }, randomUUID())
  const { body } = await comment([file])
  expect(body.result.attachments).toMatchObject([{ identifiers: { h_id: file }, size: CONTENT.length }])
  const listed = await shop.call('ticket.comments.list', { ticket: { h_id } })
  expect(listed.body.result.items).toEqual([body.result])
  expect(refusalOf(await comment([file]))).toEqual([400, 9000, 'params.attachment_ids.0'])
})
