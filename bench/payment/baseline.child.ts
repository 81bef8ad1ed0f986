import { join } from 'node:path'
import { open } from 'lmdb'
import { servePipeline } from './pipeline.ts'

/** As large as the document of a payment in our store. */
const DOCUMENT_BYTES = 1_900
const ENTRY_BYTES = 300

const payments = openTable('payments')
const ledger = openTable('ledger')

/**
 * The smallest durable pipeline: one put per step, without indexes, guarded writes or messages. A withdrawal has two steps
 * more: the hold, and its release when it is declined.
 */
await servePipeline({
  async insertPayment(payment) {
    const { c_id } = payment.identifiers
    await payments.put(c_id, documentOf(payment, DOCUMENT_BYTES))
    if ('payer' in payment) return
    await ledger.put(
      `${c_id}:hold`,
      documentOf({ c_id, amount: payment.amount, credit: 'held' }, ENTRY_BYTES),
    )
  },
  async storeResponse(_stored, payment, report) {
    const { c_id } = payment.identifiers
    await payments.put(c_id, documentOf({ ...payment, status: 'processing', report }, DOCUMENT_BYTES))
    if ('payer' in payment || report.status === 'pending') return
    await ledger.put(`${c_id}:release`, documentOf({ c_id, amount: payment.amount }, ENTRY_BYTES))
  },
  async storeCallback(c_id, report, credited) {
    const stored = payments.get(c_id)
    if (stored === undefined) throw new Error('the payment of a callback is missing')
    const payment = { ...JSON.parse(stored.toString()), status: 'success', report }
    await payments.put(c_id, documentOf(payment, DOCUMENT_BYTES))
    await ledger.put(c_id, documentOf({ c_id, amount: report.amount, credit: 'available' }, ENTRY_BYTES))
    credited()
  },
})

function openTable(name: string) {
  const path = join(process.env['BENCH_DIRECTORY'] ?? '', name)
  return open<Buffer, string>({ path, encoding: 'binary', overlappingSync: false })
}

function documentOf(content: object, size: number): Buffer {
  return Buffer.from(JSON.stringify(content).padEnd(size))
}
