import { join } from 'node:path'
import { open } from 'lmdb'
import { servePipeline } from './pipeline.ts'

/** As large as the payment is in our own store. */
const DOCUMENT_BYTES = 1_900
const ENTRY_BYTES = 300

const payments = openTable('payments')
const ledger = openTable('ledger')

/** The least that can be called keeping: a durable put for each step, without indexes, guards or messages. */
await servePipeline({
  async created(asked) {
    await payments.put(asked.identifiers.c_id, documentOf(asked, DOCUMENT_BYTES))
  },
  answered: (_kept, asked, report) =>
    payments.put(
      asked.identifiers.c_id,
      documentOf({ ...asked, state: 'processing', report }, DOCUMENT_BYTES),
    ),
  async paid(c_id, report, credited) {
    const stored = payments.get(c_id)
    if (stored === undefined) throw new Error('a callback for a payment that is not there')
    const payment = { ...JSON.parse(stored.toString()), state: 'success', report }
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
