import { expect, test } from '@jest/globals'
import { installManualClock } from '../../../test/support/manual-clock.ts'
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
