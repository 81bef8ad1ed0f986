import { expect, test } from '@jest/globals'
import { type CallHead, requestContextOf } from './incoming.ts'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'

const head: CallHead = {
  protocol: 'grpc',
  caller: { authorization: undefined, certificate: () => undefined },
  header: (name) => (name === 'traceparent' ? `00-${TRACE_ID}-b7ad6b7169203331-01` : undefined),
  headers: () => new Headers(),
  timeout_ms: undefined,
  onCancelled: () => {},
}

test('the trace of a known caller goes on, the trace of an unknown caller is dropped', () => {
  expect(requestContextOf(head, 'internal', 0).trace).toMatchObject({ trace_id: TRACE_ID, sampled: true })
  expect(requestContextOf(head, undefined, 0).trace).toBeUndefined()
})
