import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Body } from '#lib/store/check.ts'
import { readDeclarations } from '#lib/store/declarations.ts'
import { openSnapshot, openStore } from '#lib/store/open.ts'
import type { CollectionSpec } from '#lib/store/store.ts'
import { explainStartError } from '../../app/run.ts'
import { loadOperations } from '../../operations/databases.ts'
import { verify } from '../../operations/verify.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { operatorOf } from '../support/operator.ts'
import { startReceiver } from '../support/receiver.ts'
import { type SystemHere, startHere } from '../support/system.ts'

let system: SystemHere
let variables: Readonly<Record<string, string>>
beforeAll(async () => {
  const receiver = await startReceiver()
  system = await startHere()
  const alpha = merchantClient(system.demo)
  const webhook_url = receiver.url
  const { c_id: to_endpoint } = await createForEndpoint(alpha, receiver.url)
  await receiver.waitFor(to_endpoint, 'payment.completed')
  for (const { c_id } of [
    await alpha.deposit(100_000, { webhook_url }),
    await alpha.withdraw(50_000, { webhook_url }),
  ]) {
    await alpha.finalPayment(c_id)
    await receiver.waitFor(c_id, 'payment.completed')
  }
  await system.stop()
  const { master_key } = JSON.parse(await readFile(join(system.home, 'keys.json'), 'utf8'))
  variables = { MULTIHUB_HOME: system.home, MULTIHUB_MASTER_KEYS: `local:${master_key}` }
  await receiver.stop()
})
afterAll(() => system.end())

/** Creates a deposit whose only event with a destination is `payment.completed`, to an endpoint of the merchant. */
async function createForEndpoint(alpha: MerchantClient, url: string): Promise<{ readonly c_id: string }> {
  const operator = operatorOf(system.demo())
  await operator('multihub.merchants.v1.EndpointService/CreateEndpoint', {
    merchantId: alpha.merchant.merchant_id,
    environment: 'ENVIRONMENT_TEST',
    url,
    events: ['payment.completed'],
  })
  return await alpha.deposit(10_000)
}

/** Runs the command in this process. */
async function run(more: Record<string, string> = {}, words: readonly string[] = []) {
  const lines: string[] = []
  const output = { printLine: (line: string) => void lines.push(line), printProgress: () => {} }
  const error = await verify(words, { ...variables, ...more }, output).catch(explainStartError)
  return { lines, error }
}

/** Deletes all documents of a collection, and returns the function that puts them back, changed or as they were. */
async function deleteAll(role: 'merchants' | 'payments' | 'balances' | 'notifier', name: string) {
  const [loaded] = await loadOperations([role])
  const declared = await readDeclarations(async (store) => loaded?.openCollections(store))
  const spec = declared.collections.find((one) => one.name === name) as CollectionSpec
  const database = `multihub_${role}`
  const directory = join(system.home, 'data')
  const snapshot = await openSnapshot({ directory }, [database], 'instant')
  const documents: Body[] = []
  for await (const document of snapshot.database(database).readDocuments(spec)) documents.push(document)
  await snapshot.close()
  const store = await openStore({ database, directory, timeout_ms: HANG_LIMIT_MS })
  const collection = await store.collection<object>(spec)
  for (const document of documents) {
    const key = Object.fromEntries(spec.key.map((field) => [field, document[field] as string]))
    await collection.delete(key, Number(document['version']))
  }
  await store.close()
  expect(documents.length).toBeGreaterThan(0)
  return async (change = (document: Body): Body => document): Promise<void> => {
    const again = await openStore({ database, directory, timeout_ms: HANG_LIMIT_MS })
    const emptied = await again.collection<object>(spec)
    for (const document of documents) await emptied.insert(change(document))
    await again.close()
  }
}

test('a whole system has no problem', async () => {
  expect(await run()).toEqual({
    lines: [
      'the databases are complete and agree',
      expect.stringMatching(/^only a holder of the keys of the purpose journal can .* repeat with --heads/),
    ],
    error: undefined,
  })
})

test('the keys of another system are a problem', async () => {
  const { lines, error } = await run({ MULTIHUB_MASTER_KEYS: `other:${'0'.repeat(64)}` })
  const [first, ...others] = lines
  expect(first).toBe(
    'PROBLEM  merchants: none of the stored secrets can be decrypted; provide the keys that encrypted them',
  )
  expect(others.length).toBeGreaterThan(0)
  expect(
    others.filter(
      (line) =>
        !/^PROBLEM {2}balances: .*not signed with a key of the ledger/.test(line) &&
        // What the operator did at the back office was signed with the other keys too.
        !/^PROBLEM {2}backoffice: batch \d+ of the audit trail was signed with the key local/.test(line),
    ),
  ).toEqual([])
  expect(error).toMatch(/problems were found: docs\/operators\/backup.md says what to do$/)
})

