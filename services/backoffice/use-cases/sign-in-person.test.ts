import { expect, test } from '@jest/globals'
import { openTestStore } from '../../../test/support/store.ts'
import { openPrincipals } from '../store/principals.ts'
import { type SignedInPerson, signInPerson } from './sign-in-person.ts'

const ASHA = { issuer: 'https://id.example', subject: 'asha', name: 'Asha', rights: ['read'] } as const

// O21: after a change of the provider, somebody else can have the same subject there.
test('a person is another one at another provider, and the same one under another name', async () => {
  await using opened = await openTestStore()
  const principals = await openPrincipals(opened.store)
  const signIn = (person: SignedInPerson) => signInPerson(principals, person, { holds_back: false })
  const first = await signIn(ASHA)
  const other = await signIn({ ...ASHA, issuer: 'https://other.example' })
  const renamed = await signIn({ ...ASHA, name: `A\u001bB${'x'.repeat(200)}` })
  expect(other.principal_id).not.toBe(first.principal_id)
  expect(renamed.principal_id).toBe(first.principal_id)
  expect(renamed.name).toBe(`A B${'x'.repeat(125)}`)
})

// O15.1
test('an administrator of a provider that is not configured any more does not keep the first token from counting', async () => {
  await using opened = await openTestStore()
  const principals = await openPrincipals(opened.store)
  await signInPerson(principals, { ...ASHA, rights: ['admin'] }, { holds_back: false })
  const hasAdmin = (issuer: string | undefined) => principals.hasAdmin(new Date(), issuer)
  expect(await Promise.all([ASHA.issuer, 'https://other.example', undefined].map(hasAdmin))).toEqual([
    true,
    false,
    false,
  ])
})
