import { expect, test } from '@jest/globals'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { startDoor } from '../backoffice.fixture.ts'
import { createWrongTokens } from './wrong-tokens.ts'

// O22
test('wrong tokens of one network are not looked up any more for a minute, and nobody else is kept out', async () => {
  using clock = installManualClock()
  const tokens = createWrongTokens()
  let asked = 0
  const ask = (sha256: string, address: string, found?: string) =>
    tokens.ask(sha256, address, async () => {
      asked += 1
      return found
    })
  await ask('known', '198.51.100.7', 'principal')
  for (let tries = 0; tries < 120; tries += 1) await ask(`wrong-${tries}`, '198.51.100.7')
  expect(asked).toBe(121)
  await expect(ask('wrong', '198.51.100.7')).rejects.toThrow('too many calls with wrong tokens')
  expect(asked).toBe(121)
  expect(await ask('known', '198.51.100.7', 'principal')).toBe('principal')
  expect(await ask('new', '198.51.100.8', 'other')).toBe('other')
  await clock.advance(60_000)
  expect(await ask('wrong', '198.51.100.7')).toBeUndefined()
})

// O22
test.each([
  ['127.0.0.1', [401, 200]],
  ['none', [429, 200]],
])(
  'with the trusted proxies %s, a flood through an ingress makes the next caller %j',
  async (proxies, expected) => {
    await using door = await startDoor([], { MULTIHUB_TRUSTED_PROXIES: proxies })
    const whoAmI = async (token: string, address: string): Promise<number> => {
      const path = 'multihub.backoffice.v1.PrincipalService/WhoAmI'
      return (await door.call(token, path, {}, { 'x-forwarded-for': `203.0.113.9, ${address}` })).status
    }
    const { token } = await door.newPrincipal(['read'])
    await whoAmI(token, '198.51.100.7')
    // A7
    const warnings = [expect.stringContaining('X-Forwarded-For came from 127.0.0.1')]
    expect(door.roles.limitations()).toEqual(proxies === 'none' ? warnings : [])
    for (let tries = 0; tries < 120; tries += 1) await whoAmI(`wrong-${tries}`, '198.51.100.7')
    expect(await whoAmI('wrong', '198.51.100.7')).toBe(429)
    expect([await whoAmI('wrong', '198.51.100.8'), await whoAmI(token, '198.51.100.8')]).toEqual(expected)
  },
)
