import { expect, test } from '@jest/globals'
import { toneOf } from './tones.ts'

test('open means waiting for a ticket and stopped for a circuit breaker', () => {
  expect(toneOf('open', 'multihub.support.v1.TicketStatus')).toBe('waiting')
  expect(toneOf('open', 'multihub.payments.v1.CircuitState')).toBe('bad')
  expect(toneOf('something new')).toBe('plain')
})
