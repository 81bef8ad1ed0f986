import { expect, test } from '@jest/globals'
import { rotateTokens } from './principal.ts'

// O3
test('a rotation ends older tokens at the end of its overlap at the latest', () => {
  const at = new Date('2026-11-24T12:00:00.000Z')
  const after = (seconds: number): Date => new Date(at.getTime() + seconds * 1_000)
  const tokens = [
    { sha256: 'in use' },
    { sha256: 'longer', expires_at: after(3_600) },
    { sha256: 'shorter', expires_at: after(10) },
    { sha256: 'over', expires_at: after(-1) },
  ]
  expect(rotateTokens({ tokens }, 'new', 60_000, at)).toEqual([
    { sha256: 'new' },
    { sha256: 'in use', expires_at: after(60) },
    { sha256: 'longer', expires_at: after(60) },
    { sha256: 'shorter', expires_at: after(10) },
  ])
  expect(rotateTokens({ tokens }, 'new', 0, at)).toEqual([{ sha256: 'new' }])
})
