import { expect, test } from '@jest/globals'
import { Ambiguous } from '#lib/store/errors.ts'
import type { Collection } from '#lib/store/store.ts'
import type { KnownAccount } from '../domain/account-identity.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { rememberAccounts } from './known-accounts.ts'

const accountsWith = (fingerprint: string) => [{ fingerprint, account: { account_id: 'bank' } }]

// P19: a start that one lost write ends would not get through while a database loses some of its commands.
test('a write whose result is lost is tried again, and the first thing known of an account stays', async () => {
  await using fixture = await openPayments()
  const { known_accounts } = fixture.store
  let lost = 0
  const insert: Collection<KnownAccount>['insert'] = async (document, options) => {
    const stored = await known_accounts.insert(document, options)
    lost += 1
    if (lost === 1) throw new Ambiguous('the result is lost')
    return stored
  }
  await rememberAccounts({ get: (...read) => known_accounts.get(...read), insert }, accountsWith('f'))
  await rememberAccounts(known_accounts, accountsWith('another'))
  expect(lost).toBe(1)
  expect(await known_accounts.get({ account_id: 'bank' })).toMatchObject({ fingerprint: 'f' })
})
