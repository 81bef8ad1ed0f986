import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { PUBLIC_METHODS } from '../../gateway/methods/public-methods.ts'
import { BRUNO_FOLDER } from '../../scripts/docs/bruno.ts'
import { ROOT } from '../../scripts/sources/sources.ts'
import { eventually } from '../support/eventually.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { type Operator, operatorOf } from '../support/operator.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { startOneProcess, type TestSystem } from '../support/system.ts'
import { type BruRequest, entryOf, fillIn, parseBru, readCollection, runScript } from './bruno.fixture.ts'

const FOLDER = join(ROOT, BRUNO_FOLDER)

let system: TestSystem
let receiver: Receiver
let alpha: MerchantClient
let operator: Operator
beforeAll(async () => {
  system = await startOneProcess({ MULTIHUB_SCANNER: 'none' })
  receiver = await startReceiver()
  alpha = merchantClient(system.demo)
  operator = operatorOf(system.demo())
  await operator('multihub.merchants.v1.EndpointService/CreateEndpoint', {
    merchantId: alpha.merchant.merchant_id,
    environment: 'ENVIRONMENT_TEST',
    url: receiver.url,
  })
})
afterAll(async () => {
  await receiver?.stop()
  await system?.end()
})

/** What must have happened before a request, and no request of the collection does: time passes, or the operator acts. */
async function prepare(name: string, variables: ReadonlyMap<string, string>): Promise<void> {
  const run = variables.get('run')
  if (name === 'payment.notification') await alpha.finalPayment(`${run}-order-1`)
  const h_id = variables.get('attachment_id')
  if (name === 'attachment.get')
    await eventually(
      () => alpha.call({ method: 'attachment.status', params: { attachment: { h_id } } }),
      (seen) => seen?.body.result.status === 'ready',
    )
  if (name === 'ticket.reopen') {
    const { body } = await alpha.call({
      method: 'ticket.get',
      params: { identifiers: { c_id: `${run}-ticket-1` } },
    })
    const move = { ticketId: body.result.identifiers.h_id, status: 'TICKET_STATUS_RESOLVED' }
    await operator('multihub.support.v1.TicketService/MoveTicket', move)
  }
  if (name === 'chargeback.list')
    await operator('multihub.support.v1.ChargebackService/OpenChargeback', {
      paymentId: variables.get('payment_id'),
      amount: { minor: '100' },
      reasonCode: '10.4',
    })
}

test('every request of the Bruno collection, signed by its script, is answered with success', async () => {
  const collection = parseBru(await readFile(join(FOLDER, 'collection.bru'), 'utf8'))
  const requests = await readCollection(FOLDER)
  const names = requests.map((request) => entryOf(request, 'meta', 'name'))
  expect(names.filter((name) => name !== 'attachment.upload').toSorted()).toEqual(
    PUBLIC_METHODS.map(({ name }) => name).toSorted(),
  )
  const environment = {
    base_url: system.demo().base_url,
    application_id: String(alpha.credential.application_id),
    secret: alpha.credential.secret,
    deposit_service_id: String(alpha.route({})),
    withdrawal_service_id: String(alpha.route({ direction: 'out', method: 'imps' })),
  }
  const variables = new Map<string, string>()
  for (const blocks of requests) {
    const name = entryOf(blocks, 'meta', 'name')
    await prepare(name, variables)
    const method = blocks.has('post') ? 'post' : 'put'
    const request: BruRequest = {
      url: entryOf(blocks, method, 'url'),
      headers: { 'Content-Type': entryOf(blocks, 'headers', 'Content-Type') },
      body: blocks.get('body:text') ?? '',
    }
    const run = (script: string | undefined, body?: unknown) =>
      runScript(script, name, request, variables, environment, body)
    for (const file of [collection, blocks]) run(file.get('script:pre-request'))
    const fill = (text: string) => fillIn(text, variables, environment)
    const response = await fetch(fill(request.url), {
      method,
      headers: request.headers,
      body: fill(request.body),
    })
    const body = (await response.json()) as { success: boolean }
    expect([name, response.status, body]).toEqual([name, 200, expect.objectContaining({ success: true })])
    run(collection.get('script:post-response'), body)
  }
})
