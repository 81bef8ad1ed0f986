import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { createRpc } from '#lib/rpc/rpc.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { rpcConfig } from '../../../test/support/rpc.ts'
import { eventBytes } from '../event.fixture.ts'
import { openNotifier } from '../notifier.fixture.ts'
import { createDeliveryRpc } from './delivery-service.ts'

const PLACES = 256

/** The RPC of a notifier whose endpoints are read by `readEndpoints`, as payments and support call it. */
async function openReceiver(readEndpoints: () => Promise<void>) {
  const directory = mkdtempSync(join(tmpdir(), 'multihub-receive-event-'))
  const notifier = await openNotifier(directory, {
    async endpointsReadAfter() {
      await readEndpoints()
      return []
    },
  })
  const rpc = await createRpc(rpcConfig())
  rpc.add([createDeliveryRpc(notifier)])
  return {
    send: (role: 'payments' | 'support', event: Uint8Array) =>
      rpc.clientsOf(role)(DeliveryService).receiveEvent({ event }),
    async [Symbol.asyncDispose]() {
      rpc.close()
      await notifier.close()
      rmSync(directory, { recursive: true })
    },
  }
}

const ofPayment = (name: number | string) => eventBytes({ eventKey: `p-${name}:success` })
const ofTicket = (name: number | string) =>
  eventBytes({ event: 'ticket.created', eventKey: `t-${name}:ticket.created:1` })

// O10
test('a flood of events of payments leaves support its places, and the other way round', async () => {
  const waiting: (() => void)[] = []
  let is_slow = true
  await using receiver = await openReceiver(async () => {
    if (is_slow) await new Promise<void>((resolve) => waiting.push(resolve))
  })
  const eventOf = { payments: ofPayment, support: ofTicket }
  const send = (role: keyof typeof eventOf, number: number) => receiver.send(role, eventOf[role](number))
  const isReceived = (count: number) =>
    eventually(
      async () => waiting.length,
      (length) => length === count,
    )
  try {
    for (const [flooding, other] of [
      ['payments', 'support'],
      ['support', 'payments'],
    ] as const) {
      is_slow = true
      const flood = Array.from({ length: PLACES }, (_, number) => send(flooding, number))
      await isReceived(PLACES)
      await expect(send(flooding, PLACES)).rejects.toMatchObject({ code: 2002 })
      is_slow = false
      expect(await send(other, PLACES)).toMatchObject({ deliveryIds: [] })
      for (const answer of waiting.splice(0)) answer()
      await Promise.all(flood)
      expect(await send(flooding, PLACES)).toMatchObject({ deliveryIds: [] })
    }
  } finally {
    for (const answer of waiting.splice(0)) answer()
  }
})

// O10: the first body under a key is the one that is delivered.
test('a role sends its own events only, under keys of its own', async () => {
  await using receiver = await openReceiver(async () => {})
  const key_of_payment = { event: 'ticket.created', eventKey: 'p-1:success' }
  const key_of_ticket = { event: 'payment.completed', eventKey: 't-1:ticket.created:1' }
  for (const [role, event] of [
    ['support', ofPayment(1)],
    ['payments', ofTicket(1)],
    ['support', eventBytes(key_of_payment)],
    ['payments', eventBytes(key_of_ticket)],
  ] as const)
    await expect(receiver.send(role, event)).rejects.toMatchObject({ code: 9000 })
  expect(await receiver.send('support', ofTicket(1))).toMatchObject({ deliveryIds: [] })
})
