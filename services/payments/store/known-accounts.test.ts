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
  let inserts = 0
  const insert: Collection<KnownAccount>['insert'] = async (document, options) => {
    inserts += 1
    const stored = await known_accounts.insert(document, options)
    if (inserts === 1) throw new Ambiguous('the result is lost')
    return stored
  }
  const get: Collection<KnownAccount>['get'] = (...read) => known_accounts.get(...read)
  const replace: Collection<KnownAccount>['replace'] = (...write) => known_accounts.replace(...write)
  await rememberAccounts({ get, insert, replace }, accountsWith('f'))
  // A later start finds it and writes nothing.
  await rememberAccounts({ get, insert, replace }, accountsWith('another'))
  expect(inserts).toBe(1)
  expect(await known_accounts.get({ account_id: 'bank' })).toMatchObject({ fingerprint: 'f' })
})
