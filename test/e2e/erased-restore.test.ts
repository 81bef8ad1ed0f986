import { mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { runToEnd } from '../support/child.ts'
import { eventually } from '../support/eventually.ts'
import { merchantClient } from '../support/merchant.ts'
import { operatorOf } from '../support/operator.ts'
import { startOneProcess, type TestSystem } from '../support/system.ts'
import { keysOf } from './backup.suite.ts'

const LONG_MS = 300_000
const EMAIL = 'customer@example.com'

let outside: string
let system: TestSystem
beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), 'multihub-erasures-'))
  system = await startOneProcess({ MULTIHUB_ERASURES_FILE: join(outside, 'erasures.jsonl') })
}, LONG_MS)
afterAll(async () => {
  await system.end()
  await rm(outside, { recursive: true })
})

// O11
test(
  'a person who was erased after the backup is erased again by the restore',
  async () => {
    const alpha = merchantClient(system.demo)
    const operator = (rpc: string, request: object) => operatorOf(system.demo())(rpc, request)
    const { c_id } = await alpha.deposit(70_000)
    const { identifiers } = await alpha.finalPayment(c_id)
    const paymentId = identifiers.h_id
    const readEmail = async (): Promise<string | undefined> => {
      const request = { paymentId, reveal: true }
      const { payment } = await operator('multihub.payments.v1.PaymentService/GetPayment', request)
      return payment.details?.payer?.email
    }
    expect(await readEmail()).toBe(EMAIL)
    const variables = { MULTIHUB_HOME: system.home, ...(await keysOf(system)) }
    const backup = join(outside, 'backup')
    await runToEnd('main.ts', ['backup', backup], variables)

    const request = { merchantId: alpha.merchant.merchant_id, paymentId }
    // It is refused while effects of the payment are under way.
    await eventually(
      () =>
        operator('multihub.payments.v1.PaymentErasureService/ErasePerson', request).then(
          () => true,
          () => false,
        ),
      (is_erased) => is_erased === true,
    )
    expect(await readEmail()).toBeUndefined()
    const list = join(outside, 'erasures.jsonl')
    expect(await readFile(list, 'utf8')).not.toContain(paymentId)

    await system.kill()
    await rename(join(system.home, 'data'), join(outside, 'data.before'))
    const lines = await runToEnd('main.ts', ['restore', '--erasures', list, '--verify', backup], variables)
    expect(lines).toContain('payments: 1 documents were erased again')
    await system.start()
    await eventually(readEmail, (email) => email === undefined)
    expect((await alpha.status(c_id)).body.result.payment.status.status).toBe('success')
  },
  LONG_MS,
)
