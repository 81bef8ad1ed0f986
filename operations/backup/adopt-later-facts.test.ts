import { expect, test } from '@jest/globals'
import type { DataCheck } from '#lib/role/operations.ts'
import type { Requirement } from '#lib/role/requirement.ts'
import type { RoleName } from '#lib/role/role.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import { adoptLaterFacts } from './adopt-later-facts.ts'

const FILE = 'payments-2026-01-01-000000000000.jsonl.gz'
const away = new ArchiveUnavailable(FILE, 'ENOENT')

const fact = (id: string): Requirement => ({
  role: 'payments',
  merchant_id: '1',
  environment: 'production',
  id,
  at: new Date(0),
  claim: { kind: 'entry', entry_id: id, posting: 'credit', amount: 1n, currency: 'INR' },
  subject: `the payment ${id}`,
})

/** Checks of payments that do not know what the ledger knows, and of a ledger with these facts. */
function checksOf(payments: DataCheck, balances: DataCheck): ReadonlyMap<RoleName, DataCheck> {
  return new Map([
    ['payments', payments],
    ['support', {}],
    ['balances', balances],
  ])
}

test('a fact about an archived payment without its file is reported, and the next fact is added', async () => {
  const adopted = new Set<string>()
  const checks = checksOf(
    {
      find: ({ id }) => Promise.resolve(adopted.has(id) ? 'found' : 'different'),
      adopt({ id }) {
        if (id === 'archived') return Promise.reject(away)
        adopted.add(id)
        // An earlier fact has brought it since it was looked up.
        return Promise.resolve(id !== 'brought')
      },
    },
    {
      async *listRequirements() {
        yield fact('archived')
        yield fact('whole')
        yield fact('brought')
      },
    },
  )
  const reported: unknown[][] = []
  expect(await adoptLaterFacts(checks, (...parameters) => void reported.push(parameters))).toEqual([])
  expect(reported).toEqual([
    ['payments', 'the payment whole', true],
    ['payments', 'the payment archived', false, away.message],
  ])
})

test('documents that cannot be read are counted once per reason', async () => {
  const checks = checksOf(
    { find: () => Promise.resolve('found') },
    {
      async *listRequirements({ onUnreadable } = {}) {
        onUnreadable?.('one file is away')
        yield fact('read')
        onUnreadable?.('one file is away')
        onUnreadable?.('another file is away')
      },
    },
  )
  expect(await adoptLaterFacts(checks, () => {})).toEqual([
    'balances: one file is away (2 documents)',
    'balances: another file is away (1 documents)',
  ])
})
