import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'lmdb'
import { Packr } from 'msgpackr'
import { clock } from '#lib/base/time.ts'
import { openStore } from '#lib/store/open.ts'
import type { Stored } from '#lib/store/store.ts'
import type { BenchResult } from './result.ts'
import { measureAlternately, medianOf } from './rounds.ts'

const DOCUMENTS = 2_048
const ROUND_MS = 1_000
const ROUNDS = 5
const GOAL = { ratio: 0.7 }

interface Payment {
  readonly merchant_id: string
  readonly c_id: string
  readonly h_id: string
  readonly due_at: Date
  readonly amount: { readonly minor: bigint; readonly currency: string }
  readonly [field: string]: unknown
}

/** Replaces document number `at` under its version. Both of its index entries change. */
type Replace = (at: number) => Promise<void>

/**
 * `store.embedded` measures guarded replacements of 1.3 kB documents with two indexes, durable when they resolve, with 1,
 * 64 and 512 at a time. The baseline is lmdb alone, with the same reads and puts in its own transactions.
 */
export async function run(): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-store-'))
  try {
    const ours = await openOurs(directory)
    const baseline = await openBaseline(directory)
    const results: BenchResult[] = []
    for (const concurrency of [1, 64, 512]) {
      const name = `store.embedded guarded writes, ${concurrency} at a time`
      const rounds = await measureAlternately(name, ROUNDS, {
        ours: () => measure(ours.replace, concurrency),
        baseline: () => measure(baseline.replace, concurrency),
      })
      results.push({ name, unit: 'writes/s', goal: GOAL, ...medianOf(rounds, (rate) => rate) })
    }
    await ours.close()
    await baseline.close()
    return results
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

async function measure(replace: Replace, concurrency: number): Promise<number> {
  const start_ms = clock.monotonic_ms()
  let writes = 0
  const worker = async (_: unknown, first: number): Promise<void> => {
    for (let at = first; clock.monotonic_ms() - start_ms < ROUND_MS; at = (at + concurrency) % DOCUMENTS) {
      await replace(at)
      writes += 1
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return (writes * 1_000) / (clock.monotonic_ms() - start_ms)
}

function payment(at: number, version: number): Payment {
  return {
    merchant_id: '0192f3a1-7b3c-7a11-8f00-0123456789ab',
    c_id: `order-${at}`,
    h_id: `h-${version}-${at}`,
    due_at: new Date(1_700_000_000_000 + version),
    status: 'processing',
    amount: { minor: 1_234_500n, currency: 'USD' },
    fee: { minor: 1_200n, currency: 'USD' },
    attempt: 3,
    payload: {
      card: `sealed:${'x'.repeat(320)}`,
      holder: 'JOHN DOE',
      country: 'DE',
      email: 'someone@example.com',
    },
    customer: { id: 'customer-1', ip: '192.0.2.1', agent: 'Mozilla/5.0 (X11; Linux x86_64)' },
    history: [
      { status: 'new', at: new Date(1_700_000_000_000) },
      { status: 'processing', at: new Date(1_700_000_000_900) },
    ],
    effects: [
      { id: 'e1', kind: 'ledger.post', key: '0192f3a1:3', due_at: new Date(1_700_000_001_000), tries: 0 },
      { id: 'e2', kind: 'event', key: '0192f3a1:4', due_at: new Date(1_700_000_001_000), tries: 0 },
    ],
    callback_url: 'https://merchant.example/callbacks/payments',
    note: 'n'.repeat(300),
  }
}

async function openOurs(directory: string): Promise<{ replace: Replace; close: () => Promise<void> }> {
  const store = await openStore({ database: 'ours', directory })
  const payments = await store.collection<Payment>({
    name: 'payments',
    partition: ['merchant_id'],
    key: ['merchant_id', 'c_id'],
    indexes: {
      by_h_id: { fields: ['merchant_id', 'h_id'] },
      by_due: { fields: ['due_at'], across_partitions: true },
    },
  })
  const stored: Stored<Payment>[] = await Promise.all(
    Array.from({ length: DOCUMENTS }, (_, at) => payments.insert(payment(at, 1))),
  )
  return {
    async replace(at) {
      const version = stored[at]?.version ?? 0
      stored[at] = await payments.replace(payment(at, version + 1), version)
    },
    close: () => store.close(),
  }
}

async function openBaseline(directory: string): Promise<{ replace: Replace; close: () => Promise<void> }> {
  const table = open<Buffer, string>({
    path: join(directory, 'baseline'),
    encoding: 'binary',
    overlappingSync: false,
  })
  const packer = new Packr({ useRecords: false, variableMapSize: true })
  const versions = new Map<number, number>()
  async function write(at: number): Promise<void> {
    const version = versions.get(at) ?? 0
    const document = payment(at, version + 1)
    const key = `d ${document.merchant_id} ${document.c_id}`
    const record = packer.pack({ ...document, version: version + 1 })
    const key_bytes = Buffer.from(key)
    await table.transaction(() => {
      const current = table.getBinary(key)
      if (current !== undefined) {
        const before: Payment & { version: number } = packer.unpack(current)
        if (before.version !== version) throw new Error('conflict')
        void table.remove(`h ${before.merchant_id} ${before.h_id} ${before.c_id}`)
        void table.remove(`t ${before.due_at.getTime()} ${key}`)
      }
      void table.put(key, record)
      void table.put(`h ${document.merchant_id} ${document.h_id} ${document.c_id}`, key_bytes)
      void table.put(`t ${document.due_at.getTime()} ${key}`, key_bytes)
    })
    versions.set(at, version + 1)
  }
  await Promise.all(Array.from({ length: DOCUMENTS }, (_, at) => write(at)))
  return { replace: write, close: () => table.close() }
}
