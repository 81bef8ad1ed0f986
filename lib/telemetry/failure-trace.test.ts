import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { withTrace } from '#lib/base/context.ts'
import { parseTrace } from '#lib/base/trace.ts'
import { failureTraceOf, failureTraceparent, isFailureTrace, recordPastSpan } from './failure-trace.ts'
import { type PastSpan, useTracer } from './span.ts'

let recorded: PastSpan[] = []
let stop: () => void = () => {}
beforeEach(() => {
  recorded = []
  stop = useTracer({
    samples: () => false,
    startSpan() {
      throw new Error('nothing is sampled')
    },
    recordPast: (span) => void recorded.push(span),
  })
})
afterEach(() => stop())

test('the trace of a failure follows from what has failed, so that every process finds it', () => {
  const traceparent = failureTraceparent('p-1')
  expect(parseTrace(traceparent)).toEqual(failureTraceOf('p-1'))
  expect([isFailureTrace(traceparent, 'p-1'), isFailureTrace(traceparent, 'p-2')]).toEqual([true, false])
})

test('work that is recorded anyhow stays in its trace, and without a tracer there is none', () => {
  expect(withTrace(failureTraceOf('other'), () => failureTraceparent('p-1'))).toBeUndefined()
  stop()
  expect(failureTraceparent('p-1')).toBeUndefined()
})

test('a provider that fails all the time cannot flood the collector', () => {
  const traced = Array.from({ length: 1_000 }, (_, index) => failureTraceparent(`p-${index}`))
  expect(traced.filter((traceparent) => traceparent !== undefined).length).toBeLessThanOrEqual(300)
  const at = new Date()
  const first = failureTraceOf('p-1')
  const span = { name: 'payment', kind: 'internal', fields: {}, first, is_first: true } as const
  for (let count = 0; count < 2_000; count += 1) recordPastSpan({ ...span, began_at: at, ended_at: at })
  expect(recorded).toHaveLength(1_200)
})
