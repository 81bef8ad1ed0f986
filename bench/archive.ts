import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { clock } from '#lib/base/time.ts'
import { archiveDocuments } from '#lib/store/archive/archive-documents.ts'
import { createArchiveReader } from '#lib/store/archive/archive-reader.ts'
import { withArchive } from '#lib/store/archive/archived-collections.ts'
import { packBody } from '#lib/store/embedded/record.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { listArchivable, PAYMENTS } from '../services/payments/store/payments.ts'
import { openSealedStore } from '../services/payments/store/payments-store.ts'
import type { SealedPayment } from '../services/payments/store/sealed-payments.ts'
import { measureJournal } from './archive/journal.ts'
import type { BenchResult } from './result.ts'
import { printProgress } from './rounds.ts'

const STORED = 10_000
const INSERTS_AT_ONCE = 500
const READS = 500
const ENDED_MS = Date.parse('2026-01-05T10:00:00.000Z')
const LATER = new Date(ENDED_MS + STORED * 1_000)

/**
 * `archive` of 10,000 erased deposits in embedded files: its rate, what a payment takes before and after in files without free pages,
 * and the time of a read. The deposits were paid at their first account, without a refund. Then the same of batches of the ledger.
 */
export async function run(): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const archive = join(directory, 'archive')
  const store = await openAt(join(directory, 'store'))
  try {
    printProgress(`${STORED} payments`)
    const payments = Array.from({ length: STORED }, (_, number) => paymentOf(number))
    await insertAll(store, payments)
    const before = await sizesOf(store, payments, join(directory, 'whole'))
    printProgress('archive')
    const began_ms = clock.monotonic_ms()
    const file_bytes = await archiveAll(store, archive)
    const archived_per_s = STORED / ((clock.monotonic_ms() - began_ms) / 1_000)
    const after = await sizesOf(store, payments, join(directory, 'stubs'))
    const read_ms = (cache_bytes: number) => measureReads(store, archive, payments, cache_bytes)
    return [
      { name: 'archive', ours: archived_per_s, unit: 'payments/s' },
      sizeResult('document', after.document, before.document),
      sizeResult('in embedded files', after.stored, before.stored),
      { name: 'archive, in files', ours: file_bytes / STORED, unit: 'bytes/payment' },
      { name: 'archive, read from a file', ours: await read_ms(0), unit: 'ms' },
      { name: 'archive, read from memory', ours: await read_ms(2 ** 30), unit: 'ms' },
      ...(await measureJournal(directory, 10)),
      ...(await measureJournal(directory, 500)),
    ]
  } finally {
    await store.close()
    await rm(directory, { recursive: true, force: true })
  }
}

function openAt(directory: string): Promise<Store> {
  return openStore({ database: 'payments', directory })
}

async function insertAll(store: Store, payments: readonly object[]): Promise<void> {
  const collection = await store.collection<object>(PAYMENTS)
  for (let at = 0; at < payments.length; at += INSERTS_AT_ONCE)
    await Promise.all(payments.slice(at, at + INSERTS_AT_ONCE).map((payment) => collection.insert(payment)))
}

async function archiveAll(store: Store, directory: string): Promise<number> {
  const target = { spec: PAYMENTS, collection: await store.collection<object>(PAYMENTS), directory }
  let [archived, file_bytes] = [0, 0]
  for await (const count of archiveDocuments(target, listArchivable(store, LATER)))
    [archived, file_bytes] = [count.archived, count.file_bytes]
  if (archived !== STORED) throw new Error(`${archived} payments were archived instead of ${STORED}`)
  return file_bytes
}

function sizeResult(what: string, ours: number, baseline: number): BenchResult {
  return { name: `archive, ${what}`, ours, baseline, unit: 'bytes/payment', ratio: baseline / ours }
}

/** The bytes per payment of the documents alone, and of a new store with them and their indexes. */
async function sizesOf(
  store: Store,
  payments: readonly SealedPayment[],
  directory: string,
): Promise<{ readonly document: number; readonly stored: number }> {
  const { payments: collection } = await openSealedStore(store)
  const copies: object[] = []
  let document_bytes = 0
  for (const { merchant_id, environment, c_id } of payments) {
    const { version: _, ...copy } = (await collection.get({ merchant_id, environment, c_id })) ?? {
      version: 0,
    }
    document_bytes += packBody(copy).length
    copies.push(copy)
  }
  const copy = await openAt(directory)
  await insertAll(copy, copies)
  await copy.close()
  const files = await readdir(directory, { recursive: true, withFileTypes: true })
  let bytes = 0
  for (const file of files.filter((one) => one.isFile()))
    bytes += (await stat(join(file.parentPath, file.name))).size
  return { document: document_bytes / STORED, stored: bytes / STORED }
}

async function measureReads(
  store: Store,
  directory: string,
  payments: readonly SealedPayment[],
  cache_bytes: number,
): Promise<number> {
  const reader = createArchiveReader(directory, { cache_bytes })
  const { payments: whole } = await openSealedStore(withArchive(store, reader))
  const readAny = async (): Promise<void> => {
    const { merchant_id, environment, c_id } = payments[
      Math.floor(randomFraction() * STORED)
    ] as SealedPayment
    if ((await whole.get({ merchant_id, environment, c_id }))?.creates === undefined)
      throw new Error('no body')
  }
  for (let read = 0; read < READS; read += 1) await readAny()
  const began_ms = clock.monotonic_ms()
  for (let read = 0; read < READS; read += 1) await readAny()
  return (clock.monotonic_ms() - began_ms) / READS
}

/** A paid deposit as it is stored once its person is erased. Times and ids differ from payment to payment. */
function paymentOf(number: number): SealedPayment {
  const [payment_id, request_id, provider_id] = [uuidv7(), uuidv7(), uuidv7()]
  const began_ms = ENDED_MS + number * 977
  const at = (later_ms: number): Date => new Date(began_ms + later_ms + ((number * 31) % 400))
  const c_id = `order-${100_000 + number}`
  const amount = BigInt(10_000 + ((number * 7_919) % 900_000))
  const account_id = 'acme-upi-1'
  return {
    merchant_id: '1001',
    environment: 'production',
    c_id,
    payment_id,
    h_id: payment_id,
    request_id,
    p_id: provider_id,
    utr: `${400_000_000_000 + number * 7_717}`,
    ids: [
      payment_id,
      `c:${c_id}`,
      `q:${request_id}`,
      `p:${provider_id}`,
      `u:${400_000_000_000 + number * 7_717}`,
    ],
    direction: 'in',
    service_id: '30001',
    method: 'upi',
    currency: 'INR',
    amount,
    status: 'success',
    provider_accounts: [account_id],
    attempt: { number: 1, account_id, created_at: at(0) },
    attempts: [
      { number: 1, account: { fingerprint: '8f14e45fceea167a5a36dedd4bea2543', at: at(1) }, provider_id },
    ],
    creates: [
      {
        account_id,
        attempt_number: 1,
        began_at: at(2),
        duration_ms: 20 + ((number * 13) % 400),
        http_status: 200,
        outcome: 'pending',
        provider_id,
      },
    ],
    reports: [{ at: at(4_000), is_callback: true, outcome: 'success', provider_id, attempt_number: 1 }],
    history: [
      { status: 'created', at: at(0), amount },
      { status: 'processing', at: at(30), amount },
      { status: 'success', at: at(4_010), amount },
    ],
    effects: [],
    slot: number % 64,
    created_at: at(0),
    updated_at: at(4_010),
    finished_at: at(4_005),
    expires_at: at(1_800_000),
    erased_at: at(4_100),
    archivable_since: at(4_010),
  }
}
