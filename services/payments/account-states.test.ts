import { expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { installManualClock } from '../../test/support/manual-clock.ts'
import { createAccountStates } from './account-states.ts'
import { newKnownAccount } from './domain/account-identity.ts'
import { type AccountState, switchAccount, withRestoredState } from './domain/account-state.ts'
import { openPayments } from './payments-store.fixture.ts'
import { storeSwitch } from './store/known-accounts.ts'

const ACME = { account_id: 'acme', fingerprint: 'f' }
const AT = new Date('2026-11-21T10:00:00.000Z')

const to = (state: AccountState, reason = 'it hangs', at = AT) => ({
  state,
  reason,
  principal_id: 'asha',
  at,
})

// P20
test('a process learns of a switch that another one has stored, and forgets none', async () => {
  await using fixture = await openPayments()
  const { known_accounts } = fixture.store
  const states = createAccountStates(known_accounts)
  await states.start()
  expect([states.takesPayments('acme'), states.switchOf('acme')]).toEqual([true, undefined])
  await storeSwitch(known_accounts, ACME, to('disabled'))
  await states.refresh()
  expect([states.takesPayments('acme'), states.isDisabled('acme')]).toEqual([false, true])
  expect(states.switchOf('acme')).toMatchObject(to('disabled'))
  await storeSwitch(known_accounts, ACME, to('enabled', 'it works'))
  await states.refresh()
  expect([states.takesPayments('acme'), states.switchOf('acme')?.reason]).toEqual([true, 'it works'])
  await states.stop()
})

// P20
test('what is older than 2.5 seconds is read again before money moves, and is unknown when it cannot be read', async () => {
  using clock = installManualClock()
  let is_broken = false
  let reads = 0
  const states = createAccountStates({
    find: async () => {
      reads += 1
      if (is_broken) throw new Unavailable('the store does not answer')
      return [{ ...newKnownAccount(ACME), switched: to('draining'), version: 1 }]
    },
  })
  expect(await states.recentStateOf('acme')).toBe('draining')
  await clock.advance(2_500)
  expect([await states.recentStateOf('acme'), reads]).toEqual(['draining', 1])
  await clock.advance(1)
  expect([await states.recentStateOf('acme'), reads]).toEqual(['draining', 2])
  is_broken = true
  await clock.advance(2_501)
  expect(await states.recentStateOf('acme')).toBe('unknown')
  expect(states.takesPayments('acme')).toBe(false)
})

// P20: a store under load can answer the earlier question last.
test('an answer that comes after that of a later read changes nothing', async () => {
  using clock = installManualClock()
  const answers: ((state: AccountState) => void)[] = []
  const states = createAccountStates({
    find: () =>
      new Promise((resolve) => {
        answers.push((state) => resolve([{ ...newKnownAccount(ACME), switched: to(state), version: 1 }]))
      }),
  })
  const earlier = states.refresh()
  await clock.advance(1)
  const later = states.refresh()
  answers[1]?.('disabled')
  await later
  answers[0]?.('enabled')
  await earlier
  expect(states.isDisabled('acme')).toBe(true)
})

// P20
test('a repeated switch changes nothing, and keeps who, when and why', () => {
  const known = newKnownAccount(ACME)
  const switched = switchAccount(known, to('disabled'))
  expect(switchAccount(switched, { ...to('disabled'), principal_id: 'other', at: new Date() })).toBe(switched)
  expect(switchAccount(switched, to('disabled', 'another reason')).switched?.reason).toBe('another reason')
})

// P20
test('an account of a backup has the state that it had, with a mark until the operator sets one', () => {
  const restored_at = new Date('2026-11-22T10:00:00.000Z')
  const disabled = withRestoredState(switchAccount(newKnownAccount(ACME), to('disabled')), restored_at)
  expect(disabled.switched).toEqual({ ...to('disabled'), restored_at })
  expect(withRestoredState(newKnownAccount(ACME), restored_at).switched).toMatchObject({
    state: 'enabled',
    restored_at,
  })
  expect(switchAccount(disabled, to('disabled')).switched).toEqual(to('disabled'))
})
