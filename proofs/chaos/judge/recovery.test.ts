import { expect, test } from '@jest/globals'
import { createTimeline } from '../workload/timeline.ts'
import { measureRecovery } from './recovery.ts'

const ACCEPTED = { kind: 'success', result: {} } as const
const LOST = { kind: 'none', was_sent: true } as const

test('measures from each repair to the first new acceptance, and until earlier payments are final', () => {
  const timeline = createTimeline()
  const create = { outcome: ACCEPTED }
  const creates = [
    { ...create, key: 'before', sent_ms: 90, answered_ms: 200 },
    { ...create, key: 'lost', sent_ms: 110, answered_ms: 120, outcome: LOST },
    { ...create, key: 'first', sent_ms: 130, answered_ms: 170 },
    { ...create, key: 'expires', sent_ms: 95, answered_ms: 96 },
  ]
  timeline.noteFinal('before', 'success', 400)
  timeline.noteFinal('before', 'success', 900)
  timeline.noteFinal('first', 'error', 1_000)
  timeline.noteFinal('expires', 'declined', 8_000)
  const faults = [{ kind: 'kill', target: 'payments-1', began_ms: 80, repaired_ms: 100 }]
  expect(measureRecovery(faults, { ...timeline, creates })).toEqual([
    {
      kind: 'kill',
      count: 1,
      first_accepted: { median_ms: 70, max_ms: 70 },
      everything_final: { median_ms: 300, max_ms: 300 },
    },
  ])
})

test('measures nothing when no create followed the repair', () => {
  const faults = [{ kind: 'pause nats', target: '', began_ms: 1, repaired_ms: 2 }]
  expect(measureRecovery(faults, createTimeline())).toMatchObject([
    { first_accepted: undefined, everything_final: { max_ms: 0 } },
  ])
})
