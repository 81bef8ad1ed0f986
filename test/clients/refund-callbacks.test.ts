import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { merchantClient } from '../support/merchant.ts'
import { operatorOf } from '../support/operator.ts'
import { type ReceivedCallback, startReceiver } from '../support/receiver.ts'
import { startOneProcess } from '../support/system.ts'
import { describeLanguage, LANGUAGES } from './languages.ts'

/** The callbacks of two refunds of one deposit, each of a part. */
let refunded: readonly ReceivedCallback[] = []

beforeAll(async () => {
  const system = await startOneProcess()
  const receiver = await startReceiver()
  try {
    const alpha = merchantClient(system.demo)
    const operator = operatorOf(system.demo())
    const c_id = randomUUID()
    await alpha.deposit(100_908, { c_id, webhook_url: receiver.url })
    await alpha.finalPayment(c_id)
    const found = () => receiver.of(c_id).filter(({ body }) => body.id.endsWith(':payment.refunded'))
    for (const count of [1, 2]) {
      const params = { identifiers: { c_id: randomUUID() }, payment: { c_id }, amount: '100' }
      const { body } = await alpha.call({ method: 'refund.request', params })
      const refundId = body.result.identifiers.h_id
      await operator('multihub.support.v1.RefundService/ApproveRefund', { refundId })
      await eventually(
        async () => new Set(found().map(({ raw }) => String(raw))).size,
        (size) => size === count,
      )
    }
    refunded = found()
  } finally {
    await receiver.stop()
    await system.end()
  }
})

for (const language of LANGUAGES)
  describeLanguage(language)(`the client in ${language.name}`, () => {
    test('gives the callbacks of two partial refunds of a payment two keys', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'multihub-client-'))
      language.build?.(folder)
      const runner = language.start(folder)
      try {
        const keys = new Map<string, string>()
        for (const { raw, body } of refunded) {
          const { result } = await runner.act({ act: 'key', callback: body })
          keys.set(String(raw), result)
        }
        expect(new Set(refunded.map(({ body }) => body.id)).size).toBe(1)
        expect([keys.size, new Set(keys.values()).size]).toEqual([2, 2])
      } finally {
        await runner.stop()
        await rm(folder, { recursive: true, force: true })
      }
    })
  })
