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

// O10
test('a flood of events of payments leaves support its places, and the other way round', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'multihub-places-'))
  const waiting: (() => void)[] = []
  let is_slow = true
  const notifier = await openNotifier(directory, {
    async endpointsReadAfter() {
      if (is_slow) await new Promise<void>((resolve) => waiting.push(resolve))
      return []
    },
  })
  const rpc = await createRpc(rpcConfig())
  rpc.add([createDeliveryRpc(notifier)])
  const eventOf = {
    payments: (number: number) => eventBytes({ eventKey: `p-${number}:success` }),
    support: (number: number) =>
      eventBytes({ event: 'ticket.created', eventKey: `t-${number}:ticket.created:1` }),
  }
  const send = (role: keyof typeof eventOf, number: number) =>
    rpc
      .clientsOf(role)(DeliveryService)
      .receiveEvent({ event: eventOf[role](number) })
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
    rpc.close()
    await notifier.close()
    rmSync(directory, { recursive: true })
  }
})