test('a payment without its ledger entries or events is a problem', async () => {
  const restoreJournal = await deleteAll('balances', 'journal')
  const { lines } = await run()
  await restoreJournal()
  const missing = lines.filter((line) => line.startsWith('PROBLEM  payments: the ledger entry '))
  expect(missing.map((line) => /:(\w+) of the payment/.exec(line)?.[1]).sort()).toEqual([
    'credit',
    'credit',
    'hold',
    'resolve',
  ])
  const restoreEvents = await deleteAll('notifier', 'events')
  const events = await run()
  await restoreEvents()
  const isOfPayment = (line: string): boolean =>
    /^PROBLEM {2}payments: the event \S+ of the payment/.test(line)
  expect(events.lines.filter(isOfPayment).length).toBeGreaterThanOrEqual(4)
  // The stop may have come before the result of a callback was stored; then its delivery needs its event too.
  for (const line of events.lines.filter((one) => !isOfPayment(one)))
    expect(line).toMatch(/^PROBLEM {2}notifier: the delivery \S+ has no event/)
  expect((await run()).error).toBeUndefined()
})

test('an event that an endpoint had to get is a problem when it is missing', async () => {
  const changeEndpoints = async (changed_ms: number): Promise<void> => {
    const restore = await deleteAll('merchants', 'endpoints')
    await restore((endpoint) => ({ ...endpoint, updated_at: new Date(changed_ms) }))
  }
  const restoreEvents = await deleteAll('notifier', 'events')
  // An endpoint that was changed after the event proves nothing.
  await changeEndpoints(Date.now())
  const without_endpoint = (await run()).lines
  await changeEndpoints(Date.now() - 3_600_000)
  const { lines } = await run()
  // The callbacks of all three payments are gone, also of the payment without a webhook_url.
  const added = lines.filter((line) => !without_endpoint.includes(line))
  expect(added).toHaveLength(1)
  expect(added[0]).toMatch(/^PROBLEM {2}payments: the event \S+ of the payment/)
  await restoreEvents()
  expect((await run()).error).toBeUndefined()
})

// O9
test('with --heads, the journals must reach the heads in the log', async () => {
  const restoreJournal = await deleteAll('balances', 'journal')
  const lines: string[] = []
  await restoreJournal((batch) => {
    // The signature of a batch is that of its head.
    const { shard, seq, hash, signature } = batch
    const message = 'head of the ledger'
    lines.push(JSON.stringify({ message, role: 'balances', shard, seq: `${seq}`, hash, signature }))
    return batch
  })
  const path = join(system.home, 'heads.log')
  const withHeads = async (heads: readonly string[]) => {
    await writeFile(path, `${heads.join('\n')}\n`)
    return run({}, ['--heads', path])
  }
  expect(await withHeads(lines)).toEqual({
    lines: [
      'the databases are complete and agree',
      expect.stringContaining('they reach the heads in the log'),
    ],
    error: undefined,
  })
  const forged = lines.map((line) => line.replace(/"seq":"[0-9]+"/, '"seq":"999"'))
  const { lines: problems, error } = await withHeads(forged)
  expect(problems).toHaveLength(lines.length)
  for (const problem of problems) expect(problem).toMatch(/^PROBLEM {2}balances: .* no key of the ledger/)
  expect(error).toContain('problems were found')
  expect((await withHeads([])).lines).toEqual([expect.stringContaining('nothing was compared')])
  const absent = join(system.home, 'absent')
  // Before any database is opened.
  const refused = await run({ MULTIHUB_HOME: absent }, ['--heads', absent])
  expect(refused.error).toBe(`${absent} cannot be read (ENOENT): name a file of log lines`)
  for (const words of [['--heads'], ['heads.log'], ['--heads', path, path]])
    expect((await run({}, words)).error).toContain('is not understood')
})

test('a ledger entry without its payment is a problem', async () => {
  const restorePayments = await deleteAll('payments', 'payments')
  const { lines } = await run()
  await restorePayments()
  expect(lines).toHaveLength(4)
  for (const line of lines)
    expect(line).toMatch(/^PROBLEM {2}balances: the payment \S+ of the ledger entry \S+ is missing$/)
})
