import { expect, test } from '@jest/globals'
import { acceptsToken, type Principal, type PrincipalToken, rotateTokens } from './principal.ts'

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

// O3
test('a rotation is refused while 10 older tokens count, unless it ends them', () => {
  const at = new Date('2026-11-24T12:00:00.000Z')
  let tokens: readonly PrincipalToken[] = [{ sha256: 'first' }]
  for (let older = 1; older <= 10; older += 1) tokens = rotateTokens({ tokens }, `${older}`, 60_000, at)
  expect(tokens).toHaveLength(11)
  expect(() => rotateTokens({ tokens }, 'one more', 60_000, at)).toThrow(
    expect.objectContaining({ code: 9000 }),
  )
  expect(rotateTokens({ tokens }, 'one more', 0, at)).toEqual([{ sha256: 'one more' }])
})

// O1, O3
test('a token counts until the end of its overlap, and while its principal is active', () => {
  const at = new Date('2026-11-24T12:00:00.000Z')
  const [past, future] = [new Date(at.getTime()), new Date(at.getTime() + 1)]
  const tokens = [
    { sha256: 'in use' },
    { sha256: 'older', expires_at: future },
    { sha256: 'over', expires_at: past },
  ]
  const principal: Principal = {
    principal_id: 'p1',
    name: 'Asha',
    kind: 'person',
    rights: ['read'],
    status: 'active',
    tokens,
    created_at: at,
    updated_at: at,
  }
  const accepted = (fields: Partial<Principal> = {}): readonly string[] =>
    ['in use', 'older', 'over', 'unknown'].filter((sha256) =>
      acceptsToken({ ...principal, ...fields }, sha256, at),
    )
  expect(accepted()).toEqual(['in use', 'older'])
  expect(accepted({ expires_at: future })).toEqual(['in use', 'older'])
  expect(accepted({ expires_at: past })).toEqual([])
  expect(accepted({ status: 'revoked' })).toEqual([])
})
