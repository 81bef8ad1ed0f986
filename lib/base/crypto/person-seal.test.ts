import { createSecretKey } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createPersonSealer, personKeyIdOf } from './person-seal.ts'
import { randomBytes } from './random.ts'

const keys = new Map(['2025', '2026'].map((id) => [id, createSecretKey(randomBytes(32))]))
const sealer = createPersonSealer({ active_id: '2025', keys })
const bytes = Buffer.from('asha.rao@example.com')

describe('sealed bytes', () => {
  test('are opened for their merchant and place, whatever they are', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.string(), fc.string(), (content, merchant_id, place) => {
        const sealed = sealer.seal(content, merchant_id, place)
        expect(Buffer.from(sealer.open(sealed, merchant_id, place))).toEqual(Buffer.from(content))
      }),
    )
  })

  // O9: whichever key is active, and in whatever order they are configured.
  test('are opened under any order of the keys, also after a reseal', () => {
    const ids = ['2024', '2025', '2026']
    const list = ids.map((id) => [id, createSecretKey(randomBytes(32))] as const)
    const order = fc.shuffledSubarray(list, { minLength: 3 })
    const active = fc.constantFrom(...ids)
    fc.assert(
      fc.property(fc.uint8Array(), order, order, active, active, (content, before, after, first, next) => {
        const sealed = createPersonSealer({ active_id: first, keys: new Map(before) }).seal(content, 'm', 'p')
        const reader = createPersonSealer({ active_id: next, keys: new Map(after) })
        const resealed = reader.reseal(sealed, 'm', 'p')
        expect(personKeyIdOf(resealed)).toBe(next)
        for (const bytes of [sealed, resealed])
          expect(Buffer.from(reader.open(bytes, 'm', 'p'))).toEqual(Buffer.from(content))
      }),
    )
  })

  test('show nothing, and sealing twice gives different bytes', () => {
    const sealed = sealer.seal(bytes, '7001', 'here')
    expect(Buffer.from(sealed).includes('asha')).toBe(false)
    expect(sealer.seal(bytes, '7001', 'here')).not.toEqual(sealed)
  })

  test('are not opened for another merchant, in another place, or when a byte was altered or removed', () => {
    const sealed = Buffer.from(sealer.seal(bytes, '7001', 'here'))
    expect(() => sealer.open(sealed, '7002', 'here')).toThrow()
    expect(() => sealer.open(sealed, '7001', 'there')).toThrow()
    for (let at = 0; at < sealed.length; at += 1) {
      const altered = Buffer.from(sealed)
      altered.writeUInt8(altered.readUInt8(at) ^ 1, at)
      expect(() => sealer.open(altered, '7001', 'here')).toThrow()
      expect(() => sealer.open(sealed.subarray(0, at), '7001', 'here')).toThrow()
    }
  })

  test('are sealed again under the active key only', () => {
    const sealed = sealer.seal(bytes, '7001', 'here')
    expect(sealer.reseal(sealed, '7001', 'here')).toBe(sealed)
    const rotated = createPersonSealer({ active_id: '2026', keys })
    const again = rotated.reseal(sealed, '7001', 'here')
    expect([sealed, again].map(personKeyIdOf)).toEqual(['2025', '2026'])
    expect(Buffer.from(sealer.open(again, '7001', 'here'))).toEqual(bytes)
  })

  test('need their key', () => {
    const other = createPersonSealer({
      active_id: 'x',
      keys: new Map([['x', createSecretKey(randomBytes(32))]]),
    })
    expect(() => other.open(sealer.seal(bytes, '7001', 'here'), '7001', 'here')).toThrow(
      '2025 is not configured',
    )
    expect(() => other.open(bytes, '7001', 'here')).toThrow()
    expect(personKeyIdOf(bytes)).toBe('no key')
  })
})
