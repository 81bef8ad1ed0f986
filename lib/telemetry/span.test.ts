import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { currentRequest, withTrace } from '#lib/base/context.ts'
import { formatTrace, type Trace } from '#lib/base/trace.ts'
import { currentTraceparent, inSpan, type SpanStart, useTracer, withTraceparent } from './span.ts'

const ONE: Trace = { trace_id: '1'.repeat(32), span_id: '1'.repeat(16), sampled: true }
const OTHER: Trace = { trace_id: '2'.repeat(32), span_id: '2'.repeat(16), sampled: true }
const NEW: Trace = { trace_id: '3'.repeat(32), span_id: '3'.repeat(16), sampled: true }

let started: SpanStart[] = []
let events: unknown[] = []
let samples = true
let stop: () => void

beforeEach(() => {
  started = []
  events = []
  samples = true
  stop = useTracer({
    samples: () => samples,
    recordPast: () => {},
    startSpan(start) {
      started.push(start)
      return {
        trace: { ...(start.parent ?? NEW), span_id: 'f'.repeat(16) },
        rename: () => {},
        add: () => {},
        fail: (error) => void events.push(error),
        end: () => void events.push('end'),
      }
    },
  })
})
afterEach(() => stop())

const work = { name: 'work', kind: 'internal' } as const

test('work within a trace is a span below the present one, and what it does is below the span', async () => {
  const seen = await withTrace(ONE, () => inSpan(work, async () => currentRequest()?.trace))
  expect(started).toMatchObject([{ name: 'work', parent: ONE, link: undefined }])
  expect(seen).toEqual({ ...ONE, span_id: 'f'.repeat(16) })
  expect(events).toEqual(['end'])
})

test('work on a stored document belongs to the trace of the document in any process', async () => {
  const stored = formatTrace(ONE)
  await inSpan({ ...work, stored }, async () => {})
  await withTrace(OTHER, () => inSpan({ ...work, stored }, async () => {}))
  expect(started).toMatchObject([
    { parent: ONE, link: undefined },
    { parent: ONE, link: OTHER },
  ])
})

test('within the trace of the document, work is below the present span', async () => {
  const present = { ...ONE, span_id: 'a'.repeat(16) }
  await withTrace(present, () => inSpan({ ...work, stored: formatTrace(ONE) }, async () => {}))
  expect(started).toMatchObject([{ parent: present, link: undefined }])
})

test('a trace begins only where one may begin, and only when it is sampled', async () => {
  await inSpan(work, async () => {})
  expect(started).toEqual([])
  await inSpan({ ...work, begins_trace: true }, async () => {})
  expect(started).toMatchObject([{ parent: undefined }])
  samples = false
  await inSpan({ ...work, begins_trace: true }, async () => {})
  expect(started).toHaveLength(1)
})

test('the caller decides not to record: no span begins and nothing is stored', async () => {
  const unsampled = { ...ONE, sampled: false }
  const document = await withTrace(unsampled, () =>
    inSpan({ ...work, begins_trace: true }, async () => withTraceparent({ id: 1 })),
  )
  expect(started).toEqual([])
  expect(document).toEqual({ id: 1 })
})

test('a document keeps its place in the trace', async () => {
  expect(withTrace(ONE, () => withTraceparent({ id: 1 }))).toEqual({ id: 1, traceparent: formatTrace(ONE) })
  expect(withTraceparent({ id: 1 })).toEqual({ id: 1 })
})

test('an error that ends the work is recorded and thrown', async () => {
  const error = new Error('broken')
  await expect(withTrace(ONE, () => inSpan(work, () => Promise.reject(error)))).rejects.toBe(error)
  expect(events).toEqual([error, 'end'])
})

test('without a tracer nothing is recorded', async () => {
  stop()
  expect(await withTrace(ONE, () => inSpan(work, async (span) => span))).toBeUndefined()
  expect(withTrace(ONE, currentTraceparent)).toBeUndefined()
  expect(started).toEqual([])
})
