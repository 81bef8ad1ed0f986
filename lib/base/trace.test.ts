import { describe, expect, test } from '@jest/globals'
import { formatTrace, parseTrace } from './trace.ts'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const SPAN_ID = 'b7ad6b7169203331'

describe('traceparent', () => {
  test('a formatted trace parses to the same trace', () => {
    const trace = { trace_id: TRACE_ID, span_id: SPAN_ID, sampled: true }
    expect(formatTrace(trace)).toBe(`00-${TRACE_ID}-${SPAN_ID}-01`)
    expect(parseTrace(formatTrace(trace))).toEqual(trace)
  })

  test('a later version is parsed by its first four fields', () => {
    expect(parseTrace(`cc-${TRACE_ID}-${SPAN_ID}-09-what-comes`)?.sampled).toBe(true)
  })

  test.each([
    undefined,
    '',
    `00-${TRACE_ID}-${SPAN_ID}`,
    `00-${TRACE_ID}-${SPAN_ID}-01-more`,
    `ff-${TRACE_ID}-${SPAN_ID}-01`,
    `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`,
    `00-${'0'.repeat(32)}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${'0'.repeat(16)}-01`,
    `cc-${TRACE_ID}-${SPAN_ID}-01-${'x'.repeat(300)}`,
  ])('%j is refused', (text) => {
    expect(parseTrace(text)).toBeUndefined()
  })
})
