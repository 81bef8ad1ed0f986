import { expect, test } from '@jest/globals'
import { CLAIM_CHECK_MS } from '#lib/patterns/attachment-claim.ts'
import type { Attachment } from './attachment.ts'
import { checkClaimEffect } from './attachment-effects.ts'
import { claimRefusal, withClaim, withoutExecution } from './claim.ts'
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
const call = (used_by: string, execution: string) => ({
  used_by,
  ticket_id: '',
  execution,
  purpose: 'ticket' as const,
})

// F7
test('the refusal of one call does not take back what another call for the same ticket has claimed', () => {
  const both = withClaim(withClaim(ready, call('ticket:1', 'a'), AT), call('ticket:1', 'b'), AT)
  const after_a = withoutExecution(both, call('ticket:1', 'a'), AT)
  const check_at = new Date(AT.getTime() + CLAIM_CHECK_MS)
  expect(after_a?.claim).toEqual({ used_by: 'ticket:1', ticket_id: '', executions: ['b'] })
  expect(after_a?.effects.find(checkClaimEffect.matches)?.due_at).toEqual(check_at)
  expect(after_a && withoutExecution(after_a, call('ticket:1', 'a'), AT)).toBeUndefined()
  expect(after_a && withoutExecution(after_a, call('ticket:1', 'b'), AT)?.claim).toBeUndefined()
})

test('a claim is refused to every other ticket, and given back by its own only', () => {
  const claimed = withClaim(ready, call('ticket:1', 'a'), AT)
  expect(claimRefusal(claimed, call('ticket:1', 'b'), 'path', AT)).toBeUndefined()
  expect(claimRefusal(claimed, call('ticket:2', 'b'), 'path', AT)).toMatchObject({ code: 9000 })
  expect(withoutExecution(claimed, call('ticket:2', 'a'), AT)).toBeUndefined()
  const free = withoutExecution(claimed, call('ticket:1', 'a'), AT)
  expect(free).toBeDefined()
  expect(free?.claim).toBeUndefined()
  expect(free?.effects.some(checkClaimEffect.matches)).toBe(false)
})

test('the calls of a claim are bounded', () => {
  const often = Array.from({ length: 40 }).reduce<Attachment>(
    (attachment, _, number) => withClaim(attachment, call('ticket:1', `${number}`), AT),
    ready,
  )
  expect(often.claim?.executions).toHaveLength(16)
  expect(often.claim?.executions.at(-1)).toBe('39')
  expect(often.effects.filter(checkClaimEffect.matches)).toHaveLength(1)
})
