import { expect, test } from '@jest/globals'
import { CLAIM_CHECK_MS } from '#lib/patterns/attachment-claim.ts'
import type { Attachment } from './attachment.ts'
import { checkClaimEffect } from './attachment-effects.ts'
import { claimRefusal, withClaim, withoutExecution, withoutOwner } from './claim.ts'
import { openSession } from './session.ts'

const AT = new Date('2026-11-22T10:00:00.000Z')
const ready: Attachment = {
  ...openSession(
    {
      merchant_id: '7001',
      environment: 'test',
      attachment_id: 'a',
      purpose: 'ticket',
      name: 'a.txt',
      mime_type: 'text/plain',
      size_bytes: 1,
      sha256: '0'.repeat(64),
    },
    AT,
  ),
  status: 'ready',
}
const call = (owner: string, execution: string) => ({ owner, execution, purpose: 'ticket' as const })

// F7
test('the refusal of one call does not take back what another call for the same owner has claimed', () => {
  const both = withClaim(withClaim(ready, call('ticket:1', 'a'), AT), call('ticket:1', 'b'), AT)
  const after_a = withoutExecution(both, 'a', AT)
  const check_at = new Date(AT.getTime() + CLAIM_CHECK_MS)
  expect(after_a?.claim).toEqual({ owner: 'ticket:1', executions: ['b'], check_at })
  expect(after_a && withoutExecution(after_a, 'a', AT)).toBeUndefined()
  expect(after_a && withoutExecution(after_a, 'b', AT)?.claim).toBeUndefined()
})

test('a claim is refused to every other owner, and given up by its own only', () => {
  const claimed = withClaim(ready, call('ticket:1', 'a'), AT)
  expect(claimRefusal(claimed, call('ticket:1', 'b'), 'path', AT)).toBeUndefined()
  expect(claimRefusal(claimed, call('ticket:2', 'b'), 'path', AT)).toMatchObject({ code: 9000 })
  expect(withoutOwner(claimed, 'ticket:2', AT)).toBeUndefined()
  expect(withoutOwner(claimed, 'ticket:1', AT)?.claim).toBeUndefined()
})

test('the calls of a claim are bounded', () => {
  const often = Array.from({ length: 40 }).reduce<Attachment>(
    (attachment, _, number) => withClaim(attachment, call('ticket:1', `${number}`), AT),
    ready,
  )
  expect(often.claim?.executions).toHaveLength(16)
  expect(often.claim?.executions.at(-1)).toBe('39')
  expect(often.effects.filter(checkClaimEffect.matches)).toHaveLength(1)
  expect(withoutOwner(often, 'ticket:1', AT)?.effects.some(checkClaimEffect.matches)).toBe(false)
})
